"""What surrounds the loop: what a training holds between two updates, and what happens at the end of each."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.env import Env, MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.owners import Waiting, owned, owners_of
from tricks.core.rollout import Batch, Player, Rollout
from tricks.errors import InputError
from tricks.ladder import FILES, Tricks
from tricks.runs.evaluation import Evaluation
from tricks.runs.log import Listener, Log
from tricks.runs.opening import open_env
from tricks.runs.run import Run, own
from tricks.runs.state import State


class Doors(NamedTuple):
    """What was passed to `train` beside config and tricks."""

    env: MakeEnv | None
    body: MakeBody | None
    checkpoints: State
    on_update: Listener | None
    evaluation: Evaluation | None


class Training:
    """Agents, optimizers, and all else that an update needs. `build` gives it what lasts from one update to the next.

    Whatever has a `state_dict` then is in the checkpoints, under the name of its attribute, and is kept for seeds that
    wait. So a trick with a state sets one attribute.
    """

    agent: Agent
    optimizer: Adam
    moving: Tensor
    """[S]: the seeds whose policy takes steps."""

    if TYPE_CHECKING:  # a trick's own attributes

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, env: Env, config: Config, tricks: Tricks, doors: Doors) -> None:
        self.env, self.config, self.tricks, self.doors = env, config, tricks, doors
        self.log = Log(config)
        self.note = self.log.note
        """Record diagnostics, [S] each, for the curve, and of which seeds they are, [S]."""
        self.player = Player(env, block=config.horizon, limit=config.episode_limit)
        self._rows = Batch(), env.now.legal  # a minibatch, and who has rows in it
        self.compiled = dict[str, Any]()  # what compiled forms know of this update
        modules = map(import_module, dict.fromkeys(f"tricks.{FILES[name]}" for name in tricks.on))
        self._noted = [each.noted for each in modules if hasattr(each, "noted")]

    def begin(self) -> None:
        """Tell the checkpoints what they save, or are to restore."""
        parts = {name: x for name, x in vars(self).items() if hasattr(x, "state_dict")}
        doors = self.doors
        doors.checkpoints.begin(self.config, self.tricks, doors.evaluation, own(doors.env, doors.body), **parts)
        self._waiting = Waiting(parts.values(), self.active)

    @property
    def going(self) -> bool:
        """Whether a seed has not used its budget yet."""
        return bool(self.log.active.any())

    @property
    def active(self) -> Tensor:
        """The seeds that still learn: [S]."""
        return self.log.active

    @property
    def progress(self) -> Tensor:
        """Fraction of its budget that each seed has used: [S]."""
        return self.log.progress

    @property
    def update(self) -> tuple[int, ...]:
        """How many updates each seed has had."""
        return self.log.update

    def each(self, name: str, dtype: torch.dtype | None = None) -> Tensor:
        """A number of the config, of each seed: [S]."""
        return self.progress.new_tensor(self.config.each(name), dtype=dtype)

    def having_rows(self, b: Batch) -> Tensor:
        """The seeds that have rows in a minibatch: [S] bool."""
        if b is not self._rows[0]:
            self._rows = b, b.valid.any(1)
        return self._rows[1]

    def note_tricks(self, b: Batch, **made: Tensor) -> None:
        """Record the diagnostics of each trick that is on: what its file's `noted` finds in a minibatch, under reuse.

        made: what the policy's objective is made from, such as ratio and advantage, [S, B] each.
        """
        facts = SimpleNamespace(t=self, b=b, **made)
        for noted in self._noted:
            self.note(of=self.having_rows(b), **noted(facts))

    def end_update(self, rollout: Rollout) -> None:
        """A row of the curve, and what is due: an evaluation, a checkpoint, a word to the listener."""
        doors, log = self.doors, self.log
        if doors.evaluation:
            log.note(eval_return=doors.evaluation.after(rollout, self.config, self.agent, log, doors.env))
        log.end_update(rollout)
        self._waiting.end_update(log.active)
        self.compiled.clear()
        if doors.on_update:
            log.tell(doors.on_update, self.agent)
        doors.checkpoints.end_update(log.steps)

    def finished(self) -> Run:
        """The finished run."""
        doors, log = self.doors, self.log
        doors.checkpoints.give_way()
        try:
            last = doors.checkpoints.now()
        except AttributeError:  # an optimizer of one's own may keep no state: this run can't be continued
            last = None
        ended = log.curve(), log.diverged, log.reasons, log.seconds, log.best
        found = Run(self.config, self.tricks, self.agent.cpu(), *ended, doors.env, doors.body)
        return replace(found, last=last, evaluation=doors.evaluation)


def take_over_(agent: Agent, start: Agent) -> None:
    """Give agents what the seeds of others own: weights and statistics. What lanes and episodes own stays there.

    Raises InputError if seeds, spaces, nets or statistics are not the same.
    """
    where = f"cannot start from {start.origin or 'that run'}"
    if len(agent.seeds) != len(start.seeds):
        raise InputError(f"{where}: it has {len(start.seeds)} seeds, and this training {len(agent.seeds)}")
    if agent.spaces.sizes != start.spaces.sizes:
        ours, before = (f"observations {list(a.spaces.shape)} and {a.spaces.actions} actions" for a in (agent, start))
        raise InputError(f"{where}: its agents have {before}, and this task has {ours}")
    given, needed = ({k: x for k, x in owned(a).items() if owners_of(a)[k] == "seed"} for a in (start, agent))
    for name in [*needed, *given]:
        if name not in given or name not in needed:
            there = "it has no" if name not in given else "this training has no"
            raise InputError(f"{where}: {there} {name}; train with the same tricks")
        if given[name].shape != needed[name].shape:
            shapes = f"{list(given[name].shape[1:])} there and {list(needed[name].shape[1:])} here"
            options = "--recurrent-size and --recurrent-cell" if ".cell." in name else "--hidden"
            raise InputError(f"{where}: {name} is {shapes}; train with the same {options}")
    agent.load_state_dict(agent.state_dict() | given)


@contextmanager
def training(
    build: Callable[[Training], None],
    config: Config,
    tricks: Tricks,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    checkpoints: State | None = None,
    on_update: Listener | None = None,
    evaluation: Evaluation | None = None,
    start: Agent | None = None,
) -> Iterator[Training]:
    """A training from its first update, or from where its checkpoint left it; its environment is closed at the end."""
    kept = checkpoints or State()
    with (
        torch.inference_mode(False),
        closing(open_env(config, tricks, env, body, evaluation)) as opened,
        kept.patience(),
    ):
        t = Training(opened, config, tricks, Doors(env, body, kept, on_update, evaluation))
        build(t)
        if start is not None:
            take_over_(t.agent, start)
            t.log.origin = {"from": Path(start.origin).resolve().name if start.origin else "agents in memory"}
        t.begin()
        yield t

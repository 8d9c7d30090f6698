"""What surrounds the loop: what is checked before it, what a training holds, and what happens after each update.

A trick's own file may say more. `refuse(config, tricks)` raises InputError for numbers, `refuse_env(env)` for an
environment, and `memory(config, tricks, rows, row, features)` says what else it needs: for so many rows of a rollout,
with so many bytes each, of which a net's last layer makes so many features.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.env import Env, MakeEnv
from tricks.core.machine import WEIGHT, Need, find_device, in_total, largest, refuse_too_large, row_bytes
from tricks.core.nets import MakeBody
from tricks.core.owners import Waiting, owned, owners_of
from tricks.core.rollout import Batch, Player, Rollout
from tricks.core.spaces import Spaces
from tricks.envs.lane import repeatable
from tricks.envs.make import announce, lane_need, make_env
from tricks.envs.stepping import has_vector_version
from tricks.errors import InputError
from tricks.ladder import Tricks, switched
from tricks.runs.about import read_back, told
from tricks.runs.checkpoint import State
from tricks.runs.evaluation import Evaluation, play_needs
from tricks.runs.learning_curve import columns_of
from tricks.runs.log import Listener, Log, declared
from tricks.runs.run import Run, own
from tricks.texts import recorded
from tricks.values import shown
from tricks.worlds import WORLDS

MUCH = 1_000_000_000  # bytes that a user should know of
CURVE_ROW = 300  # bytes of a row of the curve
LONG = 1000  # steps: a batch of whole episodes may be this long, so that there are fewer updates
IMITATING = 0.01  # the learning rate at which a training's `imitate_steps` begin
WIDE = 10.0  # half the width of a box, in σ, beyond which a policy explores little of it


def open_env(
    config: Config,
    tricks: Tricks,
    make: MakeEnv | None = None,
    body: MakeBody | None = None,
    evaluation: Evaluation | None = None,
) -> Env:
    """The environment for a training, if its numbers are possible and the machine has the memory that it needs."""
    find_device(config.device)
    columns_of(config)  # refuses to record what is a column already
    best, names = evaluation and evaluation.keep_best, recorded(config.record)
    if isinstance(best, str) and best not in names:
        known = ", ".join(names) or "nothing"
        raise InputError(f"keep_best is by {best!r}, but the training records {known}; name it in record")
    refuse_endless(config, tricks)
    refuse_too_large([*needs(config, tricks), lane_need(config, make)], config.device)  # for the least it can mean
    announce(config, make)
    with ExitStack() as stack:
        env = stack.enter_context(closing(make_env(config, make=make)))
        refuses = declared(tricks.on, "refuse_env")
        for refuse in refuses:
            refuse(env)
        read_back(config, env.spaces)
        found = needs(config, tricks, env.spaces, own_body=body is not None)
        if evaluation is not None:
            found += play_needs(config, evaluation.episodes, env.spaces, "eval_episodes")
            if evaluation.apart:
                evaluation.refuse_env(config, env.spaces, make, refuses)
        refuse_too_large(found, config.device)  # now that its spaces are known
        if sum(need.bytes for need in found) > MUCH:
            print(in_total(found), file=sys.stderr)
        for line in remarks(env, config, tricks, make) if config.env not in WORLDS or env.id != config.env else ():
            say_once(line)
        stack.pop_all()
        return env


def refuse_endless(config: Config, tricks: Tricks) -> None:
    """Raise InputError for numbers that these tricks cannot learn with, or that would take hours for one update."""
    for function in declared(tricks.on, "refuse"):
        function(config, tricks)


def needs(config: Config, tricks: Tricks, spaces: Spaces | None = None, own_body: bool = False) -> list[Need]:
    """What a training holds at its peak, at least. Without spaces: with one feature and one action."""
    seeds, row = len(config.seed_list), row_bytes(spaces)
    rows = seeds * config.lanes * config.horizon
    dense = not own_body and not (spaces and spaces.images)  # the net has the layers of --hidden
    widths = [spaces.features if spaces else 1, *config.hidden] if dense else [1]
    nets = seeds * 2 * WEIGHT * sum(a * b for a, b in pairwise(widths))
    curve = seeds * -(-config.steps // (config.lanes * max(config.horizon, LONG)))
    own = [function(config, tricks, rows, row, widths[-1]) for function in declared(tricks.on, "memory")]
    return [
        Need(f"rollouts of {rows:,} rows", rows * row, largest(config, "lanes", "horizon", "seeds")),
        Need("nets", nets, largest(config, "hidden", "seeds")),
        *own,
        Need(f"a curve of {curve:,} rows", curve * CURVE_ROW, largest(config, "steps", "seeds"), on_device=False),
    ]


@cache
def say_once(line: str) -> None:
    """Print a line on stderr, once in a process."""
    print(line, file=sys.stderr)


def remarks(env: Env, config: Config, tricks: Tricks, make: MakeEnv | None = None) -> Iterator[str]:
    """Random numbers without a seed, masks that nobody looks at, and boxes that the policy hardly explores."""
    if config.backend != "envpool" and not has_vector_version(config, make) and not repeatable(config, make):
        draw = "draw from self.np_random alone, which reset(seed=...) seeds"
        yield f"{env.id} plays two episodes from the same seed and actions, so its runs cannot be repeated: {draw}"
    if env.masks and not tricks.action_mask:
        yield f"{env.id} says which actions are legal, which has no effect without --action-mask (action_mask=True)"
    space, std = env.spaces.action, float(np.exp(max(config.each("log_std_init"))))
    if isinstance(space, gym.spaces.Box) and space.is_bounded() and not tricks.squash:
        low, high = space.low.astype(float), space.high.astype(float)
        if (width := (high - low).max()) > 2 * WIDE * std:
            yield (
                f"{env.id} has actions from {low.min():g} to {high.max():g}, and the policy starts with σ = {std:g}, "
                f"so it explores about 1/{width / (2 * std):,.0f} of the range; --rescale-actions maps it to [-1, 1]"
            )


class Doors(NamedTuple):
    """What was passed to `train` beside config and tricks."""

    env: MakeEnv | None
    body: MakeBody | None
    checkpoints: State
    on_update: Listener | None
    evaluation: Evaluation | None


class Training:
    """Agents, optimizers, and all else that an update needs. `build` gives it what lasts from one update to the next.

    What then has a `state_dict` is in the checkpoints, under its attribute's name, and is kept for seeds that wait.
    """

    agent: Agent
    optimizer: Adam
    moving: Tensor
    """[S]: the seeds whose policy takes steps."""

    if TYPE_CHECKING:  # a trick's own attributes

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, env: Env, config: Config, tricks: Tricks, doors: Doors) -> None:
        self.env, self.tricks, self.doors = env, tricks, doors
        self.config = replace(config, env=env.spaces.env)  # of an environment of one's own, the name of its class
        self.log = Log(self.config)
        self.player = Player(env, block=config.horizon, limit=config.episode_limit)
        self._rows = Batch(), env.now.legal  # a minibatch, and who has rows in it
        self.compiled = dict[str, Any]()  # what compiled forms know of this update
        self._noted = declared(tricks.on, "noted")

    def begin(self) -> None:
        """Tell the checkpoints what they save, or are to restore."""
        parts, doors = {name: x for name, x in vars(self).items() if hasattr(x, "state_dict")}, self.doors
        about = told(self.config, self.tricks, doors.evaluation, own(doors.env, doors.body), self.env.spaces)
        doors.checkpoints.begin(about, parts)
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

    def note(self, of: Batch | Tensor | None = None, /, **diagnostics: Tensor) -> None:
        """Record diagnostics, [S] each, for the curve, `of` the seeds that have rows in a minibatch, or of these."""
        self.log.note(of=self.having_rows(of) if isinstance(of, Batch) else of, **diagnostics)

    def having_rows(self, b: Batch) -> Tensor:
        """The seeds that have rows in a minibatch: [S] bool."""
        if b is not self._rows[0]:
            self._rows = b, b.valid.any(1)
        return self._rows[1]

    def note_tricks(self, b: Batch, **made: Tensor) -> None:
        """Record what each trick's `noted` finds in a minibatch, and in what the objective is `made` from, [S, B]."""
        facts = SimpleNamespace(t=self, b=b, **made)
        for noted in self._noted:
            self.note(b, **noted(facts))

    def end_update(self, rollout: Rollout) -> None:
        """A row of the curve, and what is due: an evaluation, a checkpoint, a word to the listener."""
        doors, log = self.doors, self.log
        if doors.evaluation:
            log.note(eval_return=doors.evaluation.after(rollout, self.config, self.agent, log, doors.env))
        log.end_update(rollout)
        self._waiting.end_update(log.active)
        self.compiled.clear()
        if doors.on_update is not None:
            log.tell(doors.on_update, self.agent)
        doors.checkpoints.end_update(log.steps)

    def finished(self) -> Run:
        """The finished run."""
        doors, log, last = self.doors, self.log, None
        with suppress(AttributeError):  # an optimizer of one's own may keep no state: this run can't be continued
            last = doors.checkpoints.now()
        ended = log.curve(), log.diverged, log.reasons, log.seconds, log.kept and log.kept.state, doors.env, doors.body
        return Run(self.config, self.tricks, self.agent.cpu(), *ended, last=last, evaluation=doors.evaluation)


def take_over_(agent: Agent, start: Agent) -> None:
    """Give agents the weights and statistics of others. Raises InputError if these, seeds or spaces are not alike."""
    where = f"cannot start from {start.origin or 'that run'}"
    if len(agent.seeds) != len(start.seeds):
        raise InputError(f"{where}: it has {len(start.seeds)} seeds, and this training {len(agent.seeds)}")
    if agent.spaces.sizes != start.spaces.sizes:
        ours, before = (f"observations {list(a.spaces.shape)} and {a.spaces.actions} actions" for a in (agent, start))
        raise InputError(f"{where}: its agents have {before}, and this task has {ours}")
    given, needed = ({k: x for k, x in owned(a).items() if owners_of(a)[k] == "seed"} for a in (start, agent))
    for name in [*needed, *given]:
        for who, has in (("it", given), ("this training", needed)):
            if name not in has:
                raise InputError(f"{where}: {who} has no {name}; train with the same tricks")
        if given[name].shape != needed[name].shape:
            shapes = f"{list(given[name].shape[1:])} there and {list(needed[name].shape[1:])} here"
            options = "--recurrent-size and --recurrent-cell" if ".cell." in name else "--hidden"
            raise InputError(f"{where}: {name} is {shapes}; train with the same {options}")
    agent.load_state_dict(agent.state_dict() | given)


def imitated(
    train: Callable[..., Run], config: Config, tricks: Tricks, env: MakeEnv | None, body: MakeBody | None
) -> Agent:
    """Agents that have imitated for the config's `imitate_steps`, and see observations as the training's do."""
    for name in ("recurrent", "shared_trunk", "ppg", "reward_scaling"):  # which add to what an agent keeps
        if name in tricks.on:
            raise InputError(f"imitate_steps cannot be combined with {name}")
    first = replace(config, steps=config.imitate_steps, imitate_steps=0, lr=IMITATING)
    seen = [name for name in tricks.on if name in ("state_norm", "action_mask")]
    agent = train(first, switched(["imitate", "lr_anneal", *seen]), env, body).agent
    agent.origin = f"{config.imitate_steps:,} steps of imitation"
    return agent


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
    if on_update is not None:
        try:
            inspect.signature(on_update).bind([], None)
        except (TypeError, ValueError):  # of some functions written in C, no signature is known
            raise InputError(f"on_update must be a function of (rows, agent), not {shown(on_update)}") from None
    if config.imitate_steps and kept.saved is None:
        if start is not None or tricks.imitate:
            other = "imitate imitates all the time" if tricks.imitate else "this training starts from another run"
            raise InputError(f"imitate_steps is for a training that has not imitated yet, and {other}")
        start = imitated(build.__globals__["train"], config, tricks, env, body)  # of the loop whose `build` this is
    with torch.inference_mode(False), ExitStack() as patient:
        with closing(open_env(config, tricks, env, body, evaluation)) as opened:
            patient.enter_context(kept.patience)
            t = Training(opened, config, tricks, Doors(env, body, kept, on_update, evaluation))
            build(t)
            if start is not None:
                for agents in [x for x in vars(t).values() if isinstance(x, Agent)]:  # a reference, too
                    take_over_(agents, start)
                origin = Path(start.origin).resolve().name if start.origin else "agents in memory"
                t.log.origin = {"from": origin}
            t.begin()
            yield t
        kept.end_update(t.log.steps)  # a signal may have come since the last update

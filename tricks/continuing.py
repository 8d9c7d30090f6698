"""Train on: a finished run beyond its budget, or another task from a finished run's agents."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.owners import owned, owners_of
from tricks.errors import InputError
from tricks.restore import load, resumed
from tricks.runs.checkpoint import read, refuse_unfinished
from tricks.runs.files import LAST, as_path, clean_up, hold
from tricks.runs.learning_curve import COLUMNS
from tricks.runs.log import Listener
from tricks.runs.run import Run
from tricks.runs.state import Saved, State
from tricks.values import checked

Schedule = Literal["whole", "end"]


@checked
def further(
    folder: str | Path,
    steps: int,
    schedule: str = "whole",
    env: MakeEnv | str | None = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: MakeEnv | str | None = None,
) -> Run:
    """Train the finished run in `folder` for so many more environment steps per seed.

    Weights, statistics, the optimizer, and the random streams of each seed go on, and the curve is that of both. With
    schedule "whole", whatever anneals runs over the new budget, so it jumps back where the runs join; with "end", it
    stays where the last update had it. Seeds that diverged stay as they are. For env, body, wrap, eval_env and
    on_update see `resume`. Raises InputError like `resume`, and if the folder has no last.pt, as of a part of a run.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    if schedule not in ("whole", "end"):
        raise InputError(f"schedule must be whole or end, not {schedule!r}")
    folder = as_path(folder)
    if not folder.is_dir():
        read(folder, LAST)  # says what is missing
    with hold(folder):
        clean_up(folder)
        refuse_unfinished(folder)
        saved = read(folder, LAST)
        _refuse_other(folder, saved, load(folder, env, body, wrap, eval_env))
        return resumed(folder, longer(saved, steps, schedule), env, body, on_update, wrap, eval_env)


def longer(saved: Saved, steps: int, schedule: str) -> Saved:
    """The state at the end of a run, as one in the middle of a longer run. Raises InputError if every seed diverged."""
    config, log = replace(saved.config, steps=saved.config.steps + steps), dict(saved.parts["log"])
    going = torch.tensor([seed not in log["diverged"] for seed in config.seed_list])
    before = log.get("origin", {})
    log["origin"] = before | {"joined": [*before.get("joined", []), saved.config.steps]}
    if not going.any():
        raise InputError("every seed of this run diverged, so there is nothing to continue")
    if schedule == "end":
        log.setdefault("held", _last_progress(log["rows"].numpy(), saved.config))
    else:
        log.pop("held", None)
    log["active"] = going & (log["steps"].cpu() < config.steps)
    return replace(saved, config=config, parts=saved.parts | {"log": log})


def _last_progress(rows: np.ndarray, config: Config) -> torch.Tensor:
    """The share of its budget that each seed had used before its last update: rows [updates, COLUMNS] -> [S]."""
    seed, step = (rows[:, COLUMNS.index(name)] for name in ("seed", "step"))
    before = [[0.0, *sorted(step[seed == each])][-2] for each in config.seed_list]
    return torch.tensor(before, dtype=torch.float64).float() / config.steps


def _refuse_other(folder: Path, saved: Saved, run: Run) -> None:
    """Raise InputError unless this is the state of the finished run in the folder."""
    state = run.agent.state_dict()
    mine = {name: x.cpu() for name, x in saved.parts["agent"].items()}
    if mine.keys() != state.keys() or not all(torch.equal(x, state[name]) for name, x in mine.items()):
        raise InputError(f"{folder / LAST} is of other agents than those of the run in this folder")


class StartFrom(State):
    """Lets a training start from the agents of a finished run: their weights and their statistics.

    `train(config, tricks, checkpoints=StartFrom(folder))`. The k-th seed starts from the k-th agent, with a new
    optimizer and new episodes, in however many lanes. inner: the checkpoints that the training writes itself. Raises
    InputError if there is no such run, and, when the training begins, if its agents are others than the task needs.
    """

    def __init__(self, folder: str | Path, body: MakeBody | None = None, inner: State | None = None) -> None:
        self.start, self.inner = as_path(folder), inner or State()
        self._agent = load(self.start, body=body).agent

    def begin(self, config: Config, tricks: Any, evaluation: Any = None, own: Sequence[str] = (), **parts: Any) -> None:
        self.give(parts["agent"])
        parts["log"].origin = {"from": self.start.resolve().name}
        self.inner.begin(config, tricks, evaluation, own, **parts)

    def add(self, **parts: Any) -> None:
        self.inner.add(**parts)

    def end_update(self, steps: torch.Tensor) -> None:
        self.inner.end_update(steps)

    def give_way(self) -> None:
        self.inner.give_way()

    def patience(self) -> AbstractContextManager[Any]:
        return self.inner.patience()

    def now(self) -> Callable[[], bytes]:
        return self.inner.now()

    def give(self, agent: Any) -> None:
        """Give agents what the seeds of the finished run own. What its lanes and episodes own stays there.

        Raises InputError if seeds, spaces, nets or statistics are not the same.
        """
        mine, theirs = agent.spaces, self._agent.spaces
        where = f"cannot start from {self.start}"
        if len(agent.seeds) != len(self._agent.seeds):
            raise InputError(f"{where}: it has {len(self._agent.seeds)} seeds, and this training {len(agent.seeds)}")
        if mine.sizes != theirs.sizes:
            ours, before = (f"observations {list(s.shape)} and {s.actions} actions" for s in (mine, theirs))
            raise InputError(f"{where}: its agents have {before}, and this task has {ours}")
        given, needed = ({k: x for k, x in owned(a).items() if owners_of(a)[k] == "seed"} for a in (self._agent, agent))
        for name in [*needed, *given]:
            if name not in given or name not in needed:
                there = "it has no" if name not in given else "this training has no"
                raise InputError(f"{where}: {there} {name}; train with the same tricks")
            if given[name].shape != needed[name].shape:
                shapes = f"{list(given[name].shape[1:])} there and {list(needed[name].shape[1:])} here"
                options = "--recurrent-size and --recurrent-cell" if ".cell." in name else "--hidden"
                raise InputError(f"{where}: {name} is {shapes}; train with the same {options}")
        agent.load_state_dict(agent.state_dict() | given)

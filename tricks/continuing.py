"""Train on: a finished run beyond its budget, or another task from a finished run's agents."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.restore import load, resumed
from tricks.runs.checkpoint import read, refuse_unfinished
from tricks.runs.files import LAST, as_path, clean_up, hold
from tricks.runs.learning_curve import COLUMNS
from tricks.runs.log import Listener
from tricks.runs.run import Run
from tricks.runs.state import Saved
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

"""Load a finished run from disk, or resume one that was interrupted."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.spaces import Spaces, from_plain
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.loop import build_agent, train
from tricks.runs.checkpoint import NAME, Checkpoints, asked, read, resume_command
from tricks.runs.log import Listener
from tricks.runs.run import Run


def resume(
    folder: str | Path,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
) -> Run:
    """Resume the run in `folder` from its checkpoint, train it to the end, and keep writing checkpoints.

    In a tensor world, the curve is bit-for-bit that of an uninterrupted run on the same machine. Other environments
    start new episodes, and a message says so. The configuration does not change: the annealing runs over the whole
    budget, and evaluations continue. Pass the same `env` or `body` again if the run started with one. on_update is
    called as in `train`. Raises InputError if there is no checkpoint or it is damaged.
    """
    saved = read(Path(folder))
    checkpoints = Checkpoints(folder, saved.every, saved)
    return train(saved.config, saved.tricks, env, body, checkpoints, on_update, saved.evaluation)


def load(path: str | Path, env: MakeEnv | None = None, body: MakeBody | None = None) -> Run:
    """Load the run that `Run.save` wrote to the folder `path`.

    A run trained with a custom `body` needs it again; a run trained in a custom `env` needs it only to play.
    Raises InputError if the run is missing or damaged, or if its custom body is not given.
    """
    folder = Path(path)
    if not (folder / "run.json").is_file():
        hint = f"; it is unfinished, resume it with: {resume_command(folder)}" if (folder / NAME).is_file() else ""
        raise InputError(f"no saved run in {folder}: there is no run.json{hint}")
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        config, tricks = asked(about)
        own = about.get("own", [])
        if "body" in own and body is None:
            raise InputError(f"the run in {folder} was trained with a custom body: load({str(path)!r}, body=...)")
        if "env" in own and env is None:
            env = _missing(f"the run in {folder} was trained in a custom environment: load({str(path)!r}, env=...)")
        diverged, seconds = dict(about["diverged"]), float(about.get("seconds", "nan"))  # older runs do not record it
        curve = pd.read_csv(folder / "curve.csv")
        if len(curve) != about["rows"]:
            raise ValueError(f"curve.csv has {len(curve)} rows, not {about['rows']}")
        agent = build_agent(_spaces(about, config), config, tricks, body)
        agent.load_state_dict(_current(torch.load(folder / "agent.pt", weights_only=True), about))
    except InputError:
        raise
    except Exception as error:  # unpickling a file that is not a pickle can raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"the run in {folder} is damaged: {reason}") from error
    return Run(config, tricks, agent, curve, diverged, seconds, env, body)


def _spaces(about: dict[str, Any], config: Config) -> Spaces:
    """The run's spaces; an older run did not save them, so they are read from its environment."""
    if "spaces" in about:
        return Spaces(config.env, *(from_plain(about["spaces"][role]) for role in ("observation", "action")))
    one = replace(config, seeds=config.seed_list[:1], lr=config.rates[0], lanes=1, device="cpu")
    with closing(make_env(one)) as env:
        return env.spaces


def _current(state: dict[str, Tensor], about: dict[str, Any]) -> dict[str, Tensor]:
    """The agent's tensors under today's names; in runs saved without spaces, a shared body had two names."""
    if "spaces" in about:
        return state
    return {name.replace(".body.body.", ".body."): tensor for name, tensor in state.items()}


def _missing(message: str) -> Callable[[], NoReturn]:
    def make() -> NoReturn:
        raise InputError(message)

    return make

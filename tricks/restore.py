"""Runs from disk: load one that is finished, resume one that was interrupted."""

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
from tricks.runs.checkpoint import NAME, Checkpoints, asked, how_to_go_on, read
from tricks.runs.run import Run


def resume(folder: str | Path, env: MakeEnv | None = None, body: MakeBody | None = None) -> Run:
    """Train the run whose checkpoint is in `folder` to its end, as if nothing had happened, and keep checkpoints.

    On the same machine the curve is, to the last bit, that of a run that was never interrupted, if the environment is
    a tensor world; others begin new episodes, and a line says so. Its configuration stays as it was: the annealing
    runs over the whole budget. An `env` or `body` that the run began with is given again. Raises InputError if there is
    no checkpoint, or a damaged one.
    """
    found = read(Path(folder))
    return train(found.config, found.tricks, env, body, Checkpoints(folder, found.every, found))


def load(path: str | Path, env: MakeEnv | None = None, body: MakeBody | None = None) -> Run:
    """The run that `Run.save` wrote to the folder `path`.

    A run that was trained with a `body` of its own needs it again; one with an `env` of its own needs it to play.
    Raises InputError if the run is missing or damaged, or if its body is not given.
    """
    folder = Path(path)
    if not (folder / "run.json").is_file():
        goes_on = f"; it is not finished, go on with: {how_to_go_on(folder)}" if (folder / NAME).is_file() else ""
        raise InputError(f"no saved run in {folder}: there is no run.json{goes_on}")
    try:
        about = json.loads((folder / "run.json").read_text())
        config, tricks = asked(about)
        own = about.get("own", [])
        if "body" in own and body is None:
            raise InputError(f"the run in {folder} was trained with a net of its own: load({str(path)!r}, body=...)")
        if "env" in own and env is None:
            env = _missing(
                f"the run in {folder} was trained in an environment of its own: load({str(path)!r}, env=...)"
            )
        diverged, seconds = dict(about["diverged"]), float(about.get("seconds", "nan"))  # earlier runs do not say
        curve = pd.read_csv(folder / "curve.csv")
        if len(curve) != about["rows"]:
            raise ValueError(f"curve.csv has {len(curve)} rows, not {about['rows']}")
        agent = build_agent(_spaces(about, config), config, tricks, body)
        agent.load_state_dict(_current(torch.load(folder / "agent.pt", weights_only=True), about))
    except InputError:
        raise
    except Exception as error:  # unpickling what is no pickle can raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"the run in {folder} is damaged: {reason}") from error
    return Run(config, tricks, agent, curve, diverged, seconds, env, body)


def _spaces(about: dict[str, Any], config: Config) -> Spaces:
    """The spaces that the run was trained in; those of an earlier run, which does not say, are its environment's."""
    if "spaces" in about:
        return Spaces(config.env, *(from_plain(about["spaces"][role]) for role in ("observation", "action")))
    one = replace(config, seeds=config.seed_list[:1], lr=config.rates[0], lanes=1, device="cpu")
    with closing(make_env(one)) as env:
        return env.spaces


def _current(state: dict[str, Tensor], about: dict[str, Any]) -> dict[str, Tensor]:
    """The agent's tensors by their names today; in runs that do not tell their spaces, a shared body had two names."""
    if "spaces" in about:
        return state
    return {name.replace(".body.body.", ".body."): tensor for name, tensor in state.items()}


def _missing(said: str) -> Callable[[], NoReturn]:
    def make() -> NoReturn:
        raise InputError(said)

    return make

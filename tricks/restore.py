"""Runs from disk: load one that is finished, resume one that was interrupted."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from tricks.core.agent import Agent
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.loop import train
from tricks.ppg import add_auxiliary_head_
from tricks.runs.checkpoint import NAME, Checkpoints, asked, how_to_go_on, read
from tricks.runs.log import Listener
from tricks.runs.run import Run
from tricks.shared_trunk import share_trunk_


def resume(folder: str | Path, on_update: Listener | None = None) -> Run:
    """Train the run whose checkpoint is in `folder` to its end, as if nothing had happened, and keep checkpoints.

    On the same machine the curve is, to the last bit, that of a run that was never interrupted, if the environment is
    a tensor world; others begin new episodes, and a line says so. Its configuration stays as it was: the annealing
    runs over the whole budget, and its evaluations go on. on_update is called as in `train`. Raises InputError if there
    is no checkpoint, or a damaged one.
    """
    found = read(Path(folder))
    return train(
        found.config,
        found.tricks,
        keep=Checkpoints(folder, found.every, found),
        on_update=on_update,
        evaluation=found.evaluation,
    )


def load(path: str | Path) -> Run:
    """The run that `Run.save` wrote to the folder `path`. Raises InputError if it is missing or damaged."""
    folder = Path(path)
    if not (folder / "run.json").is_file():
        goes_on = f"; it is not finished, go on with: {how_to_go_on(folder)}" if (folder / NAME).is_file() else ""
        raise InputError(f"no saved run in {folder}: there is no run.json{goes_on}")
    try:
        about = json.loads((folder / "run.json").read_text())
        config, tricks = asked(about)
        diverged, seconds = dict(about["diverged"]), float(about.get("seconds", "nan"))  # earlier runs do not say
        curve = pd.read_csv(folder / "curve.csv")
        if len(curve) != about["rows"]:
            raise ValueError(f"curve.csv has {len(curve)} rows, not {about['rows']}")
        env = make_env(replace(config, seeds=1, lanes=1, device="cpu"))
        env.close()
        agent = Agent(env.spaces, config)
        if tricks.shared_trunk:
            share_trunk_(agent)
        if tricks.ppg:
            add_auxiliary_head_(agent)
        agent.load_state_dict(torch.load(folder / "agent.pt", weights_only=True))
    except InputError:
        raise
    except Exception as error:  # unpickling what is no pickle can raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"the run in {folder} is damaged: {reason}") from error
    return Run(config, tricks, agent, curve, diverged, seconds)

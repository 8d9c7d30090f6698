"""A finished run: its curve and its agents, on disk and back."""

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tricks.action_mask import mask_logits
from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.envs import make_env
from tricks.core.errors import InputError
from tricks.core.rollout import Player, play_episodes
from tricks.ladder import Tricks, switched


@dataclass(frozen=True)
class Run:
    """What `train` returns.

    curve: a row per seed and update, with step (environment steps of that seed so far), the number, mean
    undiscounted return and mean length of the episodes that ended in the update (NaN if none did), and the
    diagnostics (NaN if this rung does not have one). diverged: seed -> step at which its loss or gradient was no
    longer finite; that seed stopped there.
    """

    config: Config
    tricks: Tricks
    agent: Agent
    curve: pd.DataFrame
    diverged: dict[int, int]

    def save(self, path: str | Path) -> None:
        """Write run.json, curve.csv and agent.pt into the folder `path`. Raises InputError if that fails."""
        folder = Path(path)
        about = {
            "config": asdict(self.config),
            "tricks": self.tricks.on,
            "diverged": list(self.diverged.items()),
        }
        make_folder(folder)
        try:
            torch.save(self.agent.state_dict(), folder / "agent.pt")
            self.curve.to_csv(folder / "curve.csv", index=False)
            (folder / "run.json").write_text(json.dumps(about, indent=2) + "\n")
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from error

    def evaluate(self, episodes: int = 10) -> np.ndarray:
        """Undiscounted returns of sampled actions, with all statistics frozen: [S, episodes]."""
        env = make_env(replace(self.config, lanes=episodes), purpose="evaluation")
        player = Player(env, block=self.config.horizon, purpose="evaluation")

        def policy(obs: Tensor, legal: Tensor) -> Tensor:
            logits = self.agent.policy(obs)
            return mask_logits(logits, legal) if self.tricks.action_mask else logits

        everyone = torch.ones(len(self.config.seed_list), dtype=torch.bool)
        rollout = play_episodes(player, policy, rows=1, active=everyone)  # one episode a lane
        env.close()
        return rollout.reward.sum(1).numpy()


def make_folder(folder: Path) -> None:
    """Make the folder and its parents. Raises InputError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error


def load(path: str | Path) -> Run:
    """The run that `Run.save` wrote to the folder `path`. Raises InputError if it is missing or damaged."""
    folder = Path(path)
    about = _read(folder / "run.json", lambda file: json.loads(file.read_text()))
    curve = _read(folder / "curve.csv", pd.read_csv)
    state = _read(folder / "agent.pt", lambda file: torch.load(file, weights_only=True))
    try:
        numbers: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in about["config"].items()}
        config, tricks, diverged = Config(**numbers), switched(about["tricks"]), dict(about["diverged"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / 'run.json'} is damaged, or from another version: {error}") from error
    env = make_env(replace(config, seeds=1, lanes=1))
    agent = Agent(env.spaces, config)
    env.close()
    agent.load_state_dict(state)
    return Run(config, tricks, agent, curve, diverged)


def _read(file: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(file)
    except FileNotFoundError as error:
        raise InputError(f"no saved run in {file.parent}: {file.name} is missing") from error
    except (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(f"{file} is damaged: it cannot be read") from error

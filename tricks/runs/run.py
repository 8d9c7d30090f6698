"""A finished run: its curve and its agents, and saving them."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from tricks.action_mask import masked
from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.rollout import AgentPolicy
from tricks.core.spaces import to_plain
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.checkpoint import remove
from tricks.runs.evaluation import play_games
from tricks.runs.files import make_folder
from tricks.runs.log import late_return


@dataclass(frozen=True)
class Run:
    """The result of `train`.

    curve: one row per seed and update, with step (the seed's environment steps so far); the number, mean undiscounted
    return and mean length of the episodes that ended in the update (NaN if none did); and the diagnostics (NaN if this
    rung does not have one), including the learning rate and, where an evaluation was due, eval_return.
    diverged: seed -> step at which its loss or gradient stopped being finite; the seed stopped there.
    seconds: wall-clock training time. env, body: the custom ones passed to `train`, if any.
    """

    config: Config
    tricks: Tricks
    agent: Agent
    curve: pd.DataFrame
    diverged: dict[int, int]
    seconds: float
    env: MakeEnv | None = None
    body: MakeBody | None = None

    def save(self, path: str | Path) -> None:
        """Write run.json, curve.csv and agent.pt to the folder `path`, and remove its checkpoint.

        Raises InputError if that fails.
        """
        folder, spaces = Path(path), self.agent.spaces
        about = {
            "config": asdict(self.config),
            "tricks": self.tricks.on,
            "diverged": list(self.diverged.items()),
            "rows": len(self.curve),
            "seconds": self.seconds,
            "spaces": {"observation": to_plain(spaces.observation), "action": to_plain(spaces.action)},
            "own": [name for name in ("env", "body") if getattr(self, name) is not None],
        }
        make_folder(folder)
        try:
            torch.save(self.agent.state_dict(), folder / "agent.pt")
            self.curve.to_csv(folder / "curve.csv", index=False)
            (folder / "run.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            remove(folder)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from error

    def late(self) -> pd.Series:
        """Each seed's mean return over the last 10% of the budget, see `late_return`; NaN if no episode ended there."""
        return late_return(self.curve, self.config.steps).reindex(self.config.seed_list)

    def evaluate(self, episodes: int = 10, greedy: bool = False) -> np.ndarray:
        """Scores of whole games with sampled or greedy actions and all statistics frozen: [S, episodes]."""
        if episodes < 1:
            raise InputError(f"episodes must be at least 1, not {episodes}")
        policy: AgentPolicy = self.agent.policy
        if self.tricks.action_mask:
            policy = masked(policy)
        config = replace(self.config, device="cpu")
        scores: np.ndarray = play_games(config, policy, episodes, greedy, make=self.env).numpy()
        return scores

    def only(self, seed: int | None = None) -> "Run":
        """The part of the run that belongs to one seed; default: the first. Raises InputError for an unknown seed."""
        seeds = self.config.seed_list
        if seed is not None and seed not in seeds:
            raise InputError(f"the run has no seed {seed}; it has {', '.join(map(str, seeds))}")
        k = 0 if seed is None else seeds.index(seed)
        config = replace(self.config, seeds=(seeds[k],), lr=self.config.rates[k])
        diverged = {key: step for key, step in self.diverged.items() if key == seeds[k]}
        curve = self.curve[self.curve.seed == seeds[k]]
        return replace(self, config=config, agent=self.agent[k], curve=curve, diverged=diverged)

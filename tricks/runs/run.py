"""A finished run: its curve and its agents, on disk and back."""

import contextlib
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
from tricks.core.policies import certain
from tricks.core.rollout import AgentPolicy, Player, Policy
from tricks.core.spaces import to_plain
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.checkpoint import remove
from tricks.runs.files import make_folder
from tricks.runs.log import late_return


@dataclass(frozen=True)
class Run:
    """What `train` returns.

    curve: a row per seed and update, with step (environment steps of that seed so far), the number, mean
    undiscounted return and mean length of the episodes that ended in the update (NaN if none did), and the
    diagnostics (NaN if this rung does not have one). diverged: seed -> step at which its loss or gradient was no
    longer finite; that seed stopped there. seconds: wall time of the training. env, body: those that were given to
    `train`, if any.
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
        """Write run.json, curve.csv and agent.pt into the folder `path`; a checkpoint there has served, and goes.

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
            (folder / "run.json").write_text(json.dumps(about, indent=2) + "\n")
            remove(folder)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from error

    def late(self) -> pd.Series:
        """Each seed's mean return over the episodes that ended in the last 10% of the budget, as `late_return`."""
        return late_return(self.curve, self.config.steps).reindex(self.config.seed_list)

    def evaluate(self, episodes: int = 10, greedy: bool = False) -> np.ndarray:
        """Scores of whole games with sampled (or the most likely) actions, all statistics frozen: [S, episodes]."""
        if episodes < 1:
            raise InputError(f"episodes must be at least 1, not {episodes}")
        env = make_env(replace(self.config, lanes=episodes, device="cpu"), purpose="evaluation", make=self.env)
        player = Player(env, block=self.config.horizon, purpose="evaluation")
        own: AgentPolicy = self.agent.policy
        if self.tricks.action_mask:
            own = masked(own)
        policy: Policy = certain(own, self.agent.spaces.family) if greedy else own
        playing = torch.ones(len(env.seeds), env.lanes, dtype=torch.bool)  # one episode a lane
        score = torch.zeros(playing.shape, dtype=torch.float64)
        with contextlib.closing(env):
            env.reset()
            while playing.any():  # kept a segment at a time, since a game may be longer than memory
                for _ in range(self.config.horizon):
                    if playing.any():
                        _, over = player.step(policy, playing)
                        playing = playing & ~over
                score += player.rollout(last=False).score.sum(1)
        return score.numpy()

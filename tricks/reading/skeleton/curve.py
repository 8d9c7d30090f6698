"""The learning curve: a row per seed and update, and who has budget left."""

from typing import NamedTuple

import torch
from torch import Tensor

from tricks.reading.skeleton.agents import Agent
from tricks.reading.skeleton.playing import Rollout
from tricks.reading.skeleton.settings import Config

Row = dict[str, float]


class Run(NamedTuple):
    """What `train` returns; diverged: seed -> step at which its loss or gradient was no longer finite."""

    config: Config
    agent: Agent
    curve: list[Row]
    diverged: dict[int, int]


class Log:
    """Counts steps, sums up episodes, averages diagnostics, and marks the seeds that are done or have diverged."""

    def __init__(self, config: Config) -> None:
        self.budget, self.update = config.steps, 0
        self.steps = torch.zeros(config.seeds, dtype=torch.int64)
        self.active, self.progress = self.steps == 0, self.steps / self.budget  # share of the budget that was used
        self.open = torch.zeros(config.seeds, config.lanes, 2, dtype=torch.float64)  # return, length so far
        self.notes: dict[str, list[Tensor]] = {}
        self.rows: list[Row] = []
        self.diverged: dict[int, int] = {}

    def note(self, **diagnostics: Tensor) -> None:
        """Diagnostics [S] of one minibatch; the curve shows their mean over the update (of max_ratio, the max)."""
        for name, value in diagnostics.items():
            self.notes.setdefault(name, []).append(value.detach().double())

    def end_update(self, rollout: Rollout) -> None:
        """Turn what was noted into a row per active seed."""
        self.steps += rollout.valid.flatten(1).sum(1)
        columns = {"step": self.steps.double()} | self.episodes(rollout)
        for name, notes in self.notes.items():
            columns[name] = torch.stack(notes).amax(0) if name == "max_ratio" else torch.stack(notes).mean(0)
        finite = columns["grad_norm"].isfinite() & columns["policy_loss"].isfinite()
        for seed in self.active.nonzero()[:, 0].tolist():
            self.rows.append({"seed": seed, "update": self.update} | {x: columns[x][seed].item() for x in columns})
            if not finite[seed]:
                self.diverged[seed] = int(self.steps[seed])
        if self.update % 10 == 0:
            earned = columns["return"].nanmean()
            print(f"update {self.update}, {self.progress.mean():.0%} of the budget: return {earned:.1f}", flush=True)
        self.active, self.progress = self.active & finite & (self.steps < self.budget), self.steps / self.budget
        self.notes, self.update = {}, self.update + 1

    def episodes(self, rollout: Rollout) -> dict[str, Tensor]:
        """Number, mean undiscounted return and mean length of the episodes that ended in this rollout. [S] each."""
        done = rollout.terminated | rollout.truncated
        tally = torch.stack([rollout.reward, rollout.valid.double()], -1)  # [S, T, N, 2]
        later = done.flip(1).cumsum(1).flip(1) == 0  # rows after the last end of their lane
        unfinished = (tally * later.unsqueeze(-1)).sum(1)  # [S, N, 2]
        ended = done.any(1).unsqueeze(-1)
        finished = torch.where(ended, self.open + tally.sum(1) - unfinished, 0).sum(1)  # [S, 2]
        self.open = torch.where(ended, 0, self.open) + unfinished
        count = done.flatten(1).sum(1)
        average = finished / count.unsqueeze(1)  # 0/0 = NaN where no episode ended
        return {"episodes": count, "return": average[:, 0], "length": average[:, 1]}

    def curve(self) -> list[Row]:
        """The rows, seed by seed."""
        return sorted(self.rows, key=lambda row: row["seed"])

"""The learning curve: a row per seed and update, and who has budget left."""

import time
from typing import NamedTuple

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.rollout import Rollout
from tricks.runs import log as runs

Row = dict[str, float]


class Run(NamedTuple):
    """What `train` returns: the numbers, the agents, the rows of the curve, and seed -> step of those that diverged."""

    config: Config
    agent: Agent
    curve: list[Row]
    diverged: dict[int, int]
    seconds: float


class Log(runs.Log):
    """Counts steps, sums up episodes, averages diagnostics, and marks the seeds that are done or have diverged."""

    def __init__(self, config: Config) -> None:
        self.seeds, self.budget, self.update = config.seed_list, config.steps, 0
        self.steps = torch.zeros(len(self.seeds), dtype=torch.int64)
        self.active = torch.ones(len(self.seeds), dtype=torch.bool)
        self.diverged: dict[int, int] = {}
        self._notes: dict[str, list[Tensor]] = {}
        self._curve: list[Row] = []
        self._open = torch.zeros(len(self.seeds), config.lanes, 2, dtype=torch.float64)  # return, length so far
        self._start, self._printed = time.perf_counter(), 0

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self._start

    def note(self, **diagnostics: Tensor) -> None:
        """Diagnostics [S] of one minibatch; the curve shows their mean over the update (of max_ratio, the max)."""
        for name, value in diagnostics.items():
            self._notes.setdefault(name, []).append(value.detach().double())

    def end_update(self, rollout: Rollout) -> None:
        """Turn what was noted into a row per active seed."""
        self.steps += rollout.valid.flatten(1).sum(1)
        columns = {"seed": torch.tensor(self.seeds), "update": torch.full_like(self.steps, self.update)}
        columns |= {"step": self.steps.clone()} | self._episodes(rollout)
        for name, notes in self._notes.items():
            columns[name] = torch.stack(notes).amax(0) if name == "max_ratio" else torch.stack(notes).mean(0)
        table = zip(*(column.tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in table]
        self._curve += [row for row, active in zip(rows, self.active.tolist(), strict=True) if active]
        finite = columns["grad_norm"].isfinite() & columns["policy_loss"].isfinite()
        for i in (self.active & ~finite).nonzero()[:, 0].tolist():
            self.diverged[self.seeds[i]] = int(self.steps[i])
        self.active = self.active & finite & (self.steps < self.budget)
        self._notes, self.update = {}, self.update + 1
        self._print()

    def curve(self) -> list[Row]:  # type: ignore[override]
        """The rows, seed by seed."""
        return sorted(self._curve, key=lambda row: row["seed"])

    def _print(self) -> None:
        """A line for each tenth of the budget: the mean return of the episodes that ended last."""
        share = (self.steps / self.budget).clamp(max=1).mean().item()
        if int(10 * share) > self._printed:
            self._printed = int(10 * share)
            taken, mean = int(self.steps.sum()), mean_return(self._curve[-10 * len(self.seeds) :])
            print(f"{share:4.0%} {taken:>10} steps {self.seconds:8.1f} s  return {mean:8.1f}", flush=True)


def mean_return(rows: list[Row]) -> float:
    """Mean return of all episodes that ended in these rows; NaN if none did."""
    rows = [row for row in rows if row["episodes"]]
    episodes = sum(row["episodes"] for row in rows)
    return sum(row["return"] * row["episodes"] for row in rows) / episodes if rows else float("nan")

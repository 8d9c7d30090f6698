"""A memory of recent rollouts, for tricks that train on more than the last one."""

from typing import Any

import torch

from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.rollout import Batch


class Memory:
    """The last `rollouts` segments as one batch [S, R, ...], with each row's update of origin and number of uses.

    Values and targets are stored in units of reward, whatever the value net's units were. With A discrete actions, a
    row takes about 4·D + A + 49 bytes (D + A + 49 for uint8 images); the memory of S seeds holds at most
    S·rollouts·T·N rows.
    """

    def __init__(self, rollouts: int) -> None:
        self.rollouts, self.length = rollouts, 0  # length: rows of one rollout, T·N
        self.rows = Batch()

    def add(self, batch: Batch, stats: ReturnStats, update: int) -> None:
        """Add a rollout whose value and target are in units of `stats`, and drop the oldest one if full."""
        new = Batch(**batch.columns)
        new.value = denormalize(batch.value, stats.of(batch.task))
        new.target = denormalize(batch.target, stats.of(batch.task))
        new.born = torch.full_like(batch.valid, update, dtype=torch.int64)
        new.uses = torch.zeros_like(new.born)
        self.length = batch.valid.shape[1]
        kept = (self.rollouts - 1) * self.length
        for name, column in new.columns.items():
            old = self.rows.columns.get(name, column[:, :0]).to(column.device)  # loaded rows are on the host
            setattr(self.rows, name, torch.cat([old[:, max(0, old.shape[1] - kept) :], column], 1))

    def batch(self, stats: ReturnStats) -> Batch:
        """All rows, with value and target in units of `stats`."""
        batch = Batch(**self.rows.columns)
        batch.value = normalize(batch.value, stats.of(batch.task))
        batch.target = normalize(batch.target, stats.of(batch.task))
        return batch

    def state_dict(self) -> dict[str, Any]:
        return {"length": self.length, "rows": self.rows.columns}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.length, self.rows = state["length"], Batch(**state["rows"])

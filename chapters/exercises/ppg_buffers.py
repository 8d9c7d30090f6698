"""Exercises of the chapter on reusing rows."""

from collections.abc import Iterator

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks import Config
from tricks.core.moments import ReturnStats
from tricks.core.rollout import Batch
from tricks.ppg import Memory
from tricks.reuse import deal, random_keys


def used_up(
    memory: Memory, stats: ReturnStats, config: Config, update: int, uses: int, purpose: str
) -> Iterator[Batch]:
    """Each epoch's minibatches [S, B, ...], of rows that have been used fewer than `uses` times, shuffled per seed."""
    share = uses / config.epochs  # of the rows per epoch
    for epoch in range(config.epochs):
        batch = memory.batch(stats)
        keys = random_keys(batch.valid, config.seed_list, purpose, update, epoch)
        taken = (keys < share) & (memory.rows.uses < uses)
        memory.rows.uses += taken
        yield from deal(batch, keys.masked_fill(~taken, torch.inf), taken.sum(1), config.minibatches)


def _right(keys: Tensor, used: Tensor, uses: int, rollouts: int, epochs: int) -> Tensor:
    return (keys < uses / (rollouts * epochs)) & (used < uses)


check_taken = Exercise(
    _right,
    cases=(
        {
            "keys": torch.tensor([[0.10, 0.19, 0.26, 0.90, 0.15, torch.inf]]),
            "used": torch.tensor([[0, 3, 0, 1, 4, 0]]),
            "uses": 4,
            "rollouts": 5,
            "epochs": 4,
        },
        {
            "keys": torch.tensor([[0.05, 0.40, 0.60, 0.97], [0.10, 0.74, 0.76, torch.inf]]),
            "used": torch.tensor([[2, 5, 0, 6], [6, 7, 1, 0]]),
            "uses": 6,
            "rollouts": 2,
            "epochs": 4,
        },
    ),
    mistakes={
        "nothing stops a row that has been used often enough: by chance, some are drawn more often than the average.": (
            lambda keys, used, uses, rollouts, epochs: keys < uses / (rollouts * epochs)
        ),
        "a row that has had all its uses gets one more. Count what it has, not what it will have.": (
            lambda keys, used, uses, rollouts, epochs: (keys < uses / (rollouts * epochs)) & (used <= uses)
        ),
        "the time in the memory is missing: a row stays for `rollouts` updates, and each has its epochs.": (
            lambda keys, used, uses, rollouts, epochs: (keys < uses / epochs) & (used < uses)
        ),
        "the epochs are missing: in each update, a row gets its chance in every epoch.": (
            lambda keys, used, uses, rollouts, epochs: (keys < uses / rollouts) & (used < uses)
        ),
        "this is the probability of one use on average. There should be `uses` of them.": (
            lambda keys, used, uses, rollouts, epochs: (keys < 1 / (rollouts * epochs)) & (used < uses)
        ),
        "these are the rows to leave out. A row is taken if its key is *below* the share.": (
            lambda keys, used, uses, rollouts, epochs: (keys >= uses / (rollouts * epochs)) & (used < uses)
        ),
        "both conditions must hold, not one of them.": (
            lambda keys, used, uses, rollouts, epochs: (keys < uses / (rollouts * epochs)) | (used < uses)
        ),
    },
    drawn=lambda d: {
        "keys": d.tensor(2, 6, low=0.0, high=1.0),
        "used": torch.tensor(d.rng.integers(0, 8, (2, 6))),
        "uses": d.whole(1, 6),
        "rollouts": d.whole(1, 5),
        "epochs": d.whole(1, 4),
    },
)

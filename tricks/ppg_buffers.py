"""ppg_buffers: policy and value net each learn from a buffer of older rollouts, of its own size and number of uses."""

from collections.abc import Iterator

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.memory import Memory
from tricks.core.moments import ReturnStats
from tricks.core.reductions import mean
from tricks.core.rollout import Batch
from tricks.reuse import deal, random_keys


def dealt_apart(policy: Memory, value: Memory, stats: ReturnStats, config: Config, update: int) -> Iterator[Batch]:
    """The policy buffer's minibatches, each with one of the value buffer's, drawn independently, as `critic`."""
    for_policy = reused(policy, stats, config, update, config.policy_uses, "policy buffer")
    for_value = reused(value, stats, config, update, config.value_uses, "value buffer")
    for b, critic in zip(for_policy, for_value, strict=True):
        b.critic = critic
        yield b


def reused(memory: Memory, stats: ReturnStats, config: Config, update: int, uses: int, purpose: str) -> Iterator[Batch]:
    """Every epoch's minibatches [S, B, ...] of rows that were used fewer than `uses` times, shuffled per seed.

    An epoch takes each row by chance, so that over its time in the memory it is taken `uses` times on average; a row
    that was used so often already is left out. Ratios are to the policy that played the row, and its advantage is as
    old as it is. Cobbe et al. 2020, arXiv:2009.04416, on reusing samples for either net apart.
    """
    share = uses / (memory.rollouts * config.epochs)
    for epoch in range(config.epochs):
        batch = memory.batch(stats)
        keys = random_keys(batch.valid, config.seed_list, purpose, update, epoch)
        taken = (keys < share) & (memory.rows.uses < uses)
        memory.rows.uses += taken
        yield from deal(batch, keys.masked_fill(~taken, torch.inf), taken.sum(1), config.minibatches)


def ages(b: Batch, update: int) -> dict[str, Tensor]:
    """Mean age in updates of the rows that the policy and the value net learn from: [S] each."""
    return {
        "policy_age": mean((update - b.born).double(), b.valid),
        "value_age": mean((update - b.critic.born).double(), b.critic.valid),
    }

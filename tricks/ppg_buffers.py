"""ppg_buffers: the policy and the value net each train on a buffer of recent rollouts, with its own size and reuse."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.moments import ReturnStats
from tricks.core.reductions import mean
from tricks.core.rollout import Batch
from tricks.core.seeds import Index
from tricks.ppg import Memory
from tricks.reuse import deal, random_keys

OF_POLICY = ("policy_age",)  # see `runs/log`


def dealt_apart(policy: Memory, value: Memory, stats: ReturnStats, config: Config, update: Index) -> Iterable[Batch]:
    """Minibatches from the policy buffer; each has one from the value buffer as its `value_rows`."""
    for_policy = reused(policy, stats, config, update, config.policy_uses, "policy buffer")
    for_value = reused(value, stats, config, update, config.value_uses, "value buffer")
    for b, rows in zip(for_policy, for_value, strict=True):
        b.value_rows = rows
        yield b


def reused(
    memory: Memory, stats: ReturnStats, config: Config, update: Index, uses: int, purpose: str
) -> Iterator[Batch]:
    """Each epoch's minibatches [S, B, ...], of rows that have been used fewer than `uses` times, shuffled per seed.

    An epoch picks each row at random, with a probability that would make `uses` the average over the row's time in the
    memory, if it were not also the limit. Cobbe et al. 2020, arXiv:2009.04416, on sample reuse for each net separately.
    """
    share = uses / (memory.rollouts * config.epochs)
    for epoch in range(config.epochs):
        batch = memory.batch(stats)
        keys = random_keys(batch.valid, config.seed_list, purpose, update, epoch)
        taken = (keys < share) & (memory.rows.uses < uses)
        memory.rows.uses += taken
        yield from deal(batch, keys.masked_fill(~taken, torch.inf), taken.sum(1), config.minibatches)


def ages(b: Batch, update: Index) -> dict[str, Tensor]:
    """Mean age, in updates, of the rows that the policy and the value net train on: [S] each."""
    now = torch.as_tensor(update, device=b.valid.device).view(-1, 1)
    both = {"policy_age": b, "value_age": b.value_rows}
    return {name: mean((now - rows.born).double(), rows.valid) for name, rows in both.items()}


def noted(facts: Any) -> dict[str, Tensor]:
    """Its diagnostics of a minibatch, [S] each; facts: see `Training.note_tricks`."""
    found = ages(facts.b, facts.t.update)
    facts.t.note(facts.b.value_rows, value_age=found.pop("value_age"))
    return found

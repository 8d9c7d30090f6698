"""reuse: several epochs of minibatches per batch, with the unclipped importance ratio."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.policies import Family
from tricks.core.reductions import mean
from tricks.core.rollout import Batch, Policy
from tricks.core.seeds import Index, argsort, draw
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import Tricks

MOST_STEPS = 1_000_000  # gradient steps of one update; more take hours
OF_POLICY = ("approx_kl", "max_ratio")  # see `runs/log`


def importance_ratio(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """ρ = π(a|s)/π_old(a|s). log_prob, old_log_prob [S, B] -> [S, B]. Schulman et al. 2017, eq. 6."""
    return (log_prob - old_log_prob).exp()


@torch.no_grad()
def old_log_prob(policy: Policy, family: Family, batch: Batch) -> Tensor:
    """log π_old(a|s) for each row, before the first gradient step: [S, B]."""
    return family.log_prob(policy(batch.obs, batch.legal), batch.action)


def minibatches(
    batch: Batch, seeds: Sequence[int], update: Index, epochs: int, count: int | Tensor, purpose: str = "minibatch"
) -> Iterable[Batch]:
    """In each epoch, shuffle every seed's valid rows and split them into `count` minibatches [S, B, ...]."""
    for epoch in range(epochs):
        yield from deal(batch, random_keys(batch.valid, seeds, purpose, update, epoch), batch.valid.sum(1), count)


def random_keys(valid: Tensor, seeds: Sequence[int], purpose: str, update: Index, epoch: int) -> Tensor:
    """A random sort key for each row [S, B], ∞ where not valid: a shuffle depends only on the seed's own rows."""
    keys = draw(seeds, purpose, update, epoch, by=lambda rng: rng.random(valid.shape[1]))
    return keys.to(valid.device).masked_fill(~valid, torch.inf)


def deal(batch: Batch, keys: Tensor, rows: Tensor, count: int | Tensor) -> Iterator[Batch]:
    """Split the `rows` [S] rows with the smallest keys [S, B] into `count` minibatches [S, B', ...].

    Sizes differ by at most one row; seeds with fewer rows, or minibatches, are padded with rows whose valid is False.
    """
    width = max(1, int((-(-rows // count)).max()))  # a rollout may have no experience at all
    k = torch.arange(int(torch.as_tensor(count).max()) + 1, device=rows.device).view(-1, 1)
    bounds = (rows * k // count).minimum(rows).unsqueeze(-1)  # [count+1, S, 1]
    place = bounds[:-1] + torch.arange(width, device=rows.device)  # [count, S, B']
    dealt = place < bounds[1:]
    place = place.minimum(bounds[1:] - 1).clamp(min=0)  # the padding repeats a real row
    seed = torch.arange(len(keys), device=rows.device).view(-1, 1)
    index = argsort(keys)[seed, place] + seed * keys.shape[1]  # of S·B rows
    columns = {  # one index_select is several times faster than indexing by seed and row
        name: column.flatten(0, 1).index_select(0, index.flatten()).view(*index.shape, *column.shape[2:]).unbind()
        for name, column in batch.columns.items()
    }
    columns["valid"] = dealt.unbind()
    for picked in zip(*columns.values(), strict=True):
        yield Batch(**dict(zip(columns, picked, strict=True)))


def drift(ratio: Tensor, valid: Tensor) -> dict[str, Tensor]:
    """How far the policy has moved from the behavior policy: approximate KL in nats, and the largest ratio. [S].

    KL ≈ mean((ρ − 1) − log ρ), never negative. Schulman 2020, "Approximating KL Divergence".
    """
    ratio = ratio.detach().clamp(min=torch.finfo(ratio.dtype).tiny)  # so that log ρ stays finite
    return {"approx_kl": mean(ratio - 1 - ratio.log(), valid), "max_ratio": ratio.masked_fill(~valid, 0).amax(1)}


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError for more minibatches than rows, and for endless updates."""
    refuse_endless("epochs", config)


def refuse_endless(name: str, config: Config, rollouts: int = 1) -> None:
    """The same for the epochs of this name, over so many rollouts."""
    epochs, count, rows = getattr(config, name), config.minibatches, config.lanes * config.horizon
    if count > rows:
        raise InputError(
            f"{count} minibatches are more than the {rows} rows of a batch (lanes × horizon): "
            "lower --minibatches, or raise --lanes or --horizon"
        )
    if epochs * count * rollouts > MOST_STEPS:
        phase = f" × {rollouts} rollouts" if rollouts > 1 else ""
        raise InputError(
            f"{epochs} {name} × {count} minibatches{phase} are more than {MOST_STEPS:,} gradient steps in one update, "
            f"which would take hours; lower {switch(name)} or --minibatches"
        )


def noted(facts: Any) -> dict[str, Tensor]:
    """Its diagnostics of a minibatch, [S] each; facts: see `Training.note_tricks`."""
    return drift(facts.ratio, facts.b.valid)

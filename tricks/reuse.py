"""reuse: several epochs of minibatches per batch, with the unclipped importance ratio."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.policies import Family
from tricks.core.reductions import mean
from tricks.core.rollout import Batch, Policy
from tricks.core.seeds import Index, draw
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
    """Split the `rows` [S] rows with the smallest keys [S, B] evenly into `count` minibatches [S, B', ...].

    Seeds with fewer rows, or minibatches, are padded with rows whose valid is False.
    """
    width = max(1, int((-(-rows // count)).max()))  # a rollout may have no experience at all
    k = torch.arange(int(torch.as_tensor(count).max()) + 1, device=rows.device).view(-1, 1)
    bounds = (rows * k // count).minimum(rows).unsqueeze(-1)  # [count+1, S, 1]
    place = bounds[:-1] + torch.arange(width, device=rows.device)  # [count, S, B']
    dealt = place < bounds[1:]
    place = place.minimum(bounds[1:] - 1).clamp(min=0)  # the padding repeats a real row
    seed = torch.arange(len(keys), device=rows.device).view(-1, 1)
    order = torch.from_numpy(np.argsort(keys.numpy())) if keys.is_cpu else keys.argsort()  # numpy is faster
    index = order[seed, place] + seed * keys.shape[1]  # of S·B rows
    columns = {  # one index_select is several times faster than indexing by seed and row
        name: column.flatten(0, 1).index_select(0, index.flatten()).view(*index.shape, *column.shape[2:]).unbind()
        for name, column in batch.columns.items()
    }
    columns["valid"] = dealt.unbind()
    for picked in zip(*columns.values(), strict=True):
        yield Batch(**dict(zip(columns, picked, strict=True)))


def deal_lanes(batch: Batch, chosen: Tensor, keys: Tensor, count: int, **of_lanes: Tensor) -> Iterator[Batch]:
    """`deal` whole lanes, as rows [S, T·L, ...]: those chosen, with their keys and columns of_lanes, [S, N, ...]."""
    lanes = {name: x.unflatten(1, (-1, chosen.shape[1])).transpose(1, 2) for name, x in batch.columns.items()}
    for b in deal(Batch(**lanes | of_lanes, rows=lanes["valid"]), keys, chosen.sum(1), count):
        b.valid = b.rows & b.valid.unsqueeze(2)
        kept = {name: getattr(b, name) for name in of_lanes}
        yield Batch(**{name: getattr(b, name).transpose(1, 2).flatten(1, 2) for name in lanes}, **kept)


def drift(ratio: Tensor, valid: Tensor) -> dict[str, Tensor]:
    """KL(π_old ‖ π) ≈ mean((ρ − 1) − log ρ) in nats, never negative, and the largest ratio: [S] each, from [S, B].

    Schulman 2020, "Approximating KL Divergence".
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
        how = "lower --minibatches, or raise --lanes or --horizon"
        raise InputError(f"{count} minibatches are more than the {rows} rows of a batch (lanes × horizon): {how}")
    if epochs * count * rollouts > MOST_STEPS:
        steps = f"{epochs} {name} × {count} minibatches" + f" × {rollouts} rollouts" * (rollouts > 1)
        most = f"more than {MOST_STEPS:,} gradient steps in one update, which would take hours"
        raise InputError(f"{steps} are {most}; lower {switch(name)} or --minibatches")


def noted(facts: Any) -> dict[str, Tensor]:
    """Its diagnostics of a minibatch, [S] each; facts: see `Training.note_tricks`."""
    return drift(facts.ratio, facts.b.valid)

"""reuse: several epochs of minibatches per batch, with the importance ratio, unclipped."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from tricks.core.policies import Family
from tricks.core.rollout import Batch, Policy
from tricks.core.seeds import draw
from tricks.core.stats import mean


def importance_ratio(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """r = π(a|s)/π_old(a|s). log_prob, old_log_prob [S, B] -> [S, B]. Schulman et al. 2017, eq. 6."""
    return (log_prob - old_log_prob).exp()


@torch.no_grad()
def old_log_prob(policy: Policy, family: Family, batch: Batch) -> Tensor:
    """log π_old(a|s) of every row, before the first step: [S, B]."""
    return family.log_prob(policy(batch.obs, batch.legal), batch.action)


def minibatches(batch: Batch, seeds: Sequence[int], update: int, epochs: int, count: int) -> Iterator[Batch]:
    """Each epoch deals every seed's valid rows, newly shuffled, into `count` minibatches [S, B, ...].

    A seed's shuffle depends on nothing but the seed, the update and its own rows: each row gets a random key,
    and the keys are sorted with the invalid rows last. Minibatches differ in size by at most one row; seeds with
    fewer rows are filled up with rows of valid False.
    """
    valid = batch.valid
    rows = valid.sum(1, keepdim=True)  # [S, 1]
    width = -(-int(rows.max()) // count)
    slot = torch.arange(width, device=valid.device)  # [B]
    for epoch in range(epochs):
        keys = draw(seeds, "minibatch", update, epoch, by=lambda rng: rng.random(valid.shape[1])).to(valid.device)
        order = keys.masked_fill(~valid, torch.inf).argsort(1)
        for k in range(count):
            start, stop = rows * k // count, rows * (k + 1) // count  # [S, 1]
            place = (start + slot).minimum(stop - 1).clamp(min=0)  # the filling repeats a row that is real
            index = order.gather(1, place)  # [S, B]
            yield take(batch, index, valid=start + slot < stop)


def take(batch: Batch, index: Tensor, valid: Tensor) -> Batch:
    """The rows index [S, B] of every column."""
    seed = torch.arange(len(index), device=index.device).unsqueeze(1)
    columns = {name: column[seed, index] for name, column in vars(batch).items() if name != "valid"}
    return Batch(valid=valid, **columns)


def drift(ratio: Tensor, valid: Tensor) -> dict[str, Tensor]:
    """How far the policy has moved from the one that played: approximate KL in nats, and the largest ratio. [S].

    KL ≈ mean((r − 1) − log r), never negative. Schulman 2020, "Approximating KL Divergence".
    """
    ratio = ratio.detach()
    return {
        "approx_kl": mean(ratio - 1 - ratio.log(), valid),
        "max_ratio": ratio.masked_fill(~valid, 0).amax(1),
    }

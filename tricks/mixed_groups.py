"""mixed_groups: a group whose replies all earned the same is left out, since it says nothing about what is better."""

from torch import Tensor


def has_contrast(returns: Tensor, group: int) -> Tensor:
    """Whether the returns of a row's group differ. returns [S, T, N] -> [S, T, N] bool.

    Such a group's advantages are 0, but its rows would still count in every mean and make the step shorter. DAPO's
    dynamic sampling (Yu et al. 2025, arXiv:2503.14476, sec. 3.2) goes further: it samples other prompts in the place of
    these until the batch is full. Here they are dropped and not replaced, so that every update costs the same number of
    replies, and learns from fewer. A seed without any contrast takes no step. Under `kl_penalty` in the reward, the
    penalties are contrast, too. `state_norm` doesn't see the rows that were left out.
    """
    total: Tensor = returns[:, :1].unflatten(2, (-1, group))  # of whole replies, [S, 1, N/G, G]
    mixed = total.amax(3, keepdim=True) > total.amin(3, keepdim=True)
    return mixed.expand_as(total).flatten(2).expand_as(returns)

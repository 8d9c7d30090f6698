"""lr_anneal, clip_anneal: a number falls in a line from its start to 0 at the end of the budget."""

from torch import Tensor


def linear_decay(start: Tensor, progress: Tensor) -> Tensor:
    """x·(1 − progress). progress [S] is the share of the budget used before this update, so x never is 0. [S]."""
    return start * (1 - progress)


def following_decay(start: Tensor, progress: Tensor, follows: bool) -> Tensor:
    """`linear_decay` of a number that follows another's, else the number as it is. start, progress [S] -> [S].

    openai/baselines' ppo2 has one clip range for the ratio and for the value net; this lets the second follow.
    """
    return linear_decay(start, progress) if follows else start

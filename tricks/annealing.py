"""lr_anneal, clip_anneal: linear decay from the initial value to 0 at the end of the budget."""

from torch import Tensor


def linear_decay(start: Tensor, progress: Tensor) -> Tensor:
    """x·(1 − progress). progress [S]: share of the budget used before this update, so x never reaches 0. [S]."""
    return start * (1 - progress)


def following_decay(start: Tensor, progress: Tensor, follows: bool) -> Tensor:
    """`linear_decay` if `follows`, else `start` unchanged. start, progress [S] -> [S].

    openai/baselines' ppo2 uses one clip range for both ratio and value; here, the value range can follow the ratio's.
    """
    return linear_decay(start, progress) if follows else start

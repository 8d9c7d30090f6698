"""value_clip: the value net gains nothing by moving further than ε from its old prediction."""

import torch
from torch import Tensor

from tricks.baseline import squared_error


def clipped_error(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    """½·max((V − R)², (V_old + clip(V − V_old, ±ε) − R)²) of every row. value, old, target [S, B] -> [S, B].

    ε is in the units of V, so its effect depends on the scale of the returns. openai/baselines ppo2.
    """
    near = old + (value - old).clamp(-clip_range, clip_range)
    return torch.maximum(squared_error(value, target), squared_error(near, target))

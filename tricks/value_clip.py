"""value_clip: the value loss gives no credit for moving more than ε from the old prediction."""

import torch
from torch import Tensor

from tricks.baseline import squared_error


def clipped_error(value: Tensor, old: Tensor, target: Tensor, clip_range: float | Tensor) -> Tensor:
    """½·max((V − R)², (V_old + clip(V − V_old, ±ε) − R)²) for each row. value, old, target [S, B] -> [S, B].

    ε is one number, or one per seed [S, 1]. It is in the units of V, so its effect depends on the scale of the
    returns. openai/baselines ppo2.
    """
    limit = torch.as_tensor(clip_range, dtype=value.dtype, device=value.device)
    near = old + (value - old).clamp(-limit, limit)
    return torch.maximum(squared_error(value, target), squared_error(near, target))

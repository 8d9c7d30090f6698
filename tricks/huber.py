"""huber: far from its target, the value loss grows linearly, so that no single error dominates the gradient."""

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.seeds import per_seed


def linear_beyond(error: Tensor, delta: PerSeed) -> Tensor:
    """Huber's loss of a squared error: e = ½d² up to |d| = δ, then δ(|d| − ½δ). error [S, B] -> [S, B].

    It is the same for the larger of two squared errors, as under value_clip, since it grows with e. Huber 1964,
    10.1214/aoms/1177703732.
    """
    limit = torch.as_tensor(per_seed(delta, error), dtype=error.dtype, device=error.device)
    distance = (2 * error.clamp(min=0.5 * limit.square())).sqrt()  # |d| where it is at least δ, elsewhere δ
    return torch.where(distance > limit, limit * (distance - 0.5 * limit), error)

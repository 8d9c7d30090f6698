"""What an environment must not return. A seed whose environment does stops there, and the other seeds go on."""

import torch.nn.functional as F
from torch import Tensor

ENDLESS = "an episode has not ended after {} steps; --episode-limit raises that limit"


def observed(valid: Tensor) -> Tensor:
    """Which observations [S, T+1, N] a valid row [S, T, N] starts or ends with."""
    return F.pad(valid, (0, 0, 0, 1)) | F.pad(valid, (0, 0, 1, 0))


def find_faults(obs: Tensor, legal: Tensor, reward: Tensor, valid: Tensor, first: int) -> dict[int, tuple[str, str]]:
    """The fault of each seed that has one in its valid rows: index of the seed -> what is wrong, and where.

    obs [S, T+1, N, ...], legal [S, T, N, A], reward and valid [S, T, N], first: the number of the first row.
    """
    checks = {
        "the reward is not finite": valid & ~reward.isfinite(),
        "the action mask leaves no legal action": valid & ~legal.any(-1),
    }
    if obs.is_floating_point():  # uint8 is always finite
        numbers = obs.flatten(3)
        checks = {"the observation is not finite": observed(valid) & ~numbers.isfinite().all(-1)} | checks
    found: dict[int, tuple[str, str]] = {}
    for fault, bad in checks.items():
        for i, row in bad.any(-1).nonzero().tolist() if bad.any() else ():
            found.setdefault(i, (fault, f"step {first + row}"))
    return found


def without(faulty: list[int], *columns: Tensor) -> list[Tensor]:
    """Copies of bool columns [S, T, N] that are False for the faulty seeds."""
    copies = [column.clone() for column in columns]
    for copy in copies:
        copy[faulty] = False
    return copies

"""clip: PPO's surrogate, which gives no credit for moving the ratio beyond [1 − ε, 1 + ε]. It isn't a trust region."""

from typing import Any

import torch
from torch import Tensor

from tricks.core.reductions import mean

OF_POLICY = ("clip_fraction", "clip_range")  # see `runs/log`


def clipped_surrogate(ratio: Tensor, advantage: Tensor, clip_range: Tensor) -> Tensor:
    """min(ρ·A, clip(ρ, 1 − ε, 1 + ε)·A), to be maximized. ratio, advantage [S, B], clip_range ε [S] -> [S, B].

    Schulman et al. 2017, arXiv:1707.06347, eq. 7.
    """
    low, high = (1 - clip_range).unsqueeze(1), (1 + clip_range).unsqueeze(1)
    return torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage)


def clip_fraction(ratio: Tensor, clip_range: Tensor, valid: Tensor) -> Tensor:
    """Fraction of valid rows whose ratio is outside [1 − ε, 1 + ε]. [S]."""
    return mean(((ratio.detach() - 1).abs() > clip_range.unsqueeze(1)).float(), valid)


def noted(facts: Any) -> dict[str, Tensor]:
    """Its diagnostics of a minibatch, [S] each; facts: see `Training.note_tricks`."""
    clip_range = facts.t.clip_range
    return {"clip_fraction": clip_fraction(facts.ratio, clip_range, facts.b.valid), "clip_range": clip_range}

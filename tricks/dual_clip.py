"""dual_clip: the objective of a bad action is bounded from below, too, so that no finite ratio makes it explode."""

from typing import Any

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.reductions import mean
from tricks.core.seeds import per_seed

OF_POLICY = ("bounded_fraction",)  # see `runs/log`


def bounded_below(objective: Tensor, advantage: Tensor, limit: PerSeed) -> Tensor:
    """max(objective, c·A) where A < 0, to be maximized. objective, advantage [S, B], c > 1 -> [S, B].

    Ye et al. 2020, arXiv:1912.09729, eq. 5.
    """
    floor = per_seed(limit, advantage) * advantage
    return torch.where(advantage < 0, torch.maximum(objective, floor), objective)


def bounded_fraction(ratio: Tensor, advantage: Tensor, limit: PerSeed, valid: Tensor) -> Tensor:
    """Share of valid rows whose ratio exceeds c while A < 0: those without a gradient. ratio, advantage [S, B]. [S]."""
    bounded = (ratio.detach() > per_seed(limit, ratio)) & (advantage < 0)
    return mean(bounded.float(), valid)


def noted(facts: Any) -> dict[str, Tensor]:
    """Its diagnostics of a minibatch, [S] each; facts: see `Training.note_tricks`."""
    limit = facts.t.config.dual_clip_limit
    return {"bounded_fraction": bounded_fraction(facts.ratio, facts.advantage, limit, facts.b.valid)}

"""Exercises of the chapter on KL early stopping."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.reductions import mean
from tricks.core.seeds import per_seed


def forgetful_stop(ratio: Tensor, valid: Tensor, target_kl: float) -> Tensor:
    """Whether a seed may take its step: KL = mean(log π − log π_old) ≤ 1.5·target. ratio, valid [S, B] -> [S] bool."""
    kl = mean(ratio.detach().log(), valid)
    return kl <= 1.5 * per_seed(target_kl, kl)


def _terms(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """ρ − 1 − log ρ."""
    log_ratio = log_prob - old_log_prob
    return log_ratio.exp() - 1 - log_ratio


def _right(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return bool(_terms(log_prob, old_log_prob).mean() <= 1.5 * target_kl)


def _case(*ratios: float) -> dict[str, Tensor | float]:
    old = torch.full((len(ratios),), 0.2)
    return {"log_prob": (old * torch.tensor(ratios)).log(), "old_log_prob": old.log(), "target_kl": 0.01}


check_near_enough = Exercise(
    _right,
    cases=(
        _case(1.0, 1.0),
        _case(1.15, 0.85),  # 0.0114 nats: between the target and the limit
        _case(2.0, 0.4),  # mean(ρ − 1) is far above the limit, mean(log ρ) below 0
        _case(0.97, 0.97),  # mean(−log ρ) is above the limit, the KL estimate is not
        _case(1.25, 0.75),  # mean(ρ − 1) is 0
        _case(1.2, 1.0, 1.0, 1.0),  # the largest term is above the limit, their mean is not
        _case(1.12, 0.88, 1.12, 0.88),  # the sum is above the limit, no term is
        _case(1.42, 1.0, 1.0, 1.0),  # over the limit, but not with 1/ρ in place of ρ
    ),
    mistakes={
        "your answers are the wrong way around: True means that the seed may take its step.": (
            lambda new, old, target: not _right(new, old, target)
        ),
        "this is the mean of −log ρ, Spinning Up's estimate. It is right on average, but noisy, and can be negative. "
        "The library adds ρ − 1 to each term.": (lambda new, old, target: bool((old - new).mean() <= 1.5 * target)),
        "the sign is wrong: the mean of log ρ under the old policy is minus the KL divergence, so it hardly ever "
        "exceeds a limit.": (lambda new, old, target: bool((new - old).mean() <= 1.5 * target)),
        "the logarithm is missing: ρ − 1 is 0 on average, however far the policy has moved.": (
            lambda new, old, target: bool(((new - old).exp() - 1).mean() <= 1.5 * target)
        ),
        "the limit is 1.5 times the target.": lambda new, old, target: _right(new, old, target / 1.5),
        "this looks at the row that moved farthest. The brake looks at the mean over all rows.": (
            lambda new, old, target: bool(_terms(new, old).max() <= 1.5 * target)
        ),
        "this is the sum over the rows; the KL divergence is a mean.": (
            lambda new, old, target: bool(_terms(new, old).sum() <= 1.5 * target)
        ),
        "the ratio is upside down: log ρ is log π − log π_old.": lambda new, old, target: _right(old, new, target),
    },
    drawn=lambda d: {
        "log_prob": (old := d.tensor(6, low=-3.0, high=-0.5)) + d.tensor(6, low=-0.3, high=0.3),
        "old_log_prob": old,
        "target_kl": d.number(0.005, 0.02),
    },
)


def _steps(kl: Tensor, limit: float) -> int:
    over = (kl.flatten() > limit).nonzero()
    return int(over[0]) if len(over) else kl.numel()


def _once_per_epoch(kl: Tensor, target_kl: float) -> int:
    taken = 0
    for epoch in kl:
        taken += len(epoch)
        if epoch[-1] > 1.5 * target_kl:
            break
    return taken


check_steps = Exercise(
    lambda kl, target_kl: _steps(kl, 1.5 * target_kl),
    cases=(
        {"kl": torch.tensor([[0.0, 0.004, 0.009], [0.012, 0.020, 0.013], [0.014, 0.018, 0.022]]), "target_kl": 0.01},
        {"kl": torch.tensor([[0.0, 0.016, 0.010], [0.030, 0.030, 0.030]]), "target_kl": 0.01},
        {"kl": torch.tensor([[0.0, 0.020], [0.030, 0.040]]), "target_kl": 0.01},
        {"kl": torch.tensor([[0.0, 0.001], [0.002, 0.003]]), "target_kl": 0.01},
    ),
    mistakes={
        "the seed goes on when a later minibatch shows less. Once stopped, it stays stopped until the next batch.": (
            lambda kl, target_kl: int((kl <= 1.5 * target_kl).sum())
        ),
        "the step on the minibatch that exceeds the limit is not taken: measure first, then step.": (
            lambda kl, target_kl: min(_steps(kl, 1.5 * target_kl) + 1, kl.numel())
        ),
        "this leaves the loop over minibatches, but not the loop over epochs: the next epoch goes on. A `break` leaves "
        "only one loop.": (lambda kl, target_kl: sum(_steps(epoch, 1.5 * target_kl) for epoch in kl)),
        "this checks once per epoch, after its last minibatch, as CleanRL does. Here, every step is checked.": (
            _once_per_epoch
        ),
        "the limit is 1.5 times the target.": lambda kl, target_kl: _steps(kl, target_kl),
    },
    drawn=lambda d: {"kl": d.tensor(3, 4, low=0.0, high=0.018), "target_kl": d.number(0.008, 0.012)},
)

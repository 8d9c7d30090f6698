"""Exercises of the chapter on KL early stopping."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.per_seed import per_seed
from tricks.core.reductions import mean


def forgetful_stop(ratio: Tensor, valid: Tensor, target_kl: float) -> Tensor:
    """Whether a seed may take its step: KL = mean(log π − log π_old) ≤ 1.5·target. ratio, valid [S, B] -> [S] bool."""
    kl = mean(ratio.detach().log(), valid)
    return kl <= 1.5 * per_seed(target_kl, kl)


def _right(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    log_ratio = log_prob - old_log_prob
    return bool((log_ratio.exp() - 1 - log_ratio).mean() <= 1.5 * target_kl)


def _minus_log(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return bool((old_log_prob - log_prob).mean() <= 1.5 * target_kl)


def _plus_log(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return bool((log_prob - old_log_prob).mean() <= 1.5 * target_kl)


def _no_log(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return bool(((log_prob - old_log_prob).exp() - 1).mean() <= 1.5 * target_kl)


def _no_factor(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return _right(log_prob, old_log_prob, target_kl / 1.5)


def _reversed(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return not _right(log_prob, old_log_prob, target_kl)


def _largest(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    log_ratio = log_prob - old_log_prob
    return bool((log_ratio.exp() - 1 - log_ratio).max() <= 1.5 * target_kl)


def _upside_down(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    return _right(old_log_prob, log_prob, target_kl)


def _summed(log_prob: Tensor, old_log_prob: Tensor, target_kl: float) -> bool:
    log_ratio = log_prob - old_log_prob
    return bool((log_ratio.exp() - 1 - log_ratio).sum() <= 1.5 * target_kl)


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
        "your answers are the wrong way around: True means that the seed may take its step.": _reversed,
        "this is the mean of −log ρ, Spinning Up's estimate. It is right on average, but noisy, and can be negative. "
        "The library adds ρ − 1 to each term.": _minus_log,
        "the sign is wrong: the mean of log ρ under the old policy is minus the KL divergence, so it hardly ever "
        "exceeds a limit.": _plus_log,
        "the logarithm is missing: ρ − 1 is 0 on average, however far the policy has moved.": _no_log,
        "the limit is 1.5 times the target.": _no_factor,
        "this looks at the row that moved farthest. The brake looks at the mean over all rows.": _largest,
        "this is the sum over the rows; the KL divergence is a mean.": _summed,
        "the ratio is upside down: log ρ is log π − log π_old.": _upside_down,
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


def _right_steps(kl: Tensor, target_kl: float) -> int:
    return _steps(kl, 1.5 * target_kl)


def _target_is_limit(kl: Tensor, target_kl: float) -> int:
    return _steps(kl, target_kl)


def _resumes(kl: Tensor, target_kl: float) -> int:
    return int((kl <= 1.5 * target_kl).sum())


def _one_too_many(kl: Tensor, target_kl: float) -> int:
    return min(_steps(kl, 1.5 * target_kl) + 1, kl.numel())


def _inner_break(kl: Tensor, target_kl: float) -> int:
    return sum(_steps(epoch, 1.5 * target_kl) for epoch in kl)


def _once_per_epoch(kl: Tensor, target_kl: float) -> int:
    taken = 0
    for epoch in kl:
        taken += len(epoch)
        if epoch[-1] > 1.5 * target_kl:
            break
    return taken


check_steps = Exercise(
    _right_steps,
    cases=(
        {
            "kl": torch.tensor([[0.0, 0.004, 0.009], [0.012, 0.020, 0.013], [0.014, 0.018, 0.022]]),
            "target_kl": 0.01,
        },
        {"kl": torch.tensor([[0.0, 0.016, 0.010], [0.030, 0.030, 0.030]]), "target_kl": 0.01},
        {"kl": torch.tensor([[0.0, 0.020], [0.030, 0.040]]), "target_kl": 0.01},
        {"kl": torch.tensor([[0.0, 0.001], [0.002, 0.003]]), "target_kl": 0.01},
    ),
    mistakes={
        "the seed goes on when a later minibatch shows less. Once stopped, it stays stopped until the next batch.": (
            _resumes
        ),
        "the step on the minibatch that exceeds the limit is not taken: measure first, then step.": _one_too_many,
        "this leaves the loop over minibatches, but not the loop over epochs: the next epoch goes on. A `break` leaves "
        "only one loop.": _inner_break,
        "this checks once per epoch, after its last minibatch, as CleanRL does. Here, every step is checked.": (
            _once_per_epoch
        ),
        "the limit is 1.5 times the target.": _target_is_limit,
    },
    drawn=lambda d: {"kl": d.tensor(3, 4, low=0.0, high=0.018), "target_kl": d.number(0.008, 0.012)},
)

"""Exercises of the chapter on diagnostics: planted faults, and runs to diagnose."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import torch
from torch import Tensor

from chapters.book import planted
from chapters.book.exercise import Exercise
from tricks import Config, Tricks, train
from tricks.core.reductions import mean
from tricks.gae import gae


def unclipped(ratio: Tensor, advantage: Tensor, clip_range: Tensor) -> Tensor:
    """The surrogate with its brake line cut: ρ·A."""
    return ratio * advantage


def forgetful_ratio(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """The ratio to the policy of this very minibatch, instead of the one that played."""
    return (log_prob - log_prob.detach()).exp()


def entropy_malus(entropy: Tensor, valid: Tensor, coef: float) -> Tensor:
    """The bonus with the wrong sign, and twenty times too large."""
    return -20 * coef * mean(entropy, valid)


def crossed_error(value: Tensor, target: Tensor) -> Tensor:
    """The squared error of every prediction with every target: [S, B, 1] against [S, 1, B]."""
    return 0.5 * (value.unsqueeze(2) - target.unsqueeze(1)).square().mean(2)


def summed(x: Tensor, valid: Tensor) -> Tensor:
    """The sum over the valid rows, where a mean was meant."""
    return (x * valid).sum(1)


FAULTS: dict[str, dict[str, Callable]] = {
    "unclipped": {"clipped_surrogate": unclipped},
    "forgetful": {"importance_ratio": forgetful_ratio},
    "malus": {"entropy_bonus": entropy_malus},
    "crossed": {"squared_error": crossed_error, "clipped_error": lambda v, o, t, c: crossed_error(v, t)},
    "summed": {"mean": summed},
}


def patients(config: Config, tricks: Tricks) -> pd.DataFrame:
    """Medians over seeds and all but the first updates: a sound run and three with one fault each, one row per run."""
    rows = {"sound": _medians(config, tricks)}
    rows["X"] = _medians(replace(config, entropy_coef=1.0), tricks)
    with planted(gae=_immortal):
        rows["Y"] = _medians(config, tricks)
    rows["Z"] = _medians(replace(config, lr=0.03), tricks)
    return pd.DataFrame(rows).T


def _medians(config: Config, tricks: Tricks) -> pd.Series:
    curve = train(replace(config, seeds=3, steps=20_000), tricks).curve
    return curve[curve.step > 3000].drop(columns="seed").median()


def _immortal(reward, value, next_value, terminated, done, gamma, lam):  # type: ignore[no-untyped-def]
    never = torch.zeros_like(done)
    return gae(reward, value, next_value, never, never, gamma, lam)


def _kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    return _rows(log_prob - old_log_prob).mean()


def _rows(log_ratio: Tensor) -> Tensor:
    return log_ratio.exp() - 1 - log_ratio


check_kl = Exercise(
    _kl,
    cases=(
        {"log_prob": torch.tensor([0.2, 0.6, 0.1]).log(), "old_log_prob": torch.tensor([0.2, 0.4, 0.2]).log()},
        {"log_prob": torch.tensor([-0.5, -1.0]), "old_log_prob": torch.tensor([-0.5, -1.0])},
        {"log_prob": torch.tensor([-0.1, -0.2, -0.3, -3.0]), "old_log_prob": torch.tensor([-1.0, -2.0, -1.5, -2.0])},
    ),
    mistakes={
        "this is the mean of −log ρ. It has the right mean, but is negative for some batches. Which part has mean 0 "
        "and repairs that?": lambda new, old: (old - new).mean(),
        "the sign of log ρ is wrong: a ratio a little above 1 should give nearly 0.": (
            lambda new, old: ((new - old).exp() - 1 + new - old).mean()
        ),
        "ρ is upside down. The policy that played stands below.": lambda new, old: _kl(old, new),
        "a quotient of logarithms is not the logarithm of a quotient.": (
            lambda new, old: _rows((new / old).log()).mean()
        ),
        "this is the mean of ½·(log ρ)². That's close for small steps only.": (
            lambda new, old: 0.5 * (new - old).square().mean()
        ),
        "this is the sum over the rows, which grows with the batch.": lambda new, old: _rows(new - old).sum(),
    },
    drawn=lambda d: {"log_prob": d.tensor(6, low=-3.0, high=-0.1), "old_log_prob": d.tensor(6, low=-3.0, high=-0.1)},
)

check_diagnosis = Exercise(
    lambda patient: {"X": 2, "Y": 3, "Z": 1}[patient],
    cases=({"patient": "X"}, {"patient": "Y"}, {"patient": "Z"}),
    otherwise="each patient has one fault, and each fault one patient: use 1, 2, and 3 once each.",
    mistakes={
        "look at the entropy again: which fault leaves a policy undecided, and which makes it certain at once?": (
            lambda patient: {"X": 1, "Y": 3, "Z": 2}[patient]
        ),
        "look at explained_variance: which fault gives targets that no value net can predict?": (
            lambda patient: {"X": 3, "Y": 2, "Z": 1}[patient]
        ),
        "none of the three is right. Begin with the entropy: whose stays near log 2 = 0.69?": (
            lambda patient: {"X": 1, "Y": 2, "Z": 3}[patient]
        ),
        "none of the three is right. Begin with approx_kl: whose is several times that of the sound run?": (
            lambda patient: {"X": 3, "Y": 1, "Z": 2}[patient]
        ),
        "look at approx_kl and max_ratio: which fault makes a step large?": (
            lambda patient: {"X": 2, "Y": 1, "Z": 3}[patient]
        ),
    },
)

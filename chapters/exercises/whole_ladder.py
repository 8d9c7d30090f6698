"""Exercises of the chapter on the whole ladder."""

import numpy as np
from scipy import stats

from ablations import holm
from chapters.book.exercise import Exercise


def compared(without: np.ndarray, having: np.ndarray) -> bool:
    """Whether the trick helps significantly: each arm at its best learning rate. [rates, seeds] each."""
    baseline = without[0]  # the rate that everybody uses
    tuned = having[having.mean(axis=1).argmax()]
    return bool(stats.ttest_ind(tuned, baseline, alternative="greater").pvalue < 0.025)


def _may_fall(p: np.ndarray) -> np.ndarray:
    found = np.empty(len(p))
    found[p.argsort()] = np.minimum(np.sort(p) * np.arange(len(p), 0, -1), 1)
    return found


def _uncapped(p: np.ndarray) -> np.ndarray:
    found = np.empty(len(p))
    found[p.argsort()] = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))
    return found


check_holm = Exercise(
    holm,
    cases=({"p": np.array([0.01, 0.04, 0.03])}, {"p": np.array([0.5, 0.001, 0.6, 0.02])}, {"p": np.array([0.9, 0.8])}),
    mistakes={
        "this multiplies every p by their number: Bonferroni's correction, which is valid but detects less.": (
            lambda p: np.minimum(p * len(p), 1)
        ),
        "the smallest p is multiplied by m wherever it is in the list: sort first.": (
            lambda p: np.minimum(p * np.arange(len(p), 0, -1), 1)
        ),
        "a larger p may not end up smaller than the one before it: take the running maximum.": _may_fall,
        "the results are right but sorted; put each back where its p stood.": lambda p: np.sort(holm(p)),
        "a p-value is at most 1.": _uncapped,
    },
    drawn=lambda d: {"p": d.rng.uniform(0.0, 0.3, d.whole(3, 6))},
)

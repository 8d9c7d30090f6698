"""Intervals: how far a mean over a few values can be trusted."""

import numpy as np

FEWEST = 5  # seeds that an interval needs


def students_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95% interval x̄ ± t₀.₉₇₅,ₙ₋₁·s/√n of the mean over the first axis, which has n ≥ 2 values. Student 1908."""
    from scipy import special  # takes a while to import

    count, mean = len(values), values.mean(axis=0)
    reach = special.stdtrit(count - 1, 0.975) * values.std(axis=0, ddof=1) / count**0.5
    return mean - reach, mean + reach

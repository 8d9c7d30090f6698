"""Confidence intervals for a mean over a few values."""

import numpy as np

FEWEST = 5  # minimum number of seeds for an interval


def students_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95% interval x̄ ± t₀.₉₇₅,ₙ₋₁·s/√n for the mean over the first axis, of length n ≥ 2. Student 1908."""
    from scipy import special  # slow to import

    count, mean = len(values), values.mean(axis=0)
    reach = special.stdtrit(count - 1, 0.975) * values.std(axis=0, ddof=1) / count**0.5
    return mean - reach, mean + reach

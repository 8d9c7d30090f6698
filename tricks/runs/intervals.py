"""Confidence intervals for a mean over a few values."""

import numpy as np
import pandas as pd

FEWEST = 5  # minimum number of seeds for an interval


def students_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95% interval x̄ ± t₀.₉₇₅,ₙ₋₁·s/√n for the mean over the first axis, of length n ≥ 2. Student 1908."""
    from scipy import special  # slow to import

    count, mean = len(values), values.mean(axis=0)
    reach = special.stdtrit(count - 1, 0.975) * values.std(axis=0, ddof=1) / count**0.5
    return mean - reach, mean + reach


def over(values: pd.Series) -> str:
    """The mean of one value per seed, with its 95% interval if none is missing and there are at least FEWEST."""
    known = values.dropna()
    if len(known) < len(values):
        return f"{known.mean():.1f} (of {len(known)} of {len(values)} seeds: no interval)"
    if len(known) < FEWEST:
        return f"{known.mean():.1f} (no interval with fewer than {FEWEST} seeds)"
    low, high = students_interval(known.to_numpy())
    return f"{known.mean():.1f}, 95% interval [{low:.1f}, {high:.1f}] (Student's t over {len(known)} seeds)"

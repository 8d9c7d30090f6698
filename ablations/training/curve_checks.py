"""Impossible curves: what training never writes, however badly it goes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tricks.runs.learning_curve import COUNTS


def fault(curve: pd.DataFrame, seeds: Sequence[int], steps: int) -> str:
    """What is wrong with a job's curve, in a few words; empty if nothing is.

    Every seed has the updates 0, 1, 2, ... in order, its steps never decrease, and the last ones add up to `steps`. All
    columns are numbers, and returns are finite, or NaN where no episode ended. Diagnostics can be infinite.
    """
    if any(kind.kind not in "if" for kind in curve.dtypes):
        return "not all are numbers"
    counts = curve[list(COUNTS)]
    if any(kind.kind != "i" for kind in counts.dtypes):
        return "a count is not a whole number"
    if counts.to_numpy().min(initial=0) < 0:
        return "a count is negative"
    seed, update, step = (curve[name].to_numpy() for name in ("seed", "update", "step"))
    first = np.flatnonzero(np.diff(seed, prepend=-1))  # the first row of each seed
    if not np.array_equal(seed[first], sorted(seeds)):
        return "the seeds are not the job's, or not in order"
    length = np.diff(first, append=len(seed))
    if not np.array_equal(update, np.arange(len(seed)) - np.repeat(first, length)):
        return "updates are missing, twice there, or out of order"
    falls = np.diff(step, prepend=0) < 0
    falls[first] = False
    if falls.any() or int(step[first + length - 1].sum()) != steps:
        return "the steps are out of order, or not as many as the first line says"
    returns, lengths = curve["return"].to_numpy(), curve["length"].to_numpy()
    return "a return or a length is infinite" if np.isinf(returns).any() or np.isinf(lengths).any() else ""

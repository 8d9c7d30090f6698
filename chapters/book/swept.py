"""What the stored sweeps say about one number, such as the clip range."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ablations import RESULTS, draw_number, ranges, stored, varied
from tricks import InputError


def swept(*numbers: str) -> Figure:
    """Draw the best score at each value of these numbers, and print the range of values that are nearly as good.

    One panel per number and environment. Raises InputError for a number that no stored sweep varied.
    """
    found = [(name, runs) for name in numbers for runs in stored(RESULTS) if name in varied(runs)]
    if missing := set(numbers) - {name for name, _ in found}:
        raise InputError(f"no stored sweep of {', '.join(sorted(missing))}")
    figure, axes = plt.subplots(1, len(found), figsize=(max(4.2, 3.4 * len(found)), 2.8), squeeze=False)
    for axis, (name, runs) in zip(axes[0], found, strict=True):
        draw_number(axis, runs, varied(runs), name)
        axis.set_title(f"{runs.rung.iloc[0]}, {runs.env.iloc[0]}")
        print(ranges(runs, name))
    axes[0, 0].set_ylabel("area under the curve")
    return figure

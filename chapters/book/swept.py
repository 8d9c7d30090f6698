"""What the stored sweeps say about one number, such as the clip range."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ablations import RESULTS, draw_number, ranges, stored, varied
from tricks import InputError

USUAL = "ppo", "return_norm"  # rungs


def swept(*numbers: str, rungs: Sequence[str] = USUAL) -> Figure:
    """Draw the best score at each value of these numbers, and print the range of values that are nearly as good.

    One column per number, one row per environment. rungs: only sweeps of these are looked at. Raises InputError for a
    number that none of them varied.
    """
    sweeps = [runs for runs in stored(RESULTS) if runs.rung.iloc[0] in rungs]
    found = {name: [runs for runs in sweeps if name in varied(runs)] for name in numbers}
    if missing := [name for name in numbers if not found[name]]:
        raise InputError(f"no stored sweep of {', '.join(missing)}")
    rows = max(len(each) for each in found.values())
    size = max(4.2, 3.4 * len(numbers)), 0.2 + 2.6 * rows
    figure, axes = plt.subplots(rows, len(numbers), figsize=size, squeeze=False)
    for column, (name, each) in zip(axes.T, found.items(), strict=True):
        for axis, runs in zip(column, each, strict=True):
            draw_number(axis, runs, varied(runs), name)
            env = str(runs.env.iloc[0])
            axis.set_title(env if len(rungs) == 1 else f"{runs.rung.iloc[0]}, {env}")
            print(ranges(runs, name))
    for axis in axes[:, 0]:
        axis.set_ylabel("area under the curve")
    return figure

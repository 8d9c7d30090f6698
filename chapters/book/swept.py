"""What the stored sweeps say about one number, such as the clip range."""

from collections.abc import Sequence
from functools import cache, partial

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ablations import RESULTS, best_scores, draw_number, fixed, floor_score, ranges, share_lost, varied
from ablations.findings import stored_sweeps
from tricks import InputError

USUAL = "ppo", "ppo+return_norm", "return_norm"  # the rungs of the sweeps that are not about Phasic Policy Gradient


def swept(*numbers: str, rungs: Sequence[str] = USUAL) -> Figure:
    """Draw the best score at each value of these numbers, and print the range of values that are nearly as good.

    One row per number, one column per environment. rungs: only sweeps of these are looked at. Raises InputError for a
    number that none of them varied, and for one that two of them varied in the same environment.
    """
    found = {name: _sweeps(name, rungs) for name in numbers}
    places = list(dict.fromkeys(env for each in found.values() for env in each))
    size = max(4.2, 2.8 * len(places)), 0.2 + 2.5 * len(numbers)
    figure, axes = plt.subplots(len(numbers), len(places), figsize=size, squeeze=False)
    for row, (name, each) in zip(axes, found.items(), strict=True):
        for axis, env in zip(row, places, strict=True):
            if env not in each:
                axis.set_visible(False)
                continue
            runs = each[env]
            draw_number(axis, runs, name)
            axis.set_title(f"{env}\n{runs.rung.iloc[0]}{fixed(runs)}", size=9)
            print(ranges(runs, name))
        next(axis for axis in row if axis.get_visible()).set_ylabel("area under the curve")
    return figure


def best_at(number: str, rungs: Sequence[str] = USUAL) -> dict[str, pd.Series]:
    """What `swept` draws: by environment, the best mean area at each value of a number."""
    return {env: best_scores(runs, number) for env, runs in _sweeps(number, rungs).items()}


def lost_at(number: str) -> dict[str, pd.Series]:
    """By environment, how much of the way from a random policy's score to the best each value of a number loses.

    A value that loses at most 0.05 is nearly as good as the best.
    """
    return {
        env: share_lost(best_scores(runs, number), floor_score(runs)) for env, runs in _sweeps(number, USUAL).items()
    }


def _sweeps(number: str, rungs: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The stored sweeps that varied a number on one of these rungs, by environment."""
    found: dict[str, pd.DataFrame] = {}
    for runs in _stored():
        if number in varied(runs) and runs.rung.iloc[0] in rungs:
            env = str(runs.env.iloc[0])
            if env in found:
                raise InputError(f"{number} has two stored sweeps on {env}; name the rung of one of them")
            found[env] = runs
    if not found:
        raise InputError(f"no stored sweep of {number}")
    return found


_stored = cache(partial(stored_sweeps, RESULTS))

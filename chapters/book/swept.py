"""What the stored sweeps say about one number, such as the clip range."""

import textwrap
from functools import cache, partial

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from ablations import RESULTS, best_scores, draw_number, fixed, floor_score, ranges, share_lost, varied
from ablations.findings import stored_sweeps, subject_of
from tricks import InputError


def swept(*numbers: str, about: str = "") -> Figure:
    """Draw the best score at each value of these numbers, and say which range of values is nearly as good.

    One row per number, one column per environment. about: the last flag beyond the ladder that was on. Raises
    InputError for a number that no such sweep varied, and for one that two of them varied in the same environment.
    """
    found = {name: _sweeps(name, about) for name in numbers}
    places = list(dict.fromkeys(env for each in found.values() for env in each))
    said = list[str]()
    size = max(4.2, 2.8 * len(places)), 0.2 + 2.5 * len(numbers)
    figure, axes = plt.subplots(len(numbers), len(places), figsize=size, squeeze=False)
    for row, (name, each) in zip(axes, found.items(), strict=True):
        for axis, env in zip(row, places, strict=True):
            if env not in each:
                axis.set_visible(False)
                continue
            runs = each[env]
            draw_number(axis, runs, name)
            axis.set_title(f"{env}\n{textwrap.fill(f'{runs.rung.iloc[0]}{fixed(runs)}', 36)}", size=9)
            said.append(ranges(runs, name))
        next(axis for axis in row if axis.get_visible()).set_ylabel("area under the curve")
    if len(said) > 3:
        said = ["<details><summary>In words</summary>", *said, "</details>"]
    display(Markdown("\n\n".join(said)))
    return figure


def best_at(number: str, about: str = "") -> dict[str, pd.Series]:
    """What `swept` draws: by environment, the best mean area at each value of a number."""
    return {env: best_scores(runs, number) for env, runs in _sweeps(number, about).items()}


def lost_at(number: str) -> dict[str, pd.Series]:
    """By environment, how much of the way from a random policy's score to the best each value of a number loses.

    A value that loses at most 0.05 is nearly as good as the best.
    """
    return {env: share_lost(best_scores(runs, number), floor_score(runs)) for env, runs in _sweeps(number, "").items()}


def _sweeps(number: str, about: str) -> dict[str, pd.DataFrame]:
    """The stored sweeps that varied a number, by environment."""
    found: dict[str, pd.DataFrame] = {}
    for runs in _stored():
        if number in varied(runs) and subject_of(runs) == about:
            env = str(runs.env.iloc[0])
            if env in found:
                raise InputError(f"{number} has two stored sweeps on {env}; name what one of them is about")
            found[env] = runs
    if not found:
        raise InputError(f"no stored sweep of {number}")
    return found


_stored = cache(partial(stored_sweeps, RESULTS))

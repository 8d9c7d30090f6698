"""What is stored: the studies that the chapters read, and numbers that they compute for the moving figures."""

import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ablations import (
    RESULTS,
    SCALES,
    SUITES,
    Outcome,
    Study,
    area,
    effects,
    interval,
    load_all,
    outcomes,
    style,
    trial_table_of,
)
from chapters.book.figures import learning_curve, over_steps
from tricks import Tricks

FOLDER = Path(__file__).parents[1] / "numbers"
BUILDING = "BOOK_BUILDING"  # set while chapters are built, so that reading or testing one changes no file


@cache
def everything() -> tuple[Study, ...]:
    """All stored studies."""
    return tuple(load_all(RESULTS))


@cache
def studies() -> tuple[Study, ...]:
    """The studies of `ablations/results` on the ladder's tricks, in the order of the suite `classic`."""
    return _sorted(_with(["ladder", "leave-one-out", "add-one-in"]), "classic")


@cache
def beyond() -> tuple[Study, ...]:
    """The stored studies on tricks beyond the ladder, in the order of the suites `beyond` and `pixels`."""
    return _sorted(_with(SUITES["beyond"].designs), "beyond", "pixels")


@cache
def choice() -> tuple[Study, ...]:
    """The runs that chose the preset `ppo` among ten candidates, in the order of the suite `classic`."""
    return _sorted(load_all(RESULTS / "presets"), "classic")


@cache
def robots() -> tuple[Study, ...]:
    """The stored runs of the preset `continuous` with the budget of a published score, in the order of its suite."""
    return _sorted(_with(["continuous"]), "mujoco")


@cache
def around_robots() -> tuple[Study, ...]:
    """The stored studies that take the preset `continuous` apart, in the order of the suite `mujoco`."""
    return _sorted((study for study in everything() if study.subject == "continuous"), "mujoco")


def _with(designs: Iterable[str]) -> Iterable[Study]:
    return (study for study in everything() if {design.name for design in study.designs} >= {*designs})


def _sorted(kept: Iterable[Study], *suites: str) -> tuple[Study, ...]:
    order = [setting.config.env for suite in suites for setting in SUITES[suite].settings]
    return tuple(sorted(kept, key=lambda study: order.index(study.env)))


def stored_curves(tricks: Tricks) -> Figure:
    """An arm's stored learning curves in the first two environments, between a random policy and the ceiling."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.7))
    for axis, study in zip(axes, studies(), strict=False):
        learning_curve(axis, "mean", study.grid(tricks), style.INK)
        for name, level in (("random", SCALES[study.env].random), ("ceiling", SCALES[study.env].ceiling)):
            axis.plot([0, study.steps], [level, level], color=style.SOFT, lw=1, label=name)
        axis.set_title(study.env)
        over_steps(axis)
    axes[0].set_ylabel("episode return")
    return figure


def stored_area(study: Study, tricks: Tricks) -> str:
    """An arm's area under the curve with its 95% interval over seeds, in words."""
    areas = area(study.grid(tricks)).to_numpy()
    low, high = interval(areas)
    return f"{study.env}, {len(areas)} seeds: area {areas.mean():.0f}, 95% interval {low:.0f} to {high:.0f}"


@cache
def all_effects() -> pd.DataFrame:
    """Every stored effect of the ladder's tricks, one row per comparison; see `ablations.analysis.effects`."""
    return pd.concat([effects(study, design) for study in studies() for design in study.designs])


@cache
def verdicts_of_trials() -> pd.DataFrame:
    """The table of all stored trials; see `ablations.trial_table_of`."""
    return trial_table_of(everything())


@cache
def trials() -> tuple[Outcome, ...]:
    """What came of all trials that are stored."""
    return tuple(outcomes(everything()))


def store(name: str, numbers: Any) -> None:
    """Keep numbers, lists and dictionaries of them as numbers/<name>.json, with four significant digits."""
    if BUILDING in os.environ:
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(rounded(numbers), separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def rounded(numbers: Any) -> Any:
    """The same numbers with four significant digits."""
    if isinstance(numbers, dict):
        return {str(key): rounded(each) for key, each in numbers.items()}
    if isinstance(numbers, float):
        return float(f"{numbers:.4g}")
    return numbers if isinstance(numbers, int | str) else [rounded(each) for each in numbers]

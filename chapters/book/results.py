"""The stored studies that the chapters read, and an arm's stored curves and area."""

from functools import cache

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


@cache
def studies() -> tuple[Study, ...]:
    """The studies of `ablations/results` on the ladder's tricks, in the order of the suite `classic`."""
    return _stored("classic")


@cache
def everything() -> tuple[Study, ...]:
    """All stored studies."""
    return tuple(load_all(RESULTS))


def _stored(*suites: str) -> tuple[Study, ...]:
    order = [setting.config.env for suite in suites for setting in SUITES[suite].settings]
    asked = set(SUITES[suites[0]].designs)
    kept = [study for study in everything() if {design.name for design in study.designs} >= asked]
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
def beyond() -> tuple[Study, ...]:
    """The stored studies on tricks beyond the ladder, in the order of the suites `beyond` and `pixels`."""
    return _stored("beyond", "pixels")


@cache
def robots() -> tuple[Study, ...]:
    """The stored runs of the preset `continuous` with the budget of a published score, in the order of its suite."""
    order = [setting.config.env for setting in SUITES["mujoco"].settings]
    found = [study for study in everything() if any(design.name == "continuous" for design in study.designs)]
    return tuple(sorted(found, key=lambda study: order.index(study.env)))


@cache
def around_robots() -> tuple[Study, ...]:
    """The stored studies that take the preset `continuous` apart, in the order of the suite `mujoco`."""
    order = [setting.config.env for setting in SUITES["mujoco"].settings]
    return tuple(sorted((s for s in everything() if s.subject == "continuous"), key=lambda s: order.index(s.env)))


@cache
def verdicts_of_trials() -> pd.DataFrame:
    """The table of all stored trials, see `ablations.trial_table`."""
    return trial_table_of(everything())


@cache
def trials() -> tuple[Outcome, ...]:
    """What came of all trials that are stored."""
    return tuple(outcomes(everything()))

"""What each trick does: the scores of every run, and the differences between arms, paired by seed."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.stats import Estimate, holm, improvement, normalized, paired, reached, unpaired
from ablations.analysis.studies import SHARES, Study, grid
from ablations.design.story import Comparison, Design
from tricks.ladder import Tricks

LEVEL = 0.05


@cache
def scores(study: Study, tricks: Tricks) -> pd.DataFrame:
    """The scores of an arm's runs, one row per seed: area, late, score, reached.

    area and late are returns. score is the area on a scale from the random policy (0) to the ceiling (1), or the area
    itself if the environment has no scale. reached is the step at which the threshold was reached (NaN: never).
    """
    runs = study.of(tricks).set_index("seed").sort_index()
    found = pd.DataFrame({"area": runs[SHARES].mean(axis=1), "late": runs["late"]})
    scale, goal = SCALES.get(study.env), threshold(study.env)
    found["score"] = normalized(found["area"].to_numpy(), scale.random, scale.ceiling) if scale else found["area"]
    found["reached"] = np.nan if goal is None else reached(grid(study.of(tricks), study.steps), goal)
    return found


def _reservation(study: Study, pair: Comparison) -> str:
    """A caveat about the learning rates of two arms; empty if both were tuned for this setting."""
    said = {*study.of(pair.without).tuned, *study.of(pair.having).tuned} - {""}
    return ", ".join(sorted(said))


@cache
def effects(study: Study, design: Design) -> pd.DataFrame:
    """One row per comparison of a design: its Label, the difference in score, its 95% interval, whether it is detected.

    Detected (1 up, -1 down, 0 no) is corrected for the number of comparisons in the design by Holm's method.
    A seed that either arm lacks is left out of their comparison, and so is a comparison without any seeds. In an
    unpaired design, every seed of both arms counts.
    """
    rows: list[dict[str, Any]] = []
    for pair in design.comparisons:
        without, having = scores(study, pair.without), scores(study, pair.having)
        if design.paired:
            seeds = without.index.intersection(having.index)
            without, having = without.loc[seeds], having.loc[seeds]
        if without.empty or having.empty:
            continue
        found, later = (_difference(having[name], without[name], design.paired) for name in ("score", "late"))
        better = improvement(having.score.to_numpy(), without.score.to_numpy(), design.paired)
        rows.append(
            {"design": design.name, "env": study.env, "trick": pair.trick, "label": pair.label}
            | {"without": without.score.mean(), "with": having.score.mean(), "difference": found.mean}
            | {"low": found.low, "high": found.high, "p": found.p, "seeds": min(len(without), len(having))}
            | {"tuned": _reservation(study, pair)}
            | {"improvement": better.share, "improvement_low": better.low, "improvement_high": better.high}
            | {"late_difference": later.mean, "late_low": later.low, "late_high": later.high}
        )
    frame = pd.DataFrame(rows)
    if not frame.empty:
        frame["p_holm"] = holm(frame.p.to_numpy())
        frame["detected"] = np.where(frame.p_holm < LEVEL, np.sign(frame.difference), 0).astype(int)
    return frame


def _difference(having: pd.Series, without: pd.Series, together: bool) -> Estimate:
    """With minus without. together: whether equal seeds of the two arms form pairs."""
    if together:
        return paired((having - without).to_numpy())
    return unpaired(having.to_numpy(), without.to_numpy())

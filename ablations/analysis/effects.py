"""What each trick does: the scores of every run, and the differences between arms, paired by seed."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.stats import holm, improvement, normalized, paired, reached
from ablations.analysis.studies import SHARES, Study, grid
from ablations.design.designs import Comparison, Design
from tricks.ladder import Tricks

LEVEL = 0.05


@cache
def scores(study: Study, tricks: Tricks) -> pd.DataFrame:
    """An arm's runs in numbers, a row a seed: area, late, score, reached.

    area and late are returns; score is the area between the random policy (0) and the ceiling (1) where the
    environment has a scale, else the area itself; reached is the step at which the threshold was (NaN: never).
    """
    runs = study.of(tricks).set_index("seed").sort_index()
    found = pd.DataFrame({"area": runs[SHARES].mean(axis=1), "late": runs["late"]})
    scale, goal = SCALES.get(study.env), threshold(study.env)
    found["score"] = normalized(found["area"].to_numpy(), scale.random, scale.ceiling) if scale else found["area"]
    found["reached"] = np.nan if goal is None else reached(grid(study.of(tricks), study.steps), goal)
    return found


def _reservation(study: Study, pair: Comparison) -> str:
    """What is to be said about the learning rates of two arms; nothing if both were tuned for this."""
    said = {*study.of(pair.without).tuned, *study.of(pair.having).tuned} - {""}
    return ", ".join(sorted(said))


def effects(study: Study, design: Design) -> pd.DataFrame:
    """A row a comparison of the design: the difference in score with its 95% interval, and whether it is detected.

    Detected (1 up, -1 down, 0 no) is corrected for the number of the design's comparisons by Holm's method.
    Seeds that one of two arms lacks are left out of their comparison, and comparisons without any.
    """
    rows: list[dict[str, Any]] = []
    for pair in design.comparisons:
        without, having = scores(study, pair.without), scores(study, pair.having)
        seeds = without.index.intersection(having.index)
        if seeds.empty:
            continue
        without, having = without.loc[seeds], having.loc[seeds]
        found, better = (
            paired((having.score - without.score).to_numpy()),
            improvement(having.score.to_numpy(), without.score.to_numpy()),
        )
        later = paired((having.late - without.late).to_numpy())
        rows.append(
            {"design": design.name, "env": study.env, "trick": pair.trick, "label": pair.label}
            | {"without": without.score.mean(), "with": having.score.mean(), "difference": found.mean}
            | {"low": found.low, "high": found.high, "p": found.p, "seeds": len(seeds)}
            | {"tuned": _reservation(study, pair)}
            | {"improvement": better.share, "improvement_low": better.low, "improvement_high": better.high}
            | {"late_difference": later.mean, "late_low": later.low, "late_high": later.high}
        )
    frame = pd.DataFrame(rows)
    if not frame.empty:
        frame["p_holm"] = holm(frame.p.to_numpy())
        frame["detected"] = np.where(frame.p_holm < LEVEL, np.sign(frame.difference), 0).astype(int)
    return frame

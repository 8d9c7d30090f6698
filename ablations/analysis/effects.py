"""What each trick does: the scores of every run, and the differences between arms."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.choosing import choice_variance
from ablations.analysis.estimates import LEVEL, holm, second_try, unpaired
from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.stats import improvement, normalized, reached
from ablations.analysis.studies import SHARES, Study, grid
from ablations.design.arms import Comparison, Design
from ablations.design.flag_sets import flags
from tricks.ladder import Tricks

HELPS, HURTS, NOTHING, UNKNOWN = "helps", "hurts", "practically nothing", "unknown"  # verdicts
CANNOT = "cannot tell here"
NOT_LEARNED, AT_CEILING = f"{CANNOT}: no arm learned much", f"{CANNOT}: all arms are near the ceiling"
MARGIN = 0.05  # of normalized area: a trick that certainly does less does practically nothing
LEARNED = 3  # margins above a random policy: below, a difference of a margin is a third of all that was learned
HEADROOM = 2  # margins below the ceiling: an area has to lose something while learning, so few ever get nearer


def scores(study: Study, tricks: Tricks) -> pd.DataFrame:
    """The scores of an arm's runs, one row per seed: area, late, score, reached.

    area and late are returns. score is the area on a scale from the random policy (0) to the ceiling (1), or the area
    itself if the environment has no scale. reached is the step at which the threshold was reached (NaN: never).
    """
    every = _scores(study)
    return every.get(flags(tricks), next(iter(every.values())).iloc[:0])


@cache
def _scores(study: Study) -> dict[str, pd.DataFrame]:
    """The scores of all arms, by their flags: one pass takes a twentieth of the time of one per arm."""
    runs = study.runs.set_index("seed").sort_index(kind="stable")
    found = pd.DataFrame({"area": runs[SHARES].mean(axis=1), "late": runs["late"]})
    scale, goal = SCALES.get(study.env), threshold(study.env)
    found["score"] = normalized(found["area"].to_numpy(), scale.random, scale.ceiling) if scale else found["area"]
    found["reached"] = np.nan if goal is None else reached(grid(study.runs, study.steps), goal).to_numpy()
    return {str(arm): own for arm, own in found.groupby(runs["tricks"].to_numpy())}


def _reservation(study: Study, pair: Comparison) -> str:
    """A caveat about the learning rates of two arms; empty if both were tuned for this setting."""
    said = {*study.of(pair.without).tuned, *study.of(pair.having).tuned} - {""}
    return ", ".join(sorted(said))


@cache
def effects(study: Study, design: Design) -> pd.DataFrame:
    """One row per comparison of a design: its Label, the difference in score, its 95% interval, and a verdict.

    Intervals and tests are Welch's, and include the variance of choosing the arms' learning rates where it is known
    (see `choosing`). Detected (1 up, -1 down, 0 no) is corrected for the number of comparisons in the design by Holm's
    method. A comparison without any seeds is left out. If the study was tried again on other seeds, every effect that
    was detected has the difference seen there, and `confirmed` (1 or 0): whether that has p < 0.05 and the same sign.
    """
    rows = [(pair, row) for pair in design.comparisons if (row := _row(study, design, pair))]
    frame = pd.DataFrame([row for _, row in rows])
    if frame.empty:
        return frame
    frame["p_holm"] = holm(frame.p.to_numpy())
    frame["detected"] = np.where(frame.p_holm < LEVEL, np.sign(frame.difference), 0).astype(int)
    margin = MARGIN if study.env in SCALES else None
    frame["verdict"] = [verdict(row, margin) for row in frame.to_dict("records")]
    again = study.again
    confirmed = second_try(frame.detected, lambda k: _row(again, design, rows[k][0]) if again else None)
    return pd.concat([frame, confirmed], axis=1)


def verdict(row: Mapping[Any, Any], margin: float | None, span: tuple[float, float] = (0.0, 1.0)) -> str:
    """What can be said of a difference: the one place where that is decided.

    row: difference, low, high, p_holm, and the mean areas `without` and `with`. margin: a difference that is certainly
    smaller counts as practically nothing; None: none does. span: the areas of a random policy and of the best possible.
    """
    if np.isnan(row["low"]):
        return ""
    if row["p_holm"] < LEVEL:
        return HELPS if row["difference"] > 0 else HURTS
    if margin is None or not (-margin < row["low"] and row["high"] < margin):
        return UNKNOWN
    return out_of_room(row["without"], row["with"], margin, span) or NOTHING


def out_of_room(without: float, having: float, margin: float, span: tuple[float, float] = (0.0, 1.0)) -> str:
    """Why a small difference between two arms says nothing; empty if it does. See `verdict`.

    Where neither arm has learned much, there is hardly anything to lose, and near the ceiling hardly anything to gain:
    the difference is small there whatever the trick does.
    """
    if max(without, having) < span[0] + LEARNED * margin:
        return NOT_LEARNED
    return AT_CEILING if min(without, having) > span[1] - HEADROOM * margin else ""


def certainly_small(frame: pd.DataFrame) -> pd.Series:
    """Which rows have an interval within ±MARGIN, in an environment with a scale."""
    return frame.low.gt(-MARGIN) & frame.high.lt(MARGIN) & frame.env.isin(list(SCALES))


def has_room(frame: pd.DataFrame) -> pd.Series:
    """In which rows a small difference says something, see `out_of_room`."""
    pairs = zip(frame.without, frame["with"], strict=True)
    return pd.Series([not out_of_room(*pair, MARGIN) for pair in pairs], frame.index, dtype=bool)


def detected_arms(study: Study) -> frozenset[Tricks]:
    """Both arms of every comparison in which an effect is detected."""
    found: set[Tricks] = set()
    for design in study.designs:
        frame = effects(study, design)
        labels = set() if frame.empty else {*frame.label[frame.detected != 0]}
        found |= {arm for pair in design.comparisons if pair.label in labels for arm in (pair.without, pair.having)}
    return frozenset(found)


def _row(study: Study, design: Design, pair: Comparison) -> dict[str, Any] | None:
    """A comparison's row; None if an arm has no runs."""
    without, having = scores(study, pair.without), scores(study, pair.having)
    if without.empty or having.empty:
        return None
    choosing = sum(_choice(study, arm) for arm in (pair.without, pair.having))  # NaN if one is unknown
    found = unpaired(having.score.to_numpy(), without.score.to_numpy(), float(np.nan_to_num(choosing)))
    later = unpaired(having.late.to_numpy(), without.late.to_numpy())
    return (
        {"design": design.name, "env": study.env, "trick": pair.trick, "label": pair.label}
        | {"without": without.score.mean(skipna=False), "with": having.score.mean(skipna=False)}
        | {"difference": found.mean}
        | {"low": found.low, "high": found.high, "p": found.p, "seeds": min(len(without), len(having))}
        | {"tuned": _reservation(study, pair), "choosing": choosing**0.5}
        | {"improvement": improvement(having.score.to_numpy(), without.score.to_numpy())}
        | {"late_difference": later.mean, "late_low": later.low, "late_high": later.high}
    )


def _choice(study: Study, tricks: Tricks) -> float:
    """The variance of an arm's score over the choice of its learning rate; NaN if unknown."""
    first, scale = study.of(tricks).iloc[0], SCALES.get(study.env)
    unit = scale.ceiling - scale.random if scale else 1.0
    arm = (study.env, study.steps, str(first.numbers), str(first.tricks))
    return choice_variance(*arm, float(first.lr)) / unit**2

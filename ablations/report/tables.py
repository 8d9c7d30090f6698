"""The tables of the report, as frames and in Markdown."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.effects import NOTHING, scores
from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.stats import (
    FEWEST,
    interval,
    iqm,
    median_reached,
    restricted_mean,
    share_reached,
    stratified_interval,
)
from ablations.analysis.studies import Study
from ablations.design.arms import Design
from ablations.report.markup import plain
from ablations.training.rates import at_edge


@cache
def arms_table(study: Study, design: Design) -> pd.DataFrame:
    """One row per arm: learning rate; area, its interquartile mean, last 10%, each with its 95% interval; solved.

    `steps_to_solve` is the median over seeds, NaN if fewer than half got there. `steps_within_budget` is the mean, in
    which seeds that never got there count as the whole budget. Both are NaN if there is no threshold.
    """
    goal, rows = threshold(study.env), []
    for arm in design.arms:
        runs = study.of(arm.tricks)
        if runs.empty:
            continue
        found, row = scores(study, arm.tricks), {"arm": arm.name, "lr": runs.lr.iloc[0], "tuned": runs.tuned.iloc[0]}
        for name, values, statistic in (
            ("area", found.area.to_numpy(), np.mean),
            ("iqm", found.area.to_numpy(), iqm),
            ("last_10%", found.late.to_numpy(), np.mean),
        ):
            low, high = interval(values, statistic)
            row |= {name: statistic(values, axis=0), f"{name}_low": float(low), f"{name}_high": float(high)}
        first = runs.iloc[0]
        row |= {"edge": at_edge(first.env, first.steps, first.numbers, first.tricks, first.lr)}
        row |= {"score": found.score.mean(skipna=False) if study.env in SCALES else np.nan}
        row |= {"steps_to_solve": np.nan if goal is None else median_reached(found.reached)}
        row |= {"steps_within_budget": np.nan if goal is None else restricted_mean(found.reached, study.steps)}
        row |= {"solved": np.nan if goal is None else share_reached(found.reached, np.array([study.steps]))[0]}
        row |= failures(found["late"].to_numpy(), study.env)
        rows.append(row | {"diverged": int(runs.diverged.notna().sum()), "seeds": len(runs)})
    return pd.DataFrame(rows)


def failures(late: np.ndarray, env: str) -> dict[str, float]:
    """The share of seeds that end below the threshold, with Wilson's 95% interval, if half of them are at the ceiling.

    There, a bootstrap of the mean says nothing: thirty seeds at the ceiling still allow for one seed in ten that fails.
    """
    from scipy.stats import binomtest

    goal, scale = threshold(env), SCALES.get(env)
    if goal is None or scale is None or len(late) < FEWEST or not np.median(late) >= scale.ceiling:
        return dict.fromkeys(("failing", "failing_low", "failing_high"), np.nan)
    failing = int((late < goal).sum())
    span = binomtest(failing, len(late)).proportion_ci(0.95, "wilson")
    return {"failing": failing / len(late), "failing_low": span.low, "failing_high": span.high}


def arms_text(frame: pd.DataFrame, study: Study) -> str:
    """The table as Markdown, which also reads well in a terminal."""
    goal = threshold(study.env)
    solved = [f"solved (≥ {goal:g})", "steps to solve"] if goal is not None else []
    lines = [("arm", "learning rate", "area under the curve", "interquartile mean", "last 10%", *solved)]
    for row in frame.to_dict("records"):
        cells = [
            row["arm"] + (f" ({row['diverged']} diverged)" if row["diverged"] else ""),
            f"{row['lr']:g}" + _about_rate(row["tuned"], row["edge"]),
            *(spanned(row, name, "{:.1f}") for name in ("area", "iqm")),
            _late(row),
        ]
        if goal is not None:
            steps = row["steps_to_solve"]
            cells += [f"{row['solved']:.0%}", f"{steps:,.0f}" if np.isfinite(steps) else f"> {study.steps:,}"]
        lines.append(tuple(cells))
    return markdown(lines)


def _late(row: dict[Any, Any]) -> str:
    """The last 10% with its interval; at a ceiling, how many seeds are not there instead of an interval."""
    if np.isnan(row["failing"]):
        return spanned(row, "last_10%", "{:.1f}")
    return f"{row['last_10%']:.1f}, failing {spanned(row, 'failing', '{:.0%}')}"


def _about_rate(tuned: str, edge: bool) -> str:
    """A caveat about a learning rate."""
    said = tuned or ("the grid's edge" if edge else "")
    return f" ({plain(said)})" if said else ""


def spanned(row: dict[Any, Any], name: str, number: str, ends: str | None = None) -> str:
    """A number with its interval, if it has one. ends: what precedes `low` and `high` (default: `<name>_`)."""
    if not np.isfinite(row[name]):
        return "no episode ended in some seed"
    before = f"{name}_" if ends is None else ends
    low, high = row[f"{before}low"], row[f"{before}high"]
    span = f" [{number}, {number}]".format(low, high) if np.isfinite(low) else ""
    return number.format(row[name]) + span


def effects_text(frames: Sequence[pd.DataFrame]) -> str:
    """Effects in one environment: one row per trick, one column per design.

    `*` marks what is detected, with what was seen when it was tried again; `≈` what is practically nothing.
    """
    both = pd.concat(frames)
    designs = list(dict.fromkeys(both.design))
    lines = [("trick", *(f"{design}: difference, P(better)" for design in designs))]
    for trick in dict.fromkeys(both.trick):
        cells = []
        for design in designs:
            found = both[(both.trick == trick) & (both.design == design)].to_dict("records")
            cells.append(_effect(found[0]) if found else "")
        lines.append((trick, *cells))
    return markdown(lines)


def _effect(row: dict[Any, Any]) -> str:
    span = f" [{row['low']:+.3f}, {row['high']:+.3f}]" if np.isfinite(row["low"]) else ""
    mark = " **\\***" if row["detected"] else " ≈" if row["verdict"] == NOTHING else ""
    again = ""
    if np.isfinite(row["again"]):
        failed = "" if row["confirmed"] else ": not confirmed"
        again = f"; again {row['again']:+.3f} [{row['again_low']:+.3f}, {row['again_high']:+.3f}]{failed}"
    return f"{row['difference']:+.3f}{span}, {row['improvement']:.0%}{mark}{again}"


def main_text(frame: pd.DataFrame) -> str:
    """Main effects of crossed tricks, `*` if detected, with their Shapley values if there are any."""
    shapley = frame.shapley.notna().any()
    lines = [("trick", "effect", *(["Shapley value"] if shapley else []))]
    for row in frame.to_dict("records"):
        cells = [spanned(row, "effect", "{:+.3f}", ""), *([spanned(row, "shapley", "{:+.3f}")] if shapley else [])]
        lines.append((row["trick"], cells[0] + (" **\\***" if row["detected"] else ""), *cells[1:]))
    return markdown(lines)


def distinct(studies: Sequence[Study]) -> list[Study]:
    """For each environment, the study with the most runs, so that no environment counts twice."""
    best = {s.env: s for s in sorted(studies, key=lambda study: len(study.runs)) if s.designs}
    return [study for study in studies if best.get(study.env) is study]


def together(studies: Sequence[Study], name: str) -> pd.DataFrame:
    """One design over all environments with a scale: one row per arm, normalized scores, equal weights.

    Arms that are not in every environment are left out. Empty with fewer than two environments. studies: at most one
    per environment, as `distinct` picks them.
    """
    pairs = [(s, d) for s in studies if s.env in SCALES for d in s.designs if d.name == name]
    if len(pairs) < 2:
        return pd.DataFrame()
    arms = [{arm.name: scores(s, arm.tricks).score.to_numpy() for arm in d.arms} for s, d in pairs]
    rows = []
    for arm in arms[0]:
        groups = [of[arm] for of in arms if len(of.get(arm, ()))]
        if len(groups) == len(pairs):
            row: dict[str, Any] = {"arm": arm, "environments": len(pairs)}
            for statistic, function in (("iqm", iqm), ("mean", np.mean)):
                found = stratified_interval(groups, function)
                row |= {statistic: found.value, f"{statistic}_low": found.low, f"{statistic}_high": found.high}
            rows.append(row)
    return pd.DataFrame(rows)


def together_text(frame: pd.DataFrame) -> str:
    """The table of `together` as Markdown."""
    lines = [("arm", "interquartile mean", "mean")]
    for row in frame.to_dict("records"):
        lines.append((row["arm"], spanned(row, "iqm", "{:.3f}"), spanned(row, "mean", "{:.3f}")))
    return markdown(lines)


def markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table with aligned columns. lines: the head, then the rows, as tuples of cells."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)

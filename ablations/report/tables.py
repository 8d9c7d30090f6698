"""The tables of reports and answers: tidy frames, and how they read in Markdown."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.by_rate import ONE_RATE
from ablations.analysis.effects import HELPS, HURTS, NOTHING, interactions, main_effects, scores
from ablations.analysis.records import Study
from ablations.analysis.scales import Scale, threshold
from ablations.analysis.stats import FEWEST, interval, iqm, median_reached
from ablations.question.arms import Design
from ablations.report.markup import code, joined, plain
from ablations.training.rates import at_edge

Row = dict[Any, Any]
Columns = Mapping[str, Callable[[Row], str]]  # a head -> what a row says below it
EFFECTS = ["effect", "interaction", "low", "high"]
DIGITS = "{:#.4g}"  # four of them, zeros too, so that rows align
SHOWN = 5  # diagnostics per environment


def markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table with aligned columns. lines: the head, then the rows, as tuples of cells."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)


def in_columns(frame: pd.DataFrame, columns: Columns) -> str:
    rows = frame.to_dict("records")
    return markdown([tuple(columns), *(tuple(said(row) for said in columns.values()) for row in rows)])


def number(value: float, how: str = "{:.4g}") -> str:
    """A number; a dash for NaN."""
    return how.format(value).rstrip(".") if np.isfinite(value) else "–"


def spanned(row: Row, name: str, how: str = "{:.4g}", ends: str | None = None) -> str:
    """A number with its interval, if it has one. ends: what precedes `low` and `high` (default: `<name>_`)."""
    before = f"{name}_" if ends is None else ends
    low, high = row.get(f"{before}low", np.nan), row.get(f"{before}high", np.nan)
    return number(row[name], how) + (f" [{number(low, how)}, {number(high, how)}]" if np.isfinite(low) else "")


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: plain(row[name]) or "–"


def _number(name: str, how: str = "{:.4g}", ends: str | None = None) -> Callable[[Row], str]:
    return lambda row: spanned(row, name, how, ends)


DIFFERENCE: Columns = {
    "difference": _number("difference", "{:+.4g}", ""),
    "p": _number("p_holm", "{:.2g}"),
    "verdict": _text("verdict"),
}
LEDGER: Columns = {  # of the rows of `ledger`
    "environment": _text("env"),
    "arm": _text("arm"),
    "against": _text("against"),
    "difference": _number("difference", "{:+.3g}"),
    "seeds": _number("seeds", "{}"),
    "p": _number("p", "{:.2g}"),
    "p over all": _number("p_all", "{:.2g}"),
    "verdict by itself": _text("verdict"),
    "stands": lambda row: ("yes" if row["stands"] else "no") if row["verdict"] in (HELPS, HURTS) else "–",
}
GENERAL: Columns = {  # of those of `in_general`
    "in general": lambda row: f"{plain(row['label'])}, {row['places']} environments",
    "rates": lambda row: row["rates"] + f" ({row['one']})" * (row["rates"] == ONE_RATE),
    "normalized difference": _number("mean", "{:+.4g}", ""),
    "p": _number("p_holm", "{:.2g}"),
    "spread of environments": _number("spread", "{:.2g}"),
}
PLANE: Columns = {  # of those of `sensitivity`
    "arm": _text("arm"),
    "peak": _number("peak"),
    "one rate": _number("one"),
    "sensitivity": _number("sensitivity"),
    "that rate": _number("rate", "{:g}"),
}


@cache
def arms_table(study: Study, design: Design) -> pd.DataFrame:
    """One row per arm: learning rate; area, its IQM, late, each with its 95% interval; solved, and median steps."""
    goal, rows = threshold(study.known), []
    for arm in (arm for arm in design.arms if len(study.of(arm))):
        runs, found = study.of(arm), scores(study, arm)
        first, area, late = runs.iloc[0], found.area.to_numpy(), found.late.to_numpy()
        row: Row = {"env": study.env, "steps": study.steps, "arm": arm.name, "lr": first.lr, "tuned": first.tuned}
        for name, values, statistic in (("area", area, np.mean), ("iqm", area, iqm), ("late", late, np.mean)):
            low, high = interval(values, statistic)
            row |= {name: statistic(values, axis=0), f"{name}_low": float(low), f"{name}_high": float(high)}
        tried = study.tuning(arm) if study.about.get("tuning") else ()  # rates of one's own question
        at_end = not first.arm and at_edge(first.env, first.steps, first.numbers, first.tricks, first.lr)
        row |= {"edge": len(tried) > 1 and first.lr in (min(tried), max(tried)) if tried else at_end}
        row |= {"score": found.score.mean(skipna=False) if study.scale else np.nan}
        row |= {"steps_to_solve": np.nan if goal is None else median_reached(found.reached)}
        row |= {"solved": np.nan if goal is None else found.reached.notna().mean()} | failures(late, study.scale)
        rows.append(row | {"diverged": int(runs.diverged.notna().sum()), "seeds": len(runs)})
    return pd.DataFrame(rows)


def failures(late: np.ndarray, scale: Scale | None) -> dict[str, float]:
    """The share of seeds that end below the threshold, with Wilson's 95% interval, if half of them are at the ceiling.

    There, a bootstrap of the mean says nothing: thirty seeds at the ceiling still allow for one seed in ten that fails.
    """
    from scipy.stats import binomtest

    if scale is None or scale.threshold is None or len(late) < FEWEST or not np.median(late) >= scale.ceiling:
        return dict.fromkeys(("failing", "failing_low", "failing_high"), np.nan)
    failing = int((late < scale.threshold).sum())
    span = binomtest(failing, len(late)).proportion_ci(0.95, "wilson")
    return {"failing": failing / len(late), "failing_low": span.low, "failing_high": span.high}


def arms_text(table: pd.DataFrame) -> str:
    """The rows of `arms_table` or `Answer.table` as Markdown; columns that would say nothing are left out."""

    def rate(row: Row) -> str:
        caveat = row["tuned"] or "the grid's edge" * row["edge"]
        return number(row["lr"], "{:g}") + (f" ({plain(caveat)})" if caveat else "")

    def late(row: Row) -> str:  # at a ceiling, how many seeds are not there, instead of an interval
        if np.isnan(row.get("failing", np.nan)):
            return spanned(row, "late", DIGITS)
        return f"{number(row['late'], DIGITS)}, failing {spanned(row, 'failing', '{:.0%}')}"

    def until(row: Row) -> str:
        return number(row["steps_to_solve"], "{:,.0f}").replace("–", f"> {row['steps']:,}")

    against = table.get("against", pd.Series(dtype=str))
    goal = threshold(table.env.iloc[0]) if "solved" in table.dropna(axis=1, how="all") else None
    columns: dict[str, Callable[[Row], str] | None] = {
        "environment": _text("env") if table.env.nunique() > 1 else None,
        "arm": lambda row: plain(row["arm"]) + f" ({row['diverged']} diverged)" * bool(row["diverged"]),
        "seeds": _number("seeds", "{}") if table.seeds.nunique() > 1 or table.seeds.min() < FEWEST else None,
        "learning rate": rate if table.lr.notna().any() else None,
        "against": _text("against") if against[against != ""].nunique() > 1 else None,
        "area under the curve": _number("area", DIGITS),
        "interquartile mean": _number("iqm", DIGITS),
        "last 10%": late,
        **({} if goal is None else {f"solved (≥ {goal:g})": _number("solved", "{:.0%}"), "steps to solve": until}),
        **(DIFFERENCE if "difference" in table else {}),
    }
    return in_columns(table, {head: said for head, said in columns.items() if said})


def effects_text(frames: Sequence[pd.DataFrame]) -> str:
    """A row per trick or comparison, a column per design. `*`: detected, and a second try; `≈`: practically nothing."""

    def said(row: Row) -> str:
        mark = " **\\***" if row["detected"] else " ≈" if row["verdict"] == NOTHING else ""
        again = f"; again {spanned(row, 'again', '{:+.3f}')}" if np.isfinite(row["again"]) else ""
        failed = ": not confirmed" * (row["confirmed"] == 0)
        return f"{spanned(row, 'difference', '{:+.3f}', '')}, {row['better']:.0%}{mark}{again}{failed}"

    both = pd.concat(frames)
    heads, twice = both.design + ": difference, P(better)", both.duplicated(["trick", "design"])
    both = both.assign(trick=both.trick.where(~twice, both.label.map(str)), over=heads)
    cells = both.assign(said=[*map(said, both.to_dict("records"))]).groupby(["trick", "over"]).said.last()
    grid = cells.unstack(fill_value="").reindex(both.trick.unique())[[*heads.unique()]]
    return markdown([("trick", *grid), *((plain(trick), *row) for trick, *row in grid.itertuples())])


def crossed_text(study: Study, design: Design) -> str:
    """Main effects of crossed tricks, in units of return, and those interactions that the arms can tell; else empty."""
    if not design.crossed:
        return ""
    main, pairs = main_effects(study, design), interactions(study, design).dropna(subset="interaction")
    main, pairs = (each.assign(**each[each.columns.intersection(EFFECTS)] * study.unit) for each in (main, pairs))
    effect: Columns = {
        "trick": _text("trick"),
        "main effect": _number("effect", "{:+.4g}", ""),
        "p": _number("p_holm", "{:.2g}"),
    }
    interaction: Columns = {
        "tricks": lambda row: f"{plain(row['a'])}, {plain(row['b'])}",
        "interaction (one's effect with the other on, minus off)": _number("interaction", "{:+.4g}", ""),
        "p, uncorrected": _number("p", "{:.2g}"),
    }
    return joined([in_columns(main, effect), in_columns(pairs, interaction) if len(pairs) else ""])


def distinct(studies: Sequence[Study]) -> list[Study]:
    """For each environment, the study with the most runs, so that no environment counts twice."""
    best = {s.env: s for s in sorted(studies, key=lambda study: len(study.runs)) if s.designs}
    return [study for study in studies if best.get(study.env) is study]


def moved_text(frame: pd.DataFrame, arms: Sequence[str]) -> str:
    """The clearest rows of `Answer.moved` in each environment as Markdown. arms: the names of the two."""
    sides = {plain(arm): _number(name, "{:.3g}") for arm, name in zip(arms, ("without", "with"), strict=True)}
    named: Columns = {"environment": _text("env"), "diagnostic": lambda row: code(row["diagnostic"])}
    return in_columns(frame.groupby("env").head(SHOWN), {**named, **sides, "p": _number("p_holm", "{:.1g}")})

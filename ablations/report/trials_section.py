"""The report's section on the worlds: a table of all trials, its caption, and the figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.outcomes import AS_PREDICTED, UNDETECTED, outcome, tallied, trial_table
from ablations.analysis.studies import Study
from ablations.design.labels import place
from ablations.design.registry import TRIALS
from ablations.report.markup import plain
from ablations.report.tables import markdown
from tricks.errors import InputError
from tricks.runs.files import write_whole

SCORES = {"area": "area under the curve", "late": "last 10%"}
SEEN = {1: "up", -1: "down", 0: "no detectable effect"}


def write_trials(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """Write the table of the study's trials, its CSV and the figure into the folder. Returns the text and the paths."""
    from ablations.figures.doses import doses_figure
    from ablations.figures.trial_curves import worlds_figure

    outcomes = [found for trial in TRIALS if (found := outcome(trial, study.runs))]
    second = [found for trial in TRIALS if study.again and (found := outcome(trial, study.again.runs))]
    if not outcomes:
        raise InputError(f"{study.name} has no runs of any trial")
    frame, path = trial_table(outcomes, second), folder / study.name
    text = f"{trials_text(frame)}\n\n{caption(frame)}"
    table, page = (path.with_name(f"{path.name}.{kind}") for kind in ("csv", "md"))  # with_suffix would cut Loan0.1
    write_whole(table, frame.to_csv(index=False, float_format="%.6g"))
    write_whole(page, text + "\n")
    words = [in_words(row) for row in frame.to_dict("records")]
    figures = worlds_figure(outcomes, words, rates_in_words(frame), path)
    figures += doses_figure(outcomes, path.with_name(f"{path.name}_doses"))
    return text, [table, page, *figures]


def trials_text(frame: pd.DataFrame) -> str:
    """The table as Markdown."""
    arms = ("without (rate)", "with (rate)", "difference")
    lines = [("trick", "world", "score", *arms, "predicted", "seen", "again", "by dose")]
    for row in frame.to_dict("records"):
        span = f" [{row['low']:+.4g}, {row['high']:+.4g}]" if np.isfinite(row["low"]) else ""
        lines.append(
            (
                row["trick"],
                place(row["world"], row["numbers"], row["rate"]),
                SCORES[row["score"]],
                *(arm(row, name) for name in ("without", "with")),
                f"{row['difference']:+.4g}{span}" + (f", {row['diverged']} diverged" if row["diverged"] else ""),
                predicted(row),
                seen(row) if span else "",
                again(row),
                by_dose(row),
            )
        )
    return markdown(lines)


def by_trick(frame: pd.DataFrame) -> str:
    """One row per trick, as Markdown: the trial that shows it most clearly, and how many came out as predicted.

    One that came out as predicted, if any did; among those, one in doses; among those, the one with the smallest p. A
    trial that predicts no effect is only counted.
    """
    lines = [("trick", "world", "dose", "predicted", "seen", "difference", "again", "trials as predicted")]
    for trick, rows in frame.groupby("trick", sort=False):
        right, effects = rows[rows.outcome == AS_PREDICTED], rows[rows.predicted != 0]
        shown = right[right.predicted != 0]
        some = next(part for part in (shown, effects, rows) if len(part))
        row = some.assign(single=some.dose.eq("")).sort_values(["single", "p"]).iloc[0].to_dict()
        span = f"{row['difference']:+.3g} [{row['low']:+.3g}, {row['high']:+.3g}]"
        counted = f"{len(right)} of {len(rows)}"
        where = place(row["world"], row["numbers"], row["rate"])
        lines.append((f"`{trick}`", where, row["dose"], predicted(row), seen(row), span, again(row), counted))
    return markdown(lines)


def arm(row: dict[Any, Any], name: str) -> str:
    """An arm's mean score, its learning rate, and whether that lies at the edge of those that were tried."""
    return f"{row[name]:.4g} ({row[f'lr_{name}']:g}{', edge' * row[f'edge_{name}']})"


def predicted(row: dict[Any, Any]) -> str:
    """What the trial predicts, in words; no effect comes with its margin, as a share of the best possible score."""
    return SEEN[row["predicted"]] if row["predicted"] else f"nothing (±{row['margin']:g})"


def seen(row: dict[Any, Any]) -> str:
    """What was seen, in words; where no effect is predicted and the interval lies within the margin, just that."""
    return predicted(row) if row["predicted"] == 0 and row["outcome"] == AS_PREDICTED else SEEN[row["seen"]]


def again(row: dict[Any, Any]) -> str:
    """What other seeds showed of an effect that was seen; empty if it was not tried again."""
    if np.isnan(row["again"]):
        return ""
    said = f"{row['again']:+.4g} [{row['again_low']:+.4g}, {row['again_high']:+.4g}]"
    return said if row["confirmed"] else f"{said}: not confirmed"


def by_dose(row: dict[Any, Any]) -> str:
    """The effect at every dose, as a share of the best possible score, and its growth; empty without doses."""
    if not row["dose"]:
        return ""
    effects = ", ".join(pair.replace(":", ": ") for pair in row["doses"].split())
    grown = f"; {row['growth']:+.3f} [{row['growth_low']:+.3f}, {row['growth_high']:+.3f}] a level"
    return f"{row['dose']} {effects}" + (grown if np.isfinite(row["growth_low"]) else "")


def in_words(row: dict[Any, Any]) -> str:
    """The text above a panel: the world, a given rate, what was predicted, and, given enough seeds, what was seen."""
    found = "none detected" if row["outcome"] == UNDETECTED else f"seen {seen(row)}"
    said = f"; {found}" if np.isfinite(row["low"]) else ""
    rate = f"lr={row['rate']:g}: " if row["rate"] == row["rate"] else ""
    claim = f"{rate}predicted {predicted(row)}{said}".replace(f" (±{row['margin']:g})", "")
    return f"{place(row['world'], row['numbers'])}\n{claim}"


def tally(frame: pd.DataFrame) -> str:
    """How many trials came out as predicted, in a sentence; empty with too few seeds to see anything."""
    found = tallied(frame)
    if not found.trials:
        return ""
    kept = frame[frame.low.notna()]
    empty = f" ({found.right_about_nothing} of them with no effect)" if found.right_about_nothing else ""
    counts = (
        f"Of {found.trials} trials, {found.right} came out as predicted{empty}, in {found.undetected} nothing is "
        f"detected, and {found.other_way or 'none'} came out the other way; of {found.tricks} tricks, {found.showing} "
        "have the predicted effect in at least one."
    )
    return counts + confirmed(kept) + grown(kept)


def confirmed(table: pd.DataFrame) -> str:
    """How many of the seen effects other seeds showed again; empty if none was tried again."""
    tried = table[table.confirmed.notna()]
    if tried.empty:
        return ""
    return f" Of {len(tried)} effects that were seen, {int(tried.confirmed.sum())} were seen again on other seeds."


def grown(table: pd.DataFrame) -> str:
    """In how many trials the effect grows with the dose, the way that was predicted; empty if none is in doses."""
    dosed = table[table.growth_low.notna() & table.predicted.ne(0)]
    if dosed.empty:
        return ""
    up, down = dosed.growth_low > 0, dosed.growth_high < 0
    right = np.where(dosed.predicted > 0, up, down).sum()
    wrong = np.where(dosed.predicted > 0, down, up).sum()
    unclear = len(dosed) - right - wrong
    return (
        f" In {right} of {len(dosed)} trials in doses, the effect grows with the dose as predicted; "
        f"in {wrong or 'none'} it goes the other way; in {unclear or 'none'} the slope's 95% interval includes 0."
    )


def caption(frame: pd.DataFrame) -> str:
    """What the table shows, in words."""
    where = "where theory says that it matters" + (", or that it doesn't" if frame.predicted.eq(0).any() else "")
    text = f"Each trick {where}, {frame.seeds.max()} seeds an arm, the arms alike but for the"
    text += f" trick and {plain(rates_in_words(frame))}. Difference: with minus without, paired by seed"
    if frame.low.notna().any():
        noise = ", with the noise of choosing the rates where it is known" if frame.choosing.gt(0).any() else ""
        text += f", with its 95% interval (Student's t{noise}). Seen: p < 0.05 after Holm's correction over the rows"
    if frame.predicted.eq(0).any():
        text += ". Nothing: the whole interval lies within this margin, given as a share of the best possible score"
    if frame.again.notna().any():
        text += ". Again: the same on other seeds"
    if frame.dose.ne("").any():
        text += ". By dose: the difference as a share of the best possible score, and its slope over the levels"
    text += ". Scores are in each world's own units of return, per episode. The CSV has the flags that both arms share."
    if (frame.edge_without | frame.edge_with).any():
        text += " Edge: the smallest or the largest rate that was tried was best, so a better one may lie beyond."
    if len(given := frame[frame.rate.notna()]):
        rows = given.to_dict("records")
        why = (f"{row['trick']} in {place(row['world'], '', row['rate'])} ({row['rate_reason']})" for row in rows)
        text += f" Trials at a given rate, and why: {'; '.join(why)}."
    if frame[["without", "with"]].isna().any(axis=None):
        text += " nan: in some seed no episode ended in time."
    return f"{tally(frame)} {text}".strip()


def rates_in_words(frame: pd.DataFrame) -> str:
    """How the arms' learning rates were chosen, in words."""
    reservations = sorted(set(frame.tuned) - {""})
    own = "each at its own best learning rate of a grid, chosen on other seeds"
    return own if not reservations else f"some at learning rates that were {', '.join(reservations)}"

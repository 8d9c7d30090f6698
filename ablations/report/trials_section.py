"""The report's section on the worlds: a table of all trials, its caption, and the figure."""

from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from ablations.analysis.outcomes import AS_PREDICTED, OTHER_WAY, UNDETECTED, outcomes, trial_table_of
from ablations.analysis.records import Study
from ablations.question.arms import place
from ablations.report.markup import plain
from ablations.report.multiples import doses_figure, worlds_figure
from ablations.report.style import save_table
from ablations.report.tables import Columns, Row, in_columns, spanned
from tricks.errors import InputError
from tricks.runs.files import write_whole

SCORES = {"area": "area under the curve", "late": "last 10%"}
SEEN = {1: "up", -1: "down", 0: "no detectable effect"}


def write_trials(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """Write the table of the study's trials, its CSV and the figure into the folder. Returns the text and the paths."""
    found = outcomes([study])
    if not found:
        raise InputError(f"{study.name} has no runs of any trial")
    frame, path = trial_table_of([study]), folder / study.name
    text, page = f"{trials_text(frame)}\n\n{caption(frame)}", folder / f"{study.name}.md"
    write_whole(page, text + "\n")
    figures = worlds_figure(found, [*map(in_words, frame.to_dict("records"))], rates_in_words(frame), path)
    figures += doses_figure(found, folder / f"{study.name}_doses")
    return text, [save_table(frame, folder / f"{study.name}.csv"), page, *figures]


def trials_text(frame: pd.DataFrame) -> str:
    columns: Columns = {
        "trick": itemgetter("trick"),
        "world": where,
        "score": lambda row: SCORES[row["score"]],
        "without (rate)": lambda row: arm(row, "without"),
        "with (rate)": lambda row: arm(row, "with"),
        "difference": lambda row: (
            spanned(row, "difference", "{:+.4g}", "") + f", {row['diverged']} diverged" * bool(row["diverged"])
        ),
        "predicted": predicted,
        "seen": lambda row: seen(row) * bool(np.isfinite(row["low"])),
        "again": again,
        "by dose": by_dose,
    }
    return in_columns(frame, columns)


def where(row: Row) -> str:
    return place(row["world"], row["numbers"], row["rate"])


def by_trick(frame: pd.DataFrame) -> str:
    """One row per trick: a trial that came out as predicted, else one with an effect; and how many trials there are.

    Of several, the first is one in doses, then the one with the smallest p.
    """
    found = []
    for _, rows in frame.groupby("trick", sort=False):
        right, effects = rows[rows.outcome == AS_PREDICTED], rows[rows.predicted != 0]
        some = next(part for part in (right[right.predicted != 0], effects, rows) if len(part))
        first = some.assign(single=some.dose.eq("")).sort_values(["single", "p"]).iloc[0].to_dict()
        found.append(first | {"counted": f"{len(right)} of {len(rows)}"})
    columns: Columns = {
        "trick": lambda row: f"`{row['trick']}`",
        "world": where,
        "dose": itemgetter("dose"),
        "predicted": predicted,
        "seen": seen,
        "difference": lambda row: spanned(row, "difference", "{:+.3g}", ""),
        "again": again,
        "trials as predicted": itemgetter("counted"),
    }
    return in_columns(pd.DataFrame(found), columns)


def arm(row: Row, name: str) -> str:
    """An arm's mean score, its learning rate, and whether that lies at the edge of those that were tried."""
    return f"{row[name]:.4g} ({row[f'lr_{name}']:g}{', edge' * row[f'edge_{name}']})"


def predicted(row: Row) -> str:
    """What the trial predicts, in words; no effect comes with its margin, as a share of the best possible score."""
    return SEEN[row["predicted"]] if row["predicted"] else f"nothing (±{row['margin']:g})"


def seen(row: Row) -> str:
    """What was seen, in words; where no effect is predicted and the interval lies within the margin, just that."""
    return predicted(row) if row["predicted"] == 0 and row["outcome"] == AS_PREDICTED else SEEN[row["seen"]]


def again(row: Row) -> str:
    """What other seeds showed of an effect that was seen; empty if it was not tried again."""
    found = spanned(row, "again", "{:+.4g}") + ": not confirmed" * (not row["confirmed"])
    return found if np.isfinite(row["again"]) else ""


def by_dose(row: Row) -> str:
    if not row["dose"]:
        return ""
    effects = ", ".join(pair.replace(":", ": ") for pair in row["doses"].split())
    grown = f"; {spanned(row, 'growth', '{:+.3f}')} a level"
    return f"{row['dose']} {effects}" + (grown if np.isfinite(row["growth_low"]) else "")


def in_words(row: Row) -> str:
    """The text above a panel: the world, a given rate, what was predicted, and, given enough seeds, what was seen."""
    found = "none detected" if row["outcome"] == UNDETECTED else f"seen {seen(row)}"
    claim = f"predicted {predicted(row)}" + f"; {found}" * bool(np.isfinite(row["low"]))
    return f"{where(row)}\n{claim}".replace(f" (±{row['margin']:g})", "")


def tally(frame: pd.DataFrame) -> str:
    """How many trials came out as predicted, in a sentence; empty with too few seeds to see anything."""
    kept = frame[frame.low.notna()]
    if kept.empty:
        return ""
    right, other, nothing = (kept[kept.outcome == each] for each in (AS_PREDICTED, OTHER_WAY, UNDETECTED))
    effects, tried = right[right.predicted != 0], kept.confirmed.dropna()
    empty = f" ({len(right) - len(effects)} of them with no effect)" if len(effects) < len(right) else ""
    again = f" Of {len(tried)} effects that were seen, {int(tried.sum())} were seen again on other seeds."
    counts = (
        f"Of {len(kept)} trials, {len(right)} came out as predicted{empty}, in {len(nothing)} nothing is detected, and "
        f"{len(other) or 'none'} came out the other way; of {kept.trick.nunique()} tricks, {effects.trick.nunique()} "
        "have the predicted effect in at least one."
    )
    return counts + again * bool(len(tried)) + grown(kept)


def grown(table: pd.DataFrame) -> str:
    """In how many trials the effect grows with the dose, the way that was predicted; empty if none is in doses."""
    dosed = table[table.growth_low.notna() & table.predicted.ne(0)]
    if dosed.empty:
        return ""
    ways = ((dosed.growth_low > 0).astype(int) - (dosed.growth_high < 0)) * dosed.predicted
    right, wrong, unclear = ((ways == way).sum() for way in (1, -1, 0))
    return (
        f" In {right} of {len(dosed)} trials in doses, the effect grows with the dose as predicted; "
        f"in {wrong or 'none'} it goes the other way; in {unclear or 'none'} the slope's 95% interval includes 0."
    )


HOW = """\
*Difference*: with minus without, paired by seed, with its 95% interval (Student's t, with the noise of choosing the \
rates where it is known). *Seen*: p < 0.05 after Holm's correction over the rows. *Nothing*: the whole interval lies \
within this margin, given as a share of the best possible score. *Again*: the same on other seeds. *By dose*: the \
difference as a share of the best possible score, and its slope over the levels. *Edge*: the smallest or the largest \
rate that was tried was best, so a better one may lie beyond. Scores are in each world's own units of return, per \
episode; –: in some seed no episode ended in time. The CSV has the flags that both arms share."""


def caption(frame: pd.DataFrame) -> str:
    text = f"{tally(frame)} Each trick where theory says that it matters, or that it doesn't, {frame.seeds.max()} seeds"
    text += f" an arm, the arms alike but for the trick and {plain(rates_in_words(frame))}. {HOW}"
    if rows := frame[frame.rate.notna()].to_dict("records"):
        why = (f"{row['trick']} in {place(row['world'], '', row['rate'])} ({row['rate_reason']})" for row in rows)
        text += f" Trials at a given rate, and why: {'; '.join(why)}."
    return text.strip()


def rates_in_words(frame: pd.DataFrame) -> str:
    own, some = "each at its own best learning rate of a grid, chosen on other seeds", sorted(set(frame.tuned) - {""})
    return f"some at learning rates that were {', '.join(some)}" if some else own

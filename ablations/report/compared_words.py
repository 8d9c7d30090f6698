"""What can be said of an arm against its reference, in a sentence."""

from typing import Any

from ablations.analysis.compared import MANY
from ablations.analysis.effects import CANNOT, HELPS, HURTS, NOTHING
from ablations.analysis.stats import FEWEST


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """A number with a minus sign of its own; a dash for NaN."""
    return "–" if value != value else f"{value:{sign}.{digits}g}".replace("-", "−")


def enough(seeds: float) -> str:
    """How many seeds would do, as a sentence with a space before it; empty if that is not known (NaN)."""
    if seeds != seeds:
        return ""
    count = f"About {float(f'{seeds:.2g}'):,.0f}" if seeds <= MANY else f"More than {MANY:,}"
    return f" {count} seeds per arm would detect a difference like that in four of five tries."


def cannot_tell(verdict: str, name: str) -> str:
    """`cannot tell here what gae does: no arm learned much.`"""
    return verdict.replace(CANNOT, f"{CANNOT} what {name} does") + "."


def sentence(row: dict[Any, Any], alike: bool) -> str:
    """What can be said of an arm. alike: whether every seed has the same area as with the reference."""
    name, seeds, reference = row["arm"], int(row["seeds"]), row["against"]
    if row["difference"] != row["difference"]:
        return f"{name} cannot be compared to {reference}: in some seed no episode ended."
    if alike:
        return f"{name} changes no score: every seed has the same area as with {reference}."
    more = f"{number(abs(row['difference']), 3)} {'more' if row['difference'] > 0 else 'less'} area than {reference}"
    if row["verdict"] in (HELPS, HURTS):
        return f"{name} {row['verdict']}: {more}, p = {number(row['p_holm'], 2)}."
    if row["verdict"] == NOTHING:
        return f"{name} does practically nothing: its area is within the margin of that of {reference}."
    if CANNOT in row["verdict"]:
        return cannot_tell(row["verdict"], name)
    if seeds < FEWEST:
        return f"{name} has {more}, but an interval needs {FEWEST} seeds, not {seeds}.{enough(row['would_do'])}"
    return f"{name}: unknown; {more} can be luck with {seeds} seeds.{enough(row['would_do'])}"

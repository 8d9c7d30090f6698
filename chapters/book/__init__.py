"""Tools for the chapters: figures, the stored evidence about a trick, planted faults, the ratios of a run."""

from book.evidence import Evidence, evidence
from book.faults import planted
from book.figures import at_best_rate, begin, curves, label_lines
from book.ratios import draw_ratios, ratios_by_epoch, shares_by_epoch
from book.results import stored_area, stored_curves, studies
from book.store import store
from book.swept import swept

__all__ = [
    "Evidence",
    "at_best_rate",
    "begin",
    "curves",
    "draw_ratios",
    "evidence",
    "label_lines",
    "planted",
    "ratios_by_epoch",
    "shares_by_epoch",
    "store",
    "stored_area",
    "stored_curves",
    "studies",
    "swept",
]

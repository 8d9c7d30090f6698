"""Tools for the chapters: figures, drawings of nets, the stored evidence about a trick and about a
number, planted faults, rewards at several scales."""

from chapters.book.diagrams import ppg_phases, two_nets_or_one_trunk
from chapters.book.evidence import evidence
from chapters.book.figures import at_best_rate, begin, caption, curves, label_lines
from chapters.book.results import store, stored_area, stored_curves, studies
from chapters.book.swept import best_at, lost_at, swept
from chapters.book.trainings import at_each_scale, draw_scales, planted, unwatched

__all__ = [
    "at_best_rate",
    "at_each_scale",
    "begin",
    "best_at",
    "caption",
    "curves",
    "draw_scales",
    "evidence",
    "label_lines",
    "lost_at",
    "planted",
    "ppg_phases",
    "store",
    "stored_area",
    "stored_curves",
    "studies",
    "swept",
    "two_nets_or_one_trunk",
    "unwatched",
]

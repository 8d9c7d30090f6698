"""Tools for the chapters: figures, drawings of nets, the stored evidence about a trick and about a
number, planted faults, rewards at several scales."""

from book.diagrams import ppg_phases, two_nets_or_one_trunk
from book.evidence import Evidence, evidence
from book.faults import planted, unwatched
from book.figures import at_best_rate, begin, curves, label_lines
from book.results import stored_area, stored_curves, studies
from book.scales import at_each_scale, draw_scales
from book.store import store
from book.swept import best_at, lost_at, swept

__all__ = [
    "Evidence",
    "at_best_rate",
    "at_each_scale",
    "begin",
    "best_at",
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

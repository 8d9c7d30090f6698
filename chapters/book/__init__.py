"""What the chapters are made with: figures, the stored evidence about a trick, planted faults."""

from book.evidence import Evidence, evidence, stored_area, stored_curves, studies
from book.faults import planted
from book.figures import at_best_rate, begin, curves, label_lines

__all__ = [
    "Evidence",
    "at_best_rate",
    "begin",
    "curves",
    "evidence",
    "label_lines",
    "planted",
    "stored_area",
    "stored_curves",
    "studies",
]

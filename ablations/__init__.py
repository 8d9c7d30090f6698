"""Which trick matters where: designs, runs, statistics and figures over many seeds.

The chapters import the harness from here, and this project's own results from `ablations.findings`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ablations.lazy import attached
from tricks import __version__ as __version__

if TYPE_CHECKING:
    from ablations.analysis.agents import best_scores, clear_of_zero, fixed, floor_score, share_lost, varied
    from ablations.analysis.by_rate import AT_BEST, OVER_ALL, common_rate, effects_by_rate, in_general
    from ablations.analysis.choosing import areas_of
    from ablations.analysis.effects import HELPS, HURTS, NOTHING, effects, scores
    from ablations.analysis.outcomes import AS_PREDICTED, Outcome, outcomes, trial_table_of
    from ablations.analysis.reading import Frames, read
    from ablations.analysis.records import RESULTS, SUFFIX, Study, load, load_all
    from ablations.analysis.scales import SCALES
    from ablations.analysis.stats import FEWEST, holm, interval, iqm, paired, unpaired
    from ablations.experiments.compare import compare, judge
    from ablations.question.arms import Arm, Comparison, Design, compared, flags, numbers, place
    from ablations.question.designs import SUITES, TRIALS
    from ablations.question.story import story_of, subject
    from ablations.report import sentences, style
    from ablations.report.agents_in_words import ranges
    from ablations.report.cells import rate_map, strip
    from ablations.report.multiples import band, curve, draw_number, figure, label_lines, thousands
    from ablations.report.tables import markdown
    from ablations.training.rates import FIXED, GRID, best_rate, rows_of, table
    from ablations.training.scores import area, on_grid

__getattr__, __dir__, __all__ = attached(__file__)

import_module("ablations.findings")  # our designs, suites and trials, by name

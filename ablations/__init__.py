"""Which trick matters where: designs, runs, statistics and figures over many seeds.

Other packages, such as the chapters, import the harness from here, and this project's own results from
`ablations.findings`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks import __version__ as __version__

if TYPE_CHECKING:
    from ablations.analysis.by_rate import common_rate, effects_by_rate
    from ablations.analysis.choices import clear_of_zero
    from ablations.analysis.choosing import areas_of
    from ablations.analysis.compared import Frames
    from ablations.analysis.effects import effects, scores
    from ablations.analysis.estimates import holm, paired, unpaired
    from ablations.analysis.outcomes import AS_PREDICTED, Outcome, outcomes, trial_table, trial_table_of
    from ablations.analysis.reading import read
    from ablations.analysis.scales import SCALES
    from ablations.analysis.stats import FEWEST, interval, iqm
    from ablations.analysis.studies import Study
    from ablations.analysis.study_files import RESULTS, SUFFIX, load, load_all
    from ablations.analysis.sweeps import best_scores, fixed, floor_score, share_lost, varied
    from ablations.design.arms import Arm, Comparison, Design
    from ablations.design.flag_sets import flags, numbers
    from ablations.design.labels import place
    from ablations.design.registry import SUITES, TRIALS
    from ablations.design.story import by_rank, story_of, subject
    from ablations.experiments.compare import compare
    from ablations.experiments.judge import judge
    from ablations.figures import style
    from ablations.figures.curves import curve
    from ablations.figures.ends import label_lines
    from ablations.figures.panels import DASHED, band, thousands
    from ablations.figures.rate_map import rate_map
    from ablations.figures.strip import Panel, Seen, strip
    from ablations.figures.sweep_panels import draw_number
    from ablations.figures.tidy import figure
    from ablations.report import sentences
    from ablations.report.sweep_words import ranges
    from ablations.report.tables import markdown
    from ablations.training.rate_table import GRID, rows_of, table
    from ablations.training.rates import best_rate
    from ablations.training.scores import area, on_grid

__all__ = [
    "AS_PREDICTED",
    "DASHED",
    "FEWEST",
    "GRID",
    "RESULTS",
    "SCALES",
    "SUFFIX",
    "SUITES",
    "TRIALS",
    "Arm",
    "Comparison",
    "Design",
    "Frames",
    "Outcome",
    "Panel",
    "Seen",
    "Study",
    "area",
    "areas_of",
    "band",
    "best_rate",
    "best_scores",
    "by_rank",
    "clear_of_zero",
    "common_rate",
    "compare",
    "curve",
    "draw_number",
    "effects",
    "effects_by_rate",
    "figure",
    "fixed",
    "flags",
    "floor_score",
    "holm",
    "interval",
    "iqm",
    "judge",
    "label_lines",
    "load",
    "load_all",
    "markdown",
    "numbers",
    "on_grid",
    "outcomes",
    "paired",
    "place",
    "ranges",
    "rate_map",
    "read",
    "rows_of",
    "scores",
    "sentences",
    "share_lost",
    "story_of",
    "strip",
    "style",
    "subject",
    "table",
    "thousands",
    "trial_table",
    "trial_table_of",
    "unpaired",
    "varied",
]
HOMES = {
    "analysis.reading": ("read",),
    "figures.tidy": ("figure",),
    "figures.ends": ("label_lines",),
    "experiments.compare": ("compare",),
    "experiments.judge": ("judge",),
    "analysis.compared": ("Frames",),
    "analysis.by_rate": ("common_rate", "effects_by_rate"),
    "analysis.choices": ("clear_of_zero",),
    "analysis.choosing": ("areas_of",),
    "analysis.effects": ("effects", "scores"),
    "analysis.outcomes": ("AS_PREDICTED", "Outcome", "trial_table", "trial_table_of", "outcomes"),
    "analysis.scales": ("SCALES",),
    "analysis.estimates": ("holm", "paired", "unpaired"),
    "analysis.stats": ("FEWEST", "interval", "iqm"),
    "analysis.studies": ("Study",),
    "analysis.study_files": ("RESULTS", "SUFFIX", "load", "load_all"),
    "analysis.sweeps": ("best_scores", "floor_score", "fixed", "share_lost", "varied"),
    "design.flag_sets": ("flags", "numbers"),
    "design.labels": ("place",),
    "design.arms": ("Arm", "Comparison", "Design"),
    "design.story": ("by_rank", "story_of", "subject"),
    "design.registry": ("SUITES", "TRIALS"),
    "report.sweep_words": ("ranges",),
    "figures": ("style",),
    "figures.curves": ("curve",),
    "figures.panels": ("DASHED", "band", "thousands"),
    "figures.rate_map": ("rate_map",),
    "figures.strip": ("Panel", "Seen", "strip"),
    "figures.sweep_panels": ("draw_number",),
    "report": ("sentences",),
    "report.tables": ("markdown",),
    "training.rate_table": ("GRID", "rows_of", "table"),
    "training.rates": ("best_rate",),
    "training.scores": ("area", "on_grid"),
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a command line does not wait for modules it never uses."""
    for home, names in HOMES.items():
        if name in names:
            module = import_module(f"ablations.{home}")
            return getattr(module, name) if hasattr(module, name) else import_module(f"ablations.{home}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completion offers: also the names that are not imported yet."""
    return sorted({*globals(), *__all__})


import_module("ablations.findings")  # our designs, suites and trials, by name

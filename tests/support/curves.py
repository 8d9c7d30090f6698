"""Studies whose curves rise, and what is read off figures."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from support.studies import about

from ablations.analysis.studies import COLUMNS, Study
from ablations.design.arms import Design
from ablations.design.designs import add_one_in, ladder, leave_one_out
from ablations.design.flag_sets import flags
from tricks.ladder import Tricks

NAMES = ("baseline", "reuse", "clip")
DESIGNS = [ladder(NAMES), leave_one_out(NAMES), add_one_in(NAMES)]


def rising(*designs: Design, env: str = "CartPole-v1", seeds: int = 5) -> Study:
    """Curves that rise to 100 for each trick that is on, and differ from seed to seed."""
    rng, rows = np.random.default_rng(0), []
    for tricks in dict.fromkeys(arm.tricks for design in designs for arm in design.arms):
        for seed in range(seeds):
            curve = 50 + 100 * len(tricks.on) * np.linspace(0, 1, 100) + rng.normal(0, 5)
            rows.append([env, 1000, "", flags(tricks), 0.01, "", seed, np.nan, curve[-10:].mean(), *curve])
    return Study("x", designs, pd.DataFrame(rows, columns=COLUMNS), about(seeds))


def lacking(whole: Study, tricks: Tricks, seeds: int) -> Study:
    gone = (whole.runs.tricks == flags(tricks)) & (whole.runs.seed >= seeds)
    return Study(whole.name, whole.designs, whole.runs[~gone], whole.about)


def heading(figure: Figure) -> str:
    return figure.get_suptitle().replace("\n", " ")

"""Studies made up for tests, whose effects are known."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from ablations.analysis.records import COLUMNS, About, Study
from ablations.question.arms import Design, flags
from tricks.version import ALGORITHM

MADE_BY = (str(ALGORITHM), "0.0.0", "", "", "True", "x86_64")  # algorithm, version, commit, clean, compiled, platform


def study(design: Design, value: Callable[[set[str]], float], env: str = "CartPole-v1", seeds: int = 8) -> Study:
    """A study in which each arm's curve is flat, at 100 + 10·seed + what `value` says of its flags."""
    rows = []
    for arm in design.arms:
        for seed in range(seeds):
            score = 100.0 + 10 * seed + value(set(arm.tricks.on))
            setting = "", env, 100_000, "", flags(arm.tricks), 0.02, "", seed
            rows.append([*setting, *MADE_BY, np.nan, score, *[score] * 100])
    return Study(f"made_{env}", (design,), pd.DataFrame(rows, columns=COLUMNS), about(seeds))


def about(seeds: int) -> About:
    return {"command": "x", "seconds": 1.0, "steps": 1.0, "made with": {"torch": ["2"]}, "seeds": [0, seeds]}


def bimodal(u: np.ndarray, failing: float) -> np.ndarray:
    """Returns like CartPole's: failed seeds between 60 and 140, the others between 480 and 500."""
    return np.where(u < failing, 60 + 80 * u / failing, 480 + 20 * (u - failing) / (1 - failing))

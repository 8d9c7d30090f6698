"""Scores of whole games, played by trained agents and with random actions."""

from typing import Literal

import numpy as np

from ablations.analysis.estimates import Estimate, paired
from ablations.analysis.stats import FEWEST
from ablations.analysis.studies import Study


def mean_score(study: Study, who: Literal["trained", "random"]) -> Estimate:
    """The mean score of whole games, by trained agents or random actions, with its 95% interval (Student's t).

    The interval is over agents. With fewer than FEWEST it is over all their games, and describes only these agents.
    """
    scores = np.array(study.about["games"][who])  # [S, games]
    return paired(scores.mean(1) if len(scores) >= FEWEST else scores.ravel())

"""Scores of whole games, beside those of random actions."""

from typing import Literal

import numpy as np

from ablations.analysis.stats import FEWEST, Estimate, paired
from ablations.analysis.studies import Study


def mean_score(study: Study, who: Literal["trained", "random"]) -> Estimate:
    """The mean score of whole games, who: `trained` or `random`, with its 95% interval by Student's t.

    The interval is over agents; with fewer than FEWEST, over all their games, and then it is about these agents only.
    """
    scores = np.array(study.about["games"][who])  # [S, games]
    return paired(scores.mean(1) if len(scores) >= FEWEST else scores.ravel())

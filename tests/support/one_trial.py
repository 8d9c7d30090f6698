"""A trial, its arms with flat curves, and its row in the table of outcomes."""

from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis import outcomes
from ablations.analysis.studies import COLUMNS
from ablations.design.trial import Trial, once
from tricks import Config

TRIAL = Trial("baseline", (), once(Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10)), 1, "why")


def arm(returns: dict[int, float]) -> outcomes.Side:
    facts = [TRIAL.env, 400, "lanes=2 horizon=10", "", 0.1, ""]
    rows = [[*facts, seed, np.nan, x, *[x] * 100] for seed, x in returns.items()]
    return outcomes.Side(pd.DataFrame(rows, columns=COLUMNS))


def outcome_of(trial: Trial, without: dict[int, float], having: dict[int, float]) -> dict[Any, Any]:
    found = outcomes.Outcome(trial, trial.doses[-1], arm(without), arm(having))
    (row,) = outcomes.trial_table([found]).to_dict("records")
    return row

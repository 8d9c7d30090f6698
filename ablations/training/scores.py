"""From a learning curve to numbers, one value per seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tricks.runs.learning_curve import late_return
from tricks.runs.provenance import MadeWith

if TYPE_CHECKING:
    from ablations.training.jobs import Result

POINTS = 100  # on the common grid of steps
SCORED = ("seed", "step", "episodes", "return")  # the columns of a curve that scores are made of


@dataclass(frozen=True)
class Scored:
    """What the seeds of a finished job have scored: less than its curve, and all that a study needs of it."""

    seeds: tuple[int, ...]
    grid: np.ndarray
    """[S, POINTS], see `on_grid`."""
    late: np.ndarray
    """[S], see `late`."""
    diverged: Mapping[int, int]
    seconds: float
    steps: int
    made_with: MadeWith

    def table(self, seeds: Sequence[int]) -> pd.DataFrame:
        """A row per seed: `score`, the area under its curve, `late`, and `diverged`, the step when it did or NaN."""
        stopped = [float(self.diverged.get(seed, np.nan)) for seed in self.seeds]
        columns = {"score": area(pd.DataFrame(self.grid)).to_numpy(), "late": self.late, "diverged": stopped}
        return pd.DataFrame(columns, index=list(self.seeds)).loc[list(seeds)]


def scored(result: "Result", budget: int) -> Scored:
    """The scores of a job's result. budget: environment steps per seed."""
    grid, last = on_grid(result.curve, budget, result.diverged), late(result.curve, budget, result.diverged)
    seeds = tuple(int(seed) for seed in grid.index)
    own = grid.to_numpy(), last.reindex(grid.index).to_numpy()
    return Scored(seeds, *own, result.diverged, result.seconds, result.steps, result.made_with)


def on_grid(curve: pd.DataFrame, steps: int, diverged: Mapping[int, int]) -> pd.DataFrame:
    """Each seed's return at POINTS equal steps up to the budget: a row per seed, a column per step.

    Linear between updates in which an episode ended, constant before the first and after the last; NaN for a seed
    in which none ended. From the step at which it diverged, a seed counts with its first return, the untrained agent's.
    Updates weigh alike, however many episodes ended in them; docs/method.md says where that matters.
    """
    grid = np.linspace(steps / POINTS, steps, POINTS)
    seed, step, returns = (curve[name].to_numpy() for name in ("seed", "step", "return"))
    rows, seeds = [], np.unique(seed)
    for each in seeds:
        ended = (seed == each) & ~np.isnan(returns)
        row = np.interp(grid, step[ended], returns[ended]) if ended.any() else np.full(POINTS, np.nan)
        if each in diverged and ended.any():
            row[grid >= diverged[each]] = returns[ended][0]
        rows.append(row)
    return pd.DataFrame(np.array(rows).reshape(-1, POINTS), index=seeds, columns=grid)


def area(grid: pd.DataFrame) -> pd.Series:
    """Area under the curve divided by the budget, which is the mean return over training. One value per seed."""
    return grid.mean(axis=1)


def late(curve: pd.DataFrame, steps: int, diverged: Mapping[int, int]) -> pd.Series:
    """Mean return of the episodes in the last 10% of the budget, one value per seed; NaN if none ended there.

    A seed that diverged counts with its first return, the untrained agent's.
    """
    curve = curve[list(SCORED)]
    seeds = pd.Index(curve["seed"].unique())
    first = curve.dropna(subset="return").groupby("seed")["return"].first()
    return late_return(curve, steps).reindex(seeds).where(~seeds.isin(list(diverged)), first.reindex(seeds))

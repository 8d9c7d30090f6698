"""Scores: curves on a common grid, the area under them, and their last tenth."""

import numpy as np
import pandas as pd
import pytest
from support.probes import Probe

from ablations.training.scores import area, late, on_grid
from tricks import Config, train
from tricks.ladder import switched
from tricks.runs.learning_curve import late_return


def test_curves_meet_a_common_grid() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200, 300, 400], "return": [10.0, np.nan, 30.0, 50.0]})
    grid = on_grid(curve, 400, {})
    assert grid.columns[[0, -1]].tolist() == [4, 400]
    assert grid[200.0].tolist() == [20]  # linear across the update without an episode
    assert grid[4.0].tolist() == [10]
    # 25 points at 10, then up by 20 over 50 points, then by 20 over 25
    rising = 10 + 20 * np.arange(1, 51) / 50
    assert area(grid)[0] == pytest.approx(np.mean([*[10] * 25, *rising, *(30 + 20 * np.arange(1, 26) / 25)]))


def test_the_last_tenth_counts_episodes_not_updates() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [90, 95, 100], "return": [7.0, 10.0, 40.0], "episodes": [9, 2, 1]})
    silent = pd.DataFrame({"seed": 1, "step": [95], "return": [np.nan], "episodes": [0]})
    found = late(pd.concat([curve, silent]), 100, {})
    assert found[0] == (2 * 10 + 40) / 3
    assert np.isnan(found[1])
    assert late(curve, 100, {0: 95})[0] == 7  # diverged: as the untrained agent


def test_a_seed_without_an_episode_is_not_left_out() -> None:
    curve = pd.DataFrame({"seed": [0, 1], "step": [50, 50], "return": [1.0, np.nan]})
    grid = on_grid(curve, 100, {})
    assert grid.index.tolist() == [0, 1]
    assert np.isnan(grid.loc[1]).all()


def test_a_diverged_seed_counts_as_untrained_from_there_on() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200], "return": [10.0, 90.0]})
    grid = on_grid(curve, 400, {0: 200})
    assert (grid.loc[0, 200.0:] == 10).all()
    assert grid[196.0].min() > 80


class ShortPays(Probe):
    """Half of the episodes take 5 steps and pay 10, the other half 400 and nothing, whatever the actions."""

    def first(self) -> float:
        self.length = int(self.np_random.choice([5, 400]))
        return 0.0

    def pay(self, action: int) -> float:
        return 10.0 * (self.length == 5 and self.t == 4)


@pytest.mark.parametrize(("tricks", "expected"), [((), 5), (("baseline", "segments"), 10)])
def test_with_segments_the_first_points_are_of_episodes_that_were_short_enough_to_end(
    tricks: tuple[str, ...], expected: float
) -> None:
    """The agents don't learn: their mean return is 5 from the first step to the last."""
    config = Config(seeds=4, steps=400, lanes=8, horizon=16, hidden=(4,), lr=1e-12)
    first = on_grid(train(config, switched(tricks), ShortPays).curve, 400, {}).iloc[:, 0]
    assert first.mean() == pytest.approx(expected, abs=0.75)
    assert (first == 10).all() == (expected == 10)


def test_updates_weigh_alike_however_many_episodes_ended_in_them() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 500], "return": [10.0, 0.0], "episodes": [20, 1]})
    assert area(on_grid(curve, 500, {}))[0] == pytest.approx(np.mean([*[10] * 20, *np.linspace(9.875, 0, 80)]))
    assert late_return(curve, 500, share=1.0)[0] == pytest.approx(200 / 21)  # by episodes

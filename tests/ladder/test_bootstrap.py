"""bootstrap: what lies beyond a cut counts as V; what lies beyond a death counts nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tricks import Config, train
from tricks.bootstrap import value_at_cut
from tricks.core.moments import denormalize
from tricks.ladder import switched

ONE_STATE = Config(seeds=2, steps=6_000, lanes=8, horizon=16, lr=0.1, gamma=0.9, hidden=(8,), minibatches=1)


def test_beyond_discounts_the_cut_that_a_row_runs_into() -> None:
    cut = torch.tensor([[[False], [True], [False], [False], [False]]])
    done = torch.tensor([[[False], [True], [False], [True], [False]]])
    next_value = torch.full((1, 5, 1), 100.0)
    assert value_at_cut(cut, next_value, done, 0.5).flatten().tolist() == [25, 50, 0, 0, 0]


@pytest.mark.parametrize(("flags", "truth"), [((), 1.0), (("bootstrap",), 10.0)], ids=["without", "bootstrap"])
def test_a_time_limit_of_one_step_hides_a_value_of_ten(flags: tuple[str, ...], truth: float) -> None:
    """Reward 1 for ever under a limit of one step: V = 1 if the limit is a death, 1/(1 − 0.9) if it is a cut."""
    config = replace(ONE_STATE, env="Endless-v0")
    agent = train(config, switched(["baseline", "reuse", *flags])).agent
    value = denormalize(agent.value(torch.zeros(2, 1, 1)), agent.return_stats)
    np.testing.assert_allclose(value.detach(), truth, rtol=0.1)


def test_a_death_that_falls_on_the_time_limit_is_a_death() -> None:
    config = replace(ONE_STATE, env="DeadOnTime-v0")
    agent = train(config, switched(["baseline", "reuse", "bootstrap", "gae"])).agent
    value = denormalize(agent.value(torch.zeros(2, 1, 1)), agent.return_stats)
    np.testing.assert_allclose(value.detach(), 1.0, rtol=0.1)

"""baseline, bootstrap, gae, advantage_norm: λ = 1 is Monte Carlo minus V, λ = 0 the TD error, and two masks."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tricks import Config, switched, train
from tricks.advantage_norm import standardize
from tricks.baseline import explained_variance, squared_error
from tricks.bootstrap import value_at_cut
from tricks.core.moments import denormalize
from tricks.core.reductions import reward_to_go
from tricks.gae import gae

GAMMA = 0.9
DELTA = [1 + 0.9 * 20 - 10, 2 - 20, 3 + 0.9 * 40 - 30, 4 + 0.9 * 8 - 40, 5 + 0.9 * 60 - 50]
ONE_STATE = Config(seeds=2, steps=6_000, lanes=8, horizon=16, lr=0.1, gamma=0.9, hidden=(8,), minibatches=1)
TRUE = torch.ones(1, 2, dtype=torch.bool)


def column(*x: float) -> Tensor:
    return torch.tensor(x, dtype=torch.float64).view(1, -1, 1)


# [1, 5, 1]: an episode that terminates after row 1, one that is truncated after row 3, one that is cut
REWARD, VALUE, NEXT_VALUE = column(1, 2, 3, 4, 5), column(10, 20, 30, 40, 50), column(20, 7, 40, 8, 60)
TERMINATED, DONE = column(0, 1, 0, 0, 0).bool(), column(0, 1, 0, 1, 0).bool()


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_worked_by_hand_at_lambda_zero_where_it_is_the_td_error_and_in_between(lam: float) -> None:
    truth = [DELTA[0] + 0.9 * lam * DELTA[1], DELTA[1], DELTA[2] + 0.9 * lam * DELTA[3], *DELTA[3:]]
    found = gae(REWARD, VALUE, NEXT_VALUE, TERMINATED, DONE, GAMMA, lam)
    assert found.flatten().tolist() == pytest.approx(truth)


def test_lambda_one_is_the_monte_carlo_return_minus_v_and_its_error_half_the_square() -> None:
    cut = ~TERMINATED & column(0, 0, 0, 1, 1).bool()
    returns = reward_to_go(REWARD, DONE, GAMMA) + value_at_cut(cut, NEXT_VALUE, DONE, GAMMA)
    torch.testing.assert_close(gae(REWARD, VALUE, NEXT_VALUE, TERMINATED, DONE, GAMMA, 1.0), returns - VALUE)
    assert returns.flatten().tolist() == pytest.approx([1 + 0.9 * 2, 2, 3 + 0.9 * (4 + 0.9 * 8), 4 + 0.9 * 8, 5 + 54])
    cut, done = column(0, 1, 0, 0, 0).bool(), column(0, 1, 0, 1, 0).bool()
    assert value_at_cut(cut, torch.full((1, 5, 1), 100.0), done, 0.5).flatten().tolist() == [25, 50, 0, 0, 0]
    assert squared_error(torch.tensor([[1.0]]), torch.tensor([[4.0]])).item() == 4.5
    target, valid = column(1, 2, 4, 99), column(1, 1, 1, 0).bool()
    assert explained_variance(target, target, valid).item() == 1
    assert abs(explained_variance(torch.full_like(target, 7.0), target, valid).item()) < 1e-6
    assert math.isnan(explained_variance(target, torch.ones_like(target), valid).item())


@pytest.mark.parametrize(
    ("env", "flags", "truth"),
    [
        pytest.param("Endless-v0", [], 1.0, id="a_time_limit_of_one_step_is_a_death"),  # reward 1 for ever
        pytest.param("Endless-v0", ["bootstrap"], 10.0, id="a_time_limit_of_one_step_hides_a_value_of_1/(1-0.9)"),
        pytest.param("DeadOnTime-v0", ["bootstrap", "gae"], 1.0, id="a_death_that_falls_on_the_time_limit_is_a_death"),
    ],
)
def test_what_lies_beyond_a_time_limit(env: str, flags: list[str], truth: float) -> None:
    agent = train(replace(ONE_STATE, env=env), switched(["baseline", "reuse", *flags])).agent
    value = denormalize(agent.value(torch.zeros(2, 1, 1)), agent.return_stats)
    np.testing.assert_allclose(value.detach(), truth, rtol=0.1)


def test_advantages_are_standardized_whatever_the_scale_and_a_single_row_is_zero() -> None:
    advantage = torch.tensor([[1.0, 2.0, 4.0, 9.0, 777.0]]) * torch.tensor([[1.0], [1e-2], [1e4]])
    found = standardize(advantage, torch.tensor([[True, True, True, True, False]]).expand(3, -1))[:, :4]
    torch.testing.assert_close(found.mean(1), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.std(1), torch.ones(3))
    assert standardize(torch.tensor([[5.0, 3.0]]), torch.tensor([[True, False]]))[0, 0] == 0
    assert standardize(torch.tensor([[5.0, 5.0]]), TRUE).tolist() == [[0, 0]]
    found = standardize(torch.tensor([[5.0, 3.0, 99.0]]), torch.tensor([[True, True, False]]))[0, :2]
    torch.testing.assert_close(found, torch.tensor([0.5**0.5, -(0.5**0.5)]))  # the unbiased std of 5 and 3 is √2
    small = standardize(torch.tensor([[2.0, 4.0]]), TRUE, eps=2**0.5)  # a deviation as small as epsilon counts half
    torch.testing.assert_close(small, torch.tensor([[-1.0, 1.0]]) / 8**0.5)

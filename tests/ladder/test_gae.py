"""gae: λ = 1 is Monte Carlo minus V, λ = 0 the TD error, and two masks."""

import pytest
import torch
from torch import Tensor

from tricks.bootstrap import value_at_cut
from tricks.core.returns import reward_to_go
from tricks.gae import gae

GAMMA = 0.9


def episode_rows() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """[1, 5, 1]: an episode that terminates after row 1, one that is truncated after row 3, one that is cut."""
    column = lambda *x: torch.tensor(x, dtype=torch.float64).view(1, -1, 1)  # noqa: E731
    reward, value, next_value = column(1, 2, 3, 4, 5), column(10, 20, 30, 40, 50), column(20, 7, 40, 8, 60)
    terminated, done = column(0, 1, 0, 0, 0).bool(), column(0, 1, 0, 1, 0).bool()
    return reward, value, next_value, terminated, done


def test_lambda_zero_is_the_td_error() -> None:
    found = gae(*episode_rows(), GAMMA, 0.0).flatten().tolist()
    assert found == pytest.approx([1 + 0.9 * 20 - 10, 2 - 20, 3 + 0.9 * 40 - 30, 4 + 0.9 * 8 - 40, 5 + 0.9 * 60 - 50])


def test_lambda_one_is_the_bootstrapped_monte_carlo_return_minus_v() -> None:
    reward, value, next_value, terminated, done = episode_rows()
    cut = ~terminated & torch.tensor([0, 0, 0, 1, 1]).view(1, -1, 1).bool()
    returns = reward_to_go(reward, done, GAMMA) + value_at_cut(cut, next_value, done, GAMMA)
    torch.testing.assert_close(gae(*episode_rows(), GAMMA, 1.0), returns - value)
    assert returns.flatten().tolist() == pytest.approx([1 + 0.9 * 2, 2, 3 + 0.9 * (4 + 0.9 * 8), 4 + 0.9 * 8, 5 + 54])


def test_worked_by_hand_in_between() -> None:
    delta = [1 + 0.9 * 20 - 10, 2 - 20, 3 + 0.9 * 40 - 30, 4 + 0.9 * 8 - 40, 5 + 0.9 * 60 - 50]
    decay = 0.9 * 0.5
    truth = [delta[0] + decay * delta[1], delta[1], delta[2] + decay * delta[3], delta[3], delta[4]]
    assert gae(*episode_rows(), GAMMA, 0.5).flatten().tolist() == pytest.approx(truth)


def test_one_mask_is_not_enough() -> None:
    reward, value, next_value, terminated, done = episode_rows()
    right = gae(reward, value, next_value, terminated, done, GAMMA, 0.95)
    leaking = gae(reward, value, next_value, terminated, terminated, GAMMA, 0.95)
    failing = gae(reward, value, next_value, done, done, GAMMA, 0.95)
    assert (leaking - right).flatten().tolist()[3] == pytest.approx(0.9 * 0.95 * float(right[0, 4, 0]))
    assert (failing - right).flatten().tolist()[3] == pytest.approx(-0.9 * 8)

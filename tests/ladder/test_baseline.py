"""baseline: the gradient keeps its expectation and loses variance."""

import math

import torch

from tricks.baseline import explained_variance, squared_error


def test_a_baseline_keeps_the_expected_gradient_and_lowers_its_variance() -> None:
    # a bandit with two actions of known reward, so that every expectation is a sum over the two
    logits, reward = torch.tensor([0.3, -0.4], dtype=torch.float64), torch.tensor([11.0, 10.0], dtype=torch.float64)
    p = logits.softmax(-1)
    score = torch.eye(2, dtype=torch.float64) - p  # ∇ log π(a), a row an action

    def moments(baseline: float) -> tuple[torch.Tensor, float]:
        samples = score * (reward - baseline).unsqueeze(1)
        mean = (p.unsqueeze(1) * samples).sum(0)
        return mean, float((p.unsqueeze(1) * (samples - mean).square()).sum())

    plain, plain_variance = moments(0.0)
    based, based_variance = moments(float((p * reward).sum()))
    torch.testing.assert_close(plain, based)
    assert based_variance < plain_variance / 100


def test_squared_error_is_half_the_square() -> None:
    assert squared_error(torch.tensor([[1.0]]), torch.tensor([[4.0]])).item() == 4.5


def test_explained_variance_is_one_for_the_truth_zero_for_a_constant_nan_without_variance() -> None:
    target = torch.tensor([[[1.0], [2.0], [4.0], [99.0]]])
    valid = torch.tensor([[[True], [True], [True], [False]]])
    assert explained_variance(target, target, valid).item() == 1
    assert abs(explained_variance(torch.full_like(target, 7.0), target, valid).item()) < 1e-6
    assert math.isnan(explained_variance(target, torch.ones_like(target), valid).item())

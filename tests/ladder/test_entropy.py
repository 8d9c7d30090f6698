"""entropy: known entropies, and a bonus whose gradient makes a decided policy less decided."""

import math

import torch
from support.probes import Probe

from tricks import Config, Tricks, train
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.entropy import entropy_bonus


def test_known_entropies() -> None:
    torch.testing.assert_close(Categorical.entropy(torch.zeros(1, 4)), torch.tensor([math.log(4)]))
    logits = torch.tensor([[0.3, -2.0, math.log(2.0), math.log(0.5)]])  # means 0.3 and −2, deviations 2 and ½
    truth = torch.distributions.Normal(torch.tensor([0.3, -2.0]), torch.tensor([2.0, 0.5])).entropy().sum()
    torch.testing.assert_close(DiagonalGaussian.entropy(logits), truth.view(1))


def test_the_bonus_is_its_weight_times_the_mean_over_valid_rows() -> None:
    entropy, valid = torch.tensor([[1.0, 3.0, 100.0]]), torch.tensor([[True, True, False]])
    torch.testing.assert_close(entropy_bonus(entropy, valid, 0.01), torch.tensor([0.02]))


def test_following_the_bonus_makes_a_decided_policy_less_decided() -> None:
    logits = torch.tensor([[[3.0, 0.0]]], requires_grad=True)
    entropy_bonus(Categorical.entropy(logits), torch.ones(1, 1), 1.0).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0, 0, 0] < 0 < logits.grad[0, 0, 1]


class Unpaid(Probe):
    """No action pays anything, so that nothing but the bonus moves a policy."""

    def first(self) -> float:
        return 1.0

    def pay(self, action: int) -> float:
        return 0.0


def test_where_nothing_pays_training_with_the_bonus_makes_a_policy_less_decided() -> None:
    config = Config(seeds=(1, 3), steps=320, lanes=8, horizon=4, hidden=(8,), lr=0.01)
    entropy = train(config, Tricks(entropy=True), Unpaid).curve.groupby("seed").entropy
    assert (entropy.first() < math.log(2) - 0.01).all()  # the first policy prefers an action
    assert (entropy.last() > entropy.first() + 0.01).all()

"""Exercises of the chapter on Phasic Policy Gradient."""

import torch
import torch.nn.functional as F
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.baseline import squared_error
from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.rollout import Batch
from tricks.ppg import auxiliary_net


def cloning_term(old_log_prob: Tensor, log_prob: Tensor) -> Tensor:
    """KL(π_old ‖ π) of every row, from the log-probabilities of its action. [...], [...] -> [...]."""
    return F.kl_div(log_prob, old_log_prob, reduction="none")


def errors_of_a_phase(agent: Agent, b: Batch, config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """½(V_aux(s) − G)², KL(π_old(·|s) ‖ π(·|s)), and ½(V(s) − G)². [S, B] each."""
    features, family = agent.features(b.obs), agent.family
    auxiliary, value = agent.read(auxiliary_net(agent), features), agent.value(features)
    old_log_prob, log_prob = (family.log_prob(x, b.action) for x in (b.old, agent.policy(features, b.legal)))
    return squared_error(auxiliary, b.target), cloning_term(old_log_prob, log_prob), squared_error(value, b.target)


def _right(old: Tensor, new: Tensor, action: Tensor) -> Tensor:
    p, q = old.log_softmax(-1), new.log_softmax(-1)
    return (p.exp() * (p - q)).sum(-1)


def _taken_only(old: Tensor, new: Tensor, action: Tensor) -> Tensor:
    return (old.log_softmax(-1) - new.log_softmax(-1)).gather(-1, action.unsqueeze(-1)).squeeze(-1)


check_kl = Exercise(
    _right,
    cases=(
        {
            "old": torch.tensor([[0.5, 0.5], [0.1, 0.9]]).log(),
            "new": torch.tensor([[0.75, 0.25], [0.5, 0.5]]).log(),
            "action": torch.tensor([0, 0]),
        },
        {"old": torch.tensor([[2.0, 0.0, -1.0]]), "new": torch.tensor([[1.0, 1.0, 1.0]]), "action": torch.tensor([1])},
        {
            "old": torch.tensor([[1.0, -1.0, 0.0], [3.0, 3.0, 0.0]]),
            "new": torch.tensor([[1.0, -1.0, 0.0], [4.0, 4.0, 1.0]]),  # nothing has changed: 0 and 0
            "action": torch.tensor([2, 0]),
        },
    ),
    mistakes={
        "this is KL(π ‖ π_old), the other direction: weight by the policy that you want to keep.": (
            lambda o, n, a: _right(n, o, a)
        ),
        "the sign is wrong: a divergence is never negative.": lambda o, n, a: -_right(o, n, a),
        "these are the weights of the new policy; use those of π_old.": lambda o, n, a: -_right(n, o, a),
        "every action counts the same, however rare. Weight each by π_old(a).": (
            lambda o, n, a: (o.log_softmax(-1) - n.log_softmax(-1)).sum(-1)
        ),
        "only the action taken counts. Its log-ratio can be negative, and says nothing about the other actions.": (
            _taken_only
        ),
        "only the action taken counts: this is one term of the sum over all actions.": (
            lambda o, n, a: _taken_only(o, n, a) * o.softmax(-1).gather(-1, a.unsqueeze(-1)).squeeze(-1)
        ),
        "this is the mean over actions. An expectation is the *sum* of terms weighted by probabilities.": (
            lambda o, n, a: _right(o, n, a) / o.shape[-1]
        ),
        "this is the mean over rows. There should be one number per row; the loop averages later.": (
            lambda o, n, a: _right(o, n, a).mean()
        ),
        "logits aren't log-probabilities: both need a log_softmax first.": (
            lambda o, n, a: (o.softmax(-1) * (o - n)).sum(-1)
        ),
        "this is the cross-entropy. Its gradient is right, but it isn't 0 where nothing has changed.": (
            lambda o, n, a: -(o.softmax(-1) * n.log_softmax(-1)).sum(-1)
        ),
    },
    drawn=lambda d: {"old": d.tensor(3, 4), "new": d.tensor(3, 4), "action": torch.tensor(d.rng.integers(0, 4, 3))},
    gradients=("new",),
)

"""group_baseline, group_norm, mixed_groups, clip_higher, kl_penalty, reply_mean, reply_ratio: answers by hand."""

import math
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
import torch
from support.fixtures import Patch, refusal
from support.recording import Recording
from torch import Tensor

from tricks import Config, Tricks, train
from tricks.clip_higher import clipped_apart, noted
from tricks.core.env import Env
from tricks.core.reductions import mean, reward_to_go, sum_over_reply
from tricks.core.rollout import Batch
from tricks.envs.make import make_env
from tricks.group_baseline import leave_one_out, reply_numbers, whole_replies
from tricks.group_norm import in_deviations
from tricks.kl_penalty import estimated_kl
from tricks.ladder import DAPO, GRPO, named, switched
from tricks.loop import build_agent
from tricks.mixed_groups import has_contrast
from tricks.reply_mean import mean_of_replies
from tricks.reply_ratio import ratio_of_reply

# Two groups of two replies, of 2, 3, 1 and 1 tokens, that earn 1, 3, 5 and 5.
REWARD = torch.tensor([[0, 0, 5, 5], [1, 0, 0, 0], [0, 3, 0, 0]], dtype=torch.float64).unsqueeze(0)
LENGTHS = torch.tensor([2, 3, 1, 1])
VALID = (torch.arange(3).view(1, 3, 1) < LENGTHS).expand(1, 3, 4)
DONE = torch.arange(3).view(1, 3, 1) == LENGTHS - 1
RETURNS = reward_to_go(REWARD, DONE, 1.0)
REPLY = reply_numbers(VALID).flatten(1)


def test_each_token_of_a_reply_has_its_return_less_the_mean_of_the_others() -> None:
    advantage = leave_one_out(RETURNS, 2)
    torch.testing.assert_close(advantage[0], torch.tensor([[-2.0, 2.0, 0.0, 0.0]] * 3).double())
    four = leave_one_out(torch.tensor([[[3.0, 0.0, 0.0, 1.0]]]), 4)
    torch.testing.assert_close(four, torch.tensor([[[8 / 3, -4 / 3, -4 / 3, 0.0]]]))


def test_both_forms_of_rloo_are_one_and_grpos_mean_is_a_shorter_step() -> None:
    """Kool et al. 2019: Σ(Rᵢ − mean)∇ᵢ/(k − 1) = Σ(Rᵢ − the others' mean)∇ᵢ/k = Σ over pairs, too."""
    k, r, slope = 5, torch.randn(5).double(), torch.randn(5).double()
    left_out = leave_one_out(r.view(1, 1, k), k).flatten()
    by_hand = torch.stack([r[i] - torch.cat([r[:i], r[i + 1 :]]).mean() for i in range(k)])
    torch.testing.assert_close(left_out, by_hand)
    torch.testing.assert_close((left_out * slope).mean(), ((r - r.mean()) * slope).sum() / (k - 1))
    pairs = [(r[i] - r[j]) * (slope[i] - slope[j]) for i in range(k) for j in range(i)]
    torch.testing.assert_close((left_out * slope).mean(), torch.stack(pairs).sum() / (k * (k - 1)))
    torch.testing.assert_close(left_out * (k - 1) / k, r - r.mean())


def test_grpos_advantage_is_in_units_of_torchs_std() -> None:
    returns = torch.tensor([[[0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0]]]).double()  # σ = ½, and no contrast
    found = in_deviations(leave_one_out(returns, 4), 4).flatten()
    expected = torch.tensor([-0.25, -0.25, -0.25, 0.75, 0, 0, 0, 0]).double() / (0.5 + 1e-4)
    torch.testing.assert_close(found, expected)
    r = torch.randn(1, 1, 24).double()
    group = r.view(3, 8)
    exactly = (group - group.mean(1, keepdim=True)) / (group.std(1, keepdim=True) + 1e-4)
    torch.testing.assert_close(in_deviations(leave_one_out(r, 8), 8).view(3, 8), exactly)


def test_groups_that_earned_the_same_have_no_contrast_in_any_row() -> None:
    assert has_contrast(RETURNS, 2)[0].tolist() == [[True, True, False, False]] * 3
    tenths = torch.full((1, 1, 6), 0.1).double()  # which adds up to a little more or less
    assert not has_contrast(tenths, 3).any()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"group": 1}, "a group of 1 has no other replies to compare with"),
        ({"group": 3}, "4 lanes are no whole groups of 3"),
        ({"group": 8}, "4 lanes are no whole groups of 8"),
        ({"minibatches": 5}, "5 minibatches of whole replies are more than 4 lanes"),
        ({"life_ends": True}, "a life cannot end one"),
        ({"env": "tricks/Sums-v0", "backend": "gymnasium"}, "only the tensor backend gives"),
    ],
)
def test_impossible_groups_are_refused_in_one_line(numbers: dict[str, Any], said: str) -> None:
    refusal(said, train, replace(SHORT, **numbers), named("group_baseline"))


def test_one_reply_per_minibatch_and_two_per_group_are_possible() -> None:
    assert len(train(replace(SHORT, minibatches=4, steps=1), GRPO).curve) == 2


SHORT = Config("ShortCartPole-v0", seeds=2, steps=200, lanes=4, horizon=16, hidden=(8,), group=2, minibatches=2)


@pytest.mark.parametrize("horizon", [1, 4, 100])
@pytest.mark.parametrize("env", ["ShortCartPole-v0", "CartPole-v1"])
def test_each_lane_plays_one_whole_episode(env: str, horizon: int) -> None:
    recording = Recording(replace(SHORT, env=env, horizon=horizon), switched(["group_baseline"]))
    assert len(recording.rollouts) > 2
    for rollout in recording.rollouts:
        rows = rollout.valid.any((1, 2))
        assert (rollout.over.sum(1)[rows] == 1).all()
        ends = rollout.over.double().argmax(1)  # [S, N]
        expected = torch.arange(rollout.valid.shape[1]).view(1, -1, 1) <= ends.unsqueeze(1)
        assert torch.equal(rollout.valid[rows], expected[rows])


def test_minibatches_hold_whole_replies_and_none_that_was_left_out() -> None:
    kept = VALID & torch.tensor([True, True, False, True])
    batch = Batch()
    batch.add(valid=kept, reply=reply_numbers(VALID), time=torch.arange(3).view(1, 3, 1).expand(1, 3, 4))
    config = Config(seeds=1, lanes=4, epochs=2, minibatches=2)
    parts = whole_replies(batch, config, 0)
    dealt = [sorted(zip(b.reply[b.valid].tolist(), b.time[b.valid].tolist(), strict=True)) for b in parts]
    rows = {0: [(0, 0), (0, 1)], 1: [(1, 0), (1, 1), (1, 2)], 3: [(3, 0)]}
    for epoch in (dealt[:2], dealt[2:]):
        assert sorted(chain(*epoch)) == [*chain(*rows.values())]
        assert all(rows[lane] == [row for row in b if row[0] == lane] for b in epoch for lane, _ in b)
        assert [len({lane for lane, _ in b}) for b in epoch] == [1, 2]


def test_where_no_group_has_contrast_nothing_moves() -> None:
    config = replace(SHORT, env="Endless-v0", steps=40)  # one step, always the same reward
    run = train(config, DAPO)
    env: Env = make_env(config)
    fresh = build_agent(env.spaces, config, DAPO)
    assert all(torch.equal(x, fresh.state_dict()[name]) for name, x in run.agent.state_dict().items())
    assert (run.curve.mixed_share == 0).all() and run.curve.policy_loss.isna().all() and run.diverged == {}


def test_each_limit_is_its_own() -> None:
    ratio = torch.tensor([[1.5, 1.25, 0.7, 1.5, 0.7, 0.9]])
    advantage = torch.tensor([[1.0, 1.0, 1.0, -1.0, -1.0, -2.0]])
    low, high = torch.tensor([0.2]), torch.tensor([0.3])
    found = clipped_apart(ratio, advantage, low, high)
    torch.testing.assert_close(found, torch.tensor([[1.3, 1.25, 0.7, -1.5, -0.8, -1.8]]))
    valid = torch.tensor([[True, True, True, False, True, True]])
    facts: Any = type("Facts", (), {"ratio": ratio, "t": type("T", (), {"clip_high": high}), "b": Batch(valid=valid)})
    torch.testing.assert_close(noted(facts)["clip_high_fraction"], torch.tensor([1 / 5]))


def test_both_limits_anneal(monkeypatch: Patch) -> None:
    limits = list[Tensor]()

    def watch(ratio: Tensor, advantage: Tensor, low: Tensor, high: Tensor) -> Tensor:
        limits.append(torch.stack([low, high], 1)[0])
        return clipped_apart(ratio, advantage, low, high)

    monkeypatch.setattr("tricks.loop.clipped_apart", watch)
    train(replace(SHORT, epochs=1, minibatches=1), Tricks(reuse=True, clip=True, clip_anneal=True, clip_higher=True))
    torch.testing.assert_close(limits[0], torch.tensor([0.2, 0.28]))
    left = limits[-1] / limits[0]
    assert left[0] < 0.9
    torch.testing.assert_close(left[0], left[1])


def test_estimators_of_the_kl() -> None:
    log_prob, reference = torch.tensor([[math.log(0.5)]]).double(), torch.tensor([[math.log(0.25)]]).double()
    for name, expected in {"k1": math.log(2), "k2": math.log(2) ** 2 / 2, "k3": 0.5 - 1 + math.log(2)}.items():
        assert estimated_kl(log_prob, reference, name).item() == pytest.approx(expected)


def test_two_replies_of_different_length_under_each_mean() -> None:
    """One token worth 6, and three worth 1, 2 and 6, between rows that are filler."""
    x = torch.tensor([[6.0, 1.0, torch.nan, 2.0, torch.inf, 6.0]], requires_grad=True)
    reply, valid = torch.tensor([[0, 1, 0, 1, 0, 1]]), torch.tensor([[True, True, False, True, False, True]])
    torch.testing.assert_close(sum_over_reply(x, reply, valid, 2), torch.tensor([[6.0, 9.0, 6.0, 9.0, 6.0, 9.0]]))
    means = {0.0: (6 / 1 + 9 / 3) / 2, 4.0: (6 + 9) / 4 / 2, 1.0: (6 + 9) / 2}
    for divisor, expected in means.items():
        found = mean_of_replies(x, reply, valid, divisor, 2)
        assert found.item() == pytest.approx(expected)
        (slope,) = torch.autograd.grad(found.sum(), x)
        weight = {0.0: [1 / 2, 1 / 6, 0, 1 / 6, 0, 1 / 6]}.get(divisor, [x / 2 / (divisor or 1) for x in valid[0]])
        torch.testing.assert_close(slope, torch.tensor([weight]).float())
    assert mean(x, valid).item() == pytest.approx(15 / 4)
    both = mean_of_replies(x.expand(2, 6), reply.expand(2, 6), valid.expand(2, 6), (0.0, 4.0), 2)
    torch.testing.assert_close(both, torch.tensor([means[0.0], means[4.0]]))
    assert mean_of_replies(x, reply, valid & False, 0.0, 2).tolist() == [0]


def test_a_replys_ratio_is_the_geometric_mean_of_its_tokens_and_they_share_its_gradient() -> None:
    log_ratio = torch.tensor([[2.0, 2.0, 9.0, 8.0]]).log().requires_grad_()
    reply, valid = torch.tensor([[0, 1, 0, 1]]), torch.tensor([[True, True, False, True]])
    ratio = ratio_of_reply(log_ratio, reply, valid, 2)
    torch.testing.assert_close(ratio, torch.tensor([[2.0, 4.0, 2.0, 4.0]]))
    (slope,) = torch.autograd.grad((ratio * valid).sum() - ratio[0, 3], log_ratio)
    torch.testing.assert_close(slope, torch.tensor([[2.0, 2.0, 0.0, 2.0]]))  # 4/2 for each of two tokens

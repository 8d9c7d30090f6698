"""The parts that every rung shares: Adam, the policies, the streams, the environments, the log."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from tricks import PPO, REINFORCE, Config, InputError, train
from tricks.core.adam import Adam, gradient
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.core.seeds import draw, stream
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.runs.log import Log
from tricks.segments import play_segment


def test_adam_equals_torch_seed_by_seed_and_a_seed_may_stand_still() -> None:
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, 4, 2, generator=generator), torch.randn(3, 1, 2, generator=generator)]
    stacked = [torch.nn.Parameter(p.clone()) for p in start]
    rates = torch.tensor([0.1, 0.01, 0.5])
    mine = Adam(stacked, eps=1e-5)
    lone = [[torch.nn.Parameter(p[k].clone()) for p in start] for k in range(3)]
    theirs = [torch.optim.Adam(p, float(rate), eps=1e-5) for p, rate in zip(lone, rates, strict=True)]
    for t in range(20):
        if t == 10:
            stopped = [p[2].detach().clone() for p in stacked]
        losses = sum((p * p.detach().cos() * 3).flatten(1).square().sum(1) for p in stacked)
        moving = torch.tensor([True, True, t < 10])
        scale = torch.tensor([1.0, 1.0, 1.0 if t < 10 else torch.nan])
        mine.step(gradient(losses * scale, stacked), rates, moving)
        for parameters, adam in zip(lone, theirs, strict=True):
            adam.zero_grad()
            torch.stack([(q * q.detach().cos() * 3).square().sum() for q in parameters]).sum().backward()
            adam.step()
    for k, place in enumerate(lone[:2]):
        for p, q in zip(stacked, place, strict=True):
            torch.testing.assert_close(p[k], q)
    for p, kept in zip(stacked, stopped, strict=True):
        assert torch.equal(p[2], kept)


def test_the_gradient_of_one_seed_ignores_the_loss_of_another() -> None:
    p = torch.nn.Parameter(torch.ones(2, 3))
    unused = torch.nn.Parameter(torch.ones(2, 1))
    found = gradient(p.square().sum(1) * torch.tensor([1.0, torch.nan]), [p, unused])
    assert found[0].tolist() == [2, 2, 2, 0]


def test_gumbel_noise_samples_the_softmax() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0])
    noise = torch.from_numpy(Categorical.noise(np.random.default_rng(0), (40_000, 3)))
    counts = Categorical.sample(logits, noise).bincount(minlength=3) / 40_000
    torch.testing.assert_close(counts, logits.softmax(-1), atol=0.01, rtol=0)


def test_policies_agree_with_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, action = torch.randn(5, 4, generator=generator), torch.tensor([0, 3, 1, 2, 2])
    theirs = torch.distributions.Categorical(logits=logits)
    torch.testing.assert_close(Categorical.log_prob(logits, action), theirs.log_prob(action))
    torch.testing.assert_close(Categorical.entropy(logits), theirs.entropy())
    box = torch.randn(5, 2, generator=generator)
    mean, log_std = logits.chunk(2, -1)
    normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
    torch.testing.assert_close(DiagonalGaussian.log_prob(logits, box), normal.log_prob(box))
    torch.testing.assert_close(DiagonalGaussian.entropy(logits), normal.entropy())


def test_streams_differ_by_seed_purpose_and_place_and_repeat() -> None:
    firsts = [
        stream(*key).random() for key in ((0, "env"), (1, "env"), (0, "action"), (0, "action", 1), (0, "action", 0))
    ]
    assert len(set(firsts)) == len(firsts)
    pair = draw((4, 7), "init", by=lambda rng: rng.random(3))
    assert torch.equal(pair[1:], draw((7,), "init", by=lambda rng: rng.random(3)))


def test_box_actions_are_clipped_for_the_world_but_not_for_the_log_probability() -> None:
    env = make_env(Config(env="Pendulum-v1", seeds=1, lanes=2))
    far = torch.tensor([[[7.0], [-9.0]]])
    assert env.spaces.decode(far).flatten().tolist() == [2, -2]
    player = Player(env, block=4)
    rollout = play_segment(player, lambda obs, legal: torch.tensor([[[50.0, 0.0]] * 2]), 4, torch.ones(1) > 0)
    assert rollout.action.min() > 40


def test_discrete_observations_become_one_hot() -> None:
    spaces = Spaces("x", gym.spaces.Discrete(5, start=2), gym.spaces.Discrete(3, start=-1))
    assert spaces.encode(np.array([2, 6]), (2,)).tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert spaces.decode(torch.tensor([0, 2])).tolist() == [-1, 1]


def test_whole_episodes_give_each_seed_its_rows_and_nothing_unfinished() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=3, lanes=4))
    active = torch.tensor([True, False, True])
    rollout = play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(3, 4, 2), 100, active)
    done = rollout.terminated | rollout.truncated
    assert rollout.valid.flatten(1).sum(1).tolist()[1] == 0
    assert (rollout.valid[active].flatten(1).sum(1) >= 100).all()
    for seed, lane in ((0, 0), (0, 3), (2, 2)):
        rows = rollout.valid[seed, :, lane].nonzero().flatten()
        assert done[seed, rows[-1], lane]  # a lane stops at the end of an episode
    assert not rollout.cut.any()


def test_no_lane_starts_another_episode_once_its_seed_has_its_rows() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=10, lanes=4))
    rollout = play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(10, 4, 2), 100, torch.ones(10) > 0)
    enough = rollout.valid.sum(2).cumsum(1) >= 100  # [S, T]
    starts = ~rollout.valid[:, :-1] & rollout.valid[:, 1:]  # a reset row, and then experience
    assert starts.any()
    assert not (starts & enough[:, :-1].unsqueeze(-1)).any()


def test_a_row_follows_from_the_one_before_unless_a_reset_lies_between() -> None:
    env = make_env(Config(env="CartPole-v1", seeds=2, lanes=3))
    rollout = play_segment(Player(env, 64), lambda obs, legal: torch.zeros(2, 3, 2), 64, torch.ones(2) > 0)
    euler = rollout.obs[:, :-1, :, 0] + 0.02 * rollout.obs[:, :-1, :, 1]
    follows = torch.isclose(euler, rollout.obs[:, 1:, :, 0], atol=1e-6)
    assert follows[rollout.valid].all()
    assert (~rollout.valid).sum() > 3
    done = rollout.terminated | rollout.truncated
    assert torch.equal(~rollout.valid[:, 1:], done[:, :-1])  # a reset row follows each end and nothing else


def rollout_of(reward: list[list[float]], done: list[list[int]]) -> Rollout:
    """One seed; rows are steps, columns are lanes."""
    r, d = torch.tensor(reward).double()[None], torch.tensor(done).bool()[None]
    empty = torch.zeros(0)
    return Rollout(empty, empty, empty, r, d, torch.zeros_like(d), torch.ones_like(d), r, d)


def test_episodes_are_summed_across_rollouts() -> None:
    log = Log(Config(seeds=1, lanes=2, steps=1000))
    for rollout in (
        rollout_of([[1, 10], [2, 20], [3, 30]], [[0, 0], [1, 0], [0, 0]]),  # lane 0 ends with 3
        rollout_of([[4, 40], [5, 50]], [[1, 0], [0, 0]]),  # lane 0 ends with 3 + 4
        rollout_of([[6, 60]], [[1, 1]]),  # 5 + 6, and 10 + ... + 60
    ):
        log.note(grad_norm=torch.ones(1), policy_loss=torch.ones(1))
        log.end_update(rollout)
    curve = log.curve()
    assert curve["return"].tolist() == [3, 7, (11 + 210) / 2]
    assert curve["length"].tolist() == [2, 2, 4]
    assert curve["episodes"].tolist() == [1, 1, 2]
    assert curve["step"].tolist() == [6, 10, 12]


def test_a_diagnostic_that_a_rung_lacks_is_nan_not_zero() -> None:
    config = Config(env="ShortCartPole-v0", seeds=1, steps=100, lanes=2, horizon=16)
    bare, ppo = train(config, REINFORCE).curve, train(config, PPO).curve
    lacking = ["value_loss", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"]
    assert bare[lacking].isna().all(axis=None)
    assert bare[["policy_loss", "entropy", "grad_norm"]].notna().all(axis=None)
    assert ppo[[name for name in lacking if name != "explained_variance"]].notna().all(axis=None)


def test_a_seed_stops_when_its_budget_is_used() -> None:
    config = Config(env="ShortCartPole-v0", seeds=3, steps=500, lanes=4, horizon=16)
    for tricks in (REINFORCE, PPO):
        steps = train(config, tricks).curve.groupby("seed").step
        assert (steps.max() >= 500).all()
        assert (steps.apply(lambda s: s.iloc[-2]) < 500).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"env": "CartPole-v7"}, "CartPole-v1"),
        ({"env": "Nonsense-v0"}, "cannot make the environment 'Nonsense-v0'"),
        ({"env": "Blackjack-v1"}, "Tuple observation space; supported are Box and Discrete"),
        ({"env": "BrokenObs-v0"}, r"BrokenObs-v0: the observation is not finite \(seed 0, step 3 of rollout 0\)"),
        ({"env": "BrokenReward-v0"}, r"BrokenReward-v0: the reward is not finite \(seed 0, step 2 of rollout 0\)"),
    ],
)
def test_bad_input_is_named(change: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(replace(Config(seeds=1, steps=100, lanes=1, horizon=16), **change), PPO)  # type: ignore[arg-type]


OUT_OF_RANGE: list[dict[str, object]] = [
    {"steps": 0},
    {"lr": -1.0},
    {"lr": float("inf")},
    {"entropy_coef": float("nan")},
    {"gamma": 1.1},
    {"seeds": 0},
    {"seeds": (1, 1)},
    {"hidden": (0,)},
    {"minibatches": 0},
]


@pytest.mark.parametrize("change", OUT_OF_RANGE, ids=str)
def test_a_number_out_of_range_is_named(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        Config(**change)  # type: ignore[arg-type]

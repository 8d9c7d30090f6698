"""The compiled functions, run as Python, agree with the formulas, too: what mutation testing changes takes effect here.

Python also checks each index of an array. It takes about a thousand times as long, so there is little of everything.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch

pytest.importorskip("numba")
from support.draws import FORMS, Draw
from support.draws import assert_alike as assert_form
from support.interpreted import interpreted
from support.learners import ACTIONS, FLAGS, Learner
from support.learners import assert_alike as assert_learned
from support.updates import compiled_losses

from tricks import PPO, Config, Tricks
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.fast import rules
from tricks.fast.dispatch import plain
from tricks.fast.formulas import formula
from tricks.fused import compiled_losses as code
from tricks.fused.playing import play_episodes, play_segment
from tricks.ladder import closed, switched
from tricks.loop import build_agent
from tricks.state_norm import ObsStats
from tricks.worlds import CLASSIC

SEED = 11  # of a learner with both actions, three seeds, and two minibatches


BOXES = pytest.mark.parametrize("box", [False, True], ids=["discrete", "box"])


@pytest.mark.parametrize("form", FORMS)
def test_single_forms(form: str) -> None:
    with interpreted():
        for seed in range(12):
            assert_form(getattr(Draw(f"{form} {seed}", usual=True), form)(), seed)


@pytest.mark.parametrize("seed", range(40))
def test_learning(seed: int) -> None:
    with interpreted():
        assert_learned(Learner(seed, usual=True))


@BOXES
def test_kernels_learn_from_whatever_is_finite_and_from_every_action(box: bool) -> None:
    learner = Learner(SEED, PPO, box, usual=True, odd=False)
    with interpreted(), compiled_losses() as found:
        assert_learned(learner)
    assert found
    assert all(found)
    if not box:
        assert {int(a) for b in learner.batches for a in b.action.unique()} == {0, 1}


@BOXES
@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["obs", "action", "advantage", "old_log_prob", "value", "target"])
def test_filler_that_is_not_finite(column: str, odd: float, active: bool, box: bool) -> None:
    huber = replace(PPO, value_clip=True, huber=True)
    for flags in (PPO, replace(PPO, value_clip=False), huber, switched(closed({"baseline"}))):
        learner = Learner(SEED, flags, box, usual=True, odd=False)
        learner.active = torch.tensor([active] * len(learner.active))
        for b in learner.batches:
            b.valid[:, -1], b.old_log_prob[:, -1] = False, -1.0
            if getattr(b, column).is_floating_point():
                getattr(b, column)[0, -1] = odd
        with interpreted():
            assert_learned(learner)


@pytest.mark.parametrize("action", [-1, ACTIONS])
def test_filler_without_such_an_action(action: int) -> None:
    learner = Learner(SEED, PPO, box=False, usual=True, odd=False)
    for b in learner.batches:
        b.valid[:, -1] = False
        b.action[0, -1] = action
    with interpreted():
        assert not assert_learned(learner)


@pytest.mark.parametrize("log_std", [-40.0, 0.0, 40.0])
@pytest.mark.parametrize("action", [1e18, 1.9e19, 1e25, 3e38])
def test_actions_far_from_their_mean(action: float, log_std: float) -> None:
    for flags in (replace(PPO, entropy=True), replace(PPO, entropy=False)):
        assert_far_action_is_learned(flags, action, log_std)


def test_a_far_action_with_a_tiny_advantage() -> None:
    assert_far_action_is_learned(switched(closed({"entropy"})), action=1e21, log_std=2.0, advantage=1e-30)


def assert_far_action_is_learned(flags: Tricks, action: float, log_std: float, advantage: float | None = None) -> None:
    learner = Learner(SEED, flags, box=True, usual=True, odd=False)
    with torch.no_grad():
        learner.agent.log_std.fill_(log_std)
    for b in learner.batches:
        b.action[:, 0, 0], b.valid[:, 0], b.old_log_prob[:] = action, True, 0.0
        if advantage is not None:
            b.advantage[:] = advantage
    with interpreted():
        assert_learned(learner)


def test_losses_too_large_for_float32() -> None:
    learner = Learner(SEED, switched(closed({"baseline"})), box=False, usual=True, odd=False)
    for b in learner.batches:
        b.advantage[:] = 3e38
    with interpreted():
        assert_learned(learner)


@pytest.mark.parametrize("id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
def test_rules_of_worlds_from_any_state(id: str) -> None:
    world, generator = CLASSIC[id], torch.Generator().manual_seed(0)
    name = world.dynamics.__module__.rpartition(".")[2]
    kinds = {"cartpole": 2, "acrobot": 3}.get(name)
    state = torch.randn(3, 40, world.reset_chances, generator=generator) * torch.tensor([0.1, 1.0, 15.0]).view(3, 1, 1)
    action = 3 * torch.randn(3, 40, 1, generator=generator)
    action[0, 0] = torch.nan  # of Pendulum: no torque
    if kinds:
        action = torch.randint(kinds, (3, 40), generator=generator)
    with plain():
        theirs = *world.dynamics(state, action, torch.empty(3, 40, 0)), world.observe(state)
    with interpreted():
        mine = getattr(rules, name)(state, action, torch.empty(3, 40, 0))
        assert mine is not None
        for x, y in zip((*mine, world.observe(state)), theirs, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-4)
        for wrong in (-1, kinds) if kinds else ():
            action[2, 39] = wrong
            assert getattr(rules, name)(state, action, torch.empty(3, 40, 0)) is None


@pytest.mark.parametrize("advantage", [-1.0, -0.5])
@pytest.mark.parametrize(("ratio_is", "slope"), [(1.9, 1.9), (2.0, 1.0), (2.1, 0.0)])
def test_half_of_a_tie_with_the_bound_of_dual_clip_has_a_gradient(
    ratio_is: float, slope: float, advantage: float
) -> None:
    single, on = np.float32, np.array([flag in ("reuse", "dual_clip") for flag in code.FLAGS])
    given = single(0), -np.log(single(ratio_is)), single(advantage), on, np.full(len(code.NUMBERS), 2.0)
    value, found = code.objective.py_func(*given, np.zeros(len(code.FOUND)))
    assert (value, found) == pytest.approx((advantage * min(ratio_is, 2), advantage * slope), rel=1e-5)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("flag", FLAGS)
def test_learning_with_each_flag(flag: str, reuse: bool) -> None:
    flags = switched(closed({flag, *(["reuse"] if reuse else [])}))
    with interpreted():
        for seed in range(4):
            assert_learned(Learner(seed, flags, box=False, usual=True))


@pytest.mark.parametrize("rows", [0, 12, 63, 64])
@pytest.mark.parametrize("world", ["CartPole-v0", "Acrobot-v1", "Pendulum-v1"])
def test_playing(world: str, rows: int) -> None:
    """A segment, or whole episodes of so many rows: 63 are all of one in each of seven lanes."""
    hidden = {12: (), 63: (4,)}.get(rows, (4, 3, 5))
    seeds = 1 if rows == 64 else 2
    config, found, left = Config(world, seeds=seeds, lanes=7, horizon=10, hidden=hidden), [], []
    name = "tricks.core.rollout.play_episodes" if rows else "tricks.segments.play_segment"
    for form in (play_episodes if rows else play_segment, formula(name)):
        env = make_env(config)
        assert isinstance(env, TensorEnv)
        env._limit = 9
        agent = build_agent(env.spaces, config, replace(PPO, state_norm=rows != 64))
        if agent.obs_stats is not None:
            stats = cast(ObsStats, agent.obs_stats)
            count, average, squares = stats.moments
            stats.moments = stats.moments._replace(rows=count + 1, mean=average + 0.01, squares=squares + 1e-5)
        with torch.no_grad():
            agent.policy_net.head.weight.mul_(30)
            agent.policy_net.head.bias.add_(torch.linspace(0.5, 1, agent.policy_net.head.bias.shape[-1]))
            agent.policy_net.head.bias[1:, :, -1] = torch.nan  # of the second seed, which is always its choice
        player = Player(env, config.horizon)
        with interpreted():
            found.append(
                [form(player, agent.policy, rows or 10, torch.tensor([True, k == 0][:seeds])) for k in range(2)]
            )
        left.append([env._state, env._age.double(), env.now.reward, env.now.resetting.double()])
    for mine, theirs in zip(*found, strict=True):
        assert mine is not None
        assert torch.equal(mine.valid, theirs.valid)
        for column in ("obs", "action", "reward", "terminated", "truncated", "over"):
            x, y = getattr(mine, column), getattr(theirs, column)
            at = slice(None) if column == "obs" else mine.valid
            torch.testing.assert_close(x[at], y[at], equal_nan=True)
    if not rows:
        torch.testing.assert_close(*left, equal_nan=True)

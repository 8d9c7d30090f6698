"""Each world whose reward is what is hard about it has the mechanism it was made for."""

import pytest
import torch
from support.playing import numbers, played, uniform
from torch import Tensor

from tricks import Config
from tricks.core.env import Step
from tricks.core.rollout import Player, play_episodes
from tricks.envs.tensor import TensorEnv
from tricks.worlds import (
    chain,
    jump,
    magnitudes,
    offset,
    reward_scale,
    shocks,
    tightrope,
)
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World


def test_offset_the_gradients_variance_is_the_offsets_and_a_baseline_takes_it_out() -> None:
    chance = numbers(100_000, offset.LENGTH + 1)
    first = torch.arange(100_000) % 2  # the first action is tossed like a coin, so ∂log π/∂logit₁ is a − ½
    rewards = []
    for a in (0, 1):
        actions = torch.tensor([a, *[1] * (offset.LENGTH - 1)])
        rewards.append(played(offset.OFFSET_REWARD, actions, chance).sum(1))
    returns = torch.where(first == 1, rewards[1], rewards[0])
    score = first - 0.5
    n, mean = offset.LENGTH, offset.OFFSET + 0.5  # every reward is OFFSET + Bernoulli(½)
    for baseline, second_moment in ((0.0, (n * mean) ** 2 + n / 4), (n * mean, n / 4)):
        gradient = score * (returns - baseline)
        assert gradient.mean().item() == pytest.approx(0.0, abs=4 * gradient.std().item() / 100_000**0.5)
        assert gradient.var().item() == pytest.approx(second_moment / 4, rel=0.02)
    state = torch.tensor([[[1.0, n - 1.0]]])
    _, reward, terminated = offset.OFFSET_REWARD.dynamics(state, torch.ones(1, 1), torch.zeros(1, 1, 1))
    assert (float(reward), bool(terminated)) == (offset.OFFSET + 1, True)


def test_chain_the_return_has_the_variance_of_all_its_steps_the_td_error_of_one() -> None:
    steps = chain.CELLS - 1
    rewards = played(chain.NOISY_CHAIN, 1 - torch.arange(steps) % 2, numbers(50_000, steps + 1))  # along in every cell
    assert rewards.sum(1).mean().item() == pytest.approx(chain.GOAL, abs=0.1)
    assert rewards.sum(1).var().item() == pytest.approx(steps * chain.NOISE**2, rel=0.03)
    assert rewards[:, 0].var().item() == pytest.approx(chain.NOISE**2, rel=0.03)  # with the true V, δ is the noise
    assert rewards[:, 0].mean().item() == pytest.approx(0.0, abs=0.03)  # with V = 0, δ knows of no goal


@pytest.mark.parametrize(
    ("world", "scale"),
    [
        *zip(reward_scale.LARGE_REWARDS, (10.0, 100.0), strict=True),
        *zip(reward_scale.SMALL_REWARDS, (0.1, 0.01, 0.0001), strict=True),
    ],
)
def test_reward_scale_changes_the_reward_and_nothing_else(world: World, scale: float) -> None:
    state, action = numbers(200, 4), torch.arange(200)[None] % 2
    mine, original = (w.dynamics(state, action, torch.empty(1, 200, 0)) for w in (world, CARTPOLE))
    assert torch.equal(mine[0], original[0])
    assert torch.equal(mine[1], scale * original[1])
    assert torch.equal(mine[2], original[2])


def test_shocks_are_seldom_huge_and_of_mean_zero() -> None:
    count = 4 * shocks.SELDOM
    chance = (torch.arange(count) / count).view(1, -1, 1)  # every number equally often
    _, reward, _ = shocks.SHOCKS.dynamics(torch.zeros(1, count, 4), torch.zeros(1, count), chance)
    assert reward.mean() == 1.0
    assert sorted(reward[reward != 1].tolist()) == [1 - shocks.SIZE] * 2 + [1 + shocks.SIZE] * 2


def test_jump_the_pay_rises_at_one_step_of_each_lane_whatever_is_reset_or_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jump, "JUMP", 100)
    env = TensorEnv(jump.REWARD_JUMP, Config(env=jump.REWARD_JUMP.id, seeds=2, lanes=3, horizon=32))
    clock, jumped, step = torch.zeros(2, 3), 0, env.step

    def counting(action: Tensor, playing: Tensor) -> Step:
        nonlocal clock, jumped
        taken = playing[:, None] & ~env.now.resetting
        taking = step(action, playing)
        assert torch.equal(taking.reward[taken], torch.where(clock < 100, 1.0, jump.SCALE)[taken].double())
        clock, jumped = clock + taken, jumped + int((clock[taken] == 100).sum())
        return taking

    env.step = counting  # type: ignore[method-assign]
    player = Player(env, 32)
    for k in range(16):  # the second seed stands still two times out of three
        play_episodes(player, uniform, 30, torch.tensor([True, k % 3 == 0]))
    assert jumped == 6
    assert (clock[0] > 2 * clock[1]).all()
    assert env.now.obs.shape[-1] == 4  # the clock is not seen


def test_magnitudes_the_task_that_is_shown_decides_the_pay() -> None:
    world = magnitudes.MAGNITUDES
    state = world.initial(torch.tensor([[[0.1, 0.9], [0.3, 0.9], [0.6, 0.9], [0.9, 0.9]]]))
    assert torch.equal(world.observe(state)[0, :, :4], torch.eye(4))
    for action, share in ((1, 1.0), (0, 0.0)):
        after, reward, _ = world.dynamics(state, torch.full((1, 4), action), torch.zeros(1, 4, 1))
        assert reward[0].tolist() == [share, 10 * share, 100 * share, 1000 * share]
        assert torch.equal(after[..., 0], state[..., 0])


def test_tightrope_one_wrong_action_ends_it_and_the_noise_has_mean_zero() -> None:
    count = 1001
    chance = torch.stack([torch.zeros(count), torch.linspace(0, 1, count)], -1)[None]
    for cue, action in ((0.2, 0), (0.2, 1), (0.8, 0), (0.8, 1)):
        right = (cue > 0.5) == action
        state = torch.full((1, count, 1), cue)
        _, reward, terminated = tightrope.TIGHTROPE.dynamics(state, torch.full((1, count), action), chance)
        assert (terminated == (not right)).all()
        assert reward.mean().item() == pytest.approx(float(right), abs=1e-6)
        assert reward.std().item() == pytest.approx(tightrope.NOISE, rel=0.01)

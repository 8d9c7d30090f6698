"""Each world whose reward is what is hard about it has the mechanism it was made for."""

import re

import pytest
import torch
from support.playing import numbers, played, uniform
from torch import Tensor

from tricks import Config
from tricks.core.env import Step
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.tensor import TensorEnv
from tricks.segments import play_segment
from tricks.worlds import (
    cartpole,
    chain,
    dial,
    jump,
    line,
    loan,
    lottery,
    magnitudes,
    mail,
    offset,
    pairs,
    parity,
    recall,
    reward_scale,
    shocks,
    shuttle,
    tightrope,
    unseen,
    weather,
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


def dose(world: World) -> str:
    """The number in its name."""
    return re.findall(r"[\d.]+", world.id.removesuffix("-v0"))[0]


def rollout_of(world: World, lanes: int, steps: int, seeds: int = 2) -> Rollout:
    """A segment of random play."""
    env = TensorEnv(world, Config(env=world.id, seeds=seeds, lanes=lanes))
    return play_segment(Player(env, steps), uniform, steps, torch.ones(seeds) > 0)


@pytest.mark.parametrize("world", [*loan.LOANS, *loan.LARGE_LOANS], ids=lambda world: world.id)
def test_a_loan_is_in_every_return_after_the_first_step_and_in_no_score(world: World) -> None:
    size, pay = map(float, re.findall(r"[\d.]+", world.id.removesuffix("-v0")))
    chance = numbers(200, loan.LENGTH + 1)
    rewards = played(world, torch.ones(loan.LENGTH), chance)
    sign = (2 * chance[0, :, 1].round() - 1).double()
    paid = rewards.clone()
    paid[:, 0] -= size * sign
    paid[:, -1] += size * sign
    torch.testing.assert_close(paid.sum(1), rewards.sum(1))
    assert set((paid / pay).round(decimals=4).abs().unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("world", lottery.LOTTERIES, ids=lambda world: world.id)
def test_a_ticket_is_worth_one_and_wins_once_in_as_many_draws_as_its_prize(world: World) -> None:
    prize = float(dose(world))
    chance = numbers(20_000, 3)
    chance[0, :, 2] = torch.linspace(0, 1, 20_001)[:-1]  # the draws
    bought, sure = (played(world, torch.tensor([action, 0.0]), chance) for action in (lottery.TICKET, 0))
    assert set(bought.sum(1).tolist()) == {0.0, prize}
    assert bought.sum(1).mean().item() == pytest.approx(1, abs=1e-3)
    assert (sure.sum(1) == lottery.SURE).all()


def test_a_dial_pays_for_its_distance_and_random_and_extreme_ones_get_what_the_docstring_says() -> None:
    state, draws = dial.initial(torch.rand(50_000, 1)), torch.rand(50_000, 1)
    assert 0.49 < dial.observe(state).abs().max() <= 0.5
    for action, mean in ((2 * torch.rand(50_000, 1) - 1, 0.583), (torch.full((50_000, 1), -5.0), -0.083)):
        after, reward, _ = dial.dynamics(state, action, draws)
        assert reward.mean().item() == pytest.approx(mean, abs=0.01)
        assert not torch.equal(after[:, 0], state[:, 0])
    target = torch.tensor([[0.3, 0.0], [0.3, 8.0], [-0.2, 9.0]])
    _, reward, done = dial.dynamics(target, torch.tensor([[0.3], [0.8], [torch.nan]]), torch.rand(3, 1))
    assert reward.tolist() == pytest.approx([1, 0.75, 0.96])
    assert done.tolist() == [False, False, True]


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_parity_pays_for_the_parity(bits: int) -> None:
    world = parity.PARITIES[bits - 1]
    rollout = rollout_of(world, lanes=8, steps=50)
    shown, valid = (rollout.obs[:, :-1] + 1) / 2, rollout.valid
    right = rollout.action == shown.sum(-1) % 2
    assert torch.equal(rollout.reward[valid], right[valid].double())
    assert 0.3 < rollout.reward[valid].mean() < 0.7


@pytest.mark.parametrize("world", mail.MAILS, ids=lambda world: world.id)
def test_mail_arrives_so_many_steps_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "NOISE", 0.0)
    delay = int(dose(world))
    rollout = rollout_of(world, lanes=4, steps=100)  # less than an episode
    earned = 2.0 * (rollout.action == (rollout.obs[:, :-1, :, 0] + 1) / 2) - 1
    torch.testing.assert_close(rollout.reward[:, delay:], earned[:, :-delay].double())
    assert (rollout.reward[:, :delay] == 0).all()


def test_constant_features_are_all_that_is_added() -> None:
    plain = rollout_of(line.THERE_AND_BACK, lanes=2, steps=30)
    for count, world in zip((1, 3), line.WITH_CONSTANTS, strict=True):
        more = rollout_of(world, lanes=2, steps=30)
        assert torch.equal(more.obs[..., :2], plain.obs)
        assert torch.equal(more.obs[..., 2:], torch.full((2, 31, 2, count), float(line.REACH)))


@pytest.mark.parametrize("world", pairs.SHOCK_PAIRS, ids=lambda world: world.id)
def test_every_shock_is_taken_back_one_step_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "SELDOM", 4)
    size = float(dose(world))
    rollout = rollout_of(world, lanes=8, steps=200)
    shock = torch.where(rollout.valid, (rollout.reward - 1) / size, 0)  # random play falls long before the time limit
    assert set(shock.unique().tolist()) == {-1.0, 0.0, 1.0}
    env = TensorEnv(world, Config(env=world.id, seeds=2, lanes=8))
    episodes = play_episodes(Player(env, 64), uniform, 256, torch.ones(2) > 0)
    returns = torch.where(episodes.valid, episodes.reward, 0).sum(1)
    assert torch.equal(returns, episodes.valid.sum(1).double())  # one per step: nothing is left of the shocks


@pytest.mark.parametrize("world", weather.WEATHERS, ids=lambda world: world.id)
def test_the_weather_is_that_of_all_lanes_and_leaves_scores_alone(world: World) -> None:
    size = float(dose(world))
    env = TensorEnv(world, Config(env=world.id, seeds=2, lanes=4))
    player, lucky = Player(env, 10), []
    for _ in range(40):
        rollout = play_episodes(player, uniform, 40, torch.ones(2) > 0)
        assert rollout.valid.all()
        luck = rollout.obs[:, :10, :, 1]
        assert (luck == luck[0, 0, 0]).all()
        right = (rollout.action == (rollout.obs[:, :10, :, 0] + 1) / 2).double()
        torch.testing.assert_close(rollout.reward.sum(1), right.sum(1))
        lent = (luck[:, 0] + 1) / 2 * size
        torch.testing.assert_close(rollout.reward[:, 0], right[:, 0] + lent)
        lucky.append(float(luck[0, 0, 0]) == 1)
    assert 10 < sum(lucky) < 30


@pytest.mark.parametrize("world", shuttle.SHUTTLES, ids=lambda world: world.id)
def test_the_shuttle_rests_walks_and_arrives(world: World) -> None:
    assert world.time_limit == int(dose(world))
    rollout = rollout_of(world, lanes=64, steps=60)
    valid, cell = rollout.valid, rollout.obs.argmax(-1)
    before, after = cell[:, :-1], cell[:, 1:]
    reached = (before + rollout.action).clamp(max=shuttle.CELLS - 1)
    there = reached == shuttle.CELLS - 1
    expected = torch.where(there, shuttle.PAY, shuttle.REST * (rollout.action == 0))
    torch.testing.assert_close(rollout.reward[valid], expected[valid].double())
    moved = (after != reached)[valid].double().mean()
    assert 0.01 < moved < 0.03
    assert not rollout.terminated.any()
    starts = rollout.obs[:, 0].argmax(-1)
    assert starts.unique().numel() > 15  # lanes begin anywhere


@pytest.mark.parametrize("world", recall.RECALLS, ids=lambda world: world.id)
def test_a_cue_is_seen_once_and_asked_for_at_the_end(world: World) -> None:
    length = int(dose(world))
    rollout = rollout_of(world, lanes=8, steps=3 * (length + 2))
    cue, choice = rollout.obs[:, :-1].unbind(-1)
    first = torch.zeros_like(rollout.valid)
    first[:, :: length + 2] = True  # an episode, and the row that resets it
    assert torch.equal(cue.abs() == 1, first)
    asked = (choice == 1) & rollout.valid
    assert torch.equal(asked, rollout.terminated)
    right = rollout.action[:, length :: length + 2] == (cue[:, :: length + 2] > 0)
    assert torch.equal(rollout.reward[:, length :: length + 2], right.double())
    assert not rollout.reward[~asked].any()


@pytest.mark.parametrize("speeds", [1, 2])
def test_hidden_speeds_are_missing_and_nothing_else_changes(speeds: int) -> None:
    whole, part = rollout_of(cartpole.CARTPOLE, 4, 30), rollout_of(unseen.HIDDEN_SPEEDS[speeds - 1], 4, 30)
    assert torch.equal(whole.obs[..., unseen.SEEN[speeds]], part.obs)
    assert torch.equal(whole.terminated, part.terminated)

"""Each world made for a trick has the mechanism it was made for; and every one follows the same rules everywhere."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor

from ablations.design.trials import TRIALS
from tricks import PPO, REINFORCE, Config, Tricks, train
from tricks.core.agent import Agent
from tricks.core.env import Step
from tricks.core.rollout import Player, play_episodes
from tricks.core.seeds import stream
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.ladder import LADDER, NEEDS
from tricks.orthogonal_init import orthogonal_
from tricks.worlds import (
    SPECIMENS,
    chain,
    commute,
    corridor,
    grid,
    jump,
    line,
    magnitudes,
    marathon,
    offset,
    reward_scale,
    shocks,
    tightrope,
    trading,
    units,
)
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World


def uniform(obs: Tensor, legal: Tensor) -> Tensor:
    """The policy without a preference."""
    return torch.zeros(legal.shape)


def numbers(count: int, width: int) -> Tensor:
    """Chance for `count` lanes of one seed: [1, count, width]."""
    return torch.from_numpy(np.random.default_rng(0).random((1, count, width), dtype=np.float32))


def played(world: World, action: Tensor, chance: Tensor) -> Tensor:
    """Rewards [lanes, T] of the same actions [T] in many lanes, from a reset; chance [1, lanes, T + 1]."""
    state, rewards = world.initial(chance[..., : world.reset_chances]), []
    for t, a in enumerate(action):
        now = chance[..., t + 1 : t + 2]
        state, reward, _ = world.dynamics(state, a.expand(state.shape[:2]), now)
        rewards.append(reward[0])
    return torch.stack(rewards, 1)


def test_every_trick_has_a_trial_and_its_arms_differ_in_it_alone() -> None:
    assert set(LADDER) <= {trial.trick for trial in TRIALS} <= set(NEEDS)
    for trial in TRIALS:
        assert set(trial.having.on) - set(trial.without.on) == {trial.trick}
        assert (trial.config.lr, trial.config.seeds) == (Config.lr, Config.seeds)  # left to tuning
        make_env(replace(trial.config, seeds=1, lanes=1)).close()
    assert {trial.config.env for trial in TRIALS} | {"tricks/Grid0-v0"} == {"CartPole-v1", *SPECIMENS}


# The rules that hold for all of them.


@pytest.mark.parametrize("id", SPECIMENS)
@pytest.mark.filterwarnings("ignore:.*infinity")  # CartPole in any unit
def test_gymnasium_accepts_it(id: str) -> None:
    check_env(gym.make(id).unwrapped)


class Script:
    """A generator that gives out numbers decided beforehand."""

    def __init__(self) -> None:
        self.next = np.empty(0, np.float32)

    def random(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        assert (self.next.size, self.next.dtype) == (np.prod(shape), dtype)
        return self.next.reshape(shape)


@pytest.mark.parametrize("id", SPECIMENS)
def test_one_lane_in_gymnasium_and_many_on_tensors_take_the_same_steps(id: str) -> None:
    world, steps = SPECIMENS[id], 250
    many = TensorEnv(world, Config(env=id, seeds=(5,), lanes=2))
    one, script = gym.make(id), Script()
    one.unwrapped.np_random = script  # type: ignore[assignment]
    shape = (256, 2, world.reset_chances + world.step_chances)
    chance = stream(5, "env", 0, 0).random(shape, dtype=np.float32)[:, 1]
    script.next = chance[0, : world.reset_chances]
    obs, info = one.reset()
    everyone, ends = torch.tensor([True]), 0
    actions = np.random.default_rng(1).integers(many.spaces.actions, size=(steps, 2))
    for t in range(steps):
        np.testing.assert_array_equal(many.now.obs[0, 1], obs)
        np.testing.assert_array_equal(many.now.legal[0, 1].expand(many.spaces.actions), info.get("action_mask", True))
        resetting = bool(many.now.resetting[0, 1])
        step = many.step(torch.from_numpy(actions[t])[None], everyone)
        if resetting:
            script.next = chance[t + 1, : world.reset_chances]
            obs, info = one.reset()
        else:
            script.next = chance[t + 1, world.reset_chances :]
            obs, *outcome, info = one.step(actions[t, 1])
            assert outcome == [step.reward[0, 1].item(), step.terminated[0, 1].item(), step.truncated[0, 1].item()]
            ends += outcome[1] or outcome[2]
    assert ends > 0 or (world.time_limit or 0) >= steps


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["reinforce", "ppo"])
@pytest.mark.parametrize("id", ["tricks/CartPoleJump-v0", "tricks/Commute-v0", "tricks/Tightrope-v0"])
def test_a_seed_alone_equals_the_seed_in_a_stack(id: str, tricks: Tricks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jump, "JUMP", 60)
    config = Config(env=id, seeds=(3,), steps=600, lanes=4, horizon=16, lr=0.003)
    lone, stacked = train(config, tricks).curve, train(replace(config, seeds=(8, 3)), tricks).curve
    stacked = stacked[stacked.seed == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(lone, stacked, rtol=2e-3, atol=1e-4)


# One mechanism each.


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


def test_line_the_median_newborn_gets_through_only_if_its_policy_head_is_small() -> None:
    config = Config(env=line.THERE_AND_BACK.id, seeds=tuple(range(1000, 1024)), lanes=8, horizon=128)
    paid = {}
    for born in ("default", "orthogonal"):
        env = make_env(config)
        agent = Agent(env.spaces, config)
        if born == "orthogonal":
            orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)
        policy = lambda obs, legal, agent=agent: agent.policy(obs)  # noqa: E731
        rollout = play_episodes(Player(env, 128), policy, 1, torch.ones(24, dtype=torch.bool))
        paid[born] = rollout.reward.sum((1, 2)) / config.lanes  # share of the lanes that get through in time
    assert paid["orthogonal"].median() > 0.4
    assert paid["default"].median() < 0.2
    assert (paid["default"] == 0).sum() >= 5 * (paid["orthogonal"] == 0).sum() + 5


def test_line_pays_at_the_right_end_after_the_left_one() -> None:
    world, paid = line.THERE_AND_BACK, []
    state, chance = world.initial(torch.empty(1, 1, 0)), torch.empty(1, 1, 0)
    for action in [1] * line.REACH + [0] * 2 * line.REACH + [1] * 2 * line.REACH:
        state, reward, terminated = world.dynamics(state, torch.tensor([[action]]), chance)
        paid.append((float(reward), bool(terminated)))
    assert paid == [(0.0, False)] * (5 * line.REACH - 1) + [(1.0, True)]


@pytest.mark.parametrize(("world", "scale"), [(reward_scale.LARGE_REWARDS, 100.0), (reward_scale.SMALL_REWARDS, 0.01)])
def test_reward_scale_changes_the_reward_and_nothing_else(world: World, scale: float) -> None:
    state, action = numbers(200, 4), torch.arange(200)[None] % 2
    mine, original = (w.dynamics(state, action, torch.empty(1, 200, 0)) for w in (world, CARTPOLE))
    assert torch.equal(mine[0], original[0])
    assert torch.equal(mine[1], scale * original[1])
    assert torch.equal(mine[2], original[2])


def test_units_are_millimeters_from_the_wall_and_full_turns() -> None:
    state = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1.5, -2.0, torch.pi / 2, -torch.pi]]])
    expected = torch.tensor([[[5000.0, 0.0, 0.0, 0.0], [6500.0, -2000.0, 0.25, -0.5]]])
    torch.testing.assert_close(units.ODD_UNITS.observe(state), expected)


def test_shocks_are_seldom_huge_and_of_mean_zero() -> None:
    count = 4 * shocks.SELDOM
    chance = (torch.arange(count) / count).view(1, -1, 1)  # every number equally often
    _, reward, _ = shocks.SHOCKS.dynamics(torch.zeros(1, count, 4), torch.zeros(1, count), chance)
    assert reward.mean() == 1.0
    assert sorted(reward[reward != 1].tolist()) == [1 - shocks.SIZE] * 2 + [1 + shocks.SIZE] * 2


def test_corridor_to_go_left_is_better_for_the_undecided_and_worse_for_the_decided() -> None:
    env = TensorEnv(corridor.CORRIDOR, Config(env=corridor.CORRIDOR.id, seeds=1, lanes=4000, horizon=64))
    rollout = play_episodes(Player(env, 64), uniform, 1, torch.tensor([True]))
    way, cost = corridor.CELLS - 1, corridor.COST
    far = (rollout.reward[rollout.terminated] > 0.5).double().mean().item()
    assert far == pytest.approx(corridor.START / way, abs=0.02)  # the gambler's ruin, in START·(way − START) steps
    strolling = far * corridor.FAR + (1 - far) * corridor.NEAR - cost * corridor.START * (way - corridor.START)
    assert rollout.reward.sum().item() / 4000 == pytest.approx(strolling, abs=0.03)
    left, right = corridor.NEAR - cost * corridor.START, corridor.FAR - cost * (way - corridor.START)
    assert strolling < left < right


@pytest.mark.parametrize("world", grid.GRIDS, ids=lambda world: world.id)
def test_grid_four_actions_move_and_the_others_only_cost(world: World) -> None:
    assert isinstance(world.action, gym.spaces.Discrete)
    actions = int(world.action.n)
    state = torch.full((1, actions, 2), 2.0)
    after, reward, terminated = world.dynamics(state, torch.arange(actions)[None], torch.empty(1, actions, 0))
    mask = world.legal(state)
    assert mask is not None
    assert torch.equal(mask[0, 0], torch.arange(actions) < 4)
    assert torch.equal((after != state).any(-1)[0], mask[0, 0])
    assert after[0, :4].tolist() == [[2, 3], [3, 2], [2, 1], [1, 2]]
    assert reward[0].tolist() == [0.0] * 4 + [-grid.PENALTY] * (actions - 4)
    last = torch.tensor([[[3.0, 4.0]]])
    after, reward, terminated = world.dynamics(last, torch.tensor([[1]]), torch.empty(1, 1, 0))
    assert (float(reward), bool(terminated)) == (1.0, True)


def test_trading_pays_the_change_of_wealth_and_forbids_what_cannot_be() -> None:
    world, lanes = trading.TRADING, 500
    chance = numbers(lanes, 51)
    state, rng = world.initial(chance[..., :1]), np.random.default_rng(2)
    cash, penalties, paid = (torch.zeros(lanes, dtype=torch.float64) for _ in range(3))
    for t in range(50):
        price, owned = state[0, :, 0].double(), state[0, :, 1]
        action = torch.from_numpy(rng.integers(3, size=lanes))
        possible = (action == trading.HOLD) | torch.where(owned == 1, action == trading.SELL, action == trading.BUY)
        mask = world.legal(state)
        assert mask is not None
        assert torch.equal(mask[0].gather(1, action[:, None])[:, 0], possible)
        state, reward, _ = world.dynamics(state, action[None], chance[..., t + 1 : t + 2])
        assert torch.equal(state[0, :, 1] != owned, possible & (action != trading.HOLD))
        cash += price * (owned - state[0, :, 1])
        penalties += trading.PENALTY * (~possible).double()
        paid += reward[0]
    torch.testing.assert_close(paid, cash + state[0, :, 0] * state[0, :, 1] - penalties, rtol=0, atol=1e-4)
    assert state[..., 0].abs().max() < trading.FURTHEST


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


def test_marathon_segments_learn_every_few_steps_whole_episodes_hardly_ever() -> None:
    config = Config(env=marathon.MARATHON.id, seeds=1, lanes=2, steps=2 * marathon.LENGTH, horizon=200, hidden=(4,))
    assert len(train(config, Tricks(baseline=True)).curve) == 1
    assert len(train(config, Tricks(baseline=True, segments=True)).curve) == marathon.LENGTH // 200


def test_commute_the_place_outlives_the_limit_and_the_way_is_longer_than_it() -> None:
    env = make_env(Config(env=commute.COMMUTE.id, seeds=1, lanes=1))
    everyone, right, cells = torch.tensor([True]), torch.tensor([[1]]), [0]
    for _ in range(35):
        resetting = env.now.resetting.item()
        env.step(right, everyone)
        cells += [] if resetting else [int(env.now.obs[0, 0].argmax())]
        if resetting:
            assert int(env.now.obs[0, 0].argmax()) == cells[-1]
    assert cells == [min(t, commute.CELLS - 1) for t in range(len(cells))]
    assert commute.LIMIT < commute.CELLS - 1
    gamma, way = 0.99, commute.CELLS - 1
    staying, walking = commute.LITTLE / (1 - gamma), gamma ** (way - 1) / (1 - gamma)
    assert walking > 5 * staying  # beyond the limit; within it, whoever leaves the left end earns nothing


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


def test_an_action_that_does_not_exist_is_refused() -> None:
    env = gym.make("tricks/Corridor-v0")
    env.reset(seed=0)
    for action in (2, -1):
        with pytest.raises(AssertionError, match=r"is not in Discrete\(2\)"):
            env.unwrapped.step(action)


def test_a_seeded_reset_starts_the_clock_anew_and_any_other_does_not() -> None:
    env = gym.make("tricks/Commute-v0")
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    assert env.reset()[0].argmax() == 3
    assert env.reset(seed=0)[0].argmax() == 0


def test_the_mask_reaches_the_agent_through_gymnasium_too() -> None:
    env = GymnasiumEnv(Config(env="tricks/Trading-v0", seeds=1, lanes=2))
    assert env.now.legal[0].tolist() == [[True, True, False]] * 2
    env.step(torch.tensor([[trading.BUY, trading.HOLD]]), torch.tensor([True]))
    assert env.now.legal[0].tolist() == [[True, False, True], [True, True, False]]
    env.close()

"""Each world in which it matters where actions lead, and when, has the mechanism it was made for."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.playing import numbers, uniform

from tricks import Config, Tricks, train
from tricks.core.agent import Agent
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.orthogonal_init import orthogonal_
from tricks.worlds import commute, corridor, grid, line, marathon, tightrope, trading, units
from tricks.worlds.world import World


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


@pytest.mark.parametrize(
    ("world", "per_meter"), [*zip(units.MILDER_UNITS, (1, 10, 100), strict=True), (units.ODD_UNITS, 1000)]
)
def test_units_are_lengths_from_the_wall_and_full_turns(world: World, per_meter: int) -> None:
    state = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1.5, -2.0, torch.pi / 2, -torch.pi]]])
    meters = torch.tensor([[[5.0, 0.0, 0.0, 0.0], [6.5, -2.0, 0.25, -0.5]]])
    expected = meters * torch.tensor([per_meter, per_meter, 1, 1])
    torch.testing.assert_close(world.observe(state), expected)


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


def test_marathon_segments_learn_every_few_steps_whole_episodes_hardly_ever() -> None:
    config = Config(env=marathon.MARATHON.id, seeds=1, lanes=2, steps=2 * marathon.LENGTH, horizon=200, hidden=(4,))
    assert len(train(config, Tricks(baseline=True)).curve) == 1
    assert len(train(config, Tricks(baseline=True, segments=True)).curve) == marathon.LENGTH // 200


def test_an_episode_of_a_marathon_or_on_a_tightrope_has_the_length_in_its_name() -> None:
    limits = {world.id: world.time_limit for world in (*marathon.SHORTER, marathon.MARATHON, *tightrope.SHORT_ROPES)}
    lengths = {"Marathon100": 100, "Marathon500": 500, "Marathon": 2000, "Tightrope12": 12, "Tightrope50": 50}
    assert limits == {f"tricks/{name}-v0": length for name, length in lengths.items()}


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

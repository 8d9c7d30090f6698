"""Each world made for a trick has the mechanism that it was made for, and follows the same rules everywhere."""

import re

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from support.playing import numbers, played, uniform
from torch import Tensor

from tricks import Agent, Config, Tricks, train
from tricks import worlds as w
from tricks.core.env import Step
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.core.seeds import stream
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv, shared_chances
from tricks.orthogonal_init import orthogonal_
from tricks.segments import play_segment
from tricks.worlds import GAMES, LANGUAGE, SPECIMENS
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World


def test_offset_a_baseline_takes_out_its_variance_and_chain_a_td_error_that_of_its_steps() -> None:
    chance = numbers(100_000, w.offset.LENGTH + 1)
    first = torch.arange(100_000) % 2  # the first action is tossed like a coin, so ∂log π/∂logit₁ is a − ½
    n, mean = w.offset.LENGTH, w.offset.OFFSET + 0.5  # every reward is OFFSET + Bernoulli(½)
    left, right = (played(w.offset.OFFSET_REWARD, torch.tensor([a, *[1] * (n - 1)]), chance).sum(1) for a in (0, 1))
    returns, score = torch.where(first == 1, right, left), first - 0.5
    for baseline, second_moment in ((0.0, (n * mean) ** 2 + n / 4), (n * mean, n / 4)):
        gradient = score * (returns - baseline)
        assert gradient.mean().item() == pytest.approx(0.0, abs=4 * gradient.std().item() / 100_000**0.5)
        assert gradient.var().item() == pytest.approx(second_moment / 4, rel=0.02)
    state = torch.tensor([[[1.0, n - 1.0]]])
    _, reward, terminated = w.offset.OFFSET_REWARD.dynamics(state, torch.ones(1, 1), torch.zeros(1, 1, 1))
    assert (float(reward), bool(terminated)) == (w.offset.OFFSET + 1, True)
    steps = w.chain.CELLS - 1
    along = 1 - torch.arange(steps) % 2  # in every cell
    rewards = played(w.chain.NOISY_CHAIN, along, numbers(50_000, steps + 1))
    assert rewards.sum(1).mean().item() == pytest.approx(w.chain.GOAL, abs=0.1)
    assert rewards.sum(1).var().item() == pytest.approx(steps * w.chain.NOISE**2, rel=0.03)
    assert rewards[:, 0].var().item() == pytest.approx(w.chain.NOISE**2, rel=0.03)  # with the true V, δ is the noise
    assert rewards[:, 0].mean().item() == pytest.approx(0.0, abs=0.03)  # with V = 0, δ knows of no goal


def test_reward_scale_changes_the_reward_and_nothing_else() -> None:
    step = numbers(200, 4), torch.arange(200)[None] % 2, torch.empty(1, 200, 0)
    after, reward, terminated = CARTPOLE.dynamics(*step)
    scaled = (*w.reward_scale.LARGE_REWARDS, *w.reward_scale.SMALL_REWARDS)
    for world, scale in zip(scaled, (10.0, 100.0, 0.1, 0.01, 0.0001), strict=True):
        mine = world.dynamics(*step)
        assert torch.equal(mine[0], after) and torch.equal(mine[1], scale * reward)
        assert torch.equal(mine[2], terminated)


def test_shocks_are_seldom_huge_and_constant_features_are_all_that_is_added() -> None:
    count = 4 * w.shocks.SELDOM
    chance = (torch.arange(count) / count).view(1, -1, 1)  # every number equally often
    _, reward, _ = w.shocks.SHOCKS.dynamics(torch.zeros(1, count, 4), torch.zeros(1, count), chance)
    assert reward.mean() == 1.0
    assert sorted(reward[reward != 1].tolist()) == [1 - w.shocks.SIZE] * 2 + [1 + w.shocks.SIZE] * 2
    plain = rollout_of(w.line.THERE_AND_BACK, lanes=2, steps=30)
    for count, world in zip((1, 3), w.line.WITH_CONSTANTS, strict=True):
        more = rollout_of(world, lanes=2, steps=30)
        assert torch.equal(more.obs[..., :2], plain.obs)
        assert torch.equal(more.obs[..., 2:], torch.full((2, 31, 2, count), float(w.line.REACH)))


def test_jump_the_pay_rises_at_one_step_of_each_lane_whatever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(w.jump, "JUMP", 100)
    env = TensorEnv(w.jump.REWARD_JUMP, Config(env=w.jump.REWARD_JUMP.id, seeds=2, lanes=3, horizon=32))
    clock, jumped, step = torch.zeros(2, 3), 0, env.step

    def counting(action: Tensor, playing: Tensor) -> Step:
        nonlocal clock, jumped
        taken = playing[:, None] & ~env.now.resetting
        taking = step(action, playing)
        assert torch.equal(taking.reward[taken], torch.where(clock < 100, 1.0, w.jump.SCALE)[taken].double())
        clock, jumped = clock + taken, jumped + int((clock[taken] == 100).sum())
        return taking

    env.step = counting  # type: ignore[method-assign]
    player = Player(env, 32)
    for k in range(16):  # the second seed stands still two times out of three
        play_episodes(player, uniform, 30, torch.tensor([True, k % 3 == 0]))
    assert jumped == 6
    assert (clock[0] > 2 * clock[1]).all()
    assert env.now.obs.shape[-1] == 4  # the clock is not seen


def test_magnitudes_and_tightrope_pay_for_what_is_shown_with_a_mean_of_zero() -> None:
    world = w.magnitudes.MAGNITUDES
    state = world.initial(torch.tensor([[[0.1, 0.9], [0.3, 0.9], [0.6, 0.9], [0.9, 0.9]]]))
    assert torch.equal(world.observe(state)[0, :, :4], torch.eye(4))
    for action, share in ((1, 1.0), (0, 0.0)):
        after, reward, _ = world.dynamics(state, torch.full((1, 4), action), torch.zeros(1, 4, 1))
        assert reward[0].tolist() == [share, 10 * share, 100 * share, 1000 * share]
        assert torch.equal(after[..., 0], state[..., 0])
    count = 1001
    chance = torch.stack([torch.zeros(count), torch.linspace(0, 1, count)], -1)[None]
    for cue, action in ((0.2, 0), (0.2, 1), (0.8, 0), (0.8, 1)):
        right = (cue > 0.5) == action
        state = torch.full((1, count, 1), cue)
        _, reward, terminated = w.tightrope.TIGHTROPE.dynamics(state, torch.full((1, count), action), chance)
        assert (terminated == (not right)).all() and reward.mean().item() == pytest.approx(float(right), abs=1e-6)
        assert reward.std().item() == pytest.approx(w.tightrope.NOISE, rel=0.01)


def dose(world: World) -> str:
    return re.findall(r"[\d.]+", world.id.removesuffix("-v0"))[0]


def rollout_of(world: World, lanes: int, steps: int, seeds: int = 2) -> Rollout:
    env = TensorEnv(world, Config(env=world.id, seeds=seeds, lanes=lanes))
    return play_segment(Player(env, steps), uniform, steps, torch.ones(seeds) > 0)


@pytest.mark.parametrize("world", [*w.loan.LOANS, *w.loan.LARGE_LOANS], ids=lambda world: world.id)
def test_a_loan_is_in_every_return_after_the_first_step_and_in_no_score(world: World) -> None:
    size, pay = map(float, re.findall(r"[\d.]+", world.id.removesuffix("-v0")))
    chance = numbers(200, w.loan.LENGTH + 1)
    rewards = played(world, torch.ones(w.loan.LENGTH), chance)
    sign = (2 * chance[0, :, 1].round() - 1).double()
    paid = rewards.clone()
    paid[:, 0] -= size * sign
    paid[:, -1] += size * sign
    torch.testing.assert_close(paid.sum(1), rewards.sum(1))
    assert set((paid / pay).round(decimals=4).abs().unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("world", w.lottery.LOTTERIES, ids=lambda world: world.id)
def test_a_ticket_is_worth_one_and_wins_once_in_as_many_draws_as_its_prize(world: World) -> None:
    prize = float(dose(world))
    chance = numbers(20_000, 3)
    chance[0, :, 2] = torch.linspace(0, 1, 20_001)[:-1]  # the draws
    bought, sure = (played(world, torch.tensor([action, 0.0]), chance) for action in (w.lottery.TICKET, 0))
    assert set(bought.sum(1).tolist()) == {0.0, prize}
    assert bought.sum(1).mean().item() == pytest.approx(1, abs=1e-3)
    assert (sure.sum(1) == w.lottery.SURE).all()


def test_a_dial_pays_for_its_distance_and_random_and_extreme_ones_get_what_the_docstring_says() -> None:
    state, draws = w.dial.initial(torch.rand(50_000, 1)), torch.rand(50_000, 1)
    assert 0.49 < w.dial.observe(state).abs().max() <= 0.5
    for action, mean in ((2 * torch.rand(50_000, 1) - 1, 0.583), (torch.full((50_000, 1), -5.0), -0.083)):
        after, reward, _ = w.dial.dynamics(state, action, draws)
        assert reward.mean().item() == pytest.approx(mean, abs=0.01)
        assert not torch.equal(after[:, 0], state[:, 0])
    target = torch.tensor([[0.3, 0.0], [0.3, 8.0], [-0.2, 9.0]])
    _, reward, done = w.dial.dynamics(target, torch.tensor([[0.3], [0.8], [torch.nan]]), torch.rand(3, 1))
    assert reward.tolist() == pytest.approx([1, 0.75, 0.96])
    assert done.tolist() == [False, False, True]


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_parity_pays_for_the_parity(bits: int) -> None:
    rollout = rollout_of(w.parity.PARITIES[bits - 1], lanes=8, steps=50)
    shown, valid = (rollout.obs[:, :-1] + 1) / 2, rollout.valid
    assert torch.equal(rollout.reward[valid], (rollout.action == shown.sum(-1) % 2)[valid].double())
    assert 0.3 < rollout.reward[valid].mean() < 0.7


@pytest.mark.parametrize("world", w.mail.MAILS, ids=lambda world: world.id)
def test_mail_arrives_so_many_steps_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(w.mail, "NOISE", 0.0)
    delay = int(dose(world))
    rollout = rollout_of(world, lanes=4, steps=100)  # less than an episode
    earned = 2.0 * (rollout.action == (rollout.obs[:, :-1, :, 0] + 1) / 2) - 1
    torch.testing.assert_close(rollout.reward[:, delay:], earned[:, :-delay].double())
    assert (rollout.reward[:, :delay] == 0).all()


@pytest.mark.parametrize("world", w.pairs.SHOCK_PAIRS, ids=lambda world: world.id)
def test_every_shock_is_taken_back_one_step_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(w.pairs, "SELDOM", 4)
    size = float(dose(world))
    rollout = rollout_of(world, lanes=8, steps=200)
    shock = torch.where(rollout.valid, (rollout.reward - 1) / size, 0)  # random play falls long before the time limit
    assert set(shock.unique().tolist()) == {-1.0, 0.0, 1.0}
    env = TensorEnv(world, Config(env=world.id, seeds=2, lanes=8))
    episodes = play_episodes(Player(env, 64), uniform, 256, torch.ones(2) > 0)
    returns = torch.where(episodes.valid, episodes.reward, 0).sum(1)
    assert torch.equal(returns, episodes.valid.sum(1).double())  # one per step: nothing is left of the shocks


@pytest.mark.parametrize("world", w.weather.WEATHERS, ids=lambda world: world.id)
def test_the_weather_is_that_of_all_lanes_and_leaves_scores_alone(world: World) -> None:
    size = float(dose(world))
    player, lucky = Player(TensorEnv(world, Config(env=world.id, seeds=2, lanes=4)), 10), []
    for _ in range(40):
        rollout = play_episodes(player, uniform, 40, torch.ones(2) > 0)
        assert rollout.valid.all()
        luck = rollout.obs[:, :10, :, 1]
        assert (luck == luck[0, 0, 0]).all()
        right = (rollout.action == (rollout.obs[:, :10, :, 0] + 1) / 2).double()
        torch.testing.assert_close(rollout.reward.sum(1), right.sum(1))
        torch.testing.assert_close(rollout.reward[:, 0], right[:, 0] + ((luck[:, 0] + 1) / 2 * size))
        lucky.append(float(luck[0, 0, 0]) == 1)
    assert 10 < sum(lucky) < 30


@pytest.mark.parametrize("world", w.shuttle.SHUTTLES, ids=lambda world: world.id)
def test_the_shuttle_rests_walks_and_arrives(world: World) -> None:
    assert world.time_limit == int(dose(world))
    rollout = rollout_of(world, lanes=64, steps=60)
    valid, cell = rollout.valid, rollout.obs.argmax(-1)
    before, after = cell[:, :-1], cell[:, 1:]
    reached = (before + rollout.action).clamp(max=w.shuttle.CELLS - 1)
    there = reached == w.shuttle.CELLS - 1
    expected = torch.where(there, w.shuttle.PAY, w.shuttle.REST * (rollout.action == 0))
    torch.testing.assert_close(rollout.reward[valid], expected[valid].double())
    assert 0.01 < (after != reached)[valid].double().mean() < 0.03
    assert not rollout.terminated.any()
    assert rollout.obs[:, 0].argmax(-1).unique().numel() > 15  # lanes begin anywhere


@pytest.mark.parametrize("world", w.recall.RECALLS, ids=lambda world: world.id)
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
    whole, part = rollout_of(w.cartpole.CARTPOLE, 4, 30), rollout_of(w.unseen.HIDDEN_SPEEDS[speeds - 1], 4, 30)
    assert torch.equal(whole.obs[..., w.unseen.SEEN[speeds]], part.obs)
    assert torch.equal(whole.terminated, part.terminated)


def test_line_the_median_newborn_gets_through_only_if_its_policy_head_is_small() -> None:
    config = Config(env=w.line.THERE_AND_BACK.id, seeds=tuple(range(1000, 1024)), lanes=8, horizon=128)
    paid = {}
    for born in ("default", "orthogonal"):
        env = make_env(config)
        agent = Agent(env.spaces, config)
        if born == "orthogonal":
            orthogonal_(agent.policy_net, config.seed_list, 0, gain=2**0.5, head_gain=0.01)
        policy = lambda obs, legal, agent=agent: agent.policy(obs)  # noqa: E731
        rollout = play_episodes(Player(env, 128), policy, 1, torch.ones(24, dtype=torch.bool))
        paid[born] = rollout.reward.sum((1, 2)) / config.lanes  # share of the lanes that get through in time
    assert paid["orthogonal"].median() > 0.4 and paid["default"].median() < 0.2
    assert (paid["default"] == 0).sum() >= 5 * (paid["orthogonal"] == 0).sum() + 5


def test_line_and_corridor_favor_the_undecided() -> None:
    world, paid = w.line.THERE_AND_BACK, []
    state, chance = world.initial(torch.empty(1, 1, 0)), torch.empty(1, 1, 0)
    for action in [1] * w.line.REACH + [0] * 2 * w.line.REACH + [1] * 2 * w.line.REACH:
        state, reward, terminated = world.dynamics(state, torch.tensor([[action]]), chance)
        paid.append((float(reward), bool(terminated)))
    assert paid == [(0.0, False)] * (5 * w.line.REACH - 1) + [(1.0, True)]
    env = TensorEnv(w.corridor.CORRIDOR, Config(env=w.corridor.CORRIDOR.id, seeds=1, lanes=4000, horizon=64))
    rollout = play_episodes(Player(env, 64), uniform, 1, torch.tensor([True]))
    way, cost = w.corridor.CELLS - 1, w.corridor.COST
    far = (rollout.reward[rollout.terminated] > 0.5).double().mean().item()
    assert far == pytest.approx(w.corridor.START / way, abs=0.02)  # the gambler's ruin, in START·(way − START) steps
    strolling = far * w.corridor.FAR + (1 - far) * w.corridor.NEAR - cost * w.corridor.START * (way - w.corridor.START)
    assert rollout.reward.sum().item() / 4000 == pytest.approx(strolling, abs=0.03)
    left, right = w.corridor.NEAR - cost * w.corridor.START, w.corridor.FAR - cost * (way - w.corridor.START)
    assert strolling < left < right


def test_units_are_lengths_from_the_wall_and_full_turns() -> None:
    state = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1.5, -2.0, torch.pi / 2, -torch.pi]]])
    meters = torch.tensor([[[5.0, 0.0, 0.0, 0.0], [6.5, -2.0, 0.25, -0.5]]])
    for world, per_meter in zip((*w.units.MILDER_UNITS, w.units.ODD_UNITS), (1, 10, 100, 1000), strict=True):
        torch.testing.assert_close(world.observe(state), meters * torch.tensor([per_meter, per_meter, 1, 1]))


@pytest.mark.parametrize("world", w.grid.GRIDS, ids=lambda world: world.id)
def test_grid_four_actions_move_and_the_others_only_cost(world: World) -> None:
    assert isinstance(world.action, gym.spaces.Discrete)
    actions = int(world.action.n)
    state = torch.full((1, actions, 2), 2.0)
    after, reward, terminated = world.dynamics(state, torch.arange(actions)[None], torch.empty(1, actions, 0))
    mask = world.legal(state)
    assert mask is not None and torch.equal(mask[0, 0], torch.arange(actions) < 4)
    assert torch.equal((after != state).any(-1)[0], mask[0, 0])
    assert after[0, :4].tolist() == [[2, 3], [3, 2], [2, 1], [1, 2]]
    assert reward[0].tolist() == [0.0] * 4 + [-w.grid.PENALTY] * (actions - 4)
    last = torch.tensor([[[3.0, 4.0]]])
    after, reward, terminated = world.dynamics(last, torch.tensor([[1]]), torch.empty(1, 1, 0))
    assert (float(reward), bool(terminated)) == (1.0, True)


def test_trading_pays_the_change_of_wealth_and_forbids_what_cannot_be() -> None:
    world, lanes = w.trading.TRADING, 500
    chance = numbers(lanes, 51)
    state, rng = world.initial(chance[..., :1]), np.random.default_rng(2)
    cash, penalties, paid = (torch.zeros(lanes, dtype=torch.float64) for _ in range(3))
    for t in range(50):
        price, owned = state[0, :, 0].double(), state[0, :, 1]
        action = torch.from_numpy(rng.integers(3, size=lanes))
        trade = torch.where(owned == 1, w.trading.SELL, w.trading.BUY)
        possible = (action == w.trading.HOLD) | (action == trade)
        mask = world.legal(state)
        assert mask is not None and torch.equal(mask[0].gather(1, action[:, None])[:, 0], possible)
        state, reward, _ = world.dynamics(state, action[None], chance[..., t + 1 : t + 2])
        assert torch.equal(state[0, :, 1] != owned, possible & (action != w.trading.HOLD))
        cash += price * (owned - state[0, :, 1])
        penalties += w.trading.PENALTY * (~possible).double()
        paid += reward[0]
    torch.testing.assert_close(paid, cash + state[0, :, 0] * state[0, :, 1] - penalties, rtol=0, atol=1e-4)
    assert state[..., 0].abs().max() < w.trading.FURTHEST


def test_marathons_and_tightropes_have_the_length_in_their_name_and_segments_learn() -> None:
    config = Config(env=w.marathon.MARATHON.id, seeds=1, lanes=2, steps=2 * w.marathon.LENGTH, horizon=200, hidden=(4,))
    assert len(train(config, Tricks(baseline=True)).curve) == 1
    assert len(train(config, Tricks(baseline=True, segments=True)).curve) == w.marathon.LENGTH // 200
    limits = {x.id: x.time_limit for x in (*w.marathon.SHORTER, w.marathon.MARATHON, *w.tightrope.SHORT_ROPES)}
    lengths = {"Marathon100": 100, "Marathon500": 500, "Marathon": 2000, "Tightrope12": 12, "Tightrope50": 50}
    assert limits == {f"tricks/{name}-v0": length for name, length in lengths.items()}


def test_commute_the_place_outlives_the_limit_and_the_way_is_longer_than_it() -> None:
    env = make_env(Config(env=w.commute.COMMUTE.id, seeds=1, lanes=1))
    everyone, right, cells = torch.tensor([True]), torch.tensor([[1]]), [0]
    for _ in range(35):
        resetting = env.now.resetting.item()
        env.step(right, everyone)
        cells += [] if resetting else [int(env.now.obs[0, 0].argmax())]
        if resetting:
            assert int(env.now.obs[0, 0].argmax()) == cells[-1]
    assert cells == [min(t, w.commute.CELLS - 1) for t in range(len(cells))]
    assert w.commute.LIMIT < w.commute.CELLS - 1
    gamma, way = 0.99, w.commute.CELLS - 1
    staying, walking = w.commute.LITTLE / (1 - gamma), gamma ** (way - 1) / (1 - gamma)
    assert walking > 5 * staying  # beyond the limit; within it, whoever leaves the left end earns nothing


OURS = SPECIMENS | GAMES | LANGUAGE


@pytest.mark.parametrize("id", OURS)
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


@pytest.mark.parametrize("id", OURS)
def test_one_lane_in_gymnasium_and_many_on_tensors_take_the_same_steps(id: str) -> None:
    world, steps = OURS[id], 250
    many = TensorEnv(world, Config(env=id, seeds=(5,), lanes=2))
    one, script = gym.make(id), Script()
    one.unwrapped.np_random = script  # type: ignore[assignment]
    resets = 0 if world.prompt else world.reset_chances  # prompts do not depend on the step
    chance = stream(5, "env", 0, 0).random((256, 2, resets + world.step_chances), dtype=np.float32)[:, 1]
    key = torch.from_numpy(stream(5, "env", 0).integers(2**63, size=1))

    def beginning(t: int) -> np.ndarray:
        if not world.prompt:
            return chance[t, :resets]
        return shared_chances(key, many._group, torch.full((1, 2), episodes), world.reset_chances)[0, 1].numpy()

    episodes = 0
    script.next = beginning(0)
    obs, info = one.reset()
    everyone, ends = torch.tensor([True]), 0
    rng, boxed = np.random.default_rng(1), not many.spaces.discrete
    drawn = rng.uniform(-1, 1, (steps, 2, 1)) if boxed else rng.integers(many.spaces.actions, size=(steps, 2))
    actions = drawn.astype(world.action.dtype)
    for t in range(steps):
        np.testing.assert_array_equal(many.now.obs[0, 1].view(obs.shape), obs)
        legal = info.get("action_mask", np.True_)
        np.testing.assert_array_equal(many.now.legal[0, 1].expand(many.spaces.actions), legal)
        resetting = bool(many.now.resetting[0, 1])
        step = many.step(torch.from_numpy(actions[t])[None], everyone)
        if resetting:
            episodes += 1
            script.next = beginning(t + 1)
            obs, info = one.reset()
        else:
            script.next = chance[t + 1, resets:]
            obs, *outcome, info = one.step(actions[t, 1])
            assert outcome == [step.reward[0, 1].item(), step.terminated[0, 1].item(), step.truncated[0, 1].item()]
            ends += bool(outcome[1] or outcome[2])
    assert ends > 0 or (world.time_limit or 0) >= steps


def test_gymnasium_s_worlds_refuse_what_is_no_action_and_keep_their_clocks_and_masks() -> None:
    env = gym.make("tricks/Corridor-v0")
    env.reset(seed=0)
    for action in (2, -1):
        with pytest.raises(AssertionError, match=r"is not in Discrete\(2\)"):
            env.unwrapped.step(action)
    env = gym.make("tricks/Commute-v0")  # a seeded reset starts the clock anew, and any other does not
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    assert env.reset()[0].argmax() == 3 and env.reset(seed=0)[0].argmax() == 0
    masked = GymnasiumEnv(Config(env="tricks/Trading-v0", seeds=1, lanes=2))  # the mask reaches the agent, too
    assert masked.now.legal[0].tolist() == [[True, True, False]] * 2
    masked.step(torch.tensor([[w.trading.BUY, w.trading.HOLD]]), torch.tensor([True]))
    assert masked.now.legal[0].tolist() == [[True, False, True], [True, True, False]]
    masked.close()

"""Each world that comes in doses has the mechanism it was made for, at every dose."""

import pytest
import torch
from support.playing import numbers, played, uniform

from tricks import Config
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.tensor import TensorEnv
from tricks.segments import play_segment
from tricks.worlds import cartpole, dial, line, loan, lottery, mail, pairs, parity, recall, shuttle, unseen, weather
from tricks.worlds.world import World


def rollout_of(world: World, lanes: int, steps: int, seeds: int = 2) -> Rollout:
    """A segment of random play."""
    env = TensorEnv(world, Config(env=world.id, seeds=seeds, lanes=lanes))
    return play_segment(Player(env, steps), uniform, steps, torch.ones(seeds, dtype=torch.bool))


@pytest.mark.parametrize("world", [*loan.LOANS, *loan.LARGE_LOANS], ids=lambda world: world.id)
def test_a_loan_is_in_every_return_after_the_first_step_and_in_no_score(world: World) -> None:
    size, pay = map(float, world.id.removeprefix("tricks/Loan").removesuffix("-v0").split("Pay"))
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
    prize = float(world.id.removeprefix("tricks/Lottery").removesuffix("-v0"))
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
    delay = int(world.id.removeprefix("tricks/Mail").removesuffix("-v0"))
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
    size = float(world.id.removeprefix("tricks/CartPoleShockPairs").removesuffix("-v0"))
    rollout = rollout_of(world, lanes=8, steps=200)
    shock = torch.where(rollout.valid, (rollout.reward - 1) / size, 0)  # random play falls long before the time limit
    assert set(shock.unique().tolist()) == {-1.0, 0.0, 1.0}
    env = TensorEnv(world, Config(env=world.id, seeds=2, lanes=8))
    episodes = play_episodes(Player(env, 64), uniform, 256, torch.ones(2, dtype=torch.bool))
    returns = torch.where(episodes.valid, episodes.reward, 0).sum(1)
    assert torch.equal(returns, episodes.valid.sum(1).double())  # one per step: nothing is left of the shocks


@pytest.mark.parametrize("world", weather.WEATHERS, ids=lambda world: world.id)
def test_the_weather_is_that_of_all_lanes_and_leaves_scores_alone(world: World) -> None:
    size = float(world.id.removeprefix("tricks/Weather").removesuffix("-v0"))
    env = TensorEnv(world, Config(env=world.id, seeds=2, lanes=4))
    player, lucky = Player(env, 10), []
    for _ in range(40):
        rollout = play_episodes(player, uniform, 40, torch.ones(2, dtype=torch.bool))
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
    assert world.time_limit == int(world.id.removeprefix("tricks/Shuttle").removesuffix("-v0"))
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
    length = int(world.id.removeprefix("tricks/Recall").removesuffix("-v0"))
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

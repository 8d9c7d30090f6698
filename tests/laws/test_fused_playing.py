"""Rollouts in compiled calls are the same as row by row, to the last bit, and leave the same behind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast
from unittest.mock import patch

import pytest
import torch

import tricks.fused.playing as playing
from tricks import PPO, Config, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.loop import build_agent
from tricks.segments import play_segment
from tricks.state_norm import ObsStats

pytest.importorskip("numba")
CONFIG = Config("CartPole-v0", seeds=(3, 8, 5), lanes=5, horizon=70, hidden=(20, 9), steps=6000)
EACH_WORLD = pytest.mark.parametrize("world", ["CartPole-v0", "Acrobot-v1", "Pendulum-v1"])
EVERYONE, SOME = torch.ones(3, dtype=torch.bool), torch.tensor([True, False, True])
Found = TypeVar("Found")


def both(do: Callable[[], Found]) -> tuple[Found, Found]:
    """What it finds, and what it finds where segments are played as the loop is written."""
    mine = do()
    with patch.object(playing, "usual", lambda *given: False):
        return mine, do()


def players(config: Config = CONFIG, limit: int = 200) -> tuple[TensorEnv, Player, Agent]:
    env = make_env(config)
    assert isinstance(env, TensorEnv)
    env._limit = limit
    return env, Player(env, config.horizon), build_agent(env.spaces, config, PPO)


def segments(config: Config, active: torch.Tensor, scale: float, limit: int = 200) -> tuple[list[Rollout], dict]:
    """Four segments, the last two without the seeds that are not active, and the environment's state after them."""
    env, player, agent = players(config, limit)
    if config.env == "Acrobot-v1":  # as near to the end as anywhere
        generator = torch.Generator().manual_seed(0)
        env._state = 8 * torch.rand(env._state.shape, generator=generator) - 4
        env.now = env.now._replace(obs=env._shown()[0])
    with torch.no_grad():
        if not env.spaces.discrete:
            agent.log_std.add_(torch.tensor([0.0, 0.1, 0.2]).view(3, 1, 1))
        agent.policy_net.head.weight.mul_(scale)  # with large weights, a policy falls at once; with small ones, seldom
    found = [play_segment(player, agent.policy, config.horizon, each) for each in (EVERYONE, EVERYONE, active, active)]
    return found, env.state_dict() | {"now": env.now} | player.state_dict()


@EACH_WORLD
@pytest.mark.parametrize(
    ("scale", "width", "limit"),
    [(0.0, 20, 200), (0.0, 20, 12), (1.0, 20, 200), (300.0, 20, 200), (1.0, 64, 200), (300.0, 64, 200)],
)
def test_every_column_and_what_is_left_is_the_same(scale: float, width: int, limit: int, world: str) -> None:
    config = replace(CONFIG, env=world, hidden=(64, 64) if width == 64 else CONFIG.hidden)
    with patch.object(playing, "usual", wraps=playing.usual) as asked:
        (mine, left), (theirs, also_left) = both(lambda: segments(config, SOME, scale, limit))
    assert asked.call_count == 4
    for one, other in zip(mine, theirs, strict=True):
        assert vars(one).keys() == vars(other).keys()
        for name, column in vars(other).items():
            if isinstance(column, torch.Tensor):
                assert torch.equal(getattr(one, name), column), name
                assert not getattr(one, name).is_inference(), name  # a loss of one's own may take it
    assert config.env == "Pendulum-v1" or limit == 12 or any(r.terminated.any() for r in mine)
    assert limit == 200 or any(r.truncated.any() for r in mine)
    for name in ("state", "age", "resetting", "t", "resets", "rollouts"):
        assert torch.equal(left[name], also_left[name])
    assert all(torch.equal(x, y) for x, y in zip(left["now"], also_left["now"], strict=True) if x is not None)


@pytest.mark.parametrize(("rows", "limit"), [(1, 12), (300, 200), (300, 12), (2000, 200)])
@EACH_WORLD
def test_whole_episodes_have_the_same_experience(world: str, rows: int, limit: int) -> None:
    def rollouts() -> list[Rollout]:
        _, player, agent = players(replace(CONFIG, env=world), limit)
        return [play_episodes(player, agent.policy, rows, each) for each in (EVERYONE, SOME)]

    for one, other in zip(*both(rollouts), strict=True):
        assert torch.equal(one.valid, other.valid)
        assert (one.valid.flatten(1).sum(1) >= rows * other.valid.flatten(1).any(1)).all()
        for name, column in vars(other).items():
            if name != "obs" and isinstance(column, torch.Tensor):
                assert torch.equal(getattr(one, name)[one.valid], column[one.valid]), name
        assert torch.equal(one.obs, other.obs)


def test_observations_are_clipped_in_the_same_places() -> None:
    def actions() -> torch.Tensor:
        env, player, _ = players()
        agent = build_agent(env.spaces, CONFIG, replace(PPO, state_norm=True))
        stats = cast(ObsStats, agent.obs_stats)
        shape = stats.average.shape
        mean = torch.tensor([1.0, -1.0, 0.0, 0.0]).expand(shape).double()  # so that one is far below, one far above
        stats.moments = Moments(torch.ones_like(stats.rows), mean, torch.full(shape, 1e-5).double())
        with torch.no_grad():
            agent.policy_net.layers[0][0].mul_(0.02)  # so that tanh isn't flat there
            agent.policy_net.head.weight.mul_(30)
        assert {-10.0, 10.0} <= set(agent.standardized(env.now.obs).unique().tolist())
        return play_segment(player, agent.policy, CONFIG.horizon, EVERYONE).action

    assert torch.equal(*both(actions))


EPISODES = {"segments": False, "bootstrap": False}


@pytest.mark.parametrize("flags", [{}, {"state_norm": True}, {"shared_trunk": True}, EPISODES])
@EACH_WORLD
def test_trainings_are_the_same(world: str, flags: dict[str, bool]) -> None:
    mine, theirs = both(lambda: train(replace(CONFIG, env=world), replace(PPO, **flags)))
    assert mine.curve.equals(theirs.curve)
    assert all(torch.equal(p, q) for p, q in zip(mine.agent.parameters(), theirs.agent.parameters(), strict=True))


@pytest.mark.parametrize("wrong", [torch.ones(2) > 0, torch.zeros(3) > 0, torch.ones(3), torch.ones(3, 1) > 0])
def test_seeds_that_are_not_those_of_the_environment_are_refused_as_by_the_formula(wrong: torch.Tensor) -> None:
    _, player, agent = players()
    assert playing.play_segment(player, agent.policy, CONFIG.horizon, wrong) is None
    assert playing.play_episodes(player, agent.policy, 10, wrong) is None


def test_a_game_that_may_be_longer_than_the_player_s_limit_is_played_row_by_row() -> None:
    env, _, agent = players()
    for limit in (199, 200):
        found = playing.play_episodes(Player(env, CONFIG.horizon, limit=limit), agent.policy, 10, EVERYONE)
        assert (found is None) == (limit == 199)


@pytest.mark.parametrize("env", ["tricks/Corridor1-v0", "tricks/CartPoleOddUnits-v0"])
def test_other_worlds_are_played_row_by_row(env: str) -> None:
    with patch.object(playing, "compiled", side_effect=AssertionError):
        train(replace(CONFIG, env=env, steps=700), PPO)


def test_a_step_that_is_replaced_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, step = list[None](), Player.step

    def counted(*given: Any) -> None:
        rows.append(None)
        step(*given)

    monkeypatch.setattr(Player, "step", counted)
    train(replace(CONFIG, steps=350), PPO)
    assert rows
    assert len(rows) % CONFIG.horizon == 0

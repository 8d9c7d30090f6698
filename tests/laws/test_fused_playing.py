"""Compiled rollouts are those of row by row, to the last bit, and give way to whatever they do not stand for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast
from unittest.mock import patch

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

import tricks.fused.playing as playing
from tricks import PPO, Agent, Config, InputError, train
from tricks.core.moments import Moments
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.core.sequences import Features
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.fast.dispatch import loaded
from tricks.loop import build_agent
from tricks.segments import play_segment
from tricks.state_norm import ObsStats
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

pytest.importorskip("numba")
CONFIG = Config("CartPole-v0", seeds=(3, 8, 5), lanes=5, horizon=70, hidden=(20, 9), steps=6000)
EACH_WORLD = pytest.mark.parametrize("world", ["CartPole-v0", "Acrobot-v1", "Pendulum-v1"])
EVERYONE, SOME = torch.ones(3, dtype=torch.bool), torch.tensor([True, False, True])
Found = TypeVar("Found")


def both(do: Callable[[], Found], kernels: bool = True) -> tuple[Found, Found]:
    """What it finds, and what it finds row by row, as the loop is written, by rules of `kernels` or of the world."""
    mine, begin = do(), TensorEnv.__init__
    plain = patch.object(playing, "usual", lambda *given: False)
    with plain, patch.object(TensorEnv, "__init__", autospec=True) as begun:
        begun.side_effect = lambda env, world, *rest: begin(env, by_kernels(world) if kernels else world, *rest)
        return mine, do()


def by_kernels(world: World) -> World:
    """The same world, by its compiled rules."""
    code, name = cast(Any, loaded("tricks.fused.compiled_playing")), world.dynamics.__module__.rpartition(".")[2]

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        lanes, given = state.shape[:2], (state.flatten(0, 1).numpy(), action.flatten(0, 1).numpy())
        found = torch.empty_like(state), torch.empty(lanes, dtype=torch.float64), torch.empty(lanes, dtype=torch.bool)
        getattr(code, name)(*given, *(x.flatten(0, 1).numpy() for x in found))
        return found

    def observe(state: Tensor) -> Tensor:
        obs = torch.empty(*state.shape[:2], *(world.observation.shape or ()))
        code.show(getattr(code, name.upper()), state.flatten(0, 1).numpy(), obs.flatten(0, 1).numpy())
        return obs

    return replace(world, dynamics=dynamics, observe=observe)


def players(config: Config = CONFIG, limit: int = 200) -> tuple[TensorEnv, Player, Agent]:
    env = make_env(config)
    assert isinstance(env, TensorEnv)
    env._limit = limit
    return env, Player(env, config.horizon), build_agent(env.spaces, config, PPO)


def segments(config: Config, active: Tensor, scale: float, limit: int = 200) -> tuple[list[Rollout], dict]:
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
            if isinstance(column, Tensor):
                assert torch.equal(getattr(one, name), column), name
                assert not getattr(one, name).is_inference(), name  # a loss of one's own may take it
    assert config.env == "Pendulum-v1" or limit == 12 or any(r.terminated.any() for r in mine)
    assert limit == 200 or any(r.truncated.any() for r in mine)
    for name in ("state", "age", "resetting", "t", "resets", "rollouts"):
        assert torch.equal(left[name], also_left[name])
    torch.testing.assert_close(left["now"].obs, also_left["now"].obs)  # by the world's rule, which rounds on its own
    now = zip(left["now"]._replace(obs=None), also_left["now"]._replace(obs=None), strict=True)
    assert all(torch.equal(x, y) for x, y in now if x is not None)


def assert_same_experience(one: Rollout, other: Rollout, rtol: float = 0, atol: float = 0) -> None:
    for name, column in vars(other).items():
        if isinstance(column, Tensor):
            rows = slice(None) if name in ("valid", "obs", "terminated", "over", "state") else other.valid
            torch.testing.assert_close(getattr(one, name)[rows], column[rows], rtol=rtol, atol=atol)


@pytest.mark.parametrize(("rows", "limit"), [(1, 12), (300, 200), (300, 12), (2000, 200)])
@EACH_WORLD
def test_whole_episodes_have_the_same_experience(world: str, rows: int, limit: int) -> None:
    def rollouts() -> list[Rollout]:
        _, player, agent = players(replace(CONFIG, env=world), limit)
        return [play_episodes(player, agent.policy, rows, each) for each in (EVERYONE, SOME)]

    for one, other in zip(*both(rollouts), strict=True):
        assert_same_experience(one, other)
        assert (one.valid.flatten(1).sum(1) >= rows * other.valid.flatten(1).any(1)).all()


def test_observations_are_clipped_in_the_same_places() -> None:
    def actions() -> Tensor:
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
def test_seeds_that_are_not_those_of_the_environment_are_refused_as_by_the_formula(wrong: Tensor) -> None:
    _, player, agent = players()
    assert playing.play_segment(player, agent.policy, CONFIG.horizon, wrong) is None
    assert playing.play_episodes(player, agent.policy, 10, wrong) is None


def test_an_action_is_chosen_as_pytorch_chooses_it_also_among_nan_and_infinities() -> None:
    code, rng = loaded("tricks.fused.compiled_playing"), np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, 0, 1, 1, -1], np.float32)
    for outputs in (1, 2, 3, 5):
        logits, noise = (rng.choice(odd, (400, outputs)) for _ in range(2))
        action = np.empty(400, np.int64)
        with np.errstate(invalid="ignore"):
            best = torch.from_numpy(logits + noise).argmax(-1)
        cast(Any, code).choose(logits, noise, action)
        assert torch.equal(torch.from_numpy(action), best)


class Doubled:
    """A state that is carried along: the policy sees observations twice as large."""

    def __init__(self, agent: Agent, env: TensorEnv) -> None:
        self.agent, self.env = agent, env

    def look(self) -> Features:
        seen = 2 * self.env.now.obs
        return Features(seen, self.agent.policy_net.body(seen))

    def end_rollout(self) -> Tensor:
        return torch.zeros(3, 5, 2, 0)


def masked(player: Player, agent: Agent) -> None:
    agent.mask = lambda logits, legal: logits - torch.tensor([0.0, 30.0])


def in_the_middle(player: Player, agent: Agent) -> None:
    player.step(agent.policy, EVERYONE.unsqueeze(1).expand(-1, 5))


def carrying_on(player: Player, agent: Agent) -> None:
    player.state = Doubled(agent, player.env)  # type: ignore[arg-type]


def doubled(state: Tensor) -> Tensor:
    return torch.cat([state, state[..., :1]], -1)


def ordinary(player: Player, agent: Agent) -> None:
    pass


Peculiar = Callable[[Player, Agent], None]
CARRIED = replace(CARTPOLE, carried=1, reset_chances=4)  # the pole's speed stays as it is where an episode ends
KINDS: dict[str, tuple[World, Peculiar, bool]] = {
    "ordinary": (CARTPOLE, ordinary, True),
    "a world that carries something on": (CARRIED, ordinary, False),
    "a mask": (CARTPOLE, masked, False),
    "a rollout that has begun": (CARTPOLE, in_the_middle, False),
    "a state": (CARTPOLE, carrying_on, False),
    "another score": (replace(CARTPOLE, score=lambda state, reward: 2 * reward), ordinary, False),
    "not every action is legal": (replace(CARTPOLE, legal=lambda state: state[..., :2] < 9), ordinary, False),
    "other rules": (replace(CARTPOLE, dynamics=lambda *given: CARTPOLE.dynamics(*given)), ordinary, False),
    "another thing is seen": (replace(CARTPOLE, observe=lambda state: -state), ordinary, False),
    "three actions": (replace(CARTPOLE, action=Discrete(3)), ordinary, False),
    "more is seen": (replace(CARTPOLE, observation=Box(-9, 9, (5,)), observe=doubled), ordinary, False),
}


def played(world: World, peculiar: Peculiar, whole: bool) -> list[Rollout]:
    env = TensorEnv(world, CONFIG)
    player, agent = Player(env, CONFIG.horizon), build_agent(env.spaces, CONFIG, PPO)
    peculiar(player, agent)
    play, rows = (play_episodes, 60) if whole else (play_segment, CONFIG.horizon)
    return [play(player, agent.policy, rows, EVERYONE) for _ in range(3)]


@pytest.mark.parametrize("whole", [False, True], ids=["segments", "episodes"])
@pytest.mark.parametrize(("world", "peculiar", "ours"), KINDS.values(), ids=KINDS)
def test_what_no_kernel_covers_is_played_row_by_row(world: World, peculiar: Peculiar, ours: bool, whole: bool) -> None:
    with patch.object(playing.Game, "block", autospec=True, side_effect=playing.Game.block) as compiled:
        mine, theirs = both(lambda: played(world, peculiar, whole), kernels=ours)
    begun = peculiar is in_the_middle  # the first rollout is played as written, and those after it by the kernels
    assert ours or compiled.call_count == 0 or begun
    for one, other in zip(mine, theirs, strict=True):
        assert_same_experience(one, other, *((1e-4, 1e-5) if begun else ()))


def test_a_game_longer_than_the_players_limit_is_a_fault_though_the_world_would_go_on() -> None:
    with pytest.raises(InputError, match="an episode has not ended after 12 steps"):
        played(CARTPOLE, lambda player, agent: setattr(player, "limit", 12), whole=True)
    assert Player(TensorEnv(CARTPOLE, CONFIG), 8).limit == CONFIG.episode_limit  # unless it is told another

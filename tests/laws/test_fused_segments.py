"""A compiled rollout sees and chooses what the formula does, and steps aside for all that it does not stand for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

import tricks.fused.playing as playing
from tricks import PPO, Config, InputError
from tricks.core.agent import Agent
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.core.sequences import Features
from tricks.envs.tensor import TensorEnv
from tricks.fast.dispatch import loaded
from tricks.fast.formulas import formula
from tricks.loop import build_agent
from tricks.segments import play_segment
from tricks.worlds import CLASSIC
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

pytest.importorskip("numba")
CONFIG = Config("CartPole-v1", seeds=(3, 8, 5), lanes=5, horizon=40, hidden=(20, 9))
EVERYONE = torch.ones(3, dtype=torch.bool)


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


def one_segment(agent_is: Any = None, flags: Any = PPO, **changes: Any) -> Any:
    """A segment compiled, and one by the formula, of an agent and a world so changed."""
    found = []
    for form in (playing.play_segment, formula("tricks.segments.play_segment")):
        world = TensorEnv(replace(CLASSIC["CartPole-v0"], **changes), CONFIG)
        player, agent = Player(world, 20), build_agent(world.spaces, CONFIG, flags)
        if agent_is is not None:
            agent_is(agent)
        found.append(form(player, agent.policy, 20, EVERYONE))
    return found


@pytest.mark.parametrize("action", [0, 1])
def test_the_first_logit_that_is_nan_is_chosen(action: int) -> None:
    def spoil(agent: Any) -> None:
        agent.policy_net.head.bias.data[:, :, action:] = torch.nan

    mine, theirs = one_segment(spoil)
    assert (mine.action == action).all()
    assert torch.equal(mine.action, theirs.action)


@pytest.mark.parametrize("mean", [-1.0, 1.0, 0.0])
def test_what_the_nets_see_is_limited_on_both_sides(mean: float) -> None:
    def far(agent: Any) -> None:
        stats = agent.obs_stats
        stats.moments = stats.moments._replace(
            rows=stats.rows + 1, mean=stats.average + mean, squares=stats.squares + 1e-6
        )

    mine, theirs = one_segment(far, flags=replace(PPO, state_norm=True))
    assert torch.equal(mine.obs, theirs.obs)
    assert torch.equal(mine.action, theirs.action)


OTHERS: dict[str, dict[str, Any]] = {
    "not every action is legal": {"legal": lambda state: state[..., :2] < 9},
    "the rules are others": {"dynamics": lambda *given: CLASSIC["CartPole-v0"].dynamics(*given)},
    "another thing is seen": {"observe": lambda state: -state},
    "there are three actions": {"action": Discrete(3)},
    "more is seen": {"observation": Box(-9, 9, (5,)), "observe": lambda state: torch.cat([state, state[..., :1]], -1)},
    "a mask of one's own": {"agent_is": lambda agent: setattr(agent, "mask", lambda logits, legal: -logits)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_world_or_an_agent_that_is_nearly_one_of_ours_is_played_row_by_row(name: str) -> None:
    assert one_segment()[0] is not None
    mine, theirs = one_segment(**OTHERS[name])
    assert mine is None
    assert theirs is not None


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


def impatient(player: Player, agent: Agent) -> None:
    player.limit = 12


def ordinary(player: Player, agent: Agent) -> None:
    pass


CARRIED = replace(CARTPOLE, carried=1, reset_chances=4)  # the pole's speed stays as it is where an episode ends
KINDS: dict[str, tuple[World, Callable[[Player, Agent], None], bool]] = {
    "ordinary": (CARTPOLE, ordinary, True),
    "a world that carries something on": (CARRIED, ordinary, False),
    "a mask": (CARTPOLE, masked, False),
    "a rollout that has begun": (CARTPOLE, in_the_middle, False),
    "a state": (CARTPOLE, carrying_on, False),
    "another score": (replace(CARTPOLE, score=lambda state, reward: 2 * reward), ordinary, False),
}


def played(world: World, peculiar: Callable[[Player, Agent], None], whole: bool) -> list[Rollout]:
    env = TensorEnv(world, CONFIG)
    player, agent = Player(env, CONFIG.horizon), build_agent(env.spaces, CONFIG, PPO)
    peculiar(player, agent)
    play, rows = (play_episodes, 60) if whole else (play_segment, CONFIG.horizon)
    return [play(player, agent.policy, rows, EVERYONE) for _ in range(3)]


@pytest.mark.parametrize("whole", [False, True], ids=["segments", "episodes"])
@pytest.mark.parametrize(("world", "peculiar", "ours"), KINDS.values(), ids=KINDS)
def test_a_rollout_is_what_it_is_row_by_row(world: World, peculiar: Any, ours: bool, whole: bool) -> None:
    with patch.object(playing.Game, "block", autospec=True, side_effect=playing.Game.block) as compiled:
        mine = played(world, peculiar, whole)
    assert ours or compiled.call_count == 0 or peculiar is in_the_middle  # which has ended with the first rollout
    with patch.object(playing, "usual", lambda *given: False):
        theirs = played(world, peculiar, whole)
    for one, other in zip(mine, theirs, strict=True):
        assert torch.equal(one.action[one.valid], other.action[other.valid])
        for name in ("valid", "obs", "reward", "score", "terminated", "over"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name


def test_a_game_longer_than_the_players_limit_is_a_fault_though_the_world_would_go_on() -> None:
    with pytest.raises(InputError, match="an episode has not ended after 12 steps"):
        played(CARTPOLE, impatient, whole=True)
    assert Player(TensorEnv(CARTPOLE, CONFIG), 8).limit == CONFIG.episode_limit  # unless it is told another

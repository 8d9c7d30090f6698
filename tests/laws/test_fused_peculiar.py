"""Compiled rollouts step aside where there is anything that they do not stand for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

import tricks.fused.playing as playing
from tricks import PPO, Config, InputError
from tricks.core.agent import Agent
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.core.sequences import Features
from tricks.envs.tensor import TensorEnv
from tricks.loop import build_agent
from tricks.segments import play_segment
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

pytest.importorskip("numba")
CONFIG = Config("CartPole-v1", seeds=(3, 8), lanes=3, horizon=40, hidden=(9,))
EVERYONE = torch.ones(2, dtype=torch.bool)


class Doubled:
    """A state that is carried along: the policy sees observations twice as large."""

    def __init__(self, agent: Agent, env: TensorEnv) -> None:
        self.agent, self.env = agent, env

    def look(self) -> Features:
        seen = 2 * self.env.now.obs
        return Features(seen, self.agent.policy_net.body(seen))

    def end_rollout(self) -> Tensor:
        return torch.zeros(2, 3, 2, 0)


def masked(player: Player, agent: Agent) -> None:
    agent.mask = lambda logits, legal: logits - torch.tensor([0.0, 30.0])


def in_the_middle(player: Player, agent: Agent) -> None:
    player.step(agent.policy, EVERYONE.unsqueeze(1).expand(-1, 3))


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


def test_a_player_waits_for_a_game_as_long_as_the_config_says_by_default() -> None:
    assert Player(TensorEnv(CARTPOLE, CONFIG), 8).limit == CONFIG.episode_limit

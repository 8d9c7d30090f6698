"""A compiled segment sees and chooses what the formula does, and no world but ours is played in one."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

import tricks.fused.playing as playing
from tricks import PPO, Config
from tricks.core.rollout import Player
from tricks.envs.tensor import TensorEnv
from tricks.fast.dispatch import loaded
from tricks.fast.formulas import formula
from tricks.loop import build_agent
from tricks.worlds import CLASSIC

pytest.importorskip("numba")
CONFIG = Config(seeds=(3, 8, 5), lanes=5, horizon=20, hidden=(20, 9))


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


def one_segment(agent_is: Any = None, env: str = "CartPole-v0", flags: Any = PPO, **changes: Any) -> Any:
    """A segment compiled, and one by the formula, of an agent and a world so changed."""
    found = []
    for form in (playing.play_segment, formula("tricks.segments.play_segment")):
        config = replace(CONFIG, env=env)
        world = TensorEnv(replace(CLASSIC[env], **changes), config)
        player, agent = Player(world, 20), build_agent(world.spaces, config, flags)
        if agent_is is not None:
            agent_is(agent)
        found.append(form(player, agent.policy, 20, torch.ones(3, dtype=torch.bool)))
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
    "a feature is carried over": {"carried": 1},
    "not every action is legal": {"legal": lambda state: state[..., :2] < 9},
    "the score is another": {"score": lambda state, reward: 2 * reward},
    "the rules are others": {"dynamics": lambda *given: CLASSIC["CartPole-v0"].dynamics(*given)},
    "another thing is seen": {"observe": lambda state: -state},
    "there are three actions": {"action": Discrete(3)},
    "more is seen": {"observation": Box(-9, 9, (5,)), "observe": lambda state: torch.cat([state, state[..., :1]], -1)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_world_that_is_nearly_one_of_them_is_played_row_by_row(name: str) -> None:
    assert one_segment()[0] is not None
    mine, theirs = one_segment(**OTHERS[name])
    assert mine is None
    assert theirs is not None


def test_a_mask_of_ones_own_counts_where_the_agent_plays() -> None:
    assert one_segment(lambda agent: setattr(agent, "mask", lambda logits, legal: -logits))[0] is None

"""Segments of CartPole in one compiled call, for policies of dense layers on a CPU."""

from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor

from tricks.core.agent import Agent
from tricks.core.faults import observed
from tricks.core.moments import LIMIT
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical
from tricks.core.rollout import Player, Policy, Rollout
from tricks.core.seeds import draw
from tricks.envs.tensor import TensorEnv
from tricks.fast.dispatch import compiled
from tricks.state_norm import ObsStats
from tricks.worlds import cartpole
from tricks.worlds.world import everything_legal, reward_itself

FORMULAS = (  # what this stands for, beside `play_segment` and what it reads
    *((Player, "step"), (TensorEnv, "step"), (TensorEnv, "_shown"), (cartpole, "dynamics"), (cartpole, "observe")),
    *((Agent, name) for name in ("policy", "output", "standardized")),
    *((module, "forward") for module in (Net, Dense, Head, ObsStats)),
    (Categorical, "sample"),
)


@torch.inference_mode()
def play_segment(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout | None:
    """`segments.play_segment`. None for worlds, agents and devices that it is not for."""
    env, agent = player.env, getattr(policy, "__self__", None)
    if not (isinstance(env, TensorEnv) and isinstance(agent, Agent) and usual(player, env, agent, policy, length)):
        return None
    weights, biases = zip(*agent.policy_net.layers, strict=True)
    code = compiled("tricks.fused.compiled_playing", *weights, *biases)
    if code is None:
        return None
    noise = draw(env.seeds, player.purpose, player.rollouts, 0, by=partial(gumbel, (length, env.lanes, 2)))
    fresh = torch.stack([env.next_chances()[0] for _ in range(length)], 1)  # [S, T, N, 4]
    state, age, resetting = env._state.clone(), env._age.clone(), env.now.resetting.clone()
    seeds, lanes = age.shape
    obs, action = state.new_empty(seeds, length + 1, lanes, 4), age.new_empty(seeds, length, lanes, dtype=torch.int64)
    terminated, truncated, resets = (torch.empty_like(action, dtype=torch.bool) for _ in range(3))
    rows = state, age, resetting, fresh, noise, *seen(agent), obs, action, terminated, truncated, resets
    net = np.array([[x.data_ptr() for x in weights], [x.data_ptr() for x in biases]])
    tanh = cast(Dense, agent.policy_net.body).tanh
    sizes = np.array([4, *(x.shape[2] for x in weights)])
    code.play(*(x.numpy() for x in rows), LIMIT, net, sizes, tanh, env._limit)

    pay = (~resets[:, -1]).double()
    env.arrive(state, age, pay, terminated[:, -1], truncated[:, -1], pay)
    player.rollouts += 1
    valid = ~resets & active.view(-1, 1, 1)
    reward, terminated = valid.double(), terminated & valid
    truncated = truncated & valid & ~terminated
    cut = valid & ~(terminated | truncated)
    cut[:, :-1] = False
    obs.masked_fill_(~observed(valid).unsqueeze(-1), 0)
    legal = env.now.legal.unsqueeze(1).expand(-1, length, -1, -1)
    over = terminated | truncated
    return Rollout(obs, legal, action, reward, terminated, truncated, valid, cut, score=reward, over=over)


def gumbel(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """The noise of a segment."""
    return Categorical.noise(rng, shape)


def seen(agent: Agent) -> tuple[Tensor, Tensor]:
    """Mean and scale [S, 4] by which the nets see observations; zeros if they see them as they are."""
    stats = cast(ObsStats, agent.obs_stats)
    if stats is None or stats.mean is None:
        nothing = torch.zeros(len(agent.seeds), 4)
        return nothing, nothing
    return stats.mean.squeeze(1).contiguous(), stats.scale.squeeze(1).contiguous()


def usual(player: Player, env: TensorEnv, agent: Agent, policy: Policy, length: int) -> bool:
    """Whether this is CartPole, not compiled otherwise, between two rollouts, with an agent of dense layers."""
    net, stats = agent.policy_net, agent.obs_stats
    world = env.world.dynamics is env._dynamics is cartpole.dynamics and env.world.observe is cartpole.observe
    world = world and env.world.carried == 0 and env.world.legal is everything_legal
    dense = type(net.body) is Dense and type(net.head) is Head and (stats is None or type(stats) is ObsStats)
    own = policy == agent.policy and player.family is Categorical and agent.mask is None and player.state is None
    return world and dense and own and player.block == length and player._row == 0 and env.world.score is reward_itself


play_segment.formulas = FORMULAS  # type: ignore[attr-defined]

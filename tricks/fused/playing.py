"""Rollouts of three worlds in one compiled call for many rows, for policies of dense layers on a CPU."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from tricks.core.agent import Agent
from tricks.core.moments import LIMIT
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Player, Policy, Rollout
from tricks.core.seeds import draw
from tricks.envs.tensor import TensorEnv
from tricks.fast.dense import Stack
from tricks.fast.dispatch import laid, loaded
from tricks.fused.guard import ordinary, own
from tricks.state_norm import ObsStats
from tricks.worlds import acrobot, cartpole, pendulum
from tricks.worlds.world import everything_legal, reward_itself

WORLDS = cartpole, acrobot, pendulum  # by their numbers in `compiled_playing`
SIZES = (4, 4, 2), (4, 6, 3), (2, 3, 1)  # how many numbers their states and observations have, and how many actions
FORMULAS = (  # what this stands for, beside `play_segment`, `play_episodes`, and what they read
    *((Player, name) for name in ("step", "rollout", "recorded", "overlong")),
    *((TensorEnv, name) for name in ("step", "_shown", "arrive")),
    *((Agent, name) for name in ("policy", "output", "standardized")),
    *((module, name) for module in (Net, Dense, Head, ObsStats) for name in ("forward", "__call__")),
    *((world, name) for world in WORLDS for name in ("dynamics", "observe")),
    *((family, name) for family in (Categorical, DiagonalGaussian) for name in ("noise", "sample")),
    *((DiagonalGaussian, name) for name in ("played", "std")),
)


@torch.no_grad()
def play_segment(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout | None:
    """`segments.play_segment`. None for worlds, agents and devices that it is not for."""
    game = Game.of(player, policy, active)
    if game is None or player.block != length:
        return None
    return game.rollout([game.block(0, active.unsqueeze(1).repeat(1, player.env.lanes))])


@torch.no_grad()
def play_episodes(player: Player, policy: Policy, rows: int, active: Tensor) -> Rollout | None:
    """`rollout.play_episodes`. None for worlds, agents and devices that it is not for, or if a game may be too long."""
    game = Game.of(player, policy, active)
    if game is None or player.limit < game.env._limit or rows < 1:
        return None
    game.env.reset()
    playing, blocks = active.unsqueeze(1).repeat(1, player.env.lanes), list[Block]()
    count = torch.zeros_like(active, dtype=torch.int64)
    while not blocks or playing.any():
        blocks.append(game.block(len(blocks), playing, count, rows))
    return game.rollout(blocks, whole=True)


class Block(NamedTuple):
    """Some rows of all lanes, [S, T, N, ...], and one more observation."""

    obs: Tensor  # [S, T+1, N, D]
    discrete: Tensor
    continuous: Tensor  # [S, T, N, A]; one of these two is in use
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    resets: Tensor  # the step ignored the action and began an episode
    played: Tensor


class Game(NamedTuple):
    """One of WORLDS, a player, and an agent of dense layers."""

    code: Any
    world: int
    player: Player
    env: TensorEnv
    agent: Agent
    stack: Stack

    @classmethod
    def of(cls, player: Player, policy: Policy, active: Tensor) -> "Game | None":
        """None if it is anything else."""
        env, agent = player.env, getattr(policy, "__self__", None)
        if not (isinstance(env, TensorEnv) and isinstance(agent, Agent) and usual(player, env, agent, policy)):
            return None
        world = next(k for k, rules in enumerate(WORLDS) if rules.dynamics is env.world.dynamics)
        known = laid((len(env.seeds),), active, kind=torch.bool) and bool(active.any())
        stack = fits(env, agent, *SIZES[world]) if known else None
        code = loaded("tricks.fused.compiled_playing") if stack else None
        return cls(code, world, player, env, agent, stack) if stack and code else None

    @property
    def std(self) -> Tensor:
        """σ of a Gaussian policy, [S, A]; [S, 0] for others."""
        agent, discrete = self.agent, self.env.spaces.discrete
        return unused(agent) if discrete else agent.log_std.detach().exp().squeeze(1)

    def block(self, index: int, playing: Tensor, count: Tensor | None = None, enough: int = 0) -> Block:
        """The next rows, as many as there are random numbers in a block of the player's; `playing` is updated."""
        player, env, agent, stack, length = self.player, self.env, self.agent, self.stack, self.player.block
        rollout, family, wanted = player.rollouts, player.family, (length, env.lanes, env.spaces.actions)
        noise = draw(env.seeds, player.purpose, rollout, index, by=lambda rng: family.noise(rng, wanted))
        fresh = torch.stack([env.next_chances()[0] for _ in range(length)], 1)  # [S, T, N, 4]
        state, age, resetting = env._state.clone(), env._age.clone(), env.now.resetting.clone()
        shape, std = (len(age), length, env.lanes), self.std
        obs = state.new_zeros(shape[0], length + 1, env.lanes, env.spaces.features)
        discrete, reward = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.float64)
        flags = [torch.zeros(shape, dtype=torch.bool) for _ in range(4)]
        block = Block(obs, discrete, state.new_zeros(*shape, std.shape[-1]), reward, *flags)
        count = torch.zeros(len(age), dtype=torch.int64) if count is None else count
        rows = state, age, resetting, fresh, noise, *seen(agent), std, playing, count, *block
        net, tanh = np.array([stack.weights, stack.biases]), int(cast(Dense, agent.policy_net.body).tanh)
        self.code.play(self.world, *(x.numpy() for x in rows), LIMIT, net, stack.sizes, tanh, env._limit, enough)
        env.arrive(state, age, reward[:, -1], block.terminated[:, -1], block.truncated[:, -1], reward[:, -1])
        return block

    def rollout(self, blocks: Sequence[Block], whole: bool = False) -> Rollout:
        """The rollout of these blocks; of `whole` episodes, up to the last row that anybody played."""
        length = self.player.block
        rows = Block(*(torch.cat([x[:, :length] for x in each], 1) for each in zip(*blocks, strict=True)))
        obs = torch.cat([rows.obs, blocks[-1].obs[:, -1:]], 1)
        if whole:
            length = int(rows.played.any(2).any(0).sum())
            rows, obs = Block(*(x[:, :length] for x in rows)), obs[:, : length + 1].contiguous()
        action = rows.discrete if self.env.spaces.discrete else rows.continuous
        std = None if self.env.spaces.discrete else self.std.mean(-1).view(-1, 1, 1).expand(rows.played.shape)
        legal = self.env.now.legal.unsqueeze(1).expand(-1, obs.shape[1] - 1, -1, -1)
        outcome = rows.reward, rows.terminated, rows.truncated, rows.reward, rows.terminated | rows.truncated
        return self.player.recorded(obs, (legal, action, *outcome, rows.played, rows.resets, rows.resets), std)


def unused(agent: Agent) -> Tensor:
    return torch.zeros(len(agent.seeds), 0, dtype=torch.float32)


def seen(agent: Agent) -> tuple[Tensor, Tensor]:
    """Mean and scale [S, D] by which the nets see observations; [S, 0] if they see them as they are."""
    stats = cast(ObsStats, agent.obs_stats)
    if stats is None or stats.mean is None:
        return unused(agent), unused(agent)
    return stats.mean.squeeze(1).contiguous(), stats.scale.squeeze(1).contiguous()


def usual(player: Player, env: TensorEnv, agent: Agent, policy: Policy) -> bool:
    """Whether this is one of WORLDS, not compiled otherwise, between two rollouts, with an agent of dense layers."""
    rules = env.world
    known = any(rules.dynamics is each.dynamics and rules.observe is each.observe for each in WORLDS)
    world = known and env._dynamics is rules.dynamics and rules.carried == 0 and rules.legal is everything_legal
    made = type(env) is TensorEnv and type(player) is Player and own(env, player)
    mine = policy == agent.policy and agent.mask is None and rules.score is reward_itself
    fresh = player._row == 0 and player.state is None and player.family is agent.family
    return world and made and mine and fresh and ordinary(agent, agent.policy_net)


def fits(env: TensorEnv, agent: Agent, numbers: int, features: int, actions: int) -> Stack | None:
    """The policy's layers, if states, observations, and actions have these sizes, in the agent too."""
    lanes, fresh, stats = (len(agent.seeds), env.lanes), env._fresh[0], cast(ObsStats, agent.obs_stats)
    state = env._state.shape == fresh.shape == (*lanes, numbers) and env.now.resetting.shape == env._age.shape == lanes
    sized = len(env.seeds) == lanes[0] and (env.spaces.features, env.spaces.actions) == (features, actions)
    normed = [] if stats is None or stats.mean is None else [stats.mean, stats.scale]
    acted = [] if env.spaces.discrete else [agent.log_std]
    laid_out = laid((lanes[0], 1, features), *normed) and laid((lanes[0], 1, actions), *acted)
    stack = Stack.of(lanes[0], features, agent.policy_net.layers) if state and sized and laid_out else None
    return stack if stack and stack.sizes[-1] == actions else None


play_segment.formulas = play_episodes.formulas = FORMULAS  # type: ignore[attr-defined]

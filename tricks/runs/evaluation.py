"""Evaluation: whole games with everything frozen, during training or after it."""

import contextlib
import sys
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.env import MakeEnv
from tricks.core.policies import deterministic
from tricks.core.recurrent_state import RecurrentState
from tricks.core.rollout import Player, Policy, Rollout
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.runs.best import beginning
from tricks.runs.log import Log
from tricks.runs.sizes import Need, refuse_too_large, rollout_bytes
from tricks.values import Checked


@dataclass(frozen=True)
class Evaluation(Checked):
    """Greedy games, each time a seed has taken `every` more environment steps; their mean score is its eval_return.

    Each evaluation plays `episodes` full games per seed. It has its own random numbers, the same ones every time, so
    it affects neither training nor the other seeds' evaluations. keep_best: keep each seed's weights and statistics at
    its highest score so far, for `Run.at_best`. Raises InputError if either number is less than 1.
    """

    every: int
    episodes: int = 10
    keep_best: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 1:
            raise InputError(f"evaluations must be at least 1 step apart, not {self.every}")
        if self.episodes < 1:
            raise InputError(f"an evaluation needs at least 1 episode, not {self.episodes}")

    def after(self, rollout: Rollout, config: Config, agent: Agent, log: Log, make: MakeEnv | None = None) -> Tensor:
        """Mean score of each seed whose evaluation is due after `rollout`, NaN for the others: [S].

        log: of the time before the rollout; it keeps the best agents. If `make` is given, it makes the environment. A
        seed whose environment fails in an evaluation gets NaN and a line on stderr, and the training goes on.
        """
        scores = self.scores(rollout, config, agent, log.steps, make)
        if self.keep_best and not scores.isnan().all():
            log.kept = (log.kept or beginning(agent)).or_better(scores, agent)
        return scores

    def scores(self, rollout: Rollout, config: Config, agent: Agent, steps: Tensor, make: MakeEnv | None) -> Tensor:
        """See `after`. steps [S]: environment steps before the rollout."""
        due = (steps + rollout.valid.flatten(1).sum(1)) // self.every > steps // self.every
        if not due.any():
            return torch.full_like(steps, torch.nan, dtype=torch.float64)
        fresh = replace(config, compile=False)  # a short-lived environment is not worth compiling
        try:
            scores, failed = play_games(fresh, agent, self.episodes, greedy=True, playing=due, make=make)
        except InputError as error:
            print(f"an evaluation failed: {error}", file=sys.stderr)
            return torch.full_like(steps, torch.nan, dtype=torch.float64)
        for reason in failed.values():
            print(f"an evaluation failed: {reason}", file=sys.stderr)
        return scores.mean(1).masked_fill(~due, torch.nan)


def play_needs(config: Config, games: int, spaces: Spaces | None = None, option: str = "episodes") -> list[Need]:
    """The memory for playing so many games of every agent at once, one horizon at a time."""
    count = len(config.seed_list) * games
    return [Need(f"{count:,} games at once", rollout_bytes(count * config.horizon, spaces), (option,))]


class Played(NamedTuple):
    """What came of some games of every seed."""

    scores: Tensor  # [S, games]; NaN for a seed whose environment failed
    failed: dict[int, str]  # which seeds those are, and why


def play_games(
    config: Config,
    agent: Agent,
    games: int,
    greedy: bool,
    playing: Tensor | None = None,
    make: MakeEnv | None = None,
) -> Played:
    """Play whole games with sampled or greedy actions. Seeds whose `playing` [S] is False score 0.

    A seed fails if a game is longer than config.episode_limit or an observation or reward is not finite. Raises
    InputError if all seeds fail at once, or if the environment does not have the agents' spaces.
    """
    refuse_too_large(play_needs(config, games))
    env = make_env(replace(config, lanes=games), purpose="evaluation", make=make)
    if env.spaces.sizes != agent.spaces.sizes:
        env.close()
        here, there = (f"{s.observation} and {s.action}" for s in (env.spaces, agent.spaces))
        raise InputError(" ".join(f"{env.id} has the spaces {here}, but the agent was trained with {there}".split()))
    player = Player(env, config.horizon, "evaluation", config.episode_limit)
    player.family = agent.family
    if agent.state_size:
        player.state = RecurrentState(agent, env)
    policy: Policy = deterministic(agent.policy, agent.family) if greedy else agent.policy
    left = torch.ones(len(env.seeds), games, dtype=torch.bool, device=env.now.obs.device)  # one game per lane
    if playing is not None:
        left = left & playing.unsqueeze(1)
    scores = torch.zeros(left.shape, dtype=torch.float64, device=left.device)
    failed: dict[int, str] = {}
    with contextlib.closing(env):
        env.reset()
        patience = config.episode_limit
        while left.any():  # one segment at a time, because a whole game may not fit in memory
            for _ in range(min(config.horizon, patience)):
                if left.any():
                    player.step(policy, left)
                    left, patience = left & ~env.now.over, patience - 1
            segment = player.rollout(last=False, endless=left.any(1).nonzero()[:, 0].tolist() if patience == 0 else ())
            scores += segment.score.sum(1)
            for seed, fault in segment.faults.items():
                failed[seed] = f"{env.id}: {fault}"
                scores[env.seeds.index(seed)] = torch.nan
            left = left & scores.isfinite()
    return Played(scores, failed)

"""Evaluation: whole games with everything frozen, during training or after it."""

import contextlib
import sys
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.faults import ENDLESS
from tricks.core.policies import certain
from tricks.core.rollout import Player, Policy, Rollout
from tricks.core.sizes import Need, playing_bytes, refuse_too_large
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.values import Checked


@dataclass(frozen=True)
class Evaluation(Checked):
    """Greedy games, each time a seed has taken `every` more environment steps; their mean score is its eval_return.

    Each evaluation plays `episodes` full games per seed. It has its own random numbers, the same ones every time, so
    it affects neither training nor the other seeds' evaluations. Raises InputError if either number is less than 1.
    """

    every: int
    episodes: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 1:
            raise InputError(f"evaluations must be at least 1 step apart, not {self.every}")
        if self.episodes < 1:
            raise InputError(f"an evaluation needs at least 1 episode, not {self.episodes}")

    def after(
        self, rollout: Rollout, config: Config, policy: Policy, steps: Tensor, make: MakeEnv | None = None
    ) -> Tensor:
        """Mean score of each seed whose evaluation is due after `rollout`, NaN for the others: [S].

        steps [S]: environment steps before the rollout. If `make` is given, it makes the environment. An evaluation
        that fails gives NaN and a line on stderr, and the training goes on.
        """
        due = (steps + rollout.valid.flatten(1).sum(1)) // self.every > steps // self.every
        if not due.any():
            return torch.full_like(steps, torch.nan, dtype=torch.float64)
        fresh = replace(config, compile=False)  # a short-lived environment is not worth compiling
        try:
            scores = play_games(fresh, policy, self.episodes, greedy=True, playing=due, make=make)
        except InputError as error:
            print(f"an evaluation failed: {error}", file=sys.stderr)
            return torch.full_like(steps, torch.nan, dtype=torch.float64)
        return scores.mean(1).masked_fill(~due, torch.nan)


def play_needs(config: Config, games: int, spaces: Spaces | None = None, option: str = "episodes") -> list[Need]:
    """The memory for playing so many games of every agent at once, one horizon at a time."""
    count = len(config.seed_list) * games
    return [Need(f"{count:,} games at once", playing_bytes(count * config.horizon, spaces), (option,))]


def play_games(
    config: Config,
    policy: Policy,
    games: int,
    greedy: bool,
    playing: Tensor | None = None,
    make: MakeEnv | None = None,
    spaces: Spaces | None = None,
) -> Tensor:
    """Scores of whole games with sampled or greedy actions: [S, games]. Seeds whose `playing` [S] is False score 0.

    Raises InputError if a game is longer than config.episode_limit, if an observation or reward is not finite, or if
    the environment does not have these `spaces`.
    """
    refuse_too_large(play_needs(config, games))
    env = make_env(replace(config, lanes=games), purpose="evaluation", make=make)
    if spaces is not None and env.spaces.sizes != spaces.sizes:
        env.close()
        here, there = (f"{s.observation} and {s.action}" for s in (env.spaces, spaces))
        raise InputError(
            " ".join(f"{config.env} has the spaces {here}, but the agent was trained with {there}".split())
        )
    player = Player(env, block=config.horizon, purpose="evaluation")
    if greedy:
        policy = certain(policy, env.spaces.family)
    left = torch.ones(len(env.seeds), games, dtype=torch.bool, device=env.now.obs.device)  # one game per lane
    if playing is not None:
        left = left & playing.unsqueeze(1)
    score = torch.zeros(left.shape, dtype=torch.float64, device=left.device)
    with contextlib.closing(env):
        env.reset()
        patience = config.episode_limit
        while left.any():  # one segment at a time, because a whole game may not fit in memory
            for _ in range(config.horizon):
                if left.any():
                    player.step(policy, left)
                    left, patience = left & ~env.now.over, patience - 1
            segment = player.rollout(last=False)
            score += segment.score.sum(1)
            for fault in segment.faults.values():
                raise InputError(f"{config.env}: {fault}")
            if patience <= 0 and left.any():
                raise InputError(f"{config.env}: {ENDLESS.format(config.episode_limit)}")
    return score

"""Evaluation: whole games with everything frozen, after a training or during it."""

import contextlib
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.policies import certain
from tricks.core.rollout import Player, Policy, Rollout
from tricks.envs.make import make_env
from tricks.errors import InputError


@dataclass(frozen=True)
class Evaluation:
    """Greedy games whenever a seed has taken `every` more environment steps; their mean score is its eval_return.

    Each evaluation plays `episodes` games per seed to their ends, with random numbers of its own and the same ones
    every time: what is learned does not change, and neither does another seed's evaluation. Raises InputError if
    either number is less than 1.
    """

    every: int
    episodes: int = 10

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"evaluations must be at least 1 step apart, not {self.every}")
        if self.episodes < 1:
            raise InputError(f"an evaluation needs at least 1 episode, not {self.episodes}")

    def after(
        self, rollout: Rollout, config: Config, policy: Policy, steps: Tensor, make: MakeEnv | None = None
    ) -> Tensor:
        """Mean score of the seeds that are due after `rollout`, NaN for the others: [S]. steps [S]: those before it.

        The environment is what `make` makes, or else config.env.
        """
        due = (steps + rollout.valid.flatten(1).sum(1)) // self.every > steps // self.every
        if not due.any():
            return torch.full_like(steps, torch.nan, dtype=torch.float64)
        fresh = replace(config, compile=False)  # an environment of a few games, made anew: not worth compiling
        scores = play_games(fresh, policy, self.episodes, greedy=True, playing=due, make=make)
        return scores.mean(1).masked_fill(~due, torch.nan)


def play_games(
    config: Config,
    policy: Policy,
    games: int,
    greedy: bool,
    playing: Tensor | None = None,
    make: MakeEnv | None = None,
) -> Tensor:
    """Scores of whole games with sampled, or the most likely, actions: [S, games]. Seeds not `playing` [S] score 0.

    It ends when every game has: an environment whose games can go on forever cannot be evaluated.
    """
    env = make_env(replace(config, lanes=games), purpose="evaluation", make=make)
    player = Player(env, block=config.horizon, purpose="evaluation")
    if greedy:
        policy = certain(policy, env.spaces.family)
    left = torch.ones(len(env.seeds), games, dtype=torch.bool, device=env.now.obs.device)  # one game a lane
    if playing is not None:
        left = left & playing.unsqueeze(1)
    score = torch.zeros(left.shape, dtype=torch.float64, device=left.device)
    with contextlib.closing(env):
        env.reset()
        while left.any():  # kept a segment at a time, since a game may be longer than memory
            for _ in range(config.horizon):
                if left.any():
                    _, over = player.step(policy, left)
                    left = left & ~over
            score += player.rollout(last=False).score.sum(1)
    return score

"""Evaluation: whole games with everything frozen, during training or after it."""

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent, RecurrentState
from tricks.core.env import MakeEnv
from tricks.core.machine import Need, refuse_too_large, row_bytes
from tricks.core.policies import noiseless
from tricks.core.rollout import Player, Rollout
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.runs.log import Log, means, or_better, tallied
from tricks.texts import as_texts, as_values, recorded
from tricks.values import Checked, fitted


@dataclass(frozen=True)
class Unnamed:
    """A saved run's environment or wrapper whose module the user has not named: raises InputError, imports nothing."""

    message: str
    custom: bool  # whether it was made by a function that was passed to `train`

    def __call__(self, **args: object) -> NoReturn:
        raise InputError(self.message)


@dataclass(frozen=True)
class Evaluation(Checked):
    """Greedy games, each time a seed has taken `every` more environment steps; their mean score is its eval_return.

    Each evaluation plays `episodes` full games per seed, with the same random numbers each time, and affects nothing
    else. keep_best: keep each seed's weights and statistics at its highest score so far, or at the highest mean of the
    number of this name in `Config.record`, for `Run.at_best`.

    env: an environment for evaluations alone, named as in `Config` or a function that makes it, with env_args as its
    arguments. Without env, env_args change arguments of the training's. Wrappers and all other numbers of `Config` are
    those of the training. make: not for users, who pass it as env.
    """

    every: int
    episodes: int = 10
    keep_best: bool | str = False
    env: str | MakeEnv = ""
    env_args: tuple[str, ...] = ()
    make: MakeEnv | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "env_args", as_texts(self.env_args))
        super().__post_init__()
        if not isinstance(self.env, str):  # then a name for it, in messages and files
            name = getattr(self.env, "__name__", type(self.env).__name__)
            object.__setattr__(self, "make", self.env)
            object.__setattr__(self, "env", name if name.isidentifier() else "own environment")  # not of a lambda
        if self.every < 1:
            raise InputError(f"evaluations must be at least 1 step apart, not {self.every}")
        if self.episodes < 1:
            raise InputError(f"an evaluation needs at least 1 episode, not {self.episodes}")
        if self.keep_best == "":
            raise InputError("keep_best is empty; it takes the name of a number in record, or True for the score")

    def told(self) -> dict[str, Any]:
        """What a file says of it; own: whether env is but the name of a function that made it."""
        plain = {name: x for name, x in vars(self).items() if name != "make"}
        return plain | {"own": self.make is not None and getattr(self.make, "custom", True)}

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Self:
        """What `told` gave; without the function, which is no part of a file. Raises InputError or TypeError."""
        given, fault = dict(told), "this run was evaluated in an environment of your own, which its file does not hold"
        own = fitted("own", bool, given.pop("own", False))
        return cls(**given, make=Unnamed(fault, True) if own else None)

    @property
    def apart(self) -> bool:
        """Whether evaluations are in an environment of their own."""
        return bool(self.env or self.env_args)

    def place(self, config: Config, make: MakeEnv | None) -> tuple[Config, MakeEnv | None]:
        """The config of the evaluations' environment, and the function that makes it; None: its name does."""
        if not self.env:
            return replace(config, env_args=as_texts(config.env_kwargs | as_values(self.env_args))), make
        return replace(config, env=str(self.env), env_args=self.env_args), self.make

    def refuse_env(self, config: Config, spaces: Spaces, make: MakeEnv | None, refuses: list[Any]) -> None:
        """Raise InputError if evaluations' own environment has other spaces, or if one of `refuses` does."""
        config, make = self.place(config, make)
        try:
            env = make_env(replace(config.only(0), lanes=1, compile=False), "evaluation", make)
        except InputError as error:
            raise InputError(f"in evaluations: {error}") from error
        with closing(env):
            if _seen(env.spaces) != _seen(spaces):
                here, there = (f"{x.observation}, {x.action}, and {x.tasks} tasks" for x in (env.spaces, spaces))
                both = f"environment, {env.id}, has {here}, and that of the training, {spaces.env}, {there}"
                raise InputError(f"the evaluations' {' '.join(both.split())}; they must be the same")
            for refuse in refuses:
                refuse(env)

    def after(self, rollout: Rollout, config: Config, agent: Agent, log: Log, make: MakeEnv | None = None) -> Tensor:
        """Mean score of each seed whose evaluation is due after `rollout`, NaN for others and if it fails: [S]."""
        steps = log.steps  # before the rollout
        due = (steps + rollout.valid.flatten(1).sum(1)) // self.every > steps // self.every
        scores = torch.full_like(steps, torch.nan, dtype=torch.float64)
        if not due.any():
            return scores
        place, make = self.place(config, make)
        fresh = replace(place, compile=False)  # a short-lived environment is not worth compiling
        try:
            games, failed, record = play_games(fresh, agent, self.episodes, greedy=True, playing=due, make=make)
            failures, scores = [*failed.values()], games.mean(1).masked_fill(~due, torch.nan)
        except InputError as error:
            failures, record = [str(error)], {}
        judged = scores
        if isinstance(self.keep_best, str) and record:
            judged = record[self.keep_best].where(~scores.isnan(), torch.nan)
            without = [seed for seed, no in zip(log.seeds, ~scores.isnan() & judged.isnan(), strict=True) if no]
            failures += [f"seed {seed} has no {self.keep_best!r}" for seed in without[:1]]
            scores = scores.where(~judged.isnan(), torch.nan)  # else an agent that nothing is known of would be best
        for reason in failures:
            print(f"an evaluation failed: {reason}", file=sys.stderr)
        if self.keep_best and not judged.isnan().all():
            log.kept = or_better(log.kept, judged, agent)
        return scores


def _seen(spaces: Spaces) -> list[object]:
    """What a net sees and gives: all but the bounds of observed vectors, which differ between backends."""
    parts = [(leaf, isinstance(leaf.space, Discrete | MultiDiscrete)) for leaf in spaces.leaves]
    observed = [(x.path, x.shape, x.axes, x.axes and x.brightest, whole and str(x.space)) for x, whole in parts]
    return [spaces.action, spaces.tasks, *observed]


def play_needs(config: Config, games: int, spaces: Spaces | None = None, option: str = "episodes") -> list[Need]:
    """The memory for playing so many games of every agent at once, one horizon at a time."""
    count = len(config.seed_list) * games
    return [Need(f"{count:,} games at once", count * config.horizon * row_bytes(spaces), (option,))]


def play_games(
    config: Config, agent: Agent, games: int, greedy: bool, playing: Tensor | None = None, make: MakeEnv | None = None
) -> tuple[Tensor, dict[int, str], dict[str, Tensor]]:
    """Play whole games with sampled or greedy actions. Seeds whose `playing` [S] is False score 0.

    Returns scores [S, games], NaN for a seed that failed; why those failed; and the mean of each number of
    `Config.record`, [S], NaN where no game gave one. Raises InputError if all fail, or if the spaces differ.
    """
    refuse_too_large(play_needs(config, games))
    config = replace(config, lanes=games, group=1)  # each game has a prompt of its own
    with closing(make_env(config, purpose="evaluation", make=make)) as env:
        if env.spaces.sizes != agent.spaces.sizes:
            here, there = (f"{s.observation} and {s.action}" for s in (env.spaces, agent.spaces))
            raise InputError(
                " ".join(f"{env.id} has the spaces {here}, but the agent was trained with {there}".split())
            )
        player = Player(env, config.horizon, "evaluation", config.episode_limit)
        player.family = noiseless(agent.family) if greedy else agent.family
        if agent.state_size:
            player.state = RecurrentState(agent, env)
        left = torch.ones(len(env.seeds), games, dtype=torch.bool, device=env.now.obs.device)  # one game per lane
        left = left if playing is None else left & playing.unsqueeze(1)
        scores, patience, failed = torch.zeros_like(left, dtype=torch.float64), config.episode_limit, dict[int, str]()
        rules = recorded(config.record)
        record = tally = scores.new_zeros(len(left), 2, games, len(rules))
        env.reset()
        while left.any():  # one segment at a time, because a whole game may not fit in memory
            for _ in range(min(config.horizon, patience)):
                if left.any():
                    player.step(agent.policy, left)
                    left, patience = left & ~env.now.over, patience - 1
            overlong = left.any(1).nonzero()[:, 0].tolist() if patience == 0 else ()
            segment = player.rollout(last=False, endless=overlong)
            scores += segment.score.sum(1)
            if segment.record is not None:
                ended, tally = tallied(rules, tally, segment)
                record = record + ended
            for seed, fault in segment.faults.items():
                failed[seed] = f"{env.id}: {fault}"
                scores[env.seeds.index(seed)] = torch.nan
            left = left & scores.isfinite()
    return scores, failed, means(rules, record)

"""What `train` computes, step by step, to be held against the reference."""

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete, Space
from support.reference import Reference, Row, plain
from support.restless import pictures, shown
from torch import Tensor

import tricks.loop as loop
from tricks import Agent, Config, Run, Tricks, train
from tricks.core.adam import Adam
from tricks.core.rollout import Batch, Rollout
from tricks.core.seeds import stream
from tricks.ppg import AuxiliaryPhase
from tricks.reward_scaling import RewardScale
from tricks.runs.log import Log
from tricks.state_norm import ObsStats

Key = tuple[int, str, str]
COLUMNS, MOMENTS = ("advantage", "old_value", "target"), ("obs_rows", "obs_average", "obs_squares")
SMALL, NONE = 0.1, dict[Any, float]()
AFTER = {"adam": "grad_norm", "auxiliary_adam": "auxiliary", "value_adam": "value_grad_norm"}


class Recording:
    """A training that writes down every quantity which the reference computes as well, for all seeds [S, ...].

    found: (update, place, quantity) -> tensor, with a place as in the reference. rollouts: what was played.
    """

    def __init__(self, config: Config, tricks: Tricks) -> None:
        self.config, self.tricks = config, tricks
        self.found, self.rollouts, self.adams = dict[Key, Tensor](), list[Rollout](), list[Adam]()
        self.update, self.place, self.minibatches = 0, "judge", 0
        self.kinds = ["adam"] + ["value_adam"] * tricks.separate_optimizers + ["auxiliary_adam"] * tricks.ppg
        with pytest.MonkeyPatch.context() as patch:
            for owner, name, heard in (
                (loop, "build_agent", self._built),
                (loop, "play_episodes", lambda rollout, *_: self.rollouts.append(rollout)),
                (loop, "play_segment", lambda rollout, *_: self.rollouts.append(rollout)),
                (loop, "judge", lambda batch, *_: self._added(None, batch, **batch.columns)),
                (Adam, "__init__", lambda _, adam, *__: self.adams.append(adam)),
                (Adam, "step", self._stepped),
                (Batch, "add", self._added),
                (Log, "note", self._noted),
            ):
                patch.setattr(owner, name, self._after(getattr(owner, name), heard))
            deal, dealt = loop.deal, AuxiliaryPhase.minibatches
            patch.setattr(loop, "deal", lambda *given: self._counted(deal(*given)))
            patch.setattr(AuxiliaryPhase, "minibatches", lambda *arguments: self._counted(dealt(*arguments)))
            end_update = Log.end_update
            patch.setattr(Log, "end_update", lambda *given: end_update(*self._at_the_end(*given)))
            self.run: Run = train(config, tricks)

    def _after(self, function: Callable[..., Any], heard: Callable[..., None]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            heard(result, *arguments, **named)
            return result

        return call

    def _counted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same minibatches, with a place for each."""
        for b in batches:
            self.place, self.minibatches = f"minibatch {self.minibatches}", self.minibatches + 1
            yield b

    def _write(self, **quantities: Tensor) -> None:
        for name, value in quantities.items():
            self.found[self.update, self.place, name] = value.detach().clone()

    def _built(self, agent: Agent, *_: Any) -> None:
        self.agent = agent
        self.start = {name: p.detach().clone() for name, p in agent.named_parameters()}

    def _stepped(self, _: None, adam: Adam, *__: Any, **___: Any) -> None:
        (kind,) = (kind for kind, known in zip(self.kinds, self.adams, strict=True) if known is adam)
        self._write(**{f"{name} after {AFTER[kind]}": p for name, p in self.agent.named_parameters()})

    def _added(self, _: None, batch: Batch, **columns: Tensor) -> None:
        self._write(**{n: getattr(batch, n) for n in COLUMNS if n in columns})

    def _noted(self, _: None, log: Log, *, of: Tensor | None = None, **diagnostics: Tensor) -> None:
        self._write(**diagnostics)

    def _at_the_end(self, *given: Any) -> tuple[Any, ...]:
        self.place, agent = "end", self.agent
        self._write(**dict(agent.named_parameters()))
        for kind, adam in zip(self.kinds, self.adams, strict=True):
            owned = [name for name, p in agent.named_parameters() if any(p is q for q in adam.parameters)]
            for moment in ("m", "v"):
                parts = getattr(adam, moment).split(adam.sizes, 1)
                self._write(**{f"{kind} {moment} {n}": x for n, x in zip(owned, parts, strict=True)})
            self._write(**{f"{kind} t": adam.t})
        self._write(return_mean=agent.return_mean, return_variance=agent.return_variance)
        if self.tricks.state_norm:
            self._write(**dict(zip(MOMENTS, cast(ObsStats, agent.obs_stats).moments, strict=True)))
        if self.tricks.reward_scaling:
            scale = cast(RewardScale, agent.reward_scale)
            self._write(reward_moments=scale.moments, reward_sums=scale.sums)
        self.update, self.place, self.minibatches = self.update + 1, "judge", 0
        return given


def rows_of(rollout: Rollout, k: int, lanes: int, space: Space[Any]) -> list[Row]:
    """A seed's rows of experience, in the order of time and lane."""
    rows = []
    for time, lane in rollout.valid[k].nonzero().tolist():
        pick = k, time, lane
        task = 0 if rollout.task is None else int(rollout.task[pick])
        seen, following = (shown(rollout.obs[k, time + n, lane], space) for n in (0, 1))
        legal, action, reward = rollout.legal[pick].numpy(), rollout.action[pick].numpy(), float(rollout.reward[pick])
        ends = bool(rollout.terminated[pick] | rollout.truncated[pick]), bool(rollout.truncated[pick])
        rows.append(Row(time, lane, time * lanes + lane, task, seen, following, legal, action, reward, *ends))
    return rows


def reference_of(recording: Recording, k: int) -> tuple[Reference, list[dict[str, float]]]:
    """The same updates by the reference, for the k-th seed, and its rows of the curve."""
    config, spaces = recording.config, recording.agent.spaces
    seed = config.seed_list[k]

    def keys(purpose: str, update: int, epoch: int, rows: int) -> np.ndarray:
        return stream(seed, purpose, update, epoch).random(rows)

    start = {name: p[k] for name, p in recording.start.items()}
    counts = spaces.action.nvec.tolist() if isinstance(spaces.action, MultiDiscrete) else []
    images = pictures(spaces.observation)
    agent = Reference(config.only(k), recording.tricks, start, spaces.discrete, spaces.tasks, counts, images)
    curve: list[dict[str, float]] = []
    ongoing = np.zeros((config.lanes, 2))
    for rollout in recording.rollouts:
        if agent.steps < config.steps:
            rows = rows_of(rollout, k, config.lanes, spaces.observation)
            row = tally(rows, ongoing) | agent.update(rows, rollout.valid[k].numel(), keys)
            agent.trace |= {(len(curve), "end", name): plain(x) for name, x in state(agent).items()}
            curve.append(row)
    assert agent.steps >= config.steps, f"seed {seed} ended after {agent.steps} of {config.steps} steps"
    return agent, curve


def state(agent: Reference) -> dict[str, Any]:
    found: dict[str, Any] = dict(agent.weights)
    for kind, adam in agent.adams.items():
        found |= {f"{kind} m {name}": m for name, m in adam.m.items()}
        found |= {f"{kind} v {name}": v for name, v in adam.v.items()} | {f"{kind} t": adam.t}
    found["return_mean"], found["return_variance"] = zip(*((s.mean, s.variance) for s in agent.returns), strict=True)
    seen, rewards = ((m.count, m.mean, m.var * m.count) for m in (agent.seen, agent.rewards))
    if agent.tricks.state_norm:
        found |= dict(zip(MOMENTS, seen, strict=True))
    if agent.tricks.reward_scaling:
        found |= {"reward_moments": rewards, "reward_sums": agent.sums}
    return found


def tally(rows: list[Row], ongoing: np.ndarray) -> dict[str, float]:
    """How many episodes ended, their mean return and length, and the mean reward; ongoing [lanes, 2]: those so far."""
    ended = []
    for row in rows:
        ongoing[row.lane] += row.reward, 1
        if row.done:
            ended.append(ongoing[row.lane].copy())
            ongoing[row.lane] = 0
    score, length = np.mean(ended, 0) if ended else (np.nan, np.nan)
    means = {"return": float(score), "length": float(length), "reward": float(np.mean([row.reward for row in rows]))}
    return {"episodes": len(ended)} | means


def differences(recording: Recording) -> Iterator[tuple[str, str, float]]:
    """For each quantity in the order of its making: where it is, what it is, and how far off it is.

    The distance is that of the entry which is farthest off, relative to the largest entry, and for quantities that
    are nearly 0, relative to `SMALL`. 1 if `train` has no such quantity, or has a diagnostic that the reference lacks.
    """
    for k, seed in enumerate(recording.config.seed_list):
        agent, curve = reference_of(recording, k)
        for (update, place, name), mine in agent.trace.items():
            where = f"seed {seed}, update {update}, {place}"
            found = recording.found.get((update, place, name))
            if found is None:
                yield where, name, 1.0
                continue
            theirs = found[k].double().numpy()
            if place == "judge" and name in COLUMNS:  # of rows; those that are filler do not count
                theirs = theirs[recording.rollouts[update].valid[k].flatten().numpy()]
            elif mine.ndim < theirs.ndim:  # a diagnostic of several tasks
                theirs = theirs.mean()
            yield where, name, apart(mine, theirs, largest(agent, update, name))
        table = recording.run.curve[recording.run.curve.seed == seed].drop(columns="seed")
        for update, (own, row) in enumerate(zip_longest(curve, table.to_dict("records"), fillvalue=NONE)):
            for name in map(str, row):
                mine = np.array(own.get(name, np.nan))
                size = largest(agent, update, name)
                yield f"seed {seed}, update {update}, curve", name, apart(mine, np.array(row[name]), size)


def largest(agent: Reference, update: int, name: str) -> float:
    """The largest term of a sum that cancels: the loss of groups, whose advantages add up to 0."""
    cancels = name == "policy_loss" and agent.tricks.group_baseline
    return float(np.abs(agent.trace[update, "judge", "advantage"]).max(initial=0)) if cancels else 0.0


def apart(mine: np.ndarray, theirs: np.ndarray, size: float = 0.0) -> float:
    if np.isnan(mine).all() and np.isnan(theirs).all():
        return 0.0
    distance = np.abs(mine - theirs.reshape(mine.shape)).max(initial=0) / max(np.abs(mine).max(initial=0), SMALL, size)
    return 1.0 if np.isnan(distance) else float(distance)

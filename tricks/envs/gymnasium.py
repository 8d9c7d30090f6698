"""Gymnasium environments, in this process, in threads or in worker processes."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv, Step
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.generators import IN_USE, Draws
from tricks.envs.processes import WorkerLanes
from tricks.envs.stepping import Columns, LocalLanes, Start, VectorLanes, has_vector_version, naming
from tricks.errors import InputError, in_words
from tricks.texts import recorded

Lanes = LocalLanes | WorkerLanes | VectorLanes


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id, or of the environments that `make` returns.

    Legal actions are read from `info["action_mask"]`, where `with_masks` puts those that are given in another way,
    lives from `info["lives"]`, and the number of tasks, if there are several, from `metadata["tasks"]`. If the
    environment raises or a worker process dies, everything is closed and InputError raised.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env", make: MakeEnv | None = None) -> None:
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._resumed = 0  # number of resumptions
        self._lanes: list[Lanes] = []
        self._claimed: list[int] = []
        try:
            for seed in self.seeds:
                self._lanes.append(make_lanes(config, make, self._draws(seed)))
            self.spaces = self._common([spaces for lanes in self._lanes for spaces in lanes.spaces])
            self.id = self.spaces.env
            self._claim()
        except BaseException:
            self.close()
            raise
        self._rows = (len(self.seeds), config.lanes)
        forms = [((*self._rows, *(leaf.space.shape or ())), leaf.space.dtype) for leaf in self.spaces.leaves]
        self._parts = [np.zeros(shape, dtype) for shape, dtype in forms]
        self._outcome = [np.zeros(self._rows), *np.zeros((2, *self._rows), bool)]
        self._columns = [
            Columns([part[i] for part in self._parts], *(column[i] for column in self._outcome))
            for i in range(len(self.seeds))
        ]
        self._all = torch.ones(*self._rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._lives: Tensor | None = None
        self._names = tuple(recorded(config.record))
        self._missing, self._ended = set(self._names), 0  # not found so far, in so many episodes
        self._begin()
        self.masks = bool(self._each("action_mask"))

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Start new episodes from a new stream each time; the original one would repeat the run's first episodes."""
        self._resumed = state["resumed"] + 1
        self._begin()

    def reset(self, starts: Sequence[Sequence[Start]] = ()) -> Step:
        """Start a new episode in every lane."""
        self._call("reset", dict(enumerate(starts or [[Start()] * self.lanes] * len(self.seeds))))
        self.now = Step.first(self._obs(), self._legal(), self._count_lives())
        return self.now

    def _begin(self) -> None:
        """Reset every lane with a seed of its own, and with draws of its own if the run is resumed."""
        index, starts = (self._resumed,) if self._resumed else (), []
        for seed in self.seeds:
            first = int(stream(seed, self.purpose, *index).integers(2**31))
            draws = self._draws(seed) if self._resumed else [None] * self.lanes
            starts.append([Start(first + j, own) for j, own in enumerate(draws)])
        self.reset(starts)

    def _draws(self, seed: int) -> list[Draws]:
        return [Draws(seed, self.purpose, self._resumed, lane) for lane in range(self.lanes)]

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step the playing seeds; the others don't move."""
        actions = self.spaces.decode(action)
        seeds = playing.numpy()
        self._call("step", {i: actions[i] for i in np.flatnonzero(seeds).tolist()})
        score, terminated, truncated = (column.copy() for column in self._outcome)
        ended = np.where(seeds[:, None], terminated | truncated, self.now.over.numpy())
        ends, pays = torch.from_numpy(ended), torch.from_numpy(score)
        columns = ends, ends, pays, torch.from_numpy(terminated), torch.from_numpy(truncated), pays
        record = self._record(int(ended[seeds].sum()))
        self.now = Step(self._obs(), self._legal(), *columns, self._count_lives(), record)
        return self.now

    def _call(self, call: str, given: dict[int, Sequence[Any]]) -> None:
        """Call the lanes of some seeds, all at the same time, and write down what comes of it.

        Raises InputError, with everything closed, if one fails.
        """
        self.told = {}
        for column in self._outcome:
            column.fill(0)
        try:
            for i, each in given.items():
                self._lanes[i].ask(call, each)
            for i in given:
                self.told[i] = self._lanes[i].hear(self._columns[i])
        except (Exception, SystemExit) as error:
            self.close()
            raise InputError(f"{self.id}: {in_words(error)} (seed {self.seeds[i]})") from error

    def close(self) -> None:
        """Close every environment. If one fails to close, that costs nothing but a line on stderr."""
        try:
            with ExitStack() as stack:
                for lanes in self._lanes:
                    stack.callback(lanes.close)
        except (Exception, SystemExit) as error:  # the training that it served may be finished
            print(f"{self.id}: close() failed, which changes no result: {in_words(error)}", file=sys.stderr)
        for key in self._claimed:
            IN_USE.pop(key, None)
        self._lanes, self._claimed = [], []

    def _claim(self) -> None:
        """Let nothing else step the objects that are lanes here (worker processes have copies) until `close`.

        Raises InputError if one is already another lane, of this training or of one in progress.
        """
        for env in (lane.env.unwrapped for lanes in self._lanes for lane in lanes.lanes):
            if id(env) in IN_USE:
                raise InputError(
                    f"env= made the same {type(env).__name__} object for two lanes, which would step it in turn; it "
                    f"must make a new one at each call: env=lambda: {type(env).__name__}(...)"
                )
            IN_USE[id(env)] = env
            self._claimed.append(id(env))

    def _obs(self) -> Tensor:
        return self.spaces.joined([part.copy() for part in self._parts], self._rows)

    def _legal(self) -> Tensor:
        masks = self._each("action_mask")
        legal = self._all.clone() if masks else self._all  # in a lane that gives no mask, everything is legal
        for i, lane, mask in masks:
            legal[i, lane] = torch.from_numpy(mask)
        return legal

    def _count_lives(self) -> Tensor | None:
        """The number of lives that each lane reported last; None if no lane has reported lives."""
        if given := self._each("lives"):
            lives = torch.zeros(self._rows, dtype=torch.int64) if self._lives is None else self._lives.clone()
            for i, lane, count in given:
                lives[i, lane] = count
            self._lives = lives
        return self._lives

    def _record(self, ended: int) -> Tensor | None:
        """The numbers to record, [S, N, R]; NaN where an info has none. ended: how many episodes now have."""
        if not self._names:
            return None
        record = torch.full((*self._rows, len(self._names)), torch.nan, dtype=torch.float64)
        for i, lane, numbers in self._each("record"):
            record[i, lane] = torch.tensor(numbers, dtype=torch.float64)
        self._ended += ended
        self._missing = {name for name in self._missing if record[..., self._names.index(name)].isnan().all()}
        if self._missing and self._ended >= len(self.seeds) * self.lanes:  # said once
            what = f"no info has had {', '.join(sorted(self._missing))} in {self._ended} episodes"
            print(f"{self.id}: {what}", file=sys.stderr)
            self._missing = set()
        return record

    def _each(self, name: str) -> list[tuple[int, int, Any]]:
        """What lanes told in the last call: seed's index, lane, and what."""
        told = [(i, each) for i, each in self.told.items() if each]
        return [(i, lane, what[name]) for i, each in told for lane, what in each.items() if name in what]

    def _common(self, each: Sequence[Spaces]) -> Spaces:
        """The spaces of all lanes. Raises InputError if they are not the same."""
        first, *_ = each
        for k, other in enumerate(each):
            if (other.observation, other.action) != (first.observation, first.action):
                lane = f"lane {k % self.lanes} of seed {self.seeds[k // self.lanes]}"
                theirs, ours = (f"{spaces.observation} and {spaces.action}" for spaces in (other, first))
                raise InputError(
                    f"{first.env}: all lanes must have the same spaces, but {lane} has {theirs}, and the first {ours}"
                )
        return first


def make_lanes(config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> Lanes:
    """The lanes of one seed, each with its own draws; with backend processes, one worker process for each.

    If `make` is given, it makes the lanes. `module:Id` first imports the module, which registers the id. An environment
    that has a vector version of its own is used as that, unless the config changes it. Raises InputError if the
    environment cannot be made.
    """
    if config.backend == "processes":
        return WorkerLanes(config, make, draws)
    with naming(config, make):
        own = VectorLanes.of(config, draws[0]) if has_vector_version(config, make) else None
    return own or LocalLanes(config, make, draws)

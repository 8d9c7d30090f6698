"""What a training records: a row per seed and update, who is still active, episodes' own numbers, the best agents."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.machine import find_device
from tricks.core.owners import Owner
from tricks.core.rollout import Rollout
from tricks.core.seeds import later
from tricks.errors import InputError, StopTraining
from tricks.ladder import FILES
from tricks.runs.learning_curve import COUNTS, DIAGNOSTICS, OF_BOX, as_curve, columns_of
from tricks.runs.progress import progress
from tricks.texts import recorded

Tensors = dict[str, Tensor]  # an agent's `state_dict`; every tensor leads with S
PREFIX = "best."  # of the best agents' tensors in agent.pt
ADDED = ("sum", "mean")  # rules of numbers that add up over an episode
LOST = "the loss or its gradient is not finite"  # why a seed ends if its environment is not to blame

Rows = list[dict[str, float]]  # one update's rows, one per active seed: column -> number
Listener = Callable[[Rows, Agent], object]  # False or StopTraining ends the run


def declared(tricks: Iterable[str], name: str) -> list[Any]:
    """What the files of these tricks call so, if they do: a function, or diagnostics."""
    modules = [import_module(f"tricks.{file}") for file in dict.fromkeys(FILES[trick] for trick in tricks)]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


OF_POLICY = {"policy_loss", "entropy", "grad_norm"}.union(*declared(FILES, "OF_POLICY"))  # of the policy's own steps
WATCHED = ("policy_loss", "grad_norm", *chain(*declared(FILES, "WATCHED")))  # a seed ends if one is not finite


def added_up(x: Tensor) -> Tensor:
    """The sum over the second dimension, in order: its digits do not depend on zeros after it (others' longer rows)."""
    return x.double().cumsum(1)[:, -1:].sum(1)


def tallied(rules: Mapping[str, str], open: Tensor, rollout: Rollout) -> tuple[Tensor, Tensor]:
    """Of episodes that ended in the rollout: the sum of their numbers, how many had one; then `open` at its end.

    open: the same of each lane's episode so far, [S, 2, N, R], for R names with a rule each: last, sum, or mean of what
    steps gave, other than NaN. An episode whose steps gave nothing counts for none.
    """
    assert rollout.record is not None
    adds, divides = (open.new_tensor([rule in those for rule in rules.values()]) > 0 for those in (ADDED, ("mean",)))
    number, count = open.unbind(1)  # [S, N, R]
    total, ended = torch.zeros_like(number), torch.zeros_like(count)
    for given, over in zip(rollout.record.unbind(1), rollout.over.unbind(1), strict=True):
        some = ~given.isnan()
        number = torch.where(some, torch.where(adds, number, 0) + given, number)
        count = count + some
        last = over.unsqueeze(-1) & (count > 0)
        total = total + torch.where(last, number / torch.where(divides, count, 1), 0)
        ended = ended + last
        number, count = (x.masked_fill(over.unsqueeze(-1), 0) for x in (number, count))
    return torch.stack([total, ended], 1), torch.stack([number, count], 1)


def means(rules: Mapping[str, str], ended: Tensor) -> dict[str, Tensor]:
    """The mean over all episodes in the sum of what `tallied` gave, by name: [S]; NaN where none gave a number."""
    total, count = ended.sum(2).unbind(1)
    return dict(zip(rules, (total / count).unbind(1), strict=True))  # 0/0 = NaN


class Best(NamedTuple):
    """Each seed's best score so far, [S] with NaN before its first evaluation, and the agents that earned them."""

    score: Tensor
    state: Tensors


def or_better(kept: Best | None, score: Tensor, agent: Agent) -> Best:
    """With the seeds that have now scored higher, score [S], or for the first time; NaN is no score."""
    state = agent.state_dict()
    kept = kept or Best(torch.full_like(score, torch.nan), state)
    whole = torch.stack([x.reshape(len(x), -1).isfinite().all(1) for x in state.values()]).all(0)  # else never the best
    better = whole & ((score > kept.score) | (kept.score.isnan() & ~score.isnan()))  # [S]
    by_seed = {name: better.view(-1, *[1] * (x.dim() - 1)) for name, x in state.items()}
    chosen = {name: torch.where(by_seed[name], x, kept.state[name]) for name, x in state.items()}
    return Best(torch.where(better, score, kept.score), chosen)


def named_best(state: Mapping[str, Tensor]) -> Tensors:
    """The best agents' tensors under the names that they have in agent.pt."""
    return {f"{PREFIX}{name}": x.cpu() for name, x in state.items()}


class Log:
    """Counts steps, tallies episodes, averages diagnostics, and tracks which seeds have finished or diverged."""

    OWNERS: ClassVar[dict[str, Owner]] = {
        **dict.fromkeys(("steps", "active", "update", "held", "kept"), "seed"),
        **dict.fromkeys(("open", "tally"), "episode"),
        **dict.fromkeys(("rows", "diverged", "reasons", "origin", "seconds"), "run"),
    }

    def __init__(self, config: Config) -> None:
        self.seeds, self.budget = config.seed_list, config.steps
        size, device = len(self.seeds), find_device(config.device)
        self.steps = torch.zeros(size, dtype=torch.int64, device=device)
        self.active = torch.ones(size, dtype=torch.bool, device=device)
        self.update = (0,) * size  # how many each seed has had
        self.held: Tensor | None = None  # [S]: where schedules stay
        self.kept: Best | None = None  # the best agents so far, if an evaluation keeps them
        self.origin: dict[str, Any] = {}  # the attributes of the curve, see `Run`
        self.env, self.diverged, self.reasons = config.env, dict[int, int](), dict[int, str]()
        self.notes: dict[str, list[Tensor]] = {}
        self._of: dict[str, list[Tensor]] = {}  # [S]: the seeds that each note is of, if not of all
        self._stacked: dict[Any, Tensor | None] = {}  # the same, [S, M], for those of this update
        self.columns = columns_of(config)
        self._rows: list[np.ndarray] = []  # [active seeds, columns]
        self._rules = recorded(config.record)
        self.tally = torch.zeros(size, 2, config.lanes, len(self._rules), dtype=torch.float64, device=device)
        self.open = torch.zeros(size, config.lanes, 2, dtype=torch.float64, device=device)  # return and length so far
        self._start = time.perf_counter()  # of a resumed run, as if nothing had interrupted it
        self._bar = progress(size * self.budget)

    @property
    def progress(self) -> Tensor:
        """Fraction of its budget that each seed has used, on which all schedules run: [S]."""
        return self.steps.float() / self.budget if self.held is None else self.held

    @property
    def seconds(self) -> float:
        """Wall-clock training time, not counting the time between an interruption and the resumption."""
        return time.perf_counter() - self._start

    def note(self, *, of: Tensor | None = None, **diagnostics: Tensor) -> None:
        """Record diagnostics of one minibatch, [S] or, of K tasks, [S, K]; of [S]: the seeds that it is of.

        The curve shows their mean over the update and over tasks (for max_ratio, the max). If steps_taken says that a
        seed stood still, those of the policy are over the minibatches up to and including the one that stopped it.
        """
        for name, value in diagnostics.items():
            if name not in DIAGNOSTICS:
                raise KeyError(f"no diagnostic {name!r}: name it in its trick's field in tricks/ladder.py")
            self.notes.setdefault(name, []).append(value.detach())
            if of is not None:
                self._of.setdefault(name, []).append(of)

    def end_update(self, rollout: Rollout) -> None:
        """Summarize an update in a row per active seed, and drop seeds that diverged or whose environment failed."""
        taken = rollout.valid.flatten(1).sum(1)
        for name, played in zip(OF_BOX, (rollout.std, rollout.clipped), strict=True):
            if played is not None:  # NaN where a seed has no rows
                self.note(**{name: added_up(torch.where(rollout.valid, played, 0).flatten(1)) / taken})
        self.note(reward=added_up(rollout.score.flatten(1)) / taken)  # of tasks that never end, there is no return
        self.steps += taken
        with suppress(OSError):  # a log file on a full disk ends no training
            self._bar.update(int(taken.sum()))
        columns = {name: self._summary(name) for name in DIAGNOSTICS} | self._episodes(rollout)
        if rollout.record is not None:
            ended, self.tally = tallied(self._rules, self.tally, rollout)
            columns |= means(self._rules, ended)
        faulty = torch.tensor([seed in rollout.faults for seed in self.seeds], device=taken.device)
        if rollout.faults:
            columns |= {name: columns[name].masked_fill(faulty, torch.nan) for name in DIAGNOSTICS}
        columns |= {"seed": taken.new_tensor(self.seeds), "step": self.steps, "update": taken.new_tensor(self.update)}
        table = torch.stack([columns[name].double() for name in self.columns], 1)
        self._rows.append(table[self.active].cpu().numpy())
        watched = [torch.stack(self.notes[name]).isfinite().all(0) for name in WATCHED if name in self.notes]
        finite = torch.stack(watched).all(0) & ~faulty
        for i in (self.active & ~finite).nonzero()[:, 0].tolist():
            seed = self.seeds[i]
            self.diverged[seed], self.reasons[seed] = int(self.steps[i]), rollout.faults.get(seed, LOST)
        if len(self.reasons) == len(self.seeds) and LOST not in self.reasons.values():
            raise InputError(f"{self.env}: {self.reasons[self.seeds[0]]}")
        self.active = self.active & finite & (self.steps < self.budget)
        self.notes, self._of, self._stacked, self.update = {}, {}, {}, later(self.update)

    def tell(self, listener: Listener, agent: Agent) -> None:
        """Show the listener the latest rows and the agents. Every seed is done if it returns False or StopTraining."""
        rows = [dict(zip(self.columns, row.tolist(), strict=True)) for row in self._rows[-1]]
        rows, going = [row | {name: int(row[name]) for name in COUNTS} for row in rows], False
        with suppress(StopTraining):
            going = listener(rows, agent) is not False
        self.active = self.active & going

    def curve(self) -> pd.DataFrame:
        """All rows, sorted by seed and update."""
        self._bar.close()
        return as_curve(np.concatenate(self._rows), self.columns, self.origin)

    def state_dict(self) -> dict[str, Any]:
        """The state between two updates."""
        rows = torch.from_numpy(np.concatenate([np.empty((0, len(self.columns))), *self._rows]))
        state = {name: getattr(self, name) for name in self.OWNERS if name != "rows"}
        state |= {"rows": rows, "update": torch.tensor(self.update), "kept": self.kept and self.kept._asdict()}
        state |= {"diverged": dict(self.diverged), "reasons": dict(self.reasons), "origin": self.origin or None}
        return {name: x for name, x in state.items() if x is not None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["rows"].shape[1] != len(self.columns):
            raise ValueError("its curve has other columns")
        state = tree_map_only(Tensor, lambda x: x.to(self.steps.device), state)
        for name in ("steps", "active", "open", "tally", "diverged", "reasons"):
            setattr(self, name, state[name])
        self.held, self.origin = state.get("held"), state.get("origin", {})
        self.kept = Best(**state["kept"]) if "kept" in state else None
        self.update, self._rows = tuple(state["update"].tolist()), [state["rows"].cpu().numpy()]
        self._start = time.perf_counter() - state["seconds"]
        self._bar.n = self._bar.initial = int(self.steps.sum())

    def _summary(self, name: str) -> Tensor:
        """A diagnostic's mean over the notes that are of a seed, or its max: [S], NaN if this rung does not have it."""
        if name not in self.notes:
            return torch.full_like(self.steps, torch.nan, dtype=torch.float64)
        each = [note if note.dim() == 1 else note.mean(1) for note in self.notes[name]]
        notes, of = torch.stack(each, 1).double(), self._of.get(name, [])  # [S, M]
        if (key := tuple(map(id, of))) not in self._stacked:
            seen = torch.stack(of, 1) if of else None
            self._stacked[key] = None if seen is None or seen.all() else seen
        seen = self._stacked[key]  # [S, M]; None if all notes are of all seeds
        if "steps_taken" in self.notes and name in OF_POLICY:
            taken = torch.stack(self.notes["steps_taken"], 1)  # [S, M]: 1 where a seed took a minibatch's step
            near = torch.cat([torch.ones_like(taken[:, :1]), taken[:, :-1]], 1) > 0
            seen = near if seen is None else near & seen
        notes = notes if seen is None else notes.where(seen, 0)
        if name == "max_ratio":
            return notes.amax(1)
        return notes.mean(1) if seen is None else notes.sum(1) / seen.sum(1)

    def _episodes(self, rollout: Rollout) -> dict[str, Tensor]:
        """Count, mean undiscounted score and mean length of the games that ended in this rollout. [S] each."""
        done = rollout.over
        tally = torch.stack([rollout.score, rollout.valid.double()], -1)  # [S, T, N, 2]
        later = done.flip(1).cumsum(1).flip(1) == 0  # rows after the lane's last end of a game
        unfinished = added_up(tally * later.unsqueeze(-1))  # [S, N, 2]
        ended = done.any(1).unsqueeze(-1)
        finished = torch.where(ended, self.open + added_up(tally) - unfinished, 0).sum(1)  # [S, 2]
        self.open = torch.where(ended, 0, self.open) + unfinished
        count = done.flatten(1).sum(1)
        average = finished / count.unsqueeze(1)  # 0/0 = NaN where no episode ended
        return {"episodes": count, "return": average[:, 0], "length": average[:, 1]}

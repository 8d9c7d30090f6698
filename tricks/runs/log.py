"""The learning curve during training: one row per seed and update, and which seeds are still active."""

import inspect
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.devices import find_device
from tricks.core.owners import Owner
from tricks.core.rollout import Rollout
from tricks.core.seeds import later
from tricks.errors import InputError, StopTraining
from tricks.kl_stop import OF_POLICY, reached
from tricks.runs.learning_curve import COUNTS, DIAGNOSTICS, OF_BOX, as_curve, columns_of
from tricks.runs.progress import progress
from tricks.runs.tally import Best, State, Tally
from tricks.texts import recorded

WATCHED = ("policy_loss", "grad_norm", "value_grad_norm", "auxiliary_loss")  # a seed ends if one of them is not finite
LOST = "the loss or its gradient is not finite"  # why a seed ends if its environment is not to blame

Rows = list[dict[str, float]]  # one update's rows, one per active seed: column -> number
Listener = Callable[[Rows], object] | Callable[[Rows, Agent], object]  # False or StopTraining ends the run


def takes_two(listener: Listener) -> bool:
    """Whether the listener has a second parameter, for the agents, that must be given."""
    try:
        needed = [each for each in inspect.signature(listener).parameters.values() if each.default is each.empty]
    except (TypeError, ValueError):  # of some functions written in C, nothing is known
        return False
    return len([each for each in needed if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]) > 1


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
        self._tally = Tally(recorded(config.record), size, config.lanes, device)
        self.open = torch.zeros(size, config.lanes, 2, dtype=torch.float64, device=device)  # return and length so far
        self._start, self._before = time.perf_counter(), 0.0  # seconds of the run before it was resumed
        self._bar = progress(size * self.budget)

    @property
    def progress(self) -> Tensor:
        """Fraction of its budget that each seed has used, on which all schedules run: [S]."""
        return self.steps.float() / self.budget if self.held is None else self.held

    @property
    def seconds(self) -> float:
        """Wall-clock training time, not counting the time between an interruption and the resumption."""
        return self._before + time.perf_counter() - self._start

    def note(self, *, of: Tensor | None = None, **diagnostics: Tensor) -> None:
        """Record diagnostics of one minibatch, [S] or, of K tasks, [S, K]; of [S]: the seeds that it is of.

        The curve shows their mean over the update and over tasks (for max_ratio, the max). Under kl_stop, those of the
        policy are over the minibatches up to and including the one that stopped the seed.

        Raises KeyError for a diagnostic that is neither built in nor named in a trick's field in `ladder`.
        """
        for name, value in diagnostics.items():
            if name not in DIAGNOSTICS:
                raise KeyError(f"no diagnostic {name!r}: name it in its trick's field in tricks/ladder.py")
            self.notes.setdefault(name, []).append(value.detach())
            if of is not None:
                self._of.setdefault(name, []).append(of)

    def end_update(self, rollout: Rollout) -> None:
        """Summarize the update's diagnostics and episodes in one row per active seed, and drop the seeds that diverged.

        A seed whose environment failed has a row without episodes and diagnostics. Raises InputError if the
        environments of all seeds have failed.
        """
        taken = rollout.valid.flatten(1).sum(1)
        for name, played in zip(OF_BOX, (rollout.std, rollout.clipped), strict=True):
            if played is not None:  # NaN where a seed has no rows
                self.note(**{name: torch.where(rollout.valid, played, 0).flatten(1).sum(1) / taken})
        self.note(reward=rollout.score.flatten(1).sum(1) / taken)  # of tasks that never end, there is no return
        self.steps += taken
        self._bar.update(int(taken.sum()))
        columns = {name: self._summary(name) for name in DIAGNOSTICS} | self._episodes(rollout)
        columns |= {} if rollout.record is None else self._tally(rollout)
        if rollout.faults:
            faulty = torch.tensor([seed in rollout.faults for seed in self.seeds], device=taken.device)
            columns |= {name: columns[name].masked_fill(faulty, torch.nan) for name in DIAGNOSTICS}
        columns |= {"seed": taken.new_tensor(self.seeds), "step": self.steps}
        columns["update"] = taken.new_tensor(self.update)
        table = torch.stack([columns[name].double() for name in self.columns], 1)
        self._rows.append(table[self.active].cpu().numpy())
        watched = [torch.stack(self.notes[name]).isfinite().all(0) for name in WATCHED if name in self.notes]
        finite = torch.stack(watched).all(0)
        if rollout.faults:
            finite = finite & ~faulty
        for i in (self.active & ~finite).nonzero()[:, 0].tolist():
            seed = self.seeds[i]
            self.diverged[seed], self.reasons[seed] = int(self.steps[i]), rollout.faults.get(seed, LOST)
        if len(self.reasons) == len(self.seeds) and LOST not in self.reasons.values():
            who = "the environment" if self.env == Config.env else self.env  # CartPole has no faults: it is another
            raise InputError(f"{who}: {self.reasons[self.seeds[0]]}")
        self.active = self.active & finite & (self.steps < self.budget)
        self.notes, self._of, self._stacked, self.update = {}, {}, {}, later(self.update)

    def latest(self) -> Rows:
        """The rows of the last update, one per seed that was active in it."""
        kinds = [int if name in COUNTS else float for name in self.columns]
        return [
            {name: kind(x) for name, kind, x in zip(self.columns, kinds, row.tolist(), strict=True)}
            for row in self._rows[-1]
        ]

    @property
    def best(self) -> State | None:
        """The state of each seed's best agent, if an evaluation keeps them, see `Run`."""
        return self.kept and self.kept.state

    def tell(self, listener: Listener, agent: Agent) -> None:
        """Show the listener the latest rows, and the agents if it takes both.

        If it returns False or raises StopTraining, every seed is done.
        """
        shown = (self.latest(), agent) if takes_two(listener) else (self.latest(),)
        try:
            going = listener(*shown) is not False
        except StopTraining:
            going = False
        self.active = self.active & going

    def curve(self) -> pd.DataFrame:
        """All rows, sorted by seed and update."""
        self._bar.close()
        return as_curve(np.concatenate(self._rows), self.columns, self.origin)

    tally = property(lambda log: log._tally.open, lambda log, open: setattr(log._tally, "open", open))
    """What is recorded of the open episodes, [S, 2, N, R]."""

    def state_dict(self) -> dict[str, Any]:
        """The state between two updates."""
        rows = np.concatenate([np.empty((0, len(self.columns))), *self._rows])
        state: dict[str, Any] = {"steps": self.steps, "active": self.active, "update": torch.tensor(self.update)}
        state |= {"diverged": dict(self.diverged), "reasons": dict(self.reasons)}
        state |= {} if self.held is None else {"held": self.held}
        state |= {} if self.kept is None else {"kept": self.kept._asdict()}
        state |= {"origin": self.origin} if self.origin else {}
        return state | {"open": self.open, "tally": self.tally, "rows": torch.from_numpy(rows), "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["rows"].shape[1] != len(self.columns):
            raise ValueError("its curve has other columns")
        device = self.steps.device
        for name in ("steps", "active", "open", "tally"):
            setattr(self, name, state[name].to(device))
        self.held = state["held"].to(device) if "held" in state else None
        self.kept = Best.of(state["kept"], device) if "kept" in state else None
        self.origin = dict(state.get("origin", {}))
        self.update, self._rows = tuple(state["update"].tolist()), [state["rows"].numpy()]
        self.diverged, self.reasons = dict(state["diverged"]), dict(state["reasons"])
        self._before, self._start = state["seconds"], time.perf_counter()
        self._bar.n = self._bar.initial = int(self.steps.sum())

    def _summary(self, name: str) -> Tensor:
        if name not in self.notes:  # a diagnostic that this rung does not have
            return torch.full_like(self.steps, torch.nan, dtype=torch.float64)
        each = [note if note.dim() == 1 else note.mean(1) for note in self.notes[name]]
        notes, seen = torch.stack(each, 1).double(), self._seen(name)  # [S, M]
        if seen is None:
            return notes.amax(1) if name == "max_ratio" else notes.mean(1)
        notes = notes.where(seen, 0)
        return notes.amax(1) if name == "max_ratio" else notes.sum(1) / seen.sum(1)

    def _seen(self, name: str) -> Tensor | None:
        """Which notes of a diagnostic are of which seeds, [S, M]; None if all are of all."""
        of = self._of.get(name)
        key = None if of is None else tuple(map(id, of))
        if key not in self._stacked:
            seen = None if of is None else torch.stack(of, 1)
            self._stacked[key] = None if seen is None or seen.all() else seen
        seen = self._stacked[key]
        if "steps_taken" in self.notes and name in OF_POLICY and name != "steps_taken":
            near = reached(torch.stack(self.notes["steps_taken"])).mT
            seen = near if seen is None else near & seen
        return seen

    def _episodes(self, rollout: Rollout) -> dict[str, Tensor]:
        """Count, mean undiscounted score and mean length of the games that ended in this rollout. [S] each."""
        done = rollout.over
        tally = torch.stack([rollout.score, rollout.valid.double()], -1)  # [S, T, N, 2]
        later = done.flip(1).cumsum(1).flip(1) == 0  # rows after the lane's last end of a game
        unfinished = (tally * later.unsqueeze(-1)).sum(1)  # [S, N, 2]
        ended = done.any(1).unsqueeze(-1)
        finished = torch.where(ended, self.open + tally.sum(1) - unfinished, 0).sum(1)  # [S, 2]
        self.open = torch.where(ended, 0, self.open) + unfinished
        count = done.flatten(1).sum(1)
        average = finished / count.unsqueeze(1)  # 0/0 = NaN where no episode ended
        return {"episodes": count, "return": average[:, 0], "length": average[:, 1]}

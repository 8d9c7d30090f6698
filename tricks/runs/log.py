"""The learning curve while it is drawn: a row per seed and update, and who has budget left."""

import time
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from tricks import ladder
from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.rollout import Rollout

OWN = ("policy_loss", "entropy", "grad_norm")  # the diagnostics of every rung; tricks bring the others
LED = (  # the order of the first columns in stored curves
    *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"),
    "grad_norm",
)
DIAGNOSTICS = tuple(  # all others come after them, in ladder order
    sorted(
        [*OWN, *(name for brought in ladder.DIAGNOSTICS.values() for name in brought)],
        key=lambda name: LED.index(name) if name in LED else len(LED),
    )
)
COLUMNS = ("seed", "update", "step", "episodes", "return", "length", *DIAGNOSTICS)


class Log:
    """Counts steps, sums up episodes, averages diagnostics, and marks the seeds that are done or have diverged."""

    def __init__(self, config: Config) -> None:
        self.seeds, self.budget = config.seed_list, config.steps
        size, device = len(self.seeds), find_device(config.device)
        self.steps = torch.zeros(size, dtype=torch.int64, device=device)
        self.active = torch.ones(size, dtype=torch.bool, device=device)
        self.update = 0
        self.diverged: dict[int, int] = {}
        self._notes: dict[str, list[Tensor]] = {}
        self._rows: list[np.ndarray] = []  # [active seeds, COLUMNS]
        self._open = torch.zeros(size, config.lanes, 2, dtype=torch.float64, device=device)  # return, length so far
        self._start, self._before = time.perf_counter(), 0.0  # seconds of the run before it was resumed
        self._bar = tqdm(total=size * self.budget, unit="step", unit_scale=True, disable=None, leave=False)

    @property
    def progress(self) -> Tensor:
        """Share of the budget that each seed has used: [S]."""
        return self.steps / self.budget

    @property
    def seconds(self) -> float:
        """Wall time since the start, without the time between an interruption and its resumption."""
        return self._before + time.perf_counter() - self._start

    def note(self, **diagnostics: Tensor) -> None:
        """Diagnostics [S] of one minibatch; the curve shows their mean over the update (of max_ratio, the max).

        Raises KeyError for one that neither the core nor a trick's field in `ladder` has named.
        """
        for name, value in diagnostics.items():
            if name not in DIAGNOSTICS:
                raise KeyError(f"no diagnostic {name!r}: name it in its trick's field in tricks/ladder.py")
            self._notes.setdefault(name, []).append(value.detach().double())

    def end_update(self, rollout: Rollout) -> None:
        """Turn what was noted into a row per active seed."""
        taken = rollout.valid.flatten(1).sum(1)
        self.steps += taken
        self._bar.update(int(taken.sum()))
        columns = {name: self._summary(name) for name in DIAGNOSTICS} | self._episodes(rollout)
        columns |= {"seed": taken.new_tensor(self.seeds), "step": self.steps}
        columns["update"] = torch.full_like(taken, self.update)
        table = torch.stack([columns[name].double() for name in COLUMNS], 1)
        self._rows.append(table[self.active].cpu().numpy())
        finite = columns["grad_norm"].isfinite() & columns["policy_loss"].isfinite()
        for i in (self.active & ~finite).nonzero()[:, 0].tolist():
            self.diverged[self.seeds[i]] = int(self.steps[i])
        self.active = self.active & finite & (self.steps < self.budget)
        self._notes, self.update = {}, self.update + 1

    def curve(self) -> pd.DataFrame:
        """The rows, seed by seed."""
        self._bar.close()
        curve = pd.DataFrame(np.concatenate(self._rows), columns=list(COLUMNS))
        curve = curve.astype(dict.fromkeys(("seed", "update", "step", "episodes"), int))
        return curve.sort_values(["seed", "update"], ignore_index=True)

    def state_dict(self) -> dict[str, Any]:
        """What is known between two updates."""
        rows = np.concatenate([np.empty((0, len(COLUMNS))), *self._rows])
        state = {"steps": self.steps, "active": self.active, "update": self.update, "diverged": dict(self.diverged)}
        return state | {"rows": torch.from_numpy(rows), "open": self._open, "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        device = self.steps.device
        self.steps, self.active, self._open = (state[name].to(device) for name in ("steps", "active", "open"))
        self.update, self.diverged, self._rows = state["update"], dict(state["diverged"]), [state["rows"].numpy()]
        self._before, self._start = state["seconds"], time.perf_counter()
        self._bar.n = self._bar.initial = int(self.steps.sum())

    def forget_open_episodes(self) -> None:
        """Count anew in every lane: its environment could not be put back into the middle of its episode."""
        self._open = torch.zeros_like(self._open)

    def _summary(self, name: str) -> Tensor:
        if name not in self._notes:  # a diagnostic that this rung does not have
            return torch.full_like(self.steps, torch.nan, dtype=torch.float64)
        notes = torch.stack(self._notes[name])
        return notes.amax(0) if name == "max_ratio" else notes.mean(0)

    def _episodes(self, rollout: Rollout) -> dict[str, Tensor]:
        """Number, mean undiscounted score and mean length of the games that ended in this rollout. [S] each."""
        done = rollout.over
        tally = torch.stack([rollout.score, rollout.valid.double()], -1)  # [S, T, N, 2]
        later = done.flip(1).cumsum(1).flip(1) == 0  # rows after the last end of their lane
        unfinished = (tally * later.unsqueeze(-1)).sum(1)  # [S, N, 2]
        ended = done.any(1).unsqueeze(-1)
        finished = torch.where(ended, self._open + tally.sum(1) - unfinished, 0).sum(1)  # [S, 2]
        self._open = torch.where(ended, 0, self._open) + unfinished
        count = done.flatten(1).sum(1)
        average = finished / count.unsqueeze(1)  # 0/0 = NaN where no episode ended
        return {"episodes": count, "return": average[:, 0], "length": average[:, 1]}


def late_return(curve: pd.DataFrame, steps: int, share: float = 0.1) -> pd.Series:
    """Mean return of the episodes that ended in the last `share` of a budget of `steps`, a value per seed.

    Every episode counts once, however many an update has. Seeds in which none ended are left out.
    """
    rows = curve[(curve["step"] > (1 - share) * steps) & (curve["episodes"] > 0)]
    weighted = (rows["return"] * rows["episodes"]).groupby(rows["seed"]).sum()
    return weighted / rows.groupby("seed")["episodes"].sum()

"""A finished run: its curve and its agents, saving them, and what they look like."""

import io
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import NEEDS, PRESETS, Tricks
from tricks.runs.about import ORIGIN, Own, digest, tensor_bytes, told, write_about
from tricks.runs.checkpoint import read
from tricks.runs.evaluation import Evaluation, play_games
from tricks.runs.files import CHECKPOINT, LAST, as_path, put
from tricks.runs.learning_curve import FEWEST, late_return, over, students_interval
from tricks.runs.log import Tensors, named_best
from tricks.runs.provenance import MadeWith, provenance_of_a_run
from tricks.values import checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WINDOWS = 50  # equal parts of the budget; each point of a figure's line is the mean over one
SIZE = (7, 4)  # inches
LINE, SECOND = "#0077BB", "#EE7733"


def own(env: MakeEnv | None, body: MakeBody | None) -> Own:
    """The names of what was passed to `train` and is not saved with a run."""
    found: Own = [] if env is None or not getattr(env, "custom", True) else ["env"]
    return found if body is None else [*found, "body"]


@dataclass(frozen=True, repr=False)
class Run:
    """The result of `train`.

    curve: one row per seed and update, with step (the seed's environment steps so far); the number, mean undiscounted
    return and mean length of the episodes that ended in the update (NaN if none did); and the diagnostics (NaN if this
    rung does not have one), including the learning rate and, where an evaluation was due, eval_return. For Box actions,
    action_std is the policy's σ, and action_clip_fraction the share of sampled actions' dimensions beyond the bounds
    (under squash, σ is that of u, and the share 0). curve.attrs says where it comes from: "joined" lists the budgets
    after which the run was continued, and "from" is the folder's name of the run whose agents it started from.
    diverged, reasons: seed -> step at which it stopped, and why; seconds: wall-clock training time.
    best: with `Evaluation(keep_best=True)`, each seed's weights and statistics at its best evaluation, see `at_best`.
    made_with: of a loaded run, what run.json says about versions, commit, date, and device.
    last: what makes the content of last.pt, the state from which `further` goes on; None of a part of a run.
    env, body, evaluation: as they were passed to `train`.
    """

    config: Config
    tricks: Tricks
    agent: Agent
    curve: pd.DataFrame
    diverged: dict[int, int]
    reasons: dict[int, str]
    seconds: float
    best: Tensors | None = None
    env: MakeEnv | None = None
    body: MakeBody | None = None
    made_with: MadeWith | None = None
    last: Callable[[], bytes] | None = None
    evaluation: Evaluation | None = None

    @checked
    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write run.json, curve.csv, agent.pt and last.pt to the folder `path`, all or none; remove its checkpoint.

        Raises InputError if the folder is in use by another process, cannot be written, or, with `overwrite` off,
        holds a finished run or another training's checkpoint. The run then is not lost, but saved in a temporary
        folder, which the message names.
        """
        tensors = dict(self.agent.state_dict()) | named_best(self.best or {})
        curve = self.curve.to_csv(index=False, lineterminator="\n")
        files = {"agent.pt": tensor_bytes(tensors), "curve.csv": curve.encode()}
        files |= {LAST: self.last()} if self.last else {}
        about = {
            **told(self.config, self.tricks, self.evaluation, own(self.env, self.body), self.agent.spaces),
            "diverged": list(self.diverged.items()),
            "reasons": list(self.reasons.items()),
            "seconds": self.seconds if isfinite(self.seconds) else None,
            "checksums": {name: digest(content) for name, content in files.items()},
            **{name: each for name, each in self.curve.attrs.items() if name in ORIGIN},
            "made_with": provenance_of_a_run(self.config.device) if self.made_with is None else self.made_with,
        }
        files["run.json"] = write_about(about)
        try:
            folder = as_path(path)
            if (folder / CHECKPOINT).is_file() and not overwrite:
                of = read(folder)
                if (of.config, of.tricks) != (replace(self.config, env=of.config.env), self.tricks):
                    raise InputError(f"{folder} holds another training's checkpoint; overwrite=True replaces it")
            put(folder, files, overwrite)
        except InputError as error:
            try:
                spare = Path(tempfile.mkdtemp(prefix="tricks-run-"))
                put(spare, files, overwrite=True)
            except (InputError, OSError) as other:
                raise InputError(f"{error}; nor can the run be saved in a temporary folder ({other})") from error
            raise InputError(f"{error}; the run is saved in {spare}") from error

    def late(self) -> pd.Series:
        """Each seed's mean return over the last 10% of the budget, see `late_return`; NaN if no episode ended there."""
        return late_return(self.curve, self.config.steps).reindex(self.config.seed_list)

    @checked
    def evaluate(self, episodes: int = 10, greedy: bool = False) -> np.ndarray:
        """Scores of whole games, played where the run's evaluations were, with all statistics frozen: [S, episodes]."""
        if episodes < 1:
            raise InputError(f"episodes must be at least 1, not {episodes}")
        place = self.as_evaluated()
        config = replace(place.config, device="cpu", compile=False)
        scores, failed, _ = play_games(config, self.agent, episodes, greedy, make=place.env)
        for reason in failed.values():
            raise InputError(reason)
        return np.asarray(scores)

    @checked
    def only(self, seed: int | None = None) -> "Run":
        """The part of the run that belongs to one seed; default: the first. Raises InputError for an unknown seed."""
        seeds = self.config.seed_list
        seed = seeds[0] if seed is None else seed
        if seed not in seeds:
            raise InputError(f"the run has no seed {seed}; it has {', '.join(map(str, seeds))}")
        k = seeds.index(seed)
        return replace(
            self,
            config=self.config.only(k),
            agent=self.agent[k],
            curve=self.curve[self.curve.seed == seed],
            diverged={key: step for key, step in self.diverged.items() if key == seed},
            reasons={key: reason for key, reason in self.reasons.items() if key == seed},
            best=self.best and {name: x[k : k + 1] for name, x in self.best.items()},
            last=self.last if len(seeds) == 1 else None,
        )

    def as_evaluated(self) -> "Run":
        """The run in the environment of its evaluations, if that is one of their own."""
        if self.evaluation is None or not self.evaluation.apart:
            return self
        config, make = self.evaluation.place(self.config, self.env)
        return replace(self, config=config, env=make, evaluation=None)

    def at_best(self) -> "Run":
        """The run with each seed's best agent, by greedy evaluation, in place of its last one.

        Its eval_return is the largest of several, and so a little too good.
        """
        if self.best is None:
            how = "--keep-best (Evaluation(keep_best=True) in Python)"
            raise InputError(f"this run kept no best agents; only one trained with {how} does")
        judged = self.curve.groupby("seed")["eval_return"].count()
        if never := [seed for seed in self.config.seed_list if not judged.get(seed)]:
            raise InputError(f"seed {never[0]} has no best agent, because it was never evaluated")
        agent = deepcopy(self.agent)
        agent.load_state_dict(self.best)
        return replace(self, agent=agent, last=None)

    def __repr__(self) -> str:
        late, seeds = self.late(), len(self.config.seed_list)
        trained = f"{seeds} seed{'s' * (seeds > 1)} × {self.config.steps:,} steps"
        said = over(late) if late.notna().any() else "no episode ended there"
        return f"<Run: {rung(self.tricks)}, {self.config.env}, {trained}; return over the last 10%: {said}>"

    def _repr_png_(self) -> bytes:  # in a notebook
        return curve_png(self, 80)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the mean return over steps, and that of greedy evaluations, on `axes`, or on a new figure.

        With its 95% interval by Student's t, or each seed's line if there are fewer than FEWEST. Returns the axes.
        """
        if axes is None:
            import matplotlib.pyplot as plt  # whose figures notebooks and `plt.show()` show

            axes = plt.subplots(figsize=SIZE, layout="constrained")[1]
        budget, curve = self.config.steps, self.curve
        means = in_windows(curve, budget, "return", "episodes")
        _draw_line(axes, means, LINE, "in training")
        if curve["eval_return"].notna().any():
            judged = in_windows(curve.assign(one=1), budget, "eval_return", "one")
            _draw_line(axes, judged, SECOND, "greedy evaluation")
            axes.legend(frameon=False)
        for step in curve.attrs.get("joined", []):
            axes.axvline(step, color="0.6", linewidth=0.8, linestyle=":")
            axes.text(step, 0.01, " continued", color="0.4", fontsize=8, transform=axes.get_xaxis_transform())
        start, count, asked = curve.attrs.get("from"), means.shape[1], len(self.config.seed_list)
        shown = "mean and 95% interval over" if count >= FEWEST else "mean of"
        seeds = f"{count} seed{'s' * (asked > 1)}" if count == asked else f"{count} of {asked} seeds"
        axes.set_title(f"{self.config.env}: {shown} {seeds}", loc="left", fontsize=10)
        steps = "environment steps of each seed" + (f", from the agents of {start}" if start else "")
        axes.set(xlabel=steps, ylabel="return", xlim=(0, budget))
        axes.spines[["top", "right"]].set_visible(False)
        return axes


def rung(tricks: Tricks) -> str:
    """The nearest preset and the switches from there, as the command line takes them: `ppo --no-gae`."""
    away = {name: [x for x in NEEDS if (x in preset.on) != (x in tricks.on)] for name, preset in PRESETS.items()}
    nearest = min(away, key=lambda name: len(away[name]))
    return " ".join([nearest, *(switch(x if x in tricks.on else f"no_{x}") for x in away[nearest])])


def curve_png(run: Run, dpi: int = 150) -> bytes:
    """The run's curve as a picture."""
    from matplotlib.figure import Figure  # slow to import; without pyplot it needs no display

    figure, box = Figure(figsize=SIZE, layout="constrained"), io.BytesIO()
    run.plot(figure.subplots())
    figure.savefig(box, dpi=dpi, format="png")
    return box.getvalue()


def in_windows(curve: pd.DataFrame, steps: int, column: str, weight: str) -> pd.DataFrame:
    """The weighted mean of a column in each of WINDOWS equal parts of the budget, by their ends: [windows, seeds].

    Windows in which no seed has a value are left out. A seed without one keeps its previous one; at first, it has NaN.
    """
    known = curve.dropna(subset=column)
    window = np.ceil(known["step"] / steps * WINDOWS).clip(upper=WINDOWS).rename("window")  # the last update overshoots
    total = (known[column] * known[weight]).groupby([window, known["seed"]]).sum()
    means = (total / known[weight].groupby([window, known["seed"]]).sum()).unstack("seed")
    return means.set_axis(means.index * steps / WINDOWS).ffill()


def _draw_line(axes: "Axes", means: pd.DataFrame, color: str, label: str) -> None:
    means = means.dropna()  # start where every seed has a value
    axes.plot(means.index, means.mean(axis=1), color=color, label=label)
    if means.shape[1] >= FEWEST:
        axes.fill_between(means.index, *students_interval(means.to_numpy().T), color=color, alpha=0.2, linewidth=0)
    else:
        axes.plot(means.index, means, color=color, alpha=0.35, linewidth=1)

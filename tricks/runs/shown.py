"""What a run looks like at a prompt and in a notebook: its settings, what came of it, and its curve."""

import base64
import io
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Protocol

import pandas as pd

from tricks.config import Config
from tricks.ladder import NEEDS, PRESETS, Tricks
from tricks.runs.learning_curve import over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LATE = "return over the last 10%"
OWN = ("env", "seeds", "steps")  # numbers with a row of their own
ROW = '<tr><th style="text-align: left">{}</th><td style="text-align: left">{}</td></tr>'


class Finished(Protocol):
    """What of a `Run` is shown."""

    @property
    def config(self) -> Config: ...
    @property
    def tricks(self) -> Tricks: ...
    @property
    def diverged(self) -> dict[int, int]: ...
    @property
    def seconds(self) -> float: ...
    def late(self) -> pd.Series: ...


def rung(tricks: Tricks) -> str:
    """The nearest preset and the switches from there, as the command line takes them: `ppo --no-gae`."""
    away = {name: [x for x in NEEDS if (x in preset.on) != (x in tricks.on)] for name, preset in PRESETS.items()}
    nearest = min(away, key=lambda name: len(away[name]))
    switches = [f"--{'' if x in tricks.on else 'no-'}{x.replace('_', '-')}" for x in away[nearest]]
    return " ".join([nearest, *switches])


def rows(run: Finished) -> dict[str, str]:
    """The table: what was trained and with which numbers, if not the usual ones, and what came of it."""
    late, numbers = run.late(), vars(run.config)
    usual = {field.name: field.default for field in fields(Config)} | {name: numbers[name] for name in OWN}
    found = {
        "tricks": rung(run.tricks),
        "environment": run.config.env,
        "seeds": f"{len(late)}",
        "steps of each": f"{run.config.steps:,}",
        "numbers": ", ".join(f"{name}={value!r}" for name, value in numbers.items() if value != usual[name]),
        "seconds": f"{run.seconds:,.0f}",
        LATE: over(late) if late.notna().any() else "no episode ended there",
        "diverged": ", ".join(f"seed {seed} at step {step:,}" for seed, step in run.diverged.items()),
    }
    return {name: value for name, value in found.items() if value}


def in_one_line(run: Finished) -> str:
    """Which run it is, and what came of it."""
    said, seeds = rows(run), len(run.config.seed_list)
    trained = f"{seeds} seed{'s' * (seeds > 1)} × {run.config.steps:,} steps"
    return f"<Run: {said['tricks']}, {run.config.env}, {trained}; {LATE}: {said[LATE]}>"


def as_html(run: Finished, figure: "Figure") -> str:
    """The table, and the picture of the curve."""
    box = io.BytesIO()
    figure.savefig(box, dpi=80, format="png")
    picture = base64.b64encode(box.getvalue()).decode()
    table = "".join(ROW.format(name, escape(value)) for name, value in rows(run).items())
    return f'<table>{table}</table><img alt="the learning curve" src="data:image/png;base64,{picture}">'

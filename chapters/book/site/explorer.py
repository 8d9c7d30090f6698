"""What the explorer shows: the tricks, and every stored arm's curve, area, rates and effects."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from ablations import SCALES, Study, area, flags, interval, rows_of
from chapters.book.evidence import NOTHING, evidence
from chapters.book.results import beyond, studies
from tricks import Tricks
from tricks.ladder import EXCLUDES, NEEDS, PRESETS, rungs

FACTS = {f.name: f.metadata for f in fields(Tricks)}
EVERY = 5  # of the hundred points of a curve, every fifth is enough for a small picture
LOOKS = {"helps": "helps", "hurts": "hurts", NOTHING: "nothing"}  # verdicts; all others look unknown
PAGE = """# The explorer

*Check tricks and see what the loop becomes, which command trains it, and what the stored runs say about it.*

The commands need the package: `pip install -e .` in a clone of its repository.

```{raw} html
<div id="explorer"></div>
<script defer src="_static/explorer-data.js"></script>
<script defer src="_static/lines.js"></script>
<script defer src="_static/explorer.js"></script>
```
"""


def explored() -> dict[str, Any]:
    """All that the explorer knows, as plain values."""
    return {
        "tricks": [_about(name) for name in NEEDS],
        "starts": {**{name: list(tricks.on) for name, tricks in PRESETS.items()}, **_rungs()},
        "environments": [environment_data(same) for same in _by_setting([*studies(), *beyond()])],
        "effects": {name: effects_data(name) for name in NEEDS},
    }


def _about(name: str) -> dict[str, Any]:
    facts = FACTS[name]
    kept = {key: facts[key] for key in ("adds", "paper", "color", "beyond")}
    return {"name": name, **kept, "needs": NEEDS[name], "excludes": EXCLUDES[name]}


def _rungs() -> dict[str, list[str]]:
    """Every rung but REINFORCE by the name of its last trick, as `python -m tricks train` knows it."""
    return {tricks.on[-1]: list(tricks.on) for tricks in rungs()[1:]}


def _by_setting(every: Sequence[Study]) -> list[list[Study]]:
    """The studies, those in one environment with one budget together, the first one first."""
    found: dict[tuple[str, int], list[Study]] = {}
    for study in every:
        found.setdefault((study.env, study.steps), []).append(study)
    return list(found.values())


def environment_data(same: Sequence[Study]) -> dict[str, Any]:
    """The arms of studies in one setting, by their flags; of those that several studies have, the first one's."""
    study = same[0]
    arms = {arm.tricks: each for each in reversed(same) for design in each.designs for arm in design.arms}
    scale = SCALES.get(study.env)
    return {
        "name": study.env,
        "steps": study.steps,
        "random": scale and scale.random,
        "ceiling": scale and scale.ceiling,
        "arms": {flags(tricks): arm_data(each, tricks) for tricks, each in arms.items()},
    }


def arm_data(study: Study, tricks: Tricks) -> dict[str, Any]:
    runs, grid = study.of(tricks), study.grid(tricks)
    curve = grid.to_numpy()[:, EVERY - 1 :: EVERY]
    low, high = interval(curve)
    areas = area(grid).to_numpy()
    return {
        "seeds": len(runs),
        "lr": float(runs.lr.iloc[0]),
        "curve": [_short(each) for each in (curve.mean(0), low, high)],
        "area": _short(np.array([areas.mean(), *interval(areas)])),
        "rates": _rates(study, flags(tricks)),
    }


def _rates(study: Study, name: str) -> list[list[float]]:
    """Pairs of a learning rate and its mean area on the tuning seeds."""
    here = rows_of(study.env, study.steps, str(study.runs.numbers.iloc[0]), name).sort_values("lr")
    return [[float(lr), float(f"{score:.4g}")] for lr, score in zip(here.lr, here.area, strict=True)]


def effects_data(name: str) -> list[dict[str, Any]]:
    """The trick's stored effects; `seen`: how each is shown, in color only what no other seeds spoke against."""
    kept = ["env", "kind", "difference", "low", "high", "verdict", "seeds"]
    rows: pd.DataFrame = evidence(name).table[kept].round(4)
    rows = rows.assign(seen=rows.verdict.map(LOOKS).fillna("unknown"))
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]

"""What the explorer shows: the tricks, and every stored arm's curve, area, rates and effects."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from ablations import SCALES, Study, area, flags, interval, rows_of
from chapters.book.evidence import NOTHING, evidence
from chapters.book.results import beyond, studies
from chapters.book.site.playground import sets
from tricks import Tricks
from tricks.ladder import NEEDS

KEPT = ("adds", "paper", "color", "beyond", "needs", "excludes")  # of what a trick's field says
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
    settings: dict[tuple[str, int], list[Study]] = {}  # those in one environment with one budget, the first one first
    for study in (*studies(), *beyond()):
        settings.setdefault((study.env, study.steps), []).append(study)
    return {
        "tricks": [{"name": f.name, **{key: f.metadata[key] for key in KEPT}} for f in fields(Tricks)],
        "starts": sets(),
        "environments": [environment_data(same) for same in settings.values()],
        "effects": {name: effects_data(name) for name in NEEDS},
    }


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
    """An arm's curve and area with their intervals, and each learning rate with its mean area on the tuning seeds."""
    runs, grid = study.of(tricks), study.grid(tricks)
    curve = grid.to_numpy()[:, EVERY - 1 :: EVERY]
    low, high = interval(curve)
    areas = area(grid).to_numpy()
    tuned = rows_of(study.env, study.steps, str(study.runs.numbers.iloc[0]), flags(tricks)).sort_values("lr")
    return {
        "seeds": len(runs),
        "lr": float(runs.lr.iloc[0]),
        "curve": [_short(each) for each in (curve.mean(0), low, high)],
        "area": _short([areas.mean(), *interval(areas)]),
        "rates": [[float(lr), _short([score])[0]] for lr, score in zip(tuned.lr, tuned.area, strict=True)],
    }


def effects_data(name: str) -> list[dict[str, Any]]:
    """The trick's stored effects; `seen`: how each is shown, in color only what no other seeds spoke against."""
    kept = ["env", "kind", "difference", "low", "high", "verdict", "seeds"]
    rows: pd.DataFrame = evidence(name).table[kept].round(4)
    rows = rows.assign(seen=rows.verdict.map(LOOKS).fillna("unknown"))
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def _short(values: Iterable[Any]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]

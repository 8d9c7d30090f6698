"""The atlas: of each trick, whether to use it, by every stored run; and of each set of flags, what it learned."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from ablations import (
    AT_BEST,
    HELPS,
    HURTS,
    NOTHING,
    OVER_ALL,
    SCALES,
    Study,
    area,
    effects,
    effects_by_rate,
    flags,
    in_general,
    interval,
    rows_of,
)
from chapters.book.evidence import bare, evidence, in_short
from chapters.book.results import beyond, rounded, studies
from chapters.book.site.playground import sets
from chapters.book.site.rungs import chapter_of
from tricks import Tricks
from tricks.ladder import NEEDS

KEPT = ("adds", "paper", "color", "beyond", "needs", "excludes")  # of what a trick's field says
EVERY = 5  # of the hundred points of a curve, every fifth is enough for a small picture
LOOKS = {HELPS: "helps", HURTS: "hurts", NOTHING: "nothing"}  # verdicts; all others look unknown
UP = "ladder"  # the design that adds one trick after the other
PAGE = """# The atlas: should I use it?

*Every trick in every environment, from all stored runs. Choose a trick to see what it is for, and how it does at other
learning rates.*

```{raw} html
<div id="atlas"></div>
<script defer src="_static/atlas-data.js"></script>
<script defer src="_static/lines.js"></script>
<script defer src="_static/atlas.js"></script>
```
"""


def atlas() -> dict[str, Any]:
    """All that the page knows, as plain values."""
    settings: dict[tuple[str, int], list[Study]] = {}  # those in one environment with one budget, the first one first
    for study in (*studies(), *beyond()):
        settings.setdefault((study.env, study.steps), []).append(study)
    general, rates = generally(), at_each_rate()
    return {
        "tricks": [{"name": f.name, **{key: f.metadata[key] for key in KEPT}} for f in fields(Tricks)],
        "starts": sets(),
        "environments": [environment_data(same) for same in settings.values()],
        "effects": {name: effects_data(name) for name in NEEDS},
        "says": {name: " ".join([in_short(evidence(name)), *jointly(name)]) for name in NEEDS},
        "made": {name: made_for(name) for name in NEEDS},
        "general": {name: general.get(name, []) for name in NEEDS},
        "rates": {name: rates.get(name, {}) for name in NEEDS},
        "chapters": {name: f"chapters/{chapter_of(name)}.html" for name in NEEDS},
    }


def made_for(name: str) -> list[dict[str, Any]]:
    """The trick's trials: where, the scores without and with it, and the verdict."""
    rows = evidence(name).worlds
    kept = [{"place": row["place"], "verdict": row["verdict"]} | _ends(row) for row in rows.to_dict("records")]
    return [row | {"seen": LOOKS.get(row["verdict"], "unknown")} for row in kept]


def _ends(row: Mapping[Hashable, Any]) -> dict[str, float]:
    return {side: rounded([row[side]])[0] for side in ("without", "with")}


def jointly(name: str) -> list[str]:
    """What becomes of a full set without this trick and all others that each do practically nothing in it."""
    said = []
    for again in (study.again for study in studies() if study.again):
        for design in (design for design in again.designs if name in design.names and design.name == "together"):
            row = effects(again, design).iloc[0]
            others = f"{len(design.names) - 1} others that do practically nothing there"
            gain = f"{-row.difference:+.3f} [{-row.high:+.3f}, {-row.low:+.3f}]"
            what = f"Taking it out of {bare(again.env)}'s full set, with {others}, changes the normalized area by"
            said.append(f"{what} {gain}, on other seeds.")
    return said


def generally() -> dict[str, list[list[Any]]]:
    """Of each rung, its effect over the environments: at own best rates, and at one rate for all. Mean, low, high."""
    found: dict[str, list[list[Any]]] = {}
    for row in in_general(studies(), UP).to_dict("records"):
        kept = [row["rates"], *rounded([row["mean"], row["low"], row["high"]]), row["places"]]
        found.setdefault(str(row["label"]).removeprefix("+ "), []).append(kept)
    return found


def at_each_rate() -> dict[str, dict[str, list[list[float]]]]:
    """Of each rung and environment, its effect at each learning rate, on tuning seeds: rate, difference, low, high."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for study in studies():
        rows = effects_by_rate(study, next(design for design in study.designs if design.name == UP))
        for row in rows[~rows["at"].isin([OVER_ALL, AT_BEST])].to_dict("records"):
            each = [float(row["at"]), *rounded([row["difference"], row["low"], row["high"]])]
            found.setdefault(row["trick"], {}).setdefault(study.env, []).append(each)
    return found


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
        "curve": [rounded(each) for each in (curve.mean(0), low, high)],
        "area": rounded([areas.mean(), *interval(areas)]),
        "rates": [[float(lr), rounded([score])[0]] for lr, score in zip(tuned.lr, tuned.area, strict=True)],
    }


def effects_data(name: str) -> list[dict[str, Any]]:
    """The trick's stored effects; `seen`: how each is shown, in color only what no other seeds spoke against."""
    kept = ["env", "kind", "difference", "low", "high", "verdict", "seeds"]
    rows: pd.DataFrame = evidence(name).table[kept].round(4)
    rows = rows.assign(seen=rows.verdict.map(LOOKS).fillna("unknown"))
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]

"""What the stored ablations say about a trick: a table of effects with their intervals, and a strip of them."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ablations import (
    AS_PREDICTED,
    FIXED,
    HELPS,
    HURTS,
    NOTHING,
    Arm,
    effects,
    markdown,
    place,
    story_of,
    strip,
    subject,
)
from chapters.book.results import around_robots, beyond, studies, verdicts_of_trials
from tricks import InputError
from tricks.ladder import NEEDS, Tricks

CAPTION = (
    "*Difference: with minus without, in normalized area under the curve (0 is a random policy, 1 the ceiling); of "
    "worlds made for a trick (italics), in their own units, and at each dose as a share of the best score. Verdicts "
    "are corrected for the number of comparisons, so an interval may leave out 0 although nothing is detected. "
    "Practically nothing: all of it is within ±0.05. Cannot tell here: the arms learned too little or too well. "
    "Unknown: none of these. Again: on other seeds. On robots and games in pixels, all arms run at one rate.*"
)
WITH = "with it, beside without"
AGAIN = ", but not again"
SHORT = {HELPS: "helps", HURTS: "hurts", NOTHING: "≈ 0"}  # verdicts that say something
AREA = "in normalized area under the curve"
ROBOTS = "on robots, in the same unit", f"on robots, {AREA}"
MADE = "its worlds: share of the best score", "in points: no best score"
LIMIT = 0.3  # of the strip's colors, the same in all chapters and for all panels that have a scale
VERDICTS = {1: HELPS, -1: HURTS, 0: "no detectable effect"}
COLUMNS = ["env", "subject", "kind", "question", "difference", "low", "high"]
COLUMNS += ["detected", "verdict", "seeds", "again", "confirmed", "tuned"]


@dataclass(frozen=True)
class Evidence:
    """Stored results about one trick. A notebook displays it as a table; `strip()` draws them.

    table: one row per environment and question: env, subject (of the study: "ladder", "beyond", or "continuous", the
    preset for robots), question, difference (in normalized area under the curve: 0 is a random policy, 1 the ceiling),
    low and high (95%), detected (1 helps, -1 hurts, 0 no), verdict (in words), seeds, again (the difference on other
    seeds, if it was tried), confirmed (1, 0), tuned (a reservation about the learning rates). worlds: one row per trial
    in a world made for the trick, in the world's own units of return: place, without, with, difference, low, high,
    share (the difference as a share of the best possible score; NaN if that is not known), seen (1, -1, 0; corrected
    for the number of trials), verdict, seeds.
    """

    trick: str
    table: pd.DataFrame
    worlds: pd.DataFrame

    def _repr_markdown_(self) -> str:
        lines = [("environment", f"`{self.trick}` ...", "difference", "95% interval", "seeds", "again", "verdict")]
        for row in self.table.to_dict("records"):
            span, seeds = f"{row['low']:+.3f} to {row['high']:+.3f}", f"{row['seeds']}"
            again = f"{row['again']:+.3f}" if pd.notna(row["again"]) else ""
            lines.append((row["env"], row["question"], f"{row['difference']:+.3f}", span, seeds, again, row["verdict"]))
        for row in self.worlds.to_dict("records"):
            said, span = f"{row['without']:.4g} → {row['with']:.4g}", f"{row['low']:+.3g} to {row['high']:+.3g}"
            asked = WITH + (", last 10%" if row["score"] == "late" else "")
            if row["dose"]:
                asked += f"; by {row['dose']}: {', '.join(row['doses'].split()).replace(':', ': ')}"
            again = f"{row['again']:+.3g}" if pd.notna(row["again"]) else ""
            lines.append((f"*{row['place']}*", asked, said, span, f"{row['seeds']}", again, row["verdict"]))
        folded = f"<details><summary>All numbers about {self.trick}, with intervals</summary>"
        return f"{folded}\n\n{markdown(lines)}\n\n{CAPTION}\n\n</details>"

    def strip(self) -> Figure:
        """All effects at a glance: questions by environments, robots, and the worlds made for the trick."""
        rows, worlds = self.table.to_dict("records"), self.worlds.to_dict("records")
        usual, robots = (
            {(row["kind"], row["env"].removeprefix("tricks/")): _seen(row) for row in rows if row["subject"] in kinds}
            for kinds in ({*self.table.subject} - {"continuous"}, {"continuous"})
        )
        shares = {(WITH, row["place"]): _seen(row, "share") for row in worlds if pd.notna(row["share"])}
        points = {(WITH, row["place"]): _seen(row, limit=float("nan")) for row in worlds if pd.isna(row["share"])}
        figure = strip({AREA: usual, ROBOTS[not usual]: robots, MADE[0]: shares, MADE[1]: points})
        figure.set_label(f"Every verdict on {self.trick}: {'; '.join(self.summary().splitlines())}.")
        return figure

    def summary(self) -> str:
        """How many comparisons got each verdict, in the usual environments and in the worlds made for the trick."""
        robots = self.table.subject == "continuous"
        envs = self.table.env[~robots].nunique()
        places = f"{(~robots).sum()} comparisons in {envs} usual environment{'s' * (envs != 1)}"
        usual = (places, self.table[~robots])
        rows = [usual, ("the preset for robots", self.table[robots]), ("worlds made for it", self.worlds)]
        said = list[str]()
        for name, table in rows:
            count = Counter(row["verdict"] + _once(row) for row in table.to_dict("records")).most_common()
            said += [f"{name}: " + "; ".join(f"{n} × {verdict}" for verdict, n in count)] * bool(count)
        return "\n".join(said)


def _once(row: dict[Hashable, Any]) -> str:
    return ", once" * (row["verdict"] in (HELPS, HURTS) and row["confirmed"] != 1)  # nothing was tried again


def _seen(row: dict[Hashable, Any], unit: str = "difference", limit: float = LIMIT) -> dict[str, Any]:
    """A cell of the strip: in color if it was detected, and again on other seeds; hatched if the runs can't tell."""
    said = "not again" if row["verdict"].endswith(AGAIN) else SHORT.get(row["verdict"], "?")
    confirmed, unclear = row["verdict"] in (HELPS, HURTS) and row["confirmed"] == 1, row["verdict"] not in SHORT
    colors = limit if confirmed else float("nan")
    return {"value": row[unit], "limit": colors, "hatched": unclear, "under": said + _once(row)}


@cache
def stored_comparisons() -> pd.DataFrame:
    """Every stored comparison that answers a question, once: that of the design whose comparisons share more arms."""
    stored = [*studies(), *beyond(), *around_robots()]
    told = [(study, design) for study in stored for design in study.designs if story_of(design).phrases.question]
    told.sort(key=lambda pair: -len(pair[1].shared))
    frames, seen = [], set[tuple[str, Arm, Arm]]()
    for study, design in told:
        new = {p.label: p for p in design.comparisons if (study.env, p.without, p.having) not in seen}
        seen |= {(study.env, p.without, p.having) for p in design.comparisons}
        found, story = effects(study, design), story_of(design)
        found = found[found.label.isin(list(new))]
        asked = [story.phrases.asked(label) for label in found.label]
        others = found.label.map(lambda label: f", with {', '.join(label.others)}" * bool(label.others))
        kind = story.mark.meaning + others.where(found.duplicated("trick", keep=False), "")
        frames.append(found.assign(subject=subject(design), question=asked, kind=kind, rank=story.rank))
    table = pd.concat(frames)
    order = {study.env: k for k, study in enumerate(stored[::-1])}
    table = table.assign(place=-table.env.map(order)).sort_values(["place", "rank"])
    return table.assign(verdict=_unless_refuted(table.verdict, table.confirmed))[["trick", *COLUMNS]]


@cache
def evidence(trick: str) -> Evidence:
    """What the stored ablations say about a trick. Raises InputError for an unknown trick."""
    if trick not in NEEDS:
        raise InputError(f"unknown trick {trick!r}; the tricks are {', '.join(NEEDS)}")
    table = stored_comparisons()
    table = table[table.trick == trick][COLUMNS].reset_index(drop=True)
    worlds = verdicts_of_trials()
    worlds = worlds[worlds.trick == trick].reset_index(drop=True)
    if len(worlds):
        worlds["place"] = [place(*row) for row in zip(worlds.world, worlds.numbers, worlds.rate, strict=True)]
        nothing = worlds.predicted.eq(0) & worlds.outcome.eq(AS_PREDICTED)
        said = worlds.seen.map(VERDICTS).mask(nothing, NOTHING)
        known = worlds[["without", "with"]].max(axis=1) <= worlds.best  # trials that name no best score have 1
        worlds["share"] = (worlds.difference / worlds.best).where(known)
        worlds["verdict"] = _unless_refuted(said, worlds.confirmed)
    return Evidence(trick, table, worlds)


def tricks_of(chapter: str) -> list[str]:
    """The tricks that a chapter is about."""
    return [f.name for f in fields(Tricks) if (f.metadata["chapter"] or f.name) == chapter[3:]]


def bare(env: str) -> str:
    """An environment's name without its place and version: `BricksByRow` for `tricks/BricksByRow-v0`."""
    return env.split("/")[-1].rsplit("-v", 1)[0]


def in_short(found: Evidence) -> str:
    """A trick's verdicts in words: by comparison, where it helps, hurts, or does nothing; and in how many trials."""
    table, said = found.table, list[str]()
    if table.empty:
        said.append("Not tried in the usual environments.")
    for verdict in (HELPS, HURTS, NOTHING):
        rows = table[table.verdict.eq(verdict)].to_dict("records")
        places = dict[str, list[str]]()
        for row in rows:
            places.setdefault(_how(row), []).append(bare(row["env"]))
        parts = [f"{how} in {', '.join(dict.fromkeys(envs))}" for how, envs in places.items()]
        said += [f"{verdict.capitalize()} {'; '.join(parts)}."] * bool(parts)
    told = set(table.env[table.verdict.isin((HELPS, HURTS, NOTHING))])
    if rest := table.env.nunique() - len(told):
        said.append(f"In {rest} of {table.env.nunique()} environments, these runs can't tell.")
    if len(found.worlds):
        every, seen = len(found.worlds), {verb: found.worlds.verdict.eq(verb).sum() for verb in (HELPS, HURTS)}
        counts = " and ".join(f"{verb} in {count}" for verb, count in seen.items() if count)
        nothing = "does practically nothing" if found.worlds.verdict.eq(NOTHING).all() else "does nothing detectable"
        some = f"{counts or f'{nothing} in any'} of {every} trials in worlds"
        one = f"{counts.removesuffix(' in 1') or nothing} in the one world"
        right = found.worlds.outcome.eq(AS_PREDICTED).all()
        said.append(f"It {some if every > 1 else one} made for it{', as predicted' * bool(right)}.")
    return " ".join(said)


def _how(row: dict[Hashable, Any]) -> str:
    """What was compared, in words, and what makes it less sure: one rate for all arms, no second try."""
    asked, _, named = str(row["question"]).partition(", with ")
    asked, _, base = asked.partition(", on ")
    asked = {"taken out of everything": "in the full set", "in or on top of `continuous`": "on robots"}.get(
        asked, asked
    )
    others = named.split(", ") if named and asked != "on robots" else []
    small = [f"on {base}"] * (base not in ("", "REINFORCE"))
    small += [f"with {named if len(others) < 3 else f'{len(others)} others'}"] * bool(others)
    small += ["at one rate"] * (row["tuned"] == FIXED)
    small += ["once"] * (row["verdict"] != NOTHING and pd.isna(row["confirmed"]))
    return asked + f" ({'; '.join(small)})" * bool(small)


def with_evidence(text: str, chapter: str, mark: str = "") -> str:
    """A chapter's script or a cell of it, whose card says in a row what the stored runs say of the chapter's tricks.

    mark: what a line begins with.
    """
    tricks = tricks_of(chapter)
    said = [in_short(evidence(trick)) for trick in tricks]
    if tricks != [chapter[3:]]:
        said = [f"`{trick}`: {each}" for trick, each in zip(tricks, said, strict=True)]
    lines = [line for line in text.split("\n") if not line.startswith(f"{mark}| **evidence** |")]
    before = [k for k, line in enumerate(lines) if line.startswith(f"{mark}| **also called** |")]
    for k in before if said else []:
        lines.insert(k, f"{mark}| **evidence** | {' <br> '.join(said)} |")
    return "\n".join(lines)


def _unless_refuted(verdict: pd.Series, confirmed: pd.Series) -> pd.Series:
    """The verdict, with what other seeds said where they did not confirm it."""
    return verdict.mask(confirmed.eq(0), verdict + AGAIN)

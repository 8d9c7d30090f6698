"""What a question found, in one environment or several: its effects, the tables of its arms, and what can be said."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ablations.analysis.by_rate import in_general
from ablations.analysis.effects import CANNOT, HELPS, HURTS, NOTHING, effects, moved, with_verdicts
from ablations.analysis.outcomes import trial_table_of
from ablations.analysis.records import Study
from ablations.analysis.stats import FEWEST, within
from ablations.question.arms import Arm, Design
from ablations.question.words import replaced_in_words
from ablations.report import style, tables
from ablations.report.markup import joined, plain
from ablations.report.multiples import figure
from tricks.texts import recorded

SPREAD = ("difference", "low", "high")
SCORES = [f"{name}{end}" for name in ("area", "iqm", "late") for end in ("", "_low", "_high")]
SCORED = ["env", "arm", "lr", "tuned", "edge", *SCORES, "diverged", "seeds"]
SIDES = ["without", "with", "lr_without", "lr_with"]
EFFECTS = ["env", "arm", "against", *SIDES, *SPREAD, "p", "p_holm", "seeds", "verdict", "better"]
EFFECTS += ["within", "exaggeration", "alike"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found: a study for each environment, and the curves of their runs, if every update was kept."""

    studies: tuple[Study, ...]
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    """A row per environment, arm, seed and update: env, arm, and the columns of `Run.curve`, diagnostics among them."""
    trick: str = ""
    """What is judged, if it is one thing: a flag, or `Adam replaced by mine.py:sgd`."""
    worlds: tuple[Study, ...] = ()
    """Studies with the trick's trials, if it has some."""
    record: tuple[str, ...] = ()
    name: str = ""
    """Of the studies' designs, the one that this is about (default: the first)."""
    files: list[Path] = field(default_factory=list)

    @cached_property
    def asked(self) -> list[tuple[Study, Design]]:
        """Each study with the design that this is about."""
        named = [(study, design) for study in self.studies for design in study.designs if design.name == self.name]
        return named or [(study, study.designs[0]) for study in self.studies]

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.asked[0][1].arms

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row per environment, arm and seed: its rate, area and late return, when it diverged, and what made it."""
        from ablations.analysis.reading import of_study  # slow to load, as torch is

        return pd.concat([of_study(study).runs for study in self.studies], ignore_index=True)

    @cached_property
    def effects(self) -> pd.DataFrame:
        """A row per comparison and environment, in units of return, with one correction over all of them.

        EFFECTS: `without` is the reference's mean area and `with` the arm's, `better` the probability that a seed with
        the arm beats one with its reference, and `within` says whether the interval lies within the margin.
        """
        found = [frame for asked in self.asked if len(frame := effects(*asked))]
        if not found:  # a single arm
            return pd.DataFrame(columns=EFFECTS)
        both = with_verdicts(pd.concat(found, ignore_index=True))
        both["within"] = within(both.low, both.high, both.margin)
        unit = both.env.map({study.env: study.unit for study in self.studies})
        zero = both.env.map({study.env: study.scale.random if study.scale else 0.0 for study in self.studies})
        for name in (*SPREAD, "without", "with"):
            both[name] = both[name] * unit + (0 if name in SPREAD else zero)
        return both[EFFECTS]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per environment and arm, in units of return; the columns of `effects` are empty for a reference.

        env, arm, lr, area, iqm, late (each with _low and _high, 95%), diverged, seeds, against, ...
        """
        arms = pd.concat([tables.arms_table(*asked) for asked in self.asked], ignore_index=True)
        own = self.effects.drop(columns=[*SIDES, "seeds"]).drop_duplicates(["env", "arm"], keep="last")
        return arms[SCORED].merge(own, "left", ["env", "arm"]).fillna({"against": "", "verdict": ""})

    @cached_property
    def general(self) -> pd.DataFrame:
        """What holds over environments, see `in_general`; empty with too few of them."""
        return in_general(self.studies, self.asked[0][1].name)

    @cached_property
    def moved(self) -> pd.DataFrame:
        """With two arms, the diagnostics that differ in each environment, see `moved`."""
        if len(self.arms) != 2 or self.curves.empty:
            return pd.DataFrame()
        names, by_env = [arm.name for arm in self.arms], self.curves.groupby("env", sort=False)
        parts = [moved(curves, names[0], names[1], recorded(self.record)).assign(env=env) for env, curves in by_env]
        return pd.concat(parts, ignore_index=True)

    @property
    def trials(self) -> pd.DataFrame:
        """What came of the trick's trials in the worlds made for it; empty if it has none."""
        table = trial_table_of(self.worlds) if self.worlds else pd.DataFrame({"trick": []})
        return table[table.trick == self.trick]

    def plot(self, statistic: str = "mean", env: str = "") -> Figure:
        """Learning curves with intervals, of the first environment or this one. statistic: mean or iqm."""
        from ablations.analysis.reading import Frames

        found, env = dict[str, str](), env or self.studies[0].env  # an arm has its trick's color, if that is unique
        for pair in self.asked[0][1].comparisons:
            differ = {*pair.focus.tricks.on} ^ {*pair.reference.tricks.on}
            if len(differ) == 1 and pair.focus.functions == pair.reference.functions:
                found[pair.focus.name] = style.COLORS[differ.pop()]
        colors = {name: color for name, color in found.items() if [*found.values()].count(color) == 1}
        here = Frames(self.runs[self.runs.env == env], self.curves[self.curves.env == env])
        return figure(here, statistic, f"{env}: {self.studies[0].about.get('rates', '')}", colors)

    @property
    def sentences(self) -> list[str]:
        """What can be said of each comparison, a sentence each."""
        several = len(self.studies) > 1
        return [f"{row['env']}: " * several + self._sentence(row) for row in self.effects.to_dict("records")]

    def _sentence(self, row: dict[Any, Any]) -> str:
        name, seeds, reference = self.trick or row["arm"], int(row["seeds"]), row["against"]
        what, end = ("late return", " in the last tenth") if "score" in self.studies[0].about else ("area", "")
        if row["difference"] != row["difference"]:
            return f"{name} can't be judged: at least one seed finished no episode{end}."
        if row["alike"]:
            return f"{name} changes no score: every seed has the same {what} as with {reference}."
        more = f"{abs(row['difference']):.3g} {'less' if row['difference'] < 0 else 'more'} {what} than {reference}"
        if row["verdict"] in (HELPS, HURTS):
            within = "; but the whole interval lies within the margin" * bool(row["within"])
            much = f"; such estimates exceed the truth by {row['exaggeration'] - 1:.0%} on average"
            much *= row["exaggeration"] > 1.05
            return f"{name} {row['verdict']}: {more}, p = {row['p_holm']:.2g}{within}{much}."
        if row["verdict"] == NOTHING:
            return f"{name} does practically nothing: its {what} is within the margin of that of {reference}."
        if CANNOT in row["verdict"]:
            return str(row["verdict"]).replace(CANNOT, f"{CANNOT} what {name} does") + "."
        if seeds < FEWEST:
            return f"{name} has {more}, but an interval needs {FEWEST} seeds, not {seeds}."
        until = "" if "level" in self.studies[0].about else "; `--until decided` keeps adding seeds"
        return f"{name}: unknown; with {seeds} seeds, {more} may be chance{until}."

    @property
    def replacements(self) -> list[str]:
        """Which of our functions give way in which arm, and to what, a sentence each."""
        return [f"{arm.name}: {replaced_in_words(dict(arm.functions))}." for arm in self.arms if arm.functions]

    @property
    def tables(self) -> list[str]:
        """The tables as Markdown: of the arms, of crossed tricks in each environment, and of what holds in general."""
        arms = self.table if self.studies[0].own else tables.arms_table(*self.asked[0])
        general = tables.in_columns(self.general, tables.GENERAL) if len(self.general) else ""
        crossed = [(plain(study.env), tables.crossed_text(study, design)) for study, design in self.asked]
        named = [f"{env}:\n\n" * (len(crossed) > 1) + text for env, text in crossed if text]
        return [tables.arms_text(arms), *named, general]

    @property
    def brief(self) -> str:
        """What the terminal shows: the tables, and what they mean."""
        return joined([*self.tables, "\n".join([*self.replacements, *self.sentences])])

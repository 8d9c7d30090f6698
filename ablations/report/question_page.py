"""The answer to a question: its tables, what can be said, and its page, whether it is about one place or several."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ablations.analysis.by_rate import AT_BEST, OVER_ALL, common_rate, effects_by_rate
from ablations.analysis.effects import CANNOT, HELPS, HURTS, NOTHING, effects, moved, with_verdicts
from ablations.analysis.general import in_general, sensitivity
from ablations.analysis.outcomes import trial_table_of
from ablations.analysis.records import Study
from ablations.analysis.stats import FEWEST, LEVEL
from ablations.question.arms import Arm
from ablations.question.words import replaced_in_words
from ablations.report import style, tables
from ablations.report.cells import rate_map_figure
from ablations.report.markup import as_html, code, image, joined, plain
from ablations.report.multiples import figure, on_grids, rows_behind
from ablations.report.style import save, save_table
from ablations.report.trials_section import trials_text
from tricks.runs.files import make_folder, write_whole
from tricks.runs.provenance import provenance
from tricks.texts import recorded

SECTION = "answer.md"
SPREAD = ("difference", "low", "high")
SCORES = [f"{name}{end}" for name in ("area", "iqm", "late") for end in ("", "_low", "_high")]
SCORED = ["env", "arm", "lr", "tuned", "edge", *SCORES, "diverged", "seeds"]
SIDES = ["without", "with", "lr_without", "lr_with"]
EFFECTS = ["env", "arm", "against", *SIDES, *SPREAD, "p", "p_holm", "seeds", "verdict", "better"]
EFFECTS += ["within", "exaggeration", "alike"]
MADE_FOR_IT = "Trials of this trick that were trained before, for this package; each says what theory predicts there."
STOPPED = "seeds were added until every comparison was decided, or there were as many as allowed"


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found: a study for each environment, and the curves of their runs."""

    studies: tuple[Study, ...]
    curves: pd.DataFrame
    """A row per environment, arm, seed and update: env, arm, and the columns of `Run.curve`, diagnostics among them."""
    command: str = ""
    trick: str = ""
    """What is judged, if it is one thing: a flag, or `Adam replaced by mine.py:sgd`."""
    worlds: tuple[Study, ...] = ()
    """Studies with the trick's trials, if it has some."""
    record: tuple[str, ...] = ()
    files: list[Path] = field(default_factory=list)

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.studies[0].designs[0].arms

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
        found = [frame for study in self.studies if len(frame := effects(study, study.designs[0]))]
        if not found:  # a single arm
            return pd.DataFrame(columns=EFFECTS)
        both = with_verdicts(pd.concat(found, ignore_index=True))
        both["within"] = both.low.gt(-both.margin) & both.high.lt(both.margin)
        own = [_in_returns(both[both.env == study.env], study) for study in self.studies]
        return pd.concat(own, ignore_index=True)[EFFECTS]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per environment and arm, in units of return; the columns of `effects` are empty for a reference.

        env, arm, lr, area, iqm, late (each with _low and _high, 95%), diverged, seeds, against, ...
        """
        found = []
        for study in self.studies:
            arms = tables.arms_table(study, study.designs[0]).assign(env=study.env)
            found.append(arms.rename(columns=lambda name: name.replace("last_10%", "late"))[SCORED])
        own = self.effects.drop(columns=[*SIDES, "seeds"]).drop_duplicates(["env", "arm"], keep="last")
        both = pd.concat(found, ignore_index=True).merge(own, "left", ["env", "arm"])
        return both.assign(against=both.against.fillna(""))

    @cached_property
    def by_rate(self) -> pd.DataFrame:
        """With rates to choose from: a row per environment, comparison and rate, in units of return; else empty."""
        columns = ["env", "label", "at", *SPREAD, "p", "seeds"]
        every = [(study, effects_by_rate(study, study.designs[0])) for study in self.studies]
        found = [_in_returns(frame, study)[columns] for study, frame in every if len(frame)]
        both = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)
        return both[~both["at"].isin([OVER_ALL, AT_BEST])]

    @cached_property
    def general(self) -> pd.DataFrame:
        """What holds over environments, see `in_general`; empty with too few of them."""
        return in_general(self.studies, self.studies[0].designs[0].name)

    @cached_property
    def moved(self) -> pd.DataFrame:
        """With two arms, the diagnostics that differ in each environment, see `moved`."""
        if len(self.arms) != 2:
            return pd.DataFrame()
        names = [arm.name for arm in self.arms]
        own = {str(env): curves for env, curves in self.curves.groupby("env", sort=False)}
        parts = [moved(own[env], names[0], names[1], recorded(self.record)).assign(env=env) for env in own]
        return pd.concat(parts, ignore_index=True)

    @property
    def trials(self) -> pd.DataFrame:
        """What came of the trick's trials in the worlds made for it; empty if it has none."""
        table = trial_table_of(self.worlds) if self.worlds else pd.DataFrame({"trick": []})
        return table[table.trick == self.trick]

    def plot(self, statistic: str = "mean", env: str = "") -> Figure:
        """Learning curves with intervals, of the first environment or this one. statistic: mean or iqm."""
        from ablations.analysis.reading import Frames

        env = env or self.studies[0].env
        here = Frames(self.runs[self.runs.env == env], self.curves[self.curves.env == env])
        rates = self.studies[0].about.get("rates", "")
        return figure(here, statistic=statistic, said=f"{env}: {rates}", colors=self.colors)

    @property
    def colors(self) -> dict[str, str]:
        """The color of the trick in which an arm differs from its reference, if it is a single one of that color."""
        found = {}
        for pair in self.studies[0].designs[0].comparisons:
            differ = {*pair.focus.tricks.on} ^ {*pair.reference.tricks.on}
            if len(differ) == 1 and pair.focus.functions == pair.reference.functions:
                found[pair.focus.name] = style.COLORS[next(iter(differ))]
        return {name: color for name, color in found.items() if [*found.values()].count(color) == 1}

    @property
    def sentences(self) -> list[str]:
        """What can be said of each comparison, a sentence each."""
        several = len(self.studies) > 1
        return [f"{row['env']}: " * several + self._sentence(row) for row in self.effects.to_dict("records")]

    def _sentence(self, row: dict[Any, Any]) -> str:
        name, seeds, reference = row["arm"], int(row["seeds"]), row["against"]
        name = self.trick or name
        if row["difference"] != row["difference"]:
            return f"nothing can be said of {name}: in some seed no episode ended."
        if row["alike"]:
            return f"{name} changes no score: every seed has the same area as with {reference}."
        side = "less" if (row["difference"] < 0) else "more"
        more = f"{abs(row['difference']):.3g} {side} area than {reference}"
        if row["verdict"] in (HELPS, HURTS):
            within = "; but all of the interval lies within the margin" if row["within"] else ""
            much = f"; such estimates exceed the truth by {row['exaggeration'] - 1:.0%} on average"
            much = much if row["exaggeration"] > 1.05 else ""
            return f"{name} {row['verdict']}: {more}, p = {row['p_holm']:.2g}{within}{much}."
        if row["verdict"] == NOTHING:
            return f"{name} does practically nothing: its area is within the margin of that of {reference}."
        if CANNOT in row["verdict"]:
            return str(row["verdict"]).replace(CANNOT, f"{CANNOT} what {name} does") + "."
        if seeds < FEWEST:
            return f"{name} has {more}, but an interval needs {FEWEST} seeds, not {seeds}."
        until = "" if "level" in self.studies[0].about else "; with --until decided, seeds are added until it is known"
        return f"{name}: unknown; with {seeds} seeds, {more} may be chance{until}."

    @property
    def replacements(self) -> list[str]:
        """Which of our functions give way in which arm, and to what, a sentence each."""
        return [f"{arm.name}: {replaced_in_words(dict(arm.functions))}." for arm in self.arms if arm.functions]

    @property
    def tables(self) -> list[str]:
        """The tables as Markdown: of the arms in each environment, of crossed tricks, and of what holds in general."""
        crossed = tables.crossed_text(self.studies[0], self.studies[0].designs[0])
        general = tables.in_columns(self.general, tables.GENERAL) if len(self.general) else ""
        return [tables.answer_text(self.table), crossed, general]

    @property
    def brief(self) -> str:
        """What the terminal shows: the tables, and what they mean."""
        return joined([*self.tables, "\n".join([*self.replacements, *self.sentences])])


def _in_returns(frame: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Effects and both arms' scores in units of return."""
    zero = study.scale.random if study.scale else 0.0
    sides = frame[["without", "with"]] * study.unit + zero
    return frame.assign(**frame[[*SPREAD]] * study.unit, **sides)


def write_answer(found: Answer, out: Path, name: str, seconds: float) -> Answer:
    """Write tables, figures and the page into a folder of that name. Returns the answer with the paths."""
    folder = out / name
    make_folder(folder)
    frames = {"table.csv": found.table, "effects.csv": found.effects, "curves.csv.gz": found.curves}
    frames |= {"by_rate.csv": found.by_rate, "in_general.csv": found.general, "moved.csv": found.moved}
    files = [save_table(frame, folder / each) for each, frame in frames.items() if len(frame)] + _figures(found, folder)
    section = _section(found, name, [path for path in files if path.suffix == ".png"], seconds)
    write_whole(folder / SECTION, section + "\n")
    write_whole(folder / "report.html", as_html(joined([section, HOW_TO_READ]), out))
    found.files[:] = [folder / "report.html", folder / SECTION, *found.files, *files]
    return found


def _figures(found: Answer, folder: Path) -> list[Path]:
    """Of each environment, the effects at each rate, if there are several, and the curves."""
    files: list[Path] = []
    for study in found.studies:
        design, end = study.designs[0], f"_{study.env.replace('/', '_')}" if len(found.studies) > 1 else ""
        path = folder / f"effects_by_rate{end}"
        files += rate_map_figure(effects_by_rate(study, design), design, common_rate(study), path)
        here = found.curves[found.curves.env == study.env]
        files += save(found.plot(env=study.env), folder / f"curves{end}", rows_behind(on_grids(here)))
    return files


def _section(found: Answer, name: str, pictures: Sequence[Path], seconds: float) -> str:
    design, first = found.studies[0].designs[0], found.studies[0]
    where = ", ".join(study.env for study in found.studies)
    about = f"Does {found.trick} matter?" if found.trick else f"{where}: {design.name}"
    parts = [f"## {plain(about)}"]
    seeds = found.runs.groupby(["env", "arm"]).size().max()
    until = f"; {STOPPED}" if first.level < LEVEL else ""
    parts += [f"{seeds} seeds per arm, {first.steps:,} steps per seed; {first.about.get('rates', '')}{until}."]
    parts += [f"Dropped: {plain(arm)} ({plain(reason)})." for arm, reason in design.dropped]
    parts += [*found.tables, *map(plain, [*found.replacements, *found.sentences])]
    parts += [image([path], path.stem.replace("_", " "), name) for path in pictures]
    plane, names = sensitivity(found.studies, found.arms), [arm.name for arm in found.arms]
    if len(plane):
        parts += ["### Peak and sensitivity to the learning rate", tables.in_columns(plane, tables.PLANE), PLANE]
    if len(found.by_rate):
        parts += ["### Differences at each learning rate", tables.by_rate_text(found.by_rate), TUNING]
    if len(found.moved):
        parts += ["### The diagnostics that differ", tables.moved_text(found.moved, names), MEANS]
    if len(found.trials):
        parts += ["### In the worlds made for it", MADE_FOR_IT, trials_text(found.trials)]
    versions = ", ".join(f"{key} {value}" for key, value in provenance().items() if value)
    made_by = f"Made by {code(found.command)}. " if found.command else ""
    return joined([*parts, f"{made_by}{seconds:.0f} seconds; {plain(versions)}."])


HOW_TO_READ = """\
**Scores.** *Area under the curve* is a seed's mean return over training; before its first episode ends, and after it \
diverges, it counts with the return of that episode. *Interquartile mean* (IQM) is the mean of the seeds' areas \
without the lowest and the highest quarter. *Last 10%* is the mean return of the episodes that ended in the last tenth \
of the budget; where half of the seeds are at the ceiling, *failing* is the share that end below the threshold. \
*Solved* is the share whose mean return over some tenth of the budget reached it, and *steps to solve* is where the \
first such tenth ended, as the median over seeds.

**Differences** are with minus without, in normalized area (0 is a random policy, 1 the ceiling) if the environment \
has a scale. In answers to your own questions, they are in area, an arm minus its reference. P(better) is the \
probability that a seed with the trick beats one without. **\\*** marks what is detected after Holm's correction over \
the tricks in a column; an answer's p is corrected for all comparisons of its table. All leave-one-out differences \
share one arm, the full set, which therefore trains twice as many seeds. (In results of older code it does not.)

**Intervals** are 95%, and not corrected: of single arms from the expanded percentile bootstrap over seeds, of shares \
Wilson's, and of differences from Welch's t, with the noise of choosing the two learning rates where the scores of the \
tuning seeds are known. Where seeds were added until all was decided, each look has its part of the 5%, and intervals \
are as much wider.

**Verdicts.** A trick *helps* or *hurts* if its difference is detected. It does *practically nothing* if the interval \
lies within ±0.05 (or the margin that was given), unless no arm has learned much (no area above 0.15) or all are near \
the ceiling (no area below 0.9). Otherwise its effect is *unknown*: these seeds cannot tell.

**Learning rates.** Unless its table says otherwise, each arm runs at the best rate of a grid, chosen on seeds that \
are not reported. Whole episodes make larger batches than segments do, and so allow fewer updates in the same number \
of steps."""
PLANE = (
    "In normalized area, over environments, on the tuning seeds. *Peak*: at the best rate in each environment. *One "
    "rate*: at the rate that is its best over all of them. *Sensitivity*: what that costs (Adkins et al. 2024). "
    "Intervals: 95%, bootstrapped over seeds."
)
TUNING = "These are of the tuning seeds, and not corrected for the number of rates."
MEANS = (
    "Each is the mean over a run's updates; shown are those that differ after Holm's correction, the clearest first."
)

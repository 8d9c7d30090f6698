"""Does a trick matter? One page: a verdict per environment, effects by learning rate, diagnostics, and its trials."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.compared import moved
from ablations.analysis.effects import CANNOT, HELPS, HURTS, NOTHING, UNKNOWN
from ablations.analysis.estimates import LEVEL, holm
from ablations.analysis.outcomes import outcomes, trial_table
from ablations.analysis.stats import FEWEST
from ablations.analysis.studies import Study
from ablations.figures import style
from ablations.figures.judged import Effects, judged_figure
from ablations.figures.saving import save
from ablations.report.compared_words import cannot_tell, enough
from ablations.report.comparison_page import Compared
from ablations.report.markup import as_html, code, picture, plain
from ablations.report.tables import markdown
from ablations.report.trials_section import trials_text
from ablations.training.store import as_file_name, digest, name_of
from tricks.ladder import COLORS, NEEDS
from tricks.runs.files import make_folder, write_whole
from tricks.texts import recorded

SECTION = "verdict.md"
SHOWN = 5  # diagnostics per environment


@dataclass(frozen=True, eq=False)
class Judged:
    """What `judge` found."""

    trick: str
    """What is judged: a flag, or `Adam replaced by mine.py:sgd`."""
    table: pd.DataFrame
    """A row per environment: judged (the same), env, without, with (mean areas), lr_without, lr_with, difference, low,
    high, p, p_holm, verdict, seeds."""
    moved: pd.DataFrame
    """The diagnostics that differ, by environment, see `moved`."""
    comparisons: dict[str, Compared]
    """By environment."""
    trials: pd.DataFrame | None = None
    """What came of its trials in the worlds made for it, if it has some."""
    files: list[Path] = field(default_factory=list)

    @property
    def brief(self) -> str:
        """What the terminal shows."""
        return "\n\n".join([_table(self), *self.sentences])

    @property
    def sides(self) -> tuple[str, str]:
        """The two arms, in words: `with` a function leaves open which, ours or the one that replaces it."""
        return ("without", "with") if self.trick in NEEDS else ("ours", "replaced")

    @property
    def sentences(self) -> list[str]:
        """What can be said in each environment."""
        return [f"{row['env']}: {self._sentence(row)}" for row in self.table.to_dict("records")]

    def _sentence(self, row: dict[Any, Any]) -> str:
        more = f"{abs(row['difference']):.3g} {'more' if row['difference'] > 0 else 'less'} area with "
        more += "it" if self.trick in NEEDS else "the replacement"
        would_do = enough(self.comparisons[row["env"]].table.would_do.iloc[-1])
        if row["difference"] != row["difference"]:
            return "nothing can be said: in some seed no episode ended."
        if row["verdict"] in (HELPS, HURTS):
            return f"{self.trick} {row['verdict']}: {more}, p = {row['p_holm']:.2g}."
        if row["verdict"] == NOTHING:
            return f"{self.trick} does practically nothing: the difference is within the margin."
        if CANNOT in row["verdict"]:
            return cannot_tell(row["verdict"], self.trick)
        if not row["verdict"]:
            return f"{more}, but an interval needs {FEWEST} seeds, not {row['seeds']}.{would_do}"
        return f"unknown whether {self.trick} matters; {more} can be luck with {row['seeds']} seeds.{would_do}"


def write_judged(
    trick: str, base: str, found: Sequence[Compared], worlds: Sequence[Study], out: Path, command: str
) -> Judged:
    """Put comparisons of the same two arms together, a row per environment, and write the page.

    base: what the trick is in or added to, in words. worlds: studies with the trick's trials, if it has some.
    """
    made = _together(trick, found, worlds)
    answers = [each.files[0].parent.name for each in found]  # which hold all that tells one question from another
    name = as_file_name(name_of("judge", trick, base, digest(answers), first=0))
    folder = out / name
    make_folder(folder)
    effects = {env: Effects(_row(made.table, env), _rates(each)) for env, each in made.comparisons.items()}
    pictures = save(
        judged_figure(effects, f"What {trick} does in {base}", COLORS.get(trick, style.INK), made.sides),
        folder / "effects",
        made.table,
    )
    for path, frame in ((folder / "table.csv", made.table), (folder / "moved.csv", made.moved)):
        write_whole(path, frame.to_csv(index=False, float_format="%.6g"))
    page = _page(made, base, name, found, command)
    write_whole(folder / SECTION, page + "\n")
    write_whole(folder / "report.html", as_html(page, out))
    own = [folder / each for each in ("report.html", SECTION, "table.csv", "moved.csv")]
    return replace(made, files=[*own, *pictures])


def _together(trick: str, found: Sequence[Compared], worlds: Sequence[Study]) -> Judged:
    rows, differing = [], []
    for each in found:
        without, having = each.table.to_dict("records")
        reference, other = (arm.name for arm in each.arms)
        differing.append(moved(each.curves, reference, other, recorded(each.config.record)).assign(env=each.env))
        rows.append(
            {"judged": trick, "env": each.env, "without": without["area"], "with": having["area"]}
            | {"lr_without": without["lr"], "lr_with": having["lr"]}
            | {name: having[name] for name in ("difference", "low", "high", "p", "verdict", "seeds")}
        )
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table.p.to_numpy())
    lost = table.p_holm.ge(LEVEL) & table.verdict.isin([HELPS, HURTS])  # one of several environments
    table["verdict"] = table.verdict.mask(lost, UNKNOWN)
    trials = trial_table(outcomes(worlds)) if worlds else pd.DataFrame({"trick": []})
    trials = trials[trials.trick == trick]
    by_env = {each.env: each for each in found}
    return Judged(trick, table, pd.concat(differing, ignore_index=True), by_env, trials if len(trials) else None)


def _row(table: pd.DataFrame, env: str) -> dict[str, float]:
    row = table[table.env == env].iloc[0]
    return {name: float(row[name]) for name in ("difference", "low", "high")}


def _rates(found: Compared) -> pd.DataFrame:
    """The effects at each rate; no rows where every arm ran at the one that was given."""
    if found.by_rate is None:
        return pd.DataFrame(columns=["lr", "difference", "low", "high"])
    return found.by_rate[found.by_rate.difference.notna()]


def _page(found: Judged, base: str, name: str, comparisons: Sequence[Compared], command: str) -> str:
    first = comparisons[0]
    seeds = int(found.table.seeds.max())
    parts = [f"# Does {plain(found.trick)} matter in {plain(base)}?"]
    parts += [f"{seeds} seeds per arm; {first.rates}.", _table(found), *map(plain, found.sentences)]
    parts += [picture("Effects by environment and learning rate", name, "effects.png")]
    if len(found.moved):
        parts += ["## The diagnostics that it moves", _moved_text(found), MEANS]
    if found.trials is not None:
        parts += ["## In the worlds made for it", trials_text(found.trials)]
    parts += ["## How to read this", HOW.format(f"{found.sides[1]} minus {found.sides[0]}")]
    made = [f"`{each.files[0].parent.name}`" for each in comparisons if each.files]
    parts += [f"Curves and scores of each environment are in {', '.join(made)}."]
    return "\n\n".join([*parts, *[f"Made by {code(command)}."] * bool(command)])


MEANS = (
    "Each is the mean over a run's updates; shown are those that differ after Holm's correction, the clearest first."
)
HOW = """*Area* is a seed's mean return over training. A difference is {}, with Welch's 95% interval, \
which includes the noise of choosing the two learning rates; *p* is corrected by Holm's method for the number of \
environments. At a single rate, differences are of the tuning seeds and not corrected. In an environment whose scale \
is known, an interval within a twentieth of it counts as *practically nothing*, if the arms learned something and are \
not near the ceiling."""


def _table(found: Judged) -> str:
    lines: list[tuple[str, ...]] = [("environment", *found.sides, "rates", "difference", "p", "verdict")]
    for row in found.table.to_dict("records"):
        span = f" [{row['low']:+.4g}, {row['high']:+.4g}]" if row["low"] == row["low"] else ""
        rates = f"{row['lr_without']:g}, {row['lr_with']:g}"
        cells = [f"{row['without']:.4g}", f"{row['with']:.4g}", rates, f"{row['difference']:+.4g}{span}"]
        p = "–" if np.isnan(row["p_holm"]) else f"{row['p_holm']:.2g}"
        lines.append((plain(row["env"]), *(cell.replace("-", "−") for cell in cells), p, row["verdict"] or "–"))
    return markdown(lines)


def _moved_text(found: Judged) -> str:
    lines: list[tuple[Any, ...]] = [("environment", "diagnostic", *found.sides, "p")]
    for env, own in found.moved.groupby("env", sort=False):
        for row in own.head(SHOWN).to_dict("records"):
            cells = (f"{row[each]:.3g}".replace("-", "−") for each in ("without", "with"))
            lines.append((plain(env), code(row["diagnostic"]), *cells, f"{row['p_holm']:.1g}".replace("-", "−")))
    return markdown(lines)

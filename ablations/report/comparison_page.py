"""A comparison of arms as a section of the report, and as a page of its own."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ablations.analysis.factors import effects_of
from ablations.analysis.stats import FEWEST
from ablations.design.arms import Arm, Design
from ablations.design.own_file import replaced_in_words
from ablations.figures import style
from ablations.figures.saving import save
from ablations.figures.tidy import by_rate_figure, figure, on_grids, rows_behind
from ablations.report.compared_words import number, sentence
from ablations.report.markup import as_html, code, picture, plain
from ablations.report.tables import markdown
from tricks.config import Config
from tricks.runs.files import make_folder, write_whole
from tricks.runs.provenance import provenance

SECTION = "comparison.md"
TITLES = {"curves": "Learning curves", "by_rate": "Area by learning rate"}


@dataclass(frozen=True, eq=False)
class Compared:
    """What `compare` found."""

    config: Config
    """What all arms share."""
    arms: tuple[Arm, ...]
    table: pd.DataFrame
    """A row per arm, see `compared_arms`."""
    runs: pd.DataFrame
    """A row per arm and seed: arm, seed, env, steps, tricks, numbers, lr, area, late, diverged."""
    curves: pd.DataFrame
    """A row per arm, seed and update: arm, and the columns of `Run.curve`, diagnostics among them."""
    by_rate: pd.DataFrame | None
    """With `rates`: a row per arm and rate, see `differences_by_rate`."""
    rates: str
    """How the learning rates came about, in words."""
    command: str = ""
    design: Design | None = None
    files: list[Path] = field(default_factory=list)

    @property
    def env(self) -> str:
        return self.config.env

    def plot(self, statistic: str = "mean") -> Figure:
        """Learning curves with intervals. statistic: mean or iqm."""
        return figure(self, statistic=statistic, said=f"{self.env}: {self.rates}", colors=self.colors)

    @property
    def colors(self) -> dict[str, str]:
        """The color of the trick in which an arm differs from its reference, if it is a single one of that color."""
        on = {arm.name: {*arm.tricks.on} for arm in self.arms}
        pairs = dict(zip(self.table.arm, self.table.against, strict=True))
        by = {name: own ^ on[pairs[name]] for name, own in on.items() if pairs[name]}
        own_code = {arm.name for arm in self.arms if arm.functions}
        found = {name: style.COLORS[next(iter(own))] for name, own in by.items() if len(own) == 1}
        found = {name: color for name, color in found.items() if not own_code & {name, pairs[name]}}
        return {name: color for name, color in found.items() if [*found.values()].count(color) == 1}

    @property
    def sentences(self) -> list[str]:
        """What can be said of each arm against its reference, a sentence each."""
        areas = {name: [*own.area] for name, own in self.runs.groupby("arm")}
        rows = [row for row in self.table.to_dict("records") if row["against"]]
        return [sentence(row, alike=areas[row["arm"]] == areas[row["against"]]) for row in rows]

    @property
    def replacements(self) -> list[str]:
        """Which of our functions give way in which arm, and to what, a sentence each."""
        return [f"{arm.name}: {replaced_in_words(dict(arm.functions))}." for arm in self.arms if arm.functions]

    @property
    def brief(self) -> str:
        """What the terminal shows: the table, and what it means."""
        effects = [] if self.main_effects is None else [_main(self.main_effects), ""]
        return "\n".join([table_text(self.table), "", *effects, *self.replacements, *self.sentences])

    @cached_property
    def main_effects(self) -> pd.DataFrame | None:
        """Of a design that crosses tricks: a row per trick, in units of return, see `main_effects`."""
        if self.design is None or not self.design.crossed:
            return None
        on = {arm.name: frozenset(arm.tricks.on) & {*self.design.names} for arm in self.arms}
        areas = {on[str(name)]: own.area.to_numpy() for name, own in self.runs.groupby("arm")}
        return effects_of(areas, self.design)


def write_comparison(found: Compared, out: Path, name: str, seconds: float) -> Compared:
    """Write everything into a folder of that name. Returns the comparison with the paths."""
    folder = out / name
    make_folder(folder)
    files = [folder / each for each in ("table.csv", "runs.csv", "curves.csv.gz")]
    for path, frame in zip(files, (found.table, found.runs, found.curves), strict=True):
        text = frame.to_csv(index=False, float_format="%.6g")
        write_whole(path, text if path.suffix == ".csv" else gzip.compress(text.encode(), mtime=0))
    figures = save(found.plot(), folder / "curves", rows_behind(on_grids(found)))
    if found.by_rate is not None:
        title = f"{found.env}: area by learning rate"
        figures += save(by_rate_figure(found.by_rate, title, found.colors), folder / "by_rate", found.by_rate)
    section = _section(found, name, [path for path in figures if path.suffix == ".png"], seconds)
    write_whole(folder / SECTION, section + "\n")
    write_whole(folder / "report.html", as_html(section, out))
    return replace(found, files=[folder / "report.html", folder / SECTION, *files, *figures])


def _section(found: Compared, name: str, pictures: Sequence[Path], seconds: float) -> str:
    about = found.design.name if found.design else ", ".join(arm.name for arm in found.arms)
    parts = [f"## {plain(found.env)}: {plain(about)}"]
    seeds, several = found.runs.groupby("arm").size().max(), {*found.table.against} - {""}
    reference = f" Reference: {plain(several.pop())}." if len(several) == 1 else ""
    parts += [f"{seeds} seeds per arm, {found.config.steps:,} steps per seed; {found.rates}.{reference}"]
    dropped = found.design.dropped if found.design else ()
    parts += [f"Dropped: {plain(arm)} ({plain(reason)})." for arm, reason in dropped]
    parts += [table_text(found.table), *map(plain, [*found.replacements, *found.sentences])]
    parts += [picture(TITLES[path.stem], name, path.name) for path in pictures]
    if found.by_rate is not None and found.by_rate.difference.notna().any():
        parts += ["### Differences at each learning rate", _by_rate(found.by_rate)]
        parts += ["These are of the tuning seeds, and not corrected for the number of rates."]
    if (main := found.main_effects) is not None:
        parts += [
            "### Main effects",
            _main(main),
            "Each is the mean difference over all sets of the other tricks, paired by seed.",
        ]
    versions = ", ".join(f"{key} {value}" for key, value in provenance().items() if value)
    made_by = f"Made by {code(found.command)}. " if found.command else ""
    return "\n\n".join([*parts, HOW, f"{made_by}{seconds:.0f} seconds; {plain(versions)}."])


HOW = """*Area* is a seed's mean return over training, *IQM* the mean of the middle half of the seeds' areas, and \
*last 10%* the mean return of the episodes that ended in the last tenth of the budget, each with its 95% interval over \
seeds (expanded percentile bootstrap). A *difference* is in area, from the reference, with Welch's 95% interval; where \
rates were chosen, it includes the noise of choosing. *p* is corrected by Holm's method for the number of arms; an \
effect *helps* or *hurts* where p < 0.05. It does *practically nothing* where its interval lies within the margin, if \
the arms learned something and are not near the ceiling; otherwise it is *unknown*, or nothing can be told there."""


def table_text(table: pd.DataFrame) -> str:
    """The table of `compared` as Markdown."""
    diverged, rated = bool(table.diverged.any()), bool(table.lr.notna().any())
    several = table.against[table.against != ""].nunique() > 1
    counted = table.seeds.nunique() > 1 or int(table.seeds.min()) < FEWEST
    heads = [
        "arm",
        *["seeds"] * counted,
        *["rate"] * rated,
        *["against"] * several,
        "area",
        "IQM",
        "last 10%",
        "difference",
        "p",
        "verdict",
    ]
    lines = [(*heads, *["diverged"] * diverged)]
    for row in table.to_dict("records"):
        cells = [plain(row["arm"]), *[str(row["seeds"])] * counted, *[f"{row['lr']:g}".replace("nan", "–")] * rated]
        cells += [plain(row["against"]) or "–"] * several
        cells += [_spanned(row, key, f"{key}_low", f"{key}_high") for key in ("area", "iqm", "late")]
        cells += [_spanned(row, "difference", "low", "high", "+"), number(row["p_holm"], 2), row["verdict"] or "–"]
        lines.append((*cells, *[f"{row['diverged']} of {row['seeds']}"] * diverged))
    return markdown(lines)


def _main(frame: pd.DataFrame) -> str:
    rows = frame.to_dict("records")
    cells = [(row["trick"], _spanned(row, "effect", "low", "high", "+"), number(row["p_holm"], 2)) for row in rows]
    return markdown([("trick", "effect", "p"), *cells])


def _by_rate(frame: pd.DataFrame) -> str:
    rates = sorted(set(frame.lr))
    lines: list[tuple[str, ...]] = [("arm", *(f"{lr:g}" for lr in rates))]
    for arm, own in frame[frame.difference.notna()].groupby("arm", sort=False):
        cells = {row["lr"]: _spanned(row, "difference", "low", "high", "+") for row in own.to_dict("records")}
        lines.append((plain(arm), *(cells.get(lr, "–") for lr in rates)))
    return markdown(lines)


def _spanned(row: dict[Any, Any], name: str, low: str, high: str, sign: str = "") -> str:
    """`12.3 [10.1, 14.5]`, without the interval if there is none."""
    known = row[low] == row[low]
    span = f" [{number(row[low], sign=sign)}, {number(row[high], sign=sign)}]" if known else ""
    return f"{number(row[name], sign=sign)}{span}"

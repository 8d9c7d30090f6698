"""`python -m ablations plot`: learning curves of any runs, ours or others', in one figure, and what differs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import tyro

from ablations.analysis.compared import Frames, compared
from ablations.analysis.foreign import Columns, curves_of
from ablations.analysis.reading import read, scored, together
from ablations.analysis.study_files import SUFFIX
from ablations.figures.saving import save
from ablations.figures.tidy import STATISTICS, figure, on_grids
from ablations.report.comparison_page import table_text
from ablations.training.store import prepare
from tricks.errors import InputError
from tricks.runs.files import write_whole


@dataclass(frozen=True)
class Options:
    """What to draw, and how."""

    sources: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Studies, comparisons and runs of ours; monitor files and folders of stable-baselines3; TensorBoard's event files;
    CSVs. `name=path` gives a source's runs a name; otherwise it is that of the path, or ours go by their arms."""
    run: str = ""
    """In a CSV, the column that tells runs apart (default: every column of numbers is a run, as in exports of W&B)."""
    step: str = ""
    """In a CSV, the column of steps (default: step, global_step, ...)."""
    value: str = ""
    """In a CSV, the column to draw (with a column per run: what follows ` - ` in their names); in an event file, the
    scalar (default: the return, by its usual names)."""
    group: str = ""
    """In a CSV, the column that says which runs belong together (default: all of a source do)."""
    arms: str = ""
    """Of ours, draw only these arms, separated by commas: by their flags (`reinforce` has none), or their names."""
    against: str = ""
    """The group that all others are compared to (default: the first)."""
    statistic: str = "mean"
    """mean or iqm."""
    title: str = ""
    out: Path = Path("runs/plot")
    """Where the figure goes, without suffix, and its numbers: runs/plot.png, .svg, .csv, and the table, .md."""


def main(chosen: Options) -> int:
    """Draw the figure, and print the table. Returns the exit status."""
    if chosen.statistic not in STATISTICS:
        raise InputError(f"--statistic must be {' or '.join(STATISTICS)}, not {chosen.statistic!r}")
    if not chosen.sources:
        raise InputError("plot needs at least one source, such as runs/ablations or logs/monitor.csv")
    columns = Columns(chosen.run, chosen.step, chosen.value, chosen.group)
    parts = [frames_of(source, columns) for source in chosen.sources]
    frames = _picked(_apart(together(parts)), chosen.arms)
    names = list(dict.fromkeys(frames.curves.arm))
    if chosen.against and chosen.against not in names:
        raise InputError(f"--against {chosen.against!r} is no group; the groups are {', '.join(names)}")
    grids = on_grids(frames)
    shown = figure(frames, statistic=chosen.statistic, said=chosen.title)
    prepare(chosen.out.parent)
    behind = pd.concat([_long(name, grid) for name, grid in grids.items()])
    files = save(shown, chosen.out, behind)
    table = compared(frames.runs, chosen.against or names[0])
    text = table_text(table)
    write_whole(chosen.out.with_name(f"{chosen.out.name}.md"), text + "\n")
    print(f"{text}\n\nwrote {', '.join(map(str, [*files, chosen.out.with_name(f'{chosen.out.name}.md')]))}")
    return 0


def frames_of(source: str, columns: Columns) -> Frames:
    """The tables of one source. Raises InputError, with its name, if it is nothing that can be read."""
    name, named, place = source.partition("=")
    path = Path(place if named else source)
    if named and Path(source).exists():  # a path with = in it
        named, path = "", Path(source)
    if not path.exists():
        raise InputError(f"there is no {path}")
    ours = path.name.endswith(SUFFIX) or (path.is_dir() and _has_ours(path))
    if ours:
        found = read(path)
        return _renamed(found, name) if named else found
    curves = curves_of(path, columns)
    label = name if named else path.name.removesuffix(".csv")
    curves["arm"] = curves.pop("group") if "group" in curves else label
    if named and curves.arm.nunique() > 1:
        curves["arm"] = f"{label} " + curves.arm
    steps = {seed: int(own.step.max()) for seed, own in curves.groupby("seed")}
    runs = [scored(own, min(steps.values())).assign(arm=own.arm.iloc[0]) for _, own in curves.groupby("seed")]
    return Frames(pd.concat(runs, ignore_index=True).assign(lr=np.nan, study=label), curves.assign(study=label))


def _has_ours(folder: Path) -> bool:
    return any(
        [
            *folder.glob(f"*{SUFFIX}"),
            *folder.glob("run.json"),
            *folder.glob("curves.csv.gz"),
            *folder.glob("*/run.json"),
        ]
        or folder.glob("*/curves.csv.gz")
    )


def _renamed(found: Frames, name: str) -> Frames:
    """A source's arms under a name of its own: that name if there is one arm, else before each arm's."""
    several = found.runs.arm.nunique() > 1
    return Frames(*(each.assign(arm=f"{name} " + each.arm if several else name) for each in found))


def _apart(found: Frames) -> Frames:
    """Arms of the same name in several studies get the study's name, too."""
    places = found.runs.groupby("arm").study.nunique()
    twice = list(places[places > 1].index)
    both = [each.assign(arm=each.arm.where(~each.arm.isin(twice), each.study + ": " + each.arm)) for each in found]
    return Frames(*both)


def _picked(found: Frames, arms: str) -> Frames:
    if not arms:
        return found
    wanted = [name.strip() for name in arms.split(",")]
    names = list(dict.fromkeys(found.runs.arm))
    if missing := [name for name in wanted if name not in names]:
        raise InputError(f"--arms {missing[0]!r} is none of {', '.join(names)}")
    return Frames(*(each[each.arm.isin(wanted)] for each in found))


def _long(name: str, grid: pd.DataFrame) -> pd.DataFrame:
    """A grid as a tidy table."""
    rows = grid.rename_axis("seed").reset_index().melt("seed", var_name="step", value_name="return")
    return rows.assign(arm=name)[["arm", "seed", "step", "return"]]

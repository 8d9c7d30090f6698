"""`python -m ablations plot`: learning curves of any runs, ours or others', in one figure, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

from ablations.analysis.compared import Frames, compared_arms
from ablations.analysis.foreign import Columns, curves_of, refuse_idle
from ablations.analysis.reading import read, seed_scores, stored_in, together
from ablations.figures.saving import save
from ablations.figures.tidy import STATISTICS, figure, on_grids, rows_behind
from ablations.report.comparison_page import table_text
from ablations.training.store import prepare
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError
from tricks.flags import meant
from tricks.runs.files import write_whole

SHOWN = 8  # arms that an error names


@dataclass(frozen=True)
class Options:
    """What to draw, and how."""

    sources: Annotated[tuple[str, ...], POSITIONAL] = ()
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
    env: str = ""
    """Of ours, draw only this environment; needed where they are of several."""
    arms: str = ""
    """Of ours, draw only these arms, separated by commas: by their flags (`reinforce` has none), or their names."""
    against: str = ""
    """The group that all others are compared to (default: the first)."""
    statistic: str = "mean"
    """mean or iqm."""
    title: str = ""
    """The figure's title."""
    out: Path = Path("runs/plot")
    """Where the figure goes, without suffix, and its numbers: runs/plot.png, .svg, .csv, and the table, .md."""


def main(chosen: Options) -> int:
    """Draw the figure, and print the table. Returns the exit status."""
    if chosen.statistic not in STATISTICS:
        raise InputError(f"--statistic must be {' or '.join(STATISTICS)}, not {chosen.statistic!r}")
    if not chosen.sources:
        raise InputError("plot needs at least one source, such as runs/ablations or logs/monitor.csv")
    columns = Columns(chosen.run, chosen.step, chosen.value, chosen.group)
    sources = [_split(source) for source in chosen.sources]
    refuse_idle(columns, [path for _, path in sources if not stored_in(path)])
    wanted = [name.strip() for name in chosen.arms.split(",") if name.strip()]
    ours = {path: read(path) for _, path in sources if stored_in(path)}
    refuse_unknown(wanted, [arm for found in ours.values() for arm in found.runs.arm.unique()])
    parts = [
        _renamed(_picked(ours[path], wanted), name) if path in ours else frames_of(name, path, columns)
        for name, path in sources
    ]
    frames = _apart(_in_one(together([part for part in parts if len(part.runs)]), chosen.env))
    names = list(dict.fromkeys(frames.curves.arm))
    if chosen.against and chosen.against not in names:
        raise InputError(f"--against {chosen.against!r} is no group; the groups are {', '.join(names)}")
    grids = on_grids(frames)
    shown = figure(frames, statistic=chosen.statistic, said=chosen.title)
    prepare(chosen.out.parent)
    files = save(shown, chosen.out, rows_behind(grids))
    table = compared_arms(frames.runs, chosen.against or names[0])
    text = table_text(table)
    write_whole(chosen.out.with_name(f"{chosen.out.name}.md"), text + "\n")
    print(f"{text}\n\nwrote {', '.join(map(str, [*files, chosen.out.with_name(f'{chosen.out.name}.md')]))}")
    return 0


def frames_of(name: str, path: Path, columns: Columns) -> Frames:
    """The tables of others' runs. Raises InputError, with their name, if they are nothing that can be read."""
    curves = curves_of(path, columns)
    label = name or path.name.removesuffix(".csv")
    curves["arm"] = curves.pop("group") if "group" in curves else label
    if name and curves.arm.nunique() > 1:
        curves["arm"] = f"{label} " + curves.arm
    steps = {seed: int(own.step.max()) for seed, own in curves.groupby("seed")}
    runs = [seed_scores(own, min(steps.values())).assign(arm=own.arm.iloc[0]) for _, own in curves.groupby("seed")]
    return Frames(pd.concat(runs, ignore_index=True).assign(lr=np.nan, study=label), curves.assign(study=label))


def _split(source: str) -> tuple[str, Path]:
    """The name that a source was given, if any, and its path. Raises InputError if nothing is there."""
    name, named, place = source.partition("=")
    name, path = (name, Path(place)) if named and not Path(source).exists() else ("", Path(source))
    if not path.exists():
        raise InputError(f"there is no {path}")
    return name, path


def _in_one(found: Frames, env: str) -> Frames:
    """The runs in one environment, and others' runs, which don't say theirs. Raises InputError if there are several."""
    envs = list(found.runs.env.dropna().unique()) if "env" in found.runs else []
    if env and env not in envs:
        raise InputError(f"--env {env!r} is in no source of ours; they have {', '.join(envs) or 'none'}")
    if len(envs) > 1 and not env:
        raise InputError(f"the sources are of several environments; choose one with --env: {', '.join(envs)}")
    if not env:
        return found
    here = [each[each.env.isna() | each.env.eq(env)] for each in (found.runs, _with_env(found))]
    return Frames(*here)


def _with_env(found: Frames) -> pd.DataFrame:
    """The curves, with the environment of each study's arm, which those of a comparison don't have."""
    known = found.runs.drop_duplicates(["study", "arm"])[["study", "arm", "env"]]
    return found.curves.drop(columns="env", errors="ignore").merge(known, on=["study", "arm"], how="left")


def _renamed(found: Frames, name: str) -> Frames:
    """A source's arms under a name of its own: that name if there is one arm, else before each arm's."""
    if not name:
        return found
    several = found.runs.arm.nunique() > 1
    return Frames(*(each.assign(arm=f"{name} " + each.arm if several else name) for each in found))


def _apart(found: Frames) -> Frames:
    """Arms of the same name in several studies get the study's name, too."""
    places = found.runs.groupby("arm").study.nunique()
    twice = list(places[places > 1].index)
    both = [each.assign(arm=each.arm.where(~each.arm.isin(twice), each.study + ": " + each.arm)) for each in found]
    return Frames(*both)


def refuse_unknown(wanted: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError for an arm that none of our sources has. known: the names of those that they have."""
    names = list(dict.fromkeys(known))
    if missing := [name for name in wanted if name not in names]:
        few, more = names[:SHOWN], f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
        has = f"; the arms are {', '.join(few)}{more}" if names else "; no source is of ours"
        raise InputError(f"--arms has {missing[0]!r}, which no source has{meant(missing[0], names) or has}")


def _picked(found: Frames, wanted: Sequence[str]) -> Frames:
    return Frames(*(each[each.arm.isin(wanted)] for each in found)) if wanted else found

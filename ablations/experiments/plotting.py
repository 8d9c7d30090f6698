"""`python -m ablations plot`: learning curves of any runs, ours or others', in one figure, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from html import unescape
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

from ablations.analysis import reading
from ablations.analysis.reading import Columns, Frames, stored_in
from ablations.report.answer import Answer
from ablations.report.multiples import figure, on_grids, rows_behind
from ablations.report.style import save
from ablations.report.tables import arms_text
from ablations.training.store import prepare
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError
from tricks.flags import meant
from tricks.runs.files import write_whole


@dataclass(frozen=True)
class Options:
    sources: Annotated[tuple[str, ...], POSITIONAL] = ()
    """Studies and runs of ours; monitor files, evaluations and folders of stable-baselines3; TensorBoard's event files;
    CSV and Parquet tables; patterns such as 'logs/*_ppo'. `name=path` gives a source's runs a name; otherwise it is
    that of the path, or ours go by their arms."""
    run: str = ""
    """In a table, the column that tells runs apart (default: a column per run, as W&B exports them)."""
    step: str = ""
    """In a table, the column of steps (default: step, global_step, ...)."""
    value: str = ""
    """In a table, the column to draw (with a column per run: what follows ` - ` in their names); in an event file, the
    scalar (default: the return, by its usual names)."""
    group: str = ""
    """In a table, the column that says which runs belong together (default: all of a source do)."""
    env: str = ""
    """Of ours, draw only this environment; needed where they are of several."""
    arms: str = ""
    """Of ours, draw only these arms, separated by commas: by their flags (`reinforce` has none), or their names."""
    against: str = ""
    """The group that all others are compared to (default: the first)."""
    out: Path = Path("runs/plot")
    """Where the figure goes, without suffix, and its numbers: runs/plot.png, .svg, .csv, and the table, .md."""


def main(chosen: Options) -> int:
    if not chosen.sources:
        raise InputError("plot needs at least one source, such as runs/ablations or logs/monitor.csv")
    columns = Columns(chosen.run, chosen.step, chosen.value, chosen.group)
    sources = [each for source in chosen.sources for each in _split(source)]
    reading.refuse_unused_columns(columns, [path for _, paths in sources for path in paths if not stored_in(path)])
    wanted = [name.strip() for name in chosen.arms.split(",") if name.strip()]
    ours = {paths[0]: reading.read(paths[0]) for _, paths in sources if stored_in(paths[0])}
    known = list(dict.fromkeys(arm for found in ours.values() for arm in found.runs.arm))
    if missing := [name for name in wanted if name not in known]:
        has = f"; the arms are {', '.join(known)}" if known else "; no source is of ours"
        raise InputError(f"--arms has {missing[0]!r}, which no source has{meant(missing[0], known) or has}")
    parts = []
    for name, paths in sources:
        part = ours.get(paths[0]) or frames_of(paths, columns)
        if wanted and paths[0] in ours:
            part = Frames(*(table[table.arm.isin(wanted)] for table in part))
        several = part.runs.arm.nunique() > 1
        if name:  # before the name of each arm, or in its place if there is one
            part = Frames(*(table.assign(arm=f"{name} " + table.arm if several else name) for table in part))
        parts += [part] * bool(len(part.runs))
    frames = _in_one(reading.together(parts), chosen.env)
    twice = frames.runs.groupby("arm").study.nunique().loc[lambda places: places > 1].index
    own = (one.arm.where(~one.arm.isin(twice), one.study + ": " + one.arm) for one in frames)  # with the study's name
    frames = Frames(*(one.assign(arm=arms) for one, arms in zip(frames, own, strict=True)))
    names = list(dict.fromkeys(frames.curves.arm))
    if chosen.against and chosen.against not in names:
        raise InputError(f"--against {chosen.against!r} is no group; the groups are {', '.join(names)}")
    grids, table = on_grids(frames), chosen.out.with_name(f"{chosen.out.name}.md")
    prepare(chosen.out.parent)
    files = save(figure(frames), chosen.out, rows_behind(grids), ("png", "svg"))
    study = reading.as_study(frames, chosen.against or names[0], grids)
    text = arms_text(Answer((study,), frames.curves).table)
    write_whole(table, text + "\n")
    print(f"{unescape(text)}\n\nwrote {', '.join(map(str, [*files, table]))}")
    return 0


def frames_of(paths: Sequence[Path], columns: Columns) -> Frames:
    """The tables of others' runs. Raises InputError, with their name, if they are nothing that can be read."""
    curves = reading.curves_of(paths[0], columns, *paths[1:])
    label = paths[0].name.removesuffix(".csv") + f" and {len(paths) - 1} more" * (len(paths) > 1)
    curves["arm"] = curves.pop("group") if "group" in curves else label
    known, each = ["arm", "env"] if "env" in curves else ["arm"], [own for _, own in curves.groupby("seed")]
    last = min(own.step.max() for own in each)
    runs = [reading.seed_scores(own, last).assign(**own[known].iloc[0]) for own in each]
    return Frames(pd.concat(runs, ignore_index=True).assign(lr=np.nan, study=label), curves.assign(study=label))


def _split(source: str) -> list[tuple[str, list[Path]]]:
    """The name that a source was given, if any, and its paths: ours one by one, others' together. Raises InputError."""
    name, named, place = source.partition("=")
    name, path = (name, Path(place)) if named and not Path(source).exists() else ("", Path(source))
    found = [path] if path.exists() else sorted(Path(each) for each in glob(str(path)))
    if not found:
        raise InputError(f"there is no {path}")
    ours, others = [each for each in found if stored_in(each)], [each for each in found if not stored_in(each)]
    return [*((name, [each]) for each in ours), *[(name, others)] * bool(others)]


def _in_one(found: Frames, env: str) -> Frames:
    envs = list(found.runs.env.dropna().unique()) if "env" in found.runs else []
    if env and env not in envs:
        raise InputError(f"--env {env!r} is in no source of ours; they have {', '.join(envs) or 'none'}")
    if len(envs) > 1 and not env:
        raise InputError(f"the sources are of several environments; choose one with --env: {', '.join(envs)}")
    return Frames(*(table[table.env.isna() | table.env.eq(env)] for table in found)) if env else found

"""The report's section on one environment: what each trick does, and each design's table, curves and notes."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ablations.analysis.by_rate import common_rate, effects_by_rate
from ablations.analysis.effects import effects
from ablations.analysis.factors import interactions, main_effects
from ablations.analysis.studies import Study
from ablations.design.arms import Design
from ablations.design.story import by_rank
from ablations.figures import curves
from ablations.figures.forest import forest_figure
from ablations.figures.interactions import interactions_figure
from ablations.figures.rate_map import rate_map_figure
from ablations.report import sentences, tables
from ablations.report.asides import ON_ARMS, ON_EFFECTS
from ablations.report.markup import picture, plain
from tricks.ladder import LADDER
from tricks.runs.files import make_folder, write_whole


def environment_section(study: Study, folder: Path, brief: bool) -> tuple[str, list[Path]]:
    """The section of one environment, and its files."""
    main = by_rank(study.designs)[-1]
    numbers = f", {plain(study.runs.numbers.iloc[0])}" if study.runs.numbers.iloc[0] else ""
    designs = ", ".join(design.name for design in study.designs)
    size = f"{study.seeds} seeds, {study.steps:,} steps per seed"
    parts = [f"## {plain(study.env)}: {designs}\n\n{size}{numbers}."]
    place, paths = folder / study.name, []
    make_folder(place)
    parts += sentences.of(study)
    if found := [frame for design in study.designs if not (frame := effects(study, design)).empty]:
        missing = dict.fromkeys(name for design in study.designs for name in study.missing(design))
        paths = forest_figure(pd.concat(found), study.designs, place / "effects", list(missing))
        parts += ["### What each trick does", image(paths, f"Effects of the tricks on {study.env}", place.name)]
        parts += [tables.effects_text(found), *(remark(pd.concat(found)) for remark in ON_EFFECTS)]
    for design in study.designs:
        text, files = _design(study, design, place, brief, design is main)
        parts.append(text)
        paths = [*paths, *files]
    return "\n\n".join(part for part in parts if part), paths


def _design(study: Study, design: Design, place: Path, brief: bool, is_main: bool) -> tuple[str, list[Path]]:
    """The section of one design: its table and figures, and what was dropped, is missing, or diverged."""
    frame, missing, name = tables.arms_table(study, design), study.missing(design), design.name
    table = tables.arms_text(frame, study)
    paths, parts = [place / f"{name}.csv", place / f"{name}.md"], [f"### {name}: {plain(study.env)}"]
    write_whole(paths[0], frame.to_csv(index=False, float_format="%.6g"))
    write_whole(paths[1], table + "\n")
    if missing:
        parts.append(f"**Incomplete**: some runs are missing for {', '.join(missing)}.")
    figures: dict[str, list[Path]] = {}
    if is_main or not brief:
        figures["Learning curves"] = curves.curves_figure(study, design, place / f"curves_{name}")
        by_rate, common = effects_by_rate(study, design), common_rate(study)
        path = place / f"effects_by_rate_{name}"
        figures["Effects by learning rate"] = rate_map_figure(by_rate, design, common, path)
    if not brief:
        figures["Share of seeds that solved it"] = curves.solved_figure(study, design, place / f"solved_{name}")
        figures["Score by learning rate"] = curves.robustness_figure(study, design, place / f"rates_{name}")
    if design.crossed:
        main, pairs = main_effects(study, design), interactions(study, design)
        path = place / f"interactions_{name}"
        figures["Effects and interactions"] = interactions_figure(main, pairs, study.env, path, missing)
        parts.append(tables.main_text(main))
    for title, files in figures.items():
        if files:
            parts.append(image(files, f"{title}, {study.env}, {name}", place.name))
            paths += files
    parts += [*(remark(study) for remark in ON_ARMS), table, *_notes(study, design)]
    return "\n\n".join(part for part in parts if part), paths


def _notes(study: Study, design: Design) -> list[str]:
    """Notes on a design: what its table leaves out, and what diverged."""
    notes = [f"Dropped: {name} ({reason})." for name, reason in design.dropped]
    if design.crossed == "fraction" and design.dropped:
        notes.append(f"With arms dropped, this {design.name} confounds main effects with pairwise interactions.")
    if design.base:
        notes.append(f"In every arm: {', '.join(design.base)} (what the chosen tricks need).")
    if set(LADDER) - set(design.names) == {"action_mask"}:
        notes.append(f"Left out: action_mask ({plain(study.env)} gives no action mask).")
    for arm in design.arms:
        gone = study.of(arm.tricks).set_index("seed").diverged.dropna()
        if len(gone):
            when = ", ".join(f"seed {seed} at step {step:,.0f}" for seed, step in gone.items())
            notes.append(f"Diverged: {arm.name}: {when}.")
    return notes


def image(files: Sequence[Path], title: str, place: str = ".") -> str:
    """The PNG among the files as a Markdown image. place: its folder, relative to the report."""
    (png,) = (path for path in files if path.suffix == ".png")
    return picture(title, place, png.name)

"""Studies as one document, in Markdown and HTML: each environment, all of them together, and how it was made."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pandas as pd

from ablations.analysis.by_rate import common_rate, effects_by_rate
from ablations.analysis.effects import effects
from ablations.analysis.factors import interactions, main_effects
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import Study
from ablations.design.story import Design
from ablations.figures import curves
from ablations.figures.forest import forest_figure
from ablations.figures.heatmap import heatmap_figure
from ablations.figures.interactions import interactions_figure
from ablations.figures.rate_map import rate_map_figure
from ablations.figures.saving import only_png
from ablations.report import sentences, tables
from ablations.report.games_section import write_games
from ablations.report.markup import as_html, code, picture, plain
from ablations.report.trials_section import write_trials
from tricks.ladder import LADDER
from tricks.runs.files import make_folder, write_whole


def write(studies: Sequence[Study], folder: Path, again: str, brief: bool = False) -> list[Path]:
    """Write report.md and report.html about all studies, and each study's tables and figures into a folder of its name.

    again: the command that reproduces the document. brief: curves only of each study's main design, and figures only
    as PNG. Returns the paths.
    """
    with only_png() if brief else nullcontext():
        return _write(studies, folder, again, brief)


def _write(studies: Sequence[Study], folder: Path, again: str, brief: bool) -> list[Path]:
    parts, paths = ["# Ablation report", _how_to_read()], []
    for study in studies:
        text, files = SECTIONS[study.kind](study, folder, brief)
        parts.append(text)
        paths += files
    for beyond in (False, True):
        alike = tables.distinct([study for study in studies if tables.is_beyond(study) == beyond])
        text, files = _across(alike, folder, beyond)
        parts.append(text)
        paths += files
    left_out = dict.fromkeys(said for study in studies for said in study.about.get("left out", ()))
    parts += [f"Left out: {plain(said)}." for said in left_out]
    parts += [
        f"## How it was made\n\nThis document is the output of {code(again)}.",
        *(_made(study) for study in studies),
    ]
    page = "\n\n".join(part for part in parts if part) + "\n"
    write_whole(folder / "report.md", page)
    write_whole(folder / "report.html", as_html(page, folder))
    return [*paths, folder / "report.md", folder / "report.html"]


def _how_to_read() -> str:
    return """**Scores.** *Area under the curve* is a seed's mean return over training. Until its first episode ends, \
a seed counts with the return of that episode; after it diverges, it does so again. *Interquartile mean* is the mean \
of the seeds' areas without the lowest and the highest quarter. *Last 10%* is the mean return of the episodes that \
ended in the last tenth of the budget. Where half of the seeds are at the ceiling, *failing* is the share of seeds \
that end below the threshold, with Wilson's interval. *Solved* is the share of seeds whose mean return over some tenth \
of the budget reached the threshold, and *steps to solve* is where the first such tenth ended, as the median over seeds.

**Differences** are with minus without, in normalized area (0 is a random policy, 1 the ceiling) if the environment \
has a scale. P(better) is the probability that a seed with the trick beats one without. **\\*** marks differences that \
are detected after Holm's correction over the tricks in a column. All leave-one-out differences share one arm, the \
full set, which therefore has twice as many seeds.

**Intervals** are 95%. For single arms they come from the expanded percentile bootstrap over seeds, for differences \
from Welch's t. They include the noise of choosing the learning rates where the scores of the tuning seeds are known.

**Verdicts.** A trick *helps* or *hurts* if its difference is detected. It does *practically nothing* if the interval \
lies within ±0.05. Otherwise its effect is *unknown*: these seeds cannot tell.

**Learning rates.** Unless its table says otherwise, each arm runs at the best rate of a grid, chosen on seeds that \
are not reported. Whole episodes make larger batches than \
segments do, and so allow fewer updates in the same number of steps."""


def _environment(study: Study, folder: Path, brief: bool) -> tuple[str, list[Path]]:
    """The section of one environment, and its files."""
    main = max(study.designs, key=lambda design: design.rank)
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
        parts += ["### What each trick does", _image(paths, f"Effects of the tricks on {study.env}", place.name)]
        parts.append(tables.effects_text(found))
    for design in study.designs:
        text, files = _design(study, design, place, brief, design is main)
        parts.append(text)
        paths = [*paths, *files]
    return "\n\n".join(parts), paths


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
            parts.append(_image(files, f"{title}, {study.env}, {name}", place.name))
            paths += files
    parts += [tables.published_text([study]), table, *_notes(study, design)]
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


def _worlds(study: Study, folder: Path, brief: bool) -> tuple[str, list[Path]]:
    table, paths = write_trials(study, folder)
    doses = [path for path in paths if "_doses" in path.stem]
    images = [_image([path for path in paths if path not in doses], "Tricks in their worlds, with and without")]
    images += [_image(doses, "The effect of each trick at each dose")] if doses else []
    return "\n\n".join(["## A world for every trick", *images, table]), paths


def _games(study: Study, folder: Path, brief: bool) -> tuple[str, list[Path]]:
    said, paths = write_games(study, folder)
    flags = f"Flags: {plain(study.runs.tricks.iloc[0].replace(' ', ', ')) or 'none'}."
    image = _image(paths, f"{study.about['run']}: the score during training, and of whole games after it")
    likely = ", most likely actions" if study.about["greedy"] else ""
    return f"## {plain(study.env)}: {plain(study.about['run'])}{likely}\n\n{image}\n\n{said} {flags}", paths


def _across(studies: Sequence[Study], folder: Path, beyond: bool) -> tuple[str, list[Path]]:
    """The section on several environments together; empty with only one. studies: one per environment."""
    scaled = [study for study in studies if study.env in SCALES]
    found = [frame for study in scaled for design in study.designs if len(frame := effects(study, design))]
    if len({frame.env.iloc[0] for frame in found}) < 2:
        return "", []
    designs = list({design.name: design for study in scaled for design in study.designs}.values())
    paths = heatmap_figure(pd.concat(found), designs, folder / ("heatmap_beyond" if beyond else "heatmap"))
    said = sentences.beyond(scaled) if beyond else [sentences.across(scaled)]
    image = _image(paths, f"Effect of each trick {'beyond the ladder ' * beyond}in each environment")
    parts = [f"## Across environments{', beyond the ladder' * beyond}", *said, image]
    for name in (design.name for design in designs):
        frame = tables.together(scaled, name)
        if not frame.empty:
            path = folder / f"together_{name}.csv"
            write_whole(path, frame.to_csv(index=False, float_format="%.6g"))
            paths.append(path)
            what = f"Normalized area over {frame.environments.iloc[0]} environments with equal weights."
            parts.append(f"### {name}, all environments\n\n{what}\n\n{tables.together_text(frame)}")
    return "\n\n".join(part for part in parts if part), paths


SECTIONS = {"designs": _environment, "games": _games, "worlds": _worlds}


def _made(study: Study) -> str:
    """The command that trained a study, its seeds, its time, and its versions."""
    about, (first, end) = study.about, study.about["seeds"]
    facts = [f"made by {code(about['command'])}", f"seed{f's {first} to' * (end - first > 1)} {end - 1}"]
    if more := sorted({*study.runs.seed} - {*range(first, end)}):
        facts.append(f"seeds {more[0]} to {more[-1]} as well for arms that many comparisons share")
    time = f"{about['seconds'] / 60:.0f} worker minutes"
    whole = "" if study.kind == "games" else " (whole blocks of seeds)"
    facts.append(f"{about['steps']:,.0f} environment steps{whole} in {time}")
    facts += [plain(f"{name} {', '.join(found)}") for name, found in about["made with"].items() if any(found)]
    return f"**{plain(study.name)}**: {'; '.join(facts)}."


def _image(files: Sequence[Path], title: str, place: str = ".") -> str:
    """The PNG among the files as a Markdown image. place: its folder, relative to the report."""
    (png,) = (path for path in files if path.suffix == ".png")
    return picture(title, place, png.name)

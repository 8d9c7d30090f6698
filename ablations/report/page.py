"""Studies as one document, in Markdown and HTML: each environment, all of them together, and how it was made."""

import os
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.by_rate import common_rate, effects_by_rate
from ablations.analysis.effects import effects
from ablations.analysis.general import in_general
from ablations.analysis.ledger import ledger
from ablations.analysis.records import Study
from ablations.analysis.scales import SCALES
from ablations.question.arms import Design
from ablations.question.story import ON_ARMS, ON_EFFECTS, SECTIONS
from ablations.report import sentences, tables
from ablations.report.cells import forest_figure, heatmap_figure, rate_map_figure
from ablations.report.markup import as_html, code, image, joined, plain
from ablations.report.multiples import curves_figure
from ablations.report.question_page import HOW_TO_READ, SECTION
from ablations.report.sentences import spoken
from ablations.report.style import save_table
from ablations.report.trials_section import write_trials
from ablations.training.rates import own, use
from tricks.errors import InputError
from tricks.ladder import LADDER
from tricks.runs.files import make_folder, write_whole

WHERE = {"ladder": "", "beyond": "beyond the ladder"}
IN_GENERAL = "With minus without, of environments as a sample of all; *p* is corrected for the number of tricks."
MANY = 4  # studies from which on more processes are worth their start
Section = tuple[str, list[Path]]  # its text, and its files


def document(
    studies: Sequence[Study],
    folder: Path,
    paths: Sequence[Path],
    made_by: str,
    listed: bool = False,
) -> int:
    """Write the report and print its tables. Returns the exit status, 1 if runs are missing.

    paths: files that were already written. made_by: the command that reproduces the report.
    listed: print which designs ran where instead of the tables.
    """
    files = [*paths, *write(studies, folder, made_by)]
    designed = [study for study in studies if study.kind == "designs"]
    if listed:
        print(_contents(studies))
    else:
        for study, design in [(each, design) for each in designed for design in each.designs]:
            if (table := folder / study.name / f"{design.name}.md").is_file():
                print(f"\n{design.name} on {study.env}\n\n{table.read_text(encoding='utf-8')}", end="")
        print("".join(f"\n{unescape(said)}\n" for study in designed for said in sentences.of(study)), end="")
    made_from = f", and the {len(files) - 2} files that they are made from" if len(files) > 2 else ""
    print(f"\nwrote {files[-1]}, {files[-2].name}{made_from}")
    return int(not all(study.is_whole for study in studies))


def _contents(studies: Sequence[Study]) -> str:
    """One line for all environments in which the same designs were run."""
    where: dict[str, list[str]] = {}
    for study in studies:
        where.setdefault(", ".join(design.name for design in study.designs) or study.kind, []).append(study.env)
    lines = [f"{what} on {', '.join(dict.fromkeys(envs))}" for what, envs in where.items() if what != "worlds"]
    return "\n".join([*lines, *["a trial for every trick"] * ("worlds" in where)])


def write(studies: Sequence[Study], folder: Path, again: str) -> list[Path]:
    """Write report.md and report.html about all studies, and each study's tables and figures into a folder of its name.

    again: the command that reproduces the document. Returns the paths.
    """
    sections = _sections(studies, folder)
    left_out = dict.fromkeys(said for study in studies for said in study.about.get("left out", ()))
    parts = ["# Ablation report", _ledger(studies), HOW_TO_READ, *(text for text, _ in sections)]
    parts += [f"Left out: {plain(said)}." for said in left_out]
    parts += [f"## How it was made\n\nThis document is the output of {code(again)}.", *map(_made, studies)]
    page = joined(parts) + "\n"
    write_whole(folder / "report.md", page)
    write_whole(folder / "report.html", as_html(page, folder))
    return [*(path for _, files in sections for path in files), folder / "report.md", folder / "report.html"]


def _ledger(studies: Sequence[Study]) -> str:
    """All comparisons of questions of one's own, with one correction over all of them; empty if there are none."""
    table = ledger([study for study in studies if study.kind == "designs" and study.runs.arm.iloc[0]])
    if len(table) < 2:
        return ""
    words = (
        f"{table.question.nunique()} questions with {len(table)} comparisons. *p* is that of a comparison by itself; "
        "*p over all* is corrected by Holm's method for all of this table, and what is detected *stands* if it "
        "is still below 0.05. Differences are an arm minus its reference, in normalized area where there is a scale."
    )
    return joined(["## Every question that was asked", words, tables.in_columns(table, tables.LEDGER)])


def _sections(studies: Sequence[Study], folder: Path) -> list[Section]:
    """A section per study, and one each on all environments together for every subject: the ladder, beyond it, robots.

    Many studies are shared among processes, because figures take a while.
    """
    asked: list[tuple[Callable[..., Section], tuple[Any, ...]]] = []
    asked += [(SECTIONS[study.kind], (study, folder)) for study in studies]
    for subject in sorted({study.subject for study in studies}, key=lambda subject: (subject != "ladder", subject)):
        alike = tables.distinct([study for study in studies if study.subject == subject])
        asked.append((_across, (alike, folder, subject)))
    processes = os.cpu_count() or 1
    if len(studies) < MANY or processes == 1:
        return [make(*given) for make, given in asked]
    from ablations.training.workers import deaf_children, whole_pool  # slow to load, as torch is

    with whole_pool(processes, _start, own) as pool:
        with deaf_children():  # those that look at all studies take longest, so they start first
            found = [pool.submit(make, *given) for make, given in reversed(asked)]
        return [each.result() for each in reversed(found)]


def _start(rates: list[Path]) -> None:
    """Set up a process that makes sections. rates: the user's table of learning rates, if there is one."""
    from ablations.training.workers import start_worker

    start_worker()
    use(rates[0] if rates else None)


def _of_designs(study: Study, folder: Path) -> Section:
    """The section of a study with designs: as its answer tells it, if it is part of one, which the first one holds."""
    told = study.about.get("answer")
    page = folder / Path(told or "").name / SECTION
    if told and page.is_file():
        try:
            return (page.read_text(encoding="utf-8").strip() if told == study.name else ""), []
        except ValueError as error:
            raise InputError(f"{page} is damaged or no page of ours: {error}") from error
    return _environment(study, folder / study.name)


def _environment(study: Study, place: Path) -> Section:
    """The section of one environment, and its files, which go to a folder of its own."""
    numbers = f", {plain(study.runs.numbers.iloc[0])}" if study.runs.numbers.iloc[0] else ""
    parts = [f"## {plain(study.env)}: {', '.join(design.name for design in study.designs)}"]
    parts += [f"{study.seeds} seeds, {study.steps:,} steps per seed{numbers}.", *sentences.of(study)]
    paths: list[Path] = []
    make_folder(place)
    if found := [frame for design in study.designs if not (frame := effects(study, design)).empty]:
        missing = dict.fromkeys(name for design in study.designs for name in study.missing(design))
        paths = forest_figure(pd.concat(found), study.designs, place / "effects", list(missing))
        parts += ["### What each trick does", image(paths, f"Effects of the tricks on {study.env}", place.name)]
        parts += [tables.effects_text(found), *(remark(pd.concat(found)) for remark in ON_EFFECTS)]
    for design in study.designs:
        text, files = _design(study, design, place)
        parts.append(text)
        paths = [*paths, *files]
    return joined(parts), paths


def _design(study: Study, design: Design, place: Path) -> Section:
    """The section of one design: its table and figures, and what was dropped, is missing, or diverged."""
    frame, missing, name = tables.arms_table(study, design), study.missing(design), design.name
    parts, table = [f"### {name}: {plain(study.env)}"], tables.arms_text(frame, study)
    paths = [save_table(frame, place / f"{name}.csv"), place / f"{name}.md"]
    write_whole(paths[1], table + "\n")
    if missing:
        parts.append(f"**Incomplete**: some runs are missing for {', '.join(missing)}.")
    by_rate, path = effects_by_rate(study, design), place / f"effects_by_rate_{name}"
    figures = {
        "Learning curves": curves_figure(study, design, place / f"curves_{name}"),
        "Effects by learning rate": rate_map_figure(by_rate, design, common_rate(study), path),
    }
    parts.append(tables.crossed_text(study, design))
    for title, files in figures.items():
        if files:
            parts.append(image(files, f"{title}, {study.env}, {name}", place.name))
            paths += files
    parts += [*(remark(study) for remark in ON_ARMS), table, *_notes(study, design)]
    return joined(parts), paths


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
        gone = study.of(arm).set_index("seed").diverged.dropna()
        if len(gone):
            when = ", ".join(f"seed {seed} at step {step:,.0f}" for seed, step in gone.items())
            notes.append(f"Diverged: {arm.name}: {when}.")
    return notes


def _worlds(study: Study, folder: Path) -> Section:
    table, paths = write_trials(study, folder)
    doses = [path for path in paths if "_doses" in path.stem]
    images = [image([path for path in paths if path not in doses], "Tricks in their worlds, with and without")]
    images += [image(doses, "The effect of each trick at each dose")] if doses else []
    return joined(["## A trial for every trick", *images, table]), paths


SECTIONS |= {"designs": _of_designs, "worlds": _worlds}


def _across(studies: Sequence[Study], folder: Path, subject: str) -> Section:
    """The section on several environments together; empty with only one. studies: one per environment."""
    scaled = [study for study in studies if study.env in SCALES]
    found = [frame for study in scaled for design in study.designs if len(frame := effects(study, design))]
    if len({frame.env.iloc[0] for frame in found}) < 2:
        return "", []
    designs = {design.name: design for study in scaled for design in study.designs}
    lacking = [(f"{d.name} on {study.env}", study.missing(d)) for study in scaled for d in study.designs]
    missing = [f"{what}: {', '.join(arms)}" for what, arms in lacking if arms]
    where, path = WHERE.get(subject, f"around {subject}"), folder / f"heatmap_{subject}".removesuffix("_ladder")
    paths = heatmap_figure(pd.concat(found), [*designs.values()], path, missing)
    parts = [f"## Across environments{where and f', {where}'}", *sentences.beyond(scaled), sentences.across(scaled)]
    parts += [image(paths, f"Effect of each trick{where and f' {where}'} in each environment")]
    for name in designs:
        if len(frame := in_general(scaled, name)):
            paths.append(save_table(frame, folder / f"in_general_{name}.csv"))
            parts += [f"### {name}, in general", IN_GENERAL, tables.in_columns(frame, tables.GENERAL)]
    return joined(parts), paths


def _made(study: Study) -> str:
    """The command that trained a study, its seeds, its time, and its versions."""
    about, (first, end) = study.about, study.about["seeds"]
    facts = [f"made by {code(about['command'])}", f"seed{f's {first} to' * (end - first > 1)} {end - 1}"]
    if more := sorted({*study.runs.seed} - {*range(first, end)}):
        facts.append(f"seeds {more[0]} to {more[-1]} as well for arms that many comparisons share")
    whole = "" if study.kind == "games" else " (whole blocks of seeds)"
    facts.append(f"{about['steps']:,.0f} environment steps{whole} in {spoken(about['seconds'])} of work")
    facts += [plain(f"{name} {', '.join(found)}") for name, found in about["made with"].items() if any(found)]
    return f"**{plain(study.name)}**: {'; '.join(facts)}."

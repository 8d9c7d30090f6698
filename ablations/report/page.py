"""Pages in Markdown and HTML, of the same sections: what a question found, and all studies of a folder."""

from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd

from ablations.analysis.by_rate import common_rate, effects_by_rate, in_general, sensitivity
from ablations.analysis.effects import effects
from ablations.analysis.ledger import ledger
from ablations.analysis.records import Study
from ablations.analysis.stats import LEVEL
from ablations.question.arms import Design
from ablations.question.story import ON_ARMS, ON_EFFECTS
from ablations.report import sentences, tables
from ablations.report.answer import Answer
from ablations.report.cells import forest_figure, heatmap_figure, rate_map_figure
from ablations.report.markup import as_html, code, image, joined, plain
from ablations.report.multiples import curves_figure, on_grids, rows_behind
from ablations.report.sentences import spoken
from ablations.report.style import save, save_table
from ablations.report.trials_section import trials_text, write_trials
from tricks.errors import InputError
from tricks.ladder import LADDER
from tricks.runs.files import make_folder, write_whole

ANSWER = "answer.md"  # the section on an answer, in its folder
WHERE = {"ladder": "", "beyond": "beyond the ladder"}
Section = tuple[str, list[Path]]  # its text, and its files


def document(studies: Sequence[Study], folder: Path, paths: Sequence[Path], made_by: str, listed: bool = False) -> int:
    """Write the report, and print its tables. The exit status is 1 if runs are missing.

    paths: files that it names beside its own. made_by: the command. listed: print no tables, only where they are.
    """
    files = [*paths, *write(studies, folder, made_by)]
    for study in () if listed else [study for study in studies if study.designs]:
        for design in study.designs:
            if (table := folder / study.name / f"{design.name}.md").is_file():
                print(f"\n{design.name} on {study.env}\n\n{table.read_text(encoding='utf-8')}", end="")
        print("".join(f"\n{unescape(said)}\n" for said in sentences.of(study)), end="")
    made_from = f", and the {len(files) - 2} files that they are made from" * (len(files) > 2)
    print(f"\nwrote {files[-1]}, {files[-2].name}{made_from}")
    return int(not all(study.is_whole for study in studies))


def write(studies: Sequence[Study], folder: Path, again: str) -> list[Path]:
    """Write report.md, report.html and each study's files. again: the command that does the same. Returns the paths."""
    sections = [(_of_designs if study.designs else _worlds)(study, folder) for study in studies]
    for subject in sorted({study.subject for study in studies}, key=lambda each: (each != "ladder", each)):
        alike = tables.distinct([study for study in studies if study.subject == subject])
        sections.append(_across(alike, folder, subject))
    left_out = dict.fromkeys(said for study in studies for said in study.about.get("left out", ()))
    table, parts = ledger([study for study in studies if study.designs and study.own]), ["# Ablation report"]
    if len(table) > 1:  # every comparison of questions of one's own, with one correction over all of them
        counts = f"{table.question.nunique()} questions with {len(table)} comparisons. {EVERY_QUESTION}"
        parts += ["## Every question that was asked", counts, tables.in_columns(table, tables.LEDGER)]
    parts += [HOW_TO_READ, *(text for text, _ in sections)]
    parts += [f"Left out: {plain(said)}." for said in left_out]
    parts += [f"## How it was made\n\nThis document is the output of {code(again)}.", *map(_made, studies)]
    page = joined(parts) + "\n"
    write_whole(folder / "report.md", page)
    write_whole(folder / "report.html", as_html(page, folder))
    return [*(path for _, files in sections for path in files), folder / "report.md", folder / "report.html"]


def write_answer(found: Answer, out: Path) -> None:
    """Write tables, figures and the page into a folder of its name, and put the paths into the answer."""
    folder = out / found.studies[0].name
    text, files = _section(found, folder)
    section = joined([text, *map(_made, found.studies)])
    files += [save_table(found.curves, folder / "curves.csv.gz")] if len(found.curves) else []
    write_whole(folder / ANSWER, section + "\n")
    write_whole(folder / "report.html", as_html(joined([section, HOW_TO_READ]), out))
    found.files[:] = [folder / "report.html", folder / ANSWER, *found.files, *files]


def _of_designs(study: Study, folder: Path) -> Section:
    """The section of a study with designs: its answer's page if it is part of one (only the first study shows it)."""
    told = study.about.get("answer")
    page = folder / Path(told or "").name / ANSWER
    if told and page.is_file():
        try:
            return (page.read_text(encoding="utf-8").strip() if told == study.name else ""), []
        except ValueError as error:
            raise InputError(f"{page} is damaged or no page of ours: {error}") from error
    return _section(Answer((study,)), folder / study.name)


def _section(found: Answer, place: Path) -> Section:
    """What was asked, and what came of it. place: the folder for its files."""
    first, designs = found.studies[0], found.studies[0].designs
    where = ", ".join(study.env for study in found.studies)
    asked = f"Does {found.trick} matter?" if found.trick else f"{where}: {', '.join(each.name for each in designs)}"
    seeds = found.runs.groupby(["env", "arm"]).size().max() if first.own else first.seeds
    facts = [f"{seeds} seeds per arm", f"{first.steps:,} steps per seed"]
    numbers = {text for study in found.studies for text in study.runs.numbers}
    facts += map(plain, numbers) if len(numbers) == 1 else []  # those that are in all arms
    rates = f"; {plain(first.about['rates'])}" if "rates" in first.about else ""
    until = f"; {STOPPED}" if first.level < LEVEL else ""
    parts = [f"## {plain(asked)}", f"{', '.join(filter(None, facts))}{rates}{until}.", *sentences.of(first)]
    make_folder(place)
    paths: list[Path] = []
    frames = [] if first.own else [frame for design in designs if len(frame := effects(first, design))]
    if frames:
        missing = dict.fromkeys(name for design in designs for name in first.missing(design))
        paths += forest_figure(pd.concat(frames), designs, place / "effects", list(missing))
        parts += ["### What each trick does", image(paths, f"Effects of the tricks on {where}", place.name)]
        parts += [tables.effects_text(frames), *(resolve_name(remark)(pd.concat(frames)) for remark in ON_EFFECTS)]
    for design in designs:
        text, files = _design(replace(found, name=design.name), place)
        parts.append(text)
        paths += files
    return joined(parts), paths


def _design(found: Answer, place: Path) -> Section:
    """What one design shows: its tables and figures, what can be said, and what is missing or was dropped."""
    own = found.studies[0].own
    if own:
        frames = {"table": found.table, "effects": found.effects, "in_general": found.general, "moved": found.moved}
        paths = [save_table(frame, place / f"{name}.csv") for name, frame in frames.items() if len(frame)]
    else:
        page = place / f"{found.name}.md"
        write_whole(page, found.tables[0] + "\n")
        paths = [save_table(tables.arms_table(*found.asked[0]), place / f"{found.name}.csv"), page]
    parts = [f"### {found.name}: {plain(found.studies[0].env)}"] * (not own)
    lacking = dict.fromkeys(plain(arm) for study, design in found.asked for arm in study.missing(design))
    parts += [f"**Incomplete**: some runs are missing for {', '.join(lacking)}."] if lacking else []
    parts += [resolve_name(remark)(study) for study in found.studies for remark in ON_ARMS]
    parts += found.tables
    parts += map(plain, [*found.replacements, *found.sentences] if own else [])
    for study, design in found.asked:
        several = f"_{study.env.replace('/', '_')}" * (len(found.studies) > 1)
        end, by_rate, curves = several if own else f"_{design.name}", effects_by_rate(study, design), list[Path]()
        if found.curves.empty:
            curves = curves_figure(study, design, place / f"curves{end}")
        elif (here := found.curves[found.curves.env == study.env])["return"].notna().any():  # an episode ended
            curves = save(found.plot(env=study.env), place / f"curves{end}", rows_behind(on_grids(here)))
        rates = rate_map_figure(by_rate, design, common_rate(study), place / f"effects_by_rate{end}")
        for title, files in (("Learning curves", curves), ("Effects by learning rate", rates)):
            parts += [image(files, f"{title}, {study.env}, {design.name}", place.name)] if files else []
            paths += files
    plane = sensitivity(found.studies if own else (), found.arms)
    if len(plane):
        parts += ["### Peak and sensitivity to the learning rate", tables.in_columns(plane, tables.PLANE), PLANE]
    if len(found.moved):
        names = [arm.name for arm in found.arms]
        parts += ["### The diagnostics that differ", tables.moved_text(found.moved, names), MEANS]
    if len(found.trials):
        parts += ["### In the worlds made for it", MADE_FOR_IT, trials_text(found.trials)]
    return joined([*parts, *(note for asked in found.asked for note in _notes(*asked))]), paths


def _notes(study: Study, design: Design) -> list[str]:
    notes = [f"Dropped: {plain(name)} ({plain(reason)})." for name, reason in design.dropped]
    notes += [f"In every arm: {', '.join(design.base)} (what the chosen tricks need)."] * bool(design.base)
    if set(LADDER) - set(design.names) == {"action_mask"}:
        notes.append(f"Left out: action_mask ({plain(study.env)} gives no action mask).")
    for arm in design.arms:
        gone = study.of(arm).set_index("seed").diverged.dropna()
        when = ", ".join(f"seed {seed} at step {step:,.0f}" for seed, step in gone.items())
        notes += [f"Diverged: {plain(arm.name)}: {when}."] * bool(when)
    return notes


def _worlds(study: Study, folder: Path) -> Section:
    table, paths = write_trials(study, folder)
    pngs = [[path] for path in paths if path.suffix == ".png"]  # the second is of trials in doses, if there are some
    images = map(image, pngs, ("Tricks in their worlds, with and without", "The effect of each trick at each dose"))
    return joined([f"## Trials: {plain(study.name)}", *images, table]), paths


def _across(studies: Sequence[Study], folder: Path, subject: str) -> Section:
    """The section on several environments together; empty with only one. studies: one per environment."""
    scaled = [study for study in studies if study.scale]
    every = [(study, design) for study in scaled for design in study.designs]
    found = [frame for study, design in every if len(frame := effects(study, design))]
    if len({frame.env.iloc[0] for frame in found}) < 2:
        return "", []
    designs = {design.name: design for _, design in every}
    drawn = {name: design for name, design in designs.items() if not design.repeats}  # a cell holds one effect
    lacking = [(f"{d.name} on {study.env}", study.missing(d)) for study, d in every if d.name in drawn]
    missing = [f"{what}: {', '.join(arms)}" for what, arms in lacking if arms]
    where, path = WHERE.get(subject, f"around {subject}"), folder / f"heatmap_{subject}".removesuffix("_ladder")
    cells = [frame for frame in found if frame.design.iloc[0] in drawn]
    paths = heatmap_figure(pd.concat(cells), [*drawn.values()], path, missing) if cells else []
    parts = [f"## Across environments{where and f', {where}'}", *sentences.beyond(scaled), sentences.across(scaled)]
    parts += [image(paths, f"Effect of each trick{where and f' {where}'} in each environment")] if paths else []
    for name in designs:
        if len(frame := in_general(scaled, name)):
            paths.append(save_table(frame, folder / f"in_general_{name}.csv"))
            parts += [f"### {name}, in general", IN_GENERAL, tables.in_columns(frame, tables.GENERAL)]
    return joined(parts), paths


def _made(study: Study) -> str:
    about, (first, end) = study.about, study.about["seeds"]
    facts = [f"made by {code(about['command'])}"] if about["command"] else []
    facts.append(f"seed{f's {first} to' * (end - first > 1)} {end - 1}")
    if more := sorted({*study.runs.seed} - {*range(first, end)}):
        facts.append(f"seeds {more[0]} to {more[-1]} as well for arms that many comparisons share")
    steps, took = f"{about['steps']:,.0f} environment steps (whole blocks of seeds)", spoken(about["seconds"])
    facts.append(f"{steps} in {took} of work")
    facts += [plain(f"{name} {', '.join(found)}") for name, found in about["made with"].items() if any(found)]
    return f"**{plain(study.name)}**: {'; '.join(facts)}."


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
share one arm, the full set, which therefore trains twice as many seeds.

**Intervals** are 95%, and not corrected: of single arms from the expanded percentile bootstrap over seeds, of shares \
Wilson's, and of differences from Welch's t, with the noise of choosing the two learning rates where the scores of the \
tuning seeds are known. Where seeds were added until all was decided, the looks share the 5%, so intervals are wider.

**Verdicts.** A trick *helps* or *hurts* if its difference is detected. It does *practically nothing* if the interval \
lies within ±0.05 (or the margin that was given), unless no arm has learned much (no area above 0.15) or all are near \
the ceiling (no area below 0.9). Nothing can be told where no arm is better than a random policy by that margin. \
Otherwise the effect is *unknown*: these seeds cannot tell.

**Learning rates.** Unless its table says otherwise, each arm runs at the best rate of a grid, chosen on seeds that \
are not reported. Whole episodes make larger batches than segments do, and so allow fewer updates in the same number \
of steps."""
PLANE = """\
In normalized area, over environments, on the tuning seeds. *Peak*: at the best rate in each environment. *One rate*: \
at the rate that is its best over all of them. *Sensitivity*: the loss from using one rate (Adkins et al. 2024). \
Intervals: 95%, bootstrapped over seeds."""
MEANS = """\
Each is the mean over a run's updates; shown are those that differ after Holm's correction, the clearest first."""
MADE_FOR_IT = "Trials of this trick that ship with this package; each says what theory predicts there."
STOPPED = "seeds were added until every comparison was decided, or the limit was reached"
IN_GENERAL = "With minus without, treating the environments as a sample; *p* is corrected for the number of tricks."
EVERY_QUESTION = """\
*p* is for each comparison alone; *p over all* is corrected by Holm's method for all of this table, and what is \
detected *stands* if it is still below 0.05. Differences are an arm minus its reference, in normalized area where \
there is a scale."""

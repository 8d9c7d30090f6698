"""Studies as one document, in Markdown and HTML: each environment, all of them together, and how it was made."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import Study
from ablations.figures.heatmap import heatmap_figure
from ablations.figures.saving import only_png
from ablations.report import sentences, tables
from ablations.report.asides import SECTIONS
from ablations.report.comparison_page import SECTION as COMPARISON
from ablations.report.designs_section import environment_section, image
from ablations.report.judged_page import SECTION as VERDICT
from ablations.report.markup import as_html, code, plain
from ablations.report.trials_section import write_trials
from ablations.training.pools import deaf_children, start_worker, whole_pool
from ablations.training.rate_table import own, use
from tricks.errors import InputError, in_words
from tricks.runs.files import write_whole

PLACES = {"ladder": ("heatmap", ""), "beyond": ("heatmap_beyond", "beyond the ladder")}  # a heat map, and where it is
Section = tuple[str, list[Path]]  # its text, and its files
MANY = 4  # studies from which on more processes are worth their start


def write(
    studies: Sequence[Study], folder: Path, again: str, brief: bool = False, questions: Sequence[str] = ()
) -> list[Path]:
    """Write report.md and report.html about all studies, and each study's tables and figures into a folder of its name.

    again: the command that reproduces the document. brief: curves only of each study's main design, and figures only
    as PNG. questions: more sections, see `questions_in`. Returns the paths.
    """
    with only_png() if brief else nullcontext():
        return _write(studies, folder, again, brief, questions)


def document(
    studies: Sequence[Study],
    folder: Path,
    paths: Sequence[Path],
    made_by: str,
    brief: bool = False,
    questions: Sequence[str] = (),
    listed: bool = False,
) -> int:
    """Write the report and print its tables. Returns the exit status, 1 if runs are missing.

    paths: files that were already written. made_by: the command that reproduces the report. brief: with fewer figures.
    questions: more sections. listed: print which designs ran where instead of the tables.
    """
    files = [*paths, *write(studies, folder, made_by, brief, questions)]
    print(_contents(studies) + "\n" if listed else _tables(studies, folder), end="")
    told = [] if listed else [said for study in studies if study.kind == "designs" for said in sentences.of(study)]
    print("".join(f"\n{unescape(said)}\n" for said in told), end="")
    print(f"\nwrote {files[-1]}, {files[-2].name}, and the {len(files) - 2} files that they are made from")
    return int(any(study.missing(design) for study in studies for design in study.designs))


def _tables(studies: Sequence[Study], folder: Path) -> str:
    """The tables that were written for every design of the studies."""
    written = [(study, design.name) for study in studies for design in study.designs]
    texts = [(folder / study.name / f"{name}.md").read_text(encoding="utf-8") for study, name in written]
    return "".join(f"\n{name} on {study.env}\n\n{text}" for (study, name), text in zip(written, texts, strict=True))


def _contents(studies: Sequence[Study]) -> str:
    """One line for all environments in which the same designs were run."""
    where: dict[str, list[str]] = {}
    for study in studies:
        where.setdefault(", ".join(design.name for design in study.designs) or study.kind, []).append(study.env)
    lines = [f"{what} on {', '.join(dict.fromkeys(envs))}" for what, envs in where.items() if what != "worlds"]
    return "\n".join([*lines, *["a trial for every trick"] * ("worlds" in where)])


def _write(studies: Sequence[Study], folder: Path, again: str, brief: bool, questions: Sequence[str]) -> list[Path]:
    parts, paths = ["# Ablation report", _how_to_read()], []
    for text, files in _sections(studies, folder, brief):
        parts.append(text)
        paths += files
    parts += questions
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


def questions_in(folder: Path) -> list[str]:
    """The sections that `compare` and `judge` have written into their own folders in this one. InputError: damaged."""
    found = [path for name in (COMPARISON, VERDICT) for path in sorted(folder.glob(f"*/{name}"))]
    texts = [text for path in found if (text := _text(path))]
    return [re.sub("^(#+ )", r"#\1", text, flags=re.MULTILINE) if text.startswith("# ") else text for text in texts]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        remedy = "the command that made it can write it again from its finished jobs"
        raise InputError(f"{path} is damaged or no page of ours: {in_words(error)}; {remedy}") from error


def _sections(studies: Sequence[Study], folder: Path, brief: bool) -> list[Section]:
    """A section per study, and one each on all environments together for every subject: the ladder, beyond it, robots.

    Many studies are shared among processes, because figures take a while.
    """
    asked: list[tuple[Callable[..., Section], tuple[Any, ...]]] = []
    asked += [(SECTIONS[study.kind], (study, folder, brief)) for study in studies]
    for subject in sorted({study.subject for study in studies}, key=lambda subject: (subject != "ladder", subject)):
        alike = tables.distinct([study for study in studies if study.subject == subject])
        asked.append((_across, (alike, folder, subject)))
    processes = os.cpu_count() or 1
    if len(studies) < MANY or processes == 1:
        return [_section(make, given, brief) for make, given in asked]
    with whole_pool(processes, _start, own) as pool:
        with deaf_children():  # those that look at all studies take longest, so they start first
            found = [pool.submit(_section, make, given, brief) for make, given in reversed(asked)]
        return [each.result() for each in reversed(found)]


def _start(rates: list[Path]) -> None:
    """Set up a process that makes sections. rates: the user's table of learning rates, if there is one."""
    start_worker()
    use(rates[0] if rates else None)


def _section(make: Callable[..., Section], given: tuple[Any, ...], brief: bool) -> Section:
    """One section and its files."""
    with only_png() if brief else nullcontext():
        return make(*given)


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
full set, which therefore trains twice as many seeds. (In results of older code it does not.)

**Intervals** are 95%. For single arms they come from the expanded percentile bootstrap over seeds, for differences \
from Welch's t. Those of differences in area include the noise of choosing the two learning rates where the scores of \
the tuning seeds are known.

**Verdicts.** A trick *helps* or *hurts* if its difference is detected. It does *practically nothing* if the interval \
lies within ±0.05. Otherwise its effect is *unknown*: these seeds cannot tell. Where no arm has learned much (no area \
above 0.15) or all are near the ceiling (no area below 0.9), a small difference says nothing, so none is called so.

**Learning rates.** Unless its table says otherwise, each arm runs at the best rate of a grid, chosen on seeds that \
are not reported. Whole episodes make larger batches than \
segments do, and so allow fewer updates in the same number of steps."""


def _worlds(study: Study, folder: Path, brief: bool) -> tuple[str, list[Path]]:
    table, paths = write_trials(study, folder)
    doses = [path for path in paths if "_doses" in path.stem]
    images = [image([path for path in paths if path not in doses], "Tricks in their worlds, with and without")]
    images += [image(doses, "The effect of each trick at each dose")] if doses else []
    return "\n\n".join(["## A trial for every trick", *images, table]), paths


def _across(studies: Sequence[Study], folder: Path, subject: str) -> tuple[str, list[Path]]:
    """The section on several environments together; empty with only one. studies: one per environment."""
    scaled = [study for study in studies if study.env in SCALES]
    found = [frame for study in scaled for design in study.designs if len(frame := effects(study, design))]
    if len({frame.env.iloc[0] for frame in found}) < 2:
        return "", []
    designs = list({design.name: design for study in scaled for design in study.designs}.values())
    name, where = PLACES.get(subject, (f"heatmap_{subject}", f"around {subject}"))
    paths = heatmap_figure(pd.concat(found), designs, folder / name)
    said = [*sentences.beyond(scaled), sentences.across(scaled)]
    shown = image(paths, f"Effect of each trick{where and f' {where}'} in each environment")
    parts = [f"## Across environments{where and f', {where}'}", *said, shown]
    for name in (design.name for design in designs):
        frame = tables.together(scaled, name)
        if not frame.empty:
            path = folder / f"together_{name}.csv"
            write_whole(path, frame.to_csv(index=False, float_format="%.6g"))
            paths.append(path)
            what = f"Normalized area over {frame.environments.iloc[0]} environments with equal weights."
            parts.append(f"### {name}, all environments\n\n{what}\n\n{tables.together_text(frame)}")
    return "\n\n".join(part for part in parts if part), paths


SECTIONS |= {"designs": environment_section, "worlds": _worlds}


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

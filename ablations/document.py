"""Studies into one document: a section an environment, one across them, how it was made; Markdown and one HTML page."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ablations import plot, plot_effects, report, words, worlds
from ablations.designs import Design
from ablations.effects import effects
from ablations.factors import interactions, main_effects
from ablations.runs import Study
from ablations.scales import SCALES
from ablations.store import write_whole
from tricks.ladder import NEEDS

CROSSED = ("factorial", "screen")


def write(studies: Sequence[Study], folder: Path, again: str) -> list[Path]:
    """Write every table and figure into the folder, and report.md and report.html that show them; the paths.

    again: the command that writes the same document once more.
    """
    parts, paths = ["# Ablation report", _how_to_read()], []
    found: list[pd.DataFrame] = []
    for study in studies:
        text, files, frames = _worlds(study, folder) if not study.designs else _environment(study, folder)
        parts.append(text)
        paths += files
        found += frames
    text, files = _across(studies, found, folder)
    parts += [text, f"## How it was made\n\nThis document: `{again}`", *(_made(study) for study in studies)]
    page = "\n\n".join(part for part in parts if part) + "\n"
    write_whole(folder / "report.md", page)
    write_whole(folder / "report.html", as_html(page, folder))
    return [*paths, *files, folder / "report.md", folder / "report.html"]


def _how_to_read() -> str:
    return """Area under the curve: a seed's mean return over training. Interquartile mean: of the seeds' areas, \
without the lowest and the highest quarter. Last 10%: mean return of the episodes that ended in the last tenth of the \
budget. Solved: share of seeds whose curve reached the threshold; steps to solve: the median over seeds. Intervals are \
95%: of single arms by the expanded percentile bootstrap over seeds, of differences by Student's t, paired by seed. \
Differences are with minus without, in normalized area where the environment has a scale (0 a random policy, 1 the \
ceiling), with the probability that a seed with the trick beats one without; **\\*** marks those that are detected \
after Holm's correction over the tricks of a column. Each arm runs at the best learning rate of a grid, chosen on \
seeds that are not reported, unless its table says otherwise. Whole episodes make larger batches than segments do, and \
so fewer updates within the same steps."""


def _environment(study: Study, folder: Path) -> tuple[str, list[Path], list[pd.DataFrame]]:
    """The section of one environment, its files, and the effects of its designs."""
    numbers = f", {study.runs.numbers.iloc[0]}" if study.runs.numbers.iloc[0] else ""
    parts = [f"## {study.env}\n\n{study.runs.seed.nunique()} seeds, {study.steps:,} steps a seed{numbers}."]
    paths: list[Path] = []
    found = [frame for design in study.designs if not (frame := effects(study, design)).empty]
    parts += words.of(study)
    if found:
        path = folder / f"effects_{_stem(study)}"
        missing = dict.fromkeys(name for design in study.designs for name in study.missing(design))
        files = plot_effects.forest_figure(pd.concat(found), path, list(missing))
        parts += ["### What each trick does", _image(files, f"Effects of the tricks on {study.env}")]
        parts.append(report.effects_text(found))
        paths += files
    for design in study.designs:
        text, files = _design(study, design, folder)
        parts.append(text)
        paths += files
    return "\n\n".join(parts), paths, found


def _design(study: Study, design: Design, folder: Path) -> tuple[str, list[Path]]:
    """A design's table and figures, what was dropped, what is missing, what diverged."""
    stem, frame = folder / f"{design.name}_{_stem(study)}", report.table(study, design)
    table = report.as_text(frame, study)
    paths, parts = [Path(f"{stem}{suffix}") for suffix in (".csv", ".md")], [f"### {design.name}: {study.env}"]
    frame.to_csv(paths[0], index=False, float_format="%.6g")
    write_whole(paths[1], table + "\n")
    if missing := study.missing(design):
        parts.append(f"**Incomplete**: runs are missing of {', '.join(missing)}.")
    figures = {
        "Learning curves": plot.curves_figure(study, design, stem.with_name(f"curves_{stem.name}")),
        "Share of seeds that solved it": plot.solved_figure(study, design, stem.with_name(f"solved_{stem.name}")),
        "Score by learning rate": plot.robustness_figure(study, design, stem.with_name(f"rates_{stem.name}")),
    }
    if design.name in CROSSED:
        main, pairs = main_effects(study, design), interactions(study, design)
        figures["Effects and interactions"] = plot_effects.interactions_figure(
            main, pairs, study.env, stem.with_name(f"interactions_{stem.name}"), missing
        )
    for title, files in figures.items():
        if files:
            parts.append(_image(files, f"{title}, {study.env}, {design.name}"))
            paths += files
    parts += [report.published_text(study, frame), table]
    parts += [f"Dropped: {name} ({reason})." for name, reason in design.dropped]
    if set(NEEDS) - set(design.names) == {"action_mask"}:
        parts.append(f"Left out: action_mask ({study.env} gives no action mask).")
    for arm in design.arms:
        gone = study.of(arm.tricks).set_index("seed").diverged.dropna()
        if len(gone):
            when = ", ".join(f"seed {seed} at step {step:,.0f}" for seed, step in gone.items())
            parts.append(f"Diverged: {arm.name}: {when}.")
    return "\n\n".join(part for part in parts if part), paths


def _worlds(study: Study, folder: Path) -> tuple[str, list[Path], list[pd.DataFrame]]:
    table, paths = worlds.write(study, folder)
    image = _image(paths, "Each trick in its world, with and without")
    return f"## A world for every trick\n\n{image}\n\n{table}", paths, []


def _across(studies: Sequence[Study], found: list[pd.DataFrame], folder: Path) -> tuple[str, list[Path]]:
    """What can only be said of several environments together; empty with one."""
    scaled = [frame for frame in found if frame.env.iloc[0] in SCALES]
    if len({frame.env.iloc[0] for frame in scaled}) < 2:
        return "", []
    paths = plot_effects.heatmap_figure(pd.concat(scaled), folder / "heatmap")
    parts = [
        "## Across environments",
        words.across([study for study in studies if study.designs]),
        _image(paths, "Effect of each trick in each environment"),
    ]
    for name in dict.fromkeys(design.name for study in studies for design in study.designs):
        frame = report.together(studies, name)
        if not frame.empty:
            path = folder / f"together_{name}.csv"
            frame.to_csv(path, index=False, float_format="%.6g")
            paths.append(path)
            what = f"Normalized area of {frame.environments.iloc[0]} environments, each weighing the same."
            parts.append(f"### {name}, all environments\n\n{what}\n\n{report.together_text(frame)}")
    return "\n\n".join(parts), paths


def _made(study: Study) -> str:
    """Seeds, learning rates, time, versions, and the command that trained a study."""
    about, seeds = study.about, sorted(study.runs.seed.unique())
    facts = [f"trained by `{about['command']}`", f"seeds {seeds[0]} to {seeds[-1]}"]
    facts.append(f"{about['steps']:,.0f} environment steps in {about['seconds'] / 60:.0f} minutes of one worker")
    facts += [f"{name} {', '.join(found)}" for name, found in about["made with"].items() if any(found)]
    return f"**{study.name}**: {'; '.join(facts)}."


def _stem(study: Study) -> str:
    return study.env.replace("/", "_")


def _image(files: Sequence[Path], title: str) -> str:
    (png,) = (path for path in files if path.suffix == ".png")
    return f"![{title}]({png.name})"


def as_html(page: str, folder: Path) -> str:
    """The Markdown as one HTML page that needs no other file: its images are in it."""
    import markdown

    def embedded(match: Any) -> str:
        data = base64.b64encode((folder / match[1]).read_bytes()).decode()
        return f'src="data:image/png;base64,{data}"'

    body = re.sub(r'src="([^":]+\.png)"', embedded, markdown.markdown(page, extensions=["tables"]))
    return f"{HEAD}\n<body>\n{body}\n</body>\n</html>\n"


HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Ablation report</title>
<meta name="viewport" content="width=device-width">
<style>
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: #222; }
img { max-width: 100%; background: white; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; font-variant-numeric: tabular-nums; }
</style>
</head>"""

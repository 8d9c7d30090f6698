"""The report's section on a study of games: the scores in words, and the figure."""

from pathlib import Path

import numpy as np

from ablations.analysis.estimates import Estimate
from ablations.analysis.stats import FEWEST
from ablations.analysis.studies import Study
from ablations.findings.game_curve import games_figure
from ablations.findings.game_scores import mean_score
from ablations.report.designs_section import image
from ablations.report.markup import plain
from ablations.report.sentences import spoken

LONG = 10_000_000  # environment steps of the published Atari scores


def write_games(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """Write the figure and the curve behind it into the folder. Returns the text of the section, and the paths."""
    return games_in_words(study), games_figure(study, folder / study.name)


def section(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """The section on a study of games, and its files."""
    said, paths = write_games(study, folder)
    flags = f"Flags: {plain(study.runs.tricks.iloc[0].replace(' ', ', ')) or 'none'}."
    shown = image(paths, f"{study.about['run']}: the score during training, and of whole games after it")
    likely = ", most likely actions" if study.about["greedy"] else ""
    return f"## {plain(study.env)}: {plain(study.about['run'])}{likely}\n\n{shown}\n\n{said} {flags}", paths


def games_in_words(study: Study) -> str:
    """The scores of the games and the time that training took, in sentences."""
    about, seeds = study.about, sorted(study.runs.seed)
    agents = (
        f"one agent (seed {seeds[0]})" if len(seeds) == 1 else f"{len(seeds)} agents (seeds {seeds[0]} to {seeds[-1]})"
    )
    trained, random = (_spanned(mean_score(study, who)) for who in ("trained", "random"))
    likely = " with the most likely actions" if about["greedy"] else ""
    late = study.runs.late.mean(skipna=False)
    before = f" In the last tenth of training it was {late:.1f}." if np.isfinite(late) else ""
    count, over = len(about["games"]["trained"][0]), "agents" if len(seeds) >= FEWEST else "games"
    return (
        f"On {plain(study.env)}, {agents} after {study.steps:,} steps: "
        f"mean score {trained}{likely}, against {random} with "
        f"random actions ({count} whole games each; 95% intervals over {over}).{before}{_clock(study)}"
    )


def _clock(study: Study) -> str:
    """How long training took, if the run says so, and how long published Atari scores would take at that rate."""
    about = study.about
    if not about["seconds"] > 0:
        return ""
    rate = about["steps"] / about["seconds"]
    said = f" Training took {spoken(about['seconds'])}, {rate:,.0f} steps a second"
    if study.env.startswith("ALE/"):
        said += f"; at that rate {LONG // 10**6} million would take {spoken(LONG / rate)}"
    return f"{said}."


def _spanned(found: Estimate) -> str:
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"

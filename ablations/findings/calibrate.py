"""`python -m ablations calibrate`: how often intervals and verdicts would be wrong, simulated from stored runs."""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.study_files import RESULTS, SUFFIX, load_all
from ablations.findings.calibration import calibration
from ablations.report.tables import markdown
from ablations.training.store import prepare
from tricks.errors import InputError
from tricks.runs.files import write_whole

FEWEST_RUNS = 30  # of an arm, to stand for all that it could have had


@dataclass(frozen=True)
class Options:
    """Which runs stand for all runs, and how often they are drawn."""

    draws: int = 500
    """Simulated experiments for each number."""
    results: Path = RESULTS
    """Folder with run files. Only whole studies of the ladder with at least 30 seeds count."""
    out: Path = Path("runs/ablations")
    """Folder for calibration.csv and calibration.md."""


def main(chosen: Options) -> int:
    """Simulate, then print and save the table. Returns the exit status."""
    if chosen.draws < 1:
        raise InputError(f"--draws must be at least 1, not {chosen.draws}")
    kept = [study for study in load_all(chosen.results) if study.kind == "designs" and study.subject == "ladder"]
    kept = [study for study in kept if study.seeds >= FEWEST_RUNS and study.is_whole]
    if not kept:
        raise InputError(f"no run files (*{SUFFIX}) with {FEWEST_RUNS} seeds of every arm in {chosen.results}")
    prepare(chosen.out)
    frame = pd.concat([calibration(study, chosen.draws) for study in kept], ignore_index=True)
    write_whole(chosen.out / "calibration.csv", frame.to_csv(index=False, float_format="%.4g"))
    text = in_words(frame)
    write_whole(chosen.out / "calibration.md", text + "\n")
    print(f"{text}\n\nwrote {chosen.out / 'calibration.csv'}, {chosen.out / 'calibration.md'}")
    return 0


def in_words(frame: pd.DataFrame) -> str:
    """The table as Markdown: one row per question and number of seeds, one column per environment."""
    envs = list(dict.fromkeys(frame.env))
    cells = {(row["what"], row["seeds"], row["env"]): row for row in frame.to_dict("records")}
    lines = [("", "seeds", *envs)]
    for what in dict.fromkeys(frame.what):
        for seeds in sorted(set(frame.seeds[frame.what == what])):
            shown = (cells.get((what, seeds, env)) for env in envs)
            lines.append((what, str(seeds), *("" if row is None else _cell(row) for row in shown)))
    return markdown(lines)


def _cell(row: dict[Hashable, Any]) -> str:
    if row["what"].startswith("coverage"):
        return f"{row['mean']:.2f} (worst {row['worst']:.2f})"
    return f"{row['mean']:.3f}"

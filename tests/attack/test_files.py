"""A damaged or hostile file is refused and named, or read as exactly what it was."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.attack.damages import damage
from support.attack.files import attack, checkpoint_content, job_content, rates_content, run_content, study_content
from support.jobs import JOB
from support.studies import study

from ablations.analysis.study_files import SUFFIX, save
from ablations.design.designs import ladder
from ablations.training import rate_table
from ablations.training.jobs import compute
from ablations.training.store import Store

Content = Callable[[Path], object]
Targets = dict[str, tuple[Path, Content, list[str]]]
KINDS = ("run", "checkpoint", "job", "study", "learning rates")


@pytest.fixture(scope="session")
def targets(saved: Path, cut: Path, tmp_path_factory: pytest.TempPathFactory) -> Targets:
    """Of each kind of file: its folder, how it is read, and the files that may be damaged."""
    jobs, studies, table = (tmp_path_factory.mktemp(name) for name in ("jobs", "studies", "table"))
    Store(jobs).put(JOB, compute(JOB).text)
    save(study(ladder(["baseline"]), lambda on: 0), studies)
    shutil.copy(rate_table.TABLE, table)
    return {
        "run": (saved, run_content, sorted(path.name for path in saved.iterdir())),
        "checkpoint": (cut, checkpoint_content, [path.name for path in cut.iterdir() if path.suffix == ".pt"]),
        "job": (jobs, job_content, [f"{JOB.key}.csv"]),
        "study": (studies, study_content, [f"made_CartPole-v1{SUFFIX}"]),
        "learning rates": (table, rates_content, [rate_table.TABLE.name]),
    }


def test_the_files_are_what_is_read(targets: Targets) -> None:
    assert [len(files) for _, _, files in targets.values()] == [4, 1, 1, 1, 1]
    assert all(content(folder) is not None for folder, content, _ in targets.values())


@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, count: int, targets: Targets, survives: Callable[..., None]) -> None:
    folder, content, files = targets[kind]
    case = partial(attack, folder=folder, read=content, original=content(folder))
    survives(f"{kind}: damaged files", damage(files), case, count)

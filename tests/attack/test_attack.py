"""Whatever is asked, given, damaged, or killed: it works, or one line says why. A few cases; slow tests try many."""

import contextlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="memory and time can't be bounded")
from support.attack import command_lines, environments, python_calls
from support.attack import files as harm
from support.attack.kills import COMMANDS, OUT, attack, content, kills
from support.attack.law import survives
from support.studies import FILE, JOB, result, study
from support.training import interrupted

from ablations.analysis.records import SUFFIX, save
from ablations.cli import main as ablations
from ablations.question.designs import ladder
from ablations.training import rates as rate_table
from ablations.training.store import Store
from tricks import PPO, Config, load, train
from tricks.cli.main import main as tricks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory can't be bounded")
TINY = Config(seeds=2, steps=64, lanes=2, horizon=8, hidden=(4,))


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attack") / "saved"
    train(TINY, PPO).save(folder)
    return folder


@pytest.fixture(scope="session")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attack") / "cut"
    with pytest.MonkeyPatch.context() as patch:
        interrupted(folder, replace(TINY, steps=900, horizon=50), PPO, 2, patch)
    return folder


def tried(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


@tried(50, 600)
def test_command_lines(count: int, saved: Path, cut: Path) -> None:
    survives(command_lines.TRICKS, partial(command_lines.attack, main=tricks, saved=saved, cut=cut), count)


@tried(16, 200)
def test_command_lines_of_the_ablations(count: int, saved: Path, cut: Path) -> None:
    survives(command_lines.ABLATIONS, partial(command_lines.attack, main=ablations, saved=saved, cut=cut), count)


@tried(150, 500)
def test_calls_from_python(count: int, saved: Path) -> None:
    survives(python_calls.CASES, partial(python_calls.attack, run=load(saved)), count)


@tried(60, 200)
def test_environments_that_misbehave(count: int) -> None:
    survives(environments.FAULTY, environments.attack, count)


Targets = dict[str, tuple[Path, Callable[[Path], object], list[str]]]


@pytest.fixture(scope="session")
def targets(saved: Path, cut: Path, tmp_path_factory: pytest.TempPathFactory) -> Targets:
    """Of each kind of file: its folder, how it is read, and the files that may be damaged."""
    jobs, studies, table = (tmp_path_factory.mktemp(name) for name in ("jobs", "studies", "table"))
    Store(jobs).put(JOB, result(JOB))
    save(study(ladder(["baseline"]), lambda on: 0), studies)
    shutil.copy(rate_table.TABLE, table)
    return {
        "run": (saved, harm.run_content, sorted(path.name for path in saved.iterdir())),
        "checkpoint": (cut, harm.checkpoint_content, [path.name for path in cut.iterdir() if path.suffix == ".pt"]),
        "job": (jobs, harm.job_content, [FILE]),
        "study": (studies, harm.study_content, [f"made_CartPole-v1{SUFFIX}"]),
        "learning rates": (table, harm.rates_content, [rate_table.TABLE.name]),
    }


@tried(30, 100)
@pytest.mark.parametrize("kind", ["run", "checkpoint", "job", "study", "learning rates"])
def test_damaged_files(kind: str, count: int, targets: Targets) -> None:
    folder, content, files = targets[kind]
    case = partial(harm.attack, folder=folder, read=content, original=content(folder))
    survives(harm.damage(files), case, count)


def undisturbed(command: str, folder: Path) -> dict[str, object]:
    """What a command leaves if nothing happens to it."""
    module, arguments = COMMANDS[command]
    folder.mkdir()
    with contextlib.chdir(folder):
        assert (tricks if module == "tricks" else ablations)([*arguments]) == 0
        return content(Path(OUT))


SOME, ALL = (("checkpoints",), 2.0, 1), (tuple(COMMANDS), 0.0, 50)


@pytest.mark.parametrize(("commands", "earliest", "count"), [SOME, pytest.param(*ALL, marks=pytest.mark.slow)])
def test_kills(commands: tuple[str, ...], earliest: float, count: int, tmp_path: Path) -> None:
    expected = {command: undisturbed(command, tmp_path / command) for command in commands}
    survives(kills(*commands, earliest=earliest), partial(attack, undisturbed=expected), count)

"""Whatever is asked, given, damaged, or killed: it works, or one line says why. A few cases; slow tests try many."""

import contextlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis.strategies import SearchStrategy

pytest.importorskip("resource", reason="memory and time can't be bounded")
from support.attack import command_lines, environments, python_calls
from support.attack import files as harm
from support.attack.kills import COMMANDS, OUT, attack, content, kills
from support.attack.law import T, attacked
from support.attack.law import run as said
from support.jobs import JOB
from support.studies import study
from support.training import interrupted

from ablations.analysis.study_files import SUFFIX, save
from ablations.cli import main as ablations
from ablations.design.designs import ladder
from ablations.training import rate_table
from ablations.training.jobs import compute
from ablations.training.store import Store
from tricks import PPO, Config, InputError, load, train
from tricks.cli.main import main
from tricks.cli.main import main as tricks
from tricks.restore import resume

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
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        interrupted(folder, replace(TINY, steps=900, horizon=50), PPO, 2, patch)
    return folder


@pytest.fixture
def survives() -> Callable[..., None]:
    """Tries so many cases of an attack, prints the table, and fails if any of them broke the law."""

    def check(kind: str, cases: SearchStrategy[T], attack: Callable[[T], str], count: int) -> None:
        tally = attacked(kind, cases, attack, count)
        print(tally.text)
        assert not tally.failed, tally.text

    return check


Survives = Callable[..., None]


def tried(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


@tried(50, 600)
def test_command_lines(count: int, saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m tricks", command_lines.TRICKS, partial(command_lines.attack, saved=saved, cut=cut), count)


@tried(16, 200)
def test_command_lines_of_the_ablations(count: int, saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m ablations", command_lines.ABLATIONS, partial(command_lines.attack, saved=saved, cut=cut), count)


@tried(150, 500)
def test_calls_from_python(count: int, saved: Path, survives: Survives) -> None:
    survives("calls from Python", python_calls.calls(), partial(python_calls.attack, run=load(saved)), count)


@tried(60, 200)
def test_environments_that_misbehave(count: int, survives: Survives) -> None:
    survives("environments", environments.FAULTY, environments.attack, count)


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
        "run": (saved, harm.run_content, sorted(path.name for path in saved.iterdir())),
        "checkpoint": (cut, harm.checkpoint_content, [path.name for path in cut.iterdir() if path.suffix == ".pt"]),
        "job": (jobs, harm.job_content, [f"{JOB.key}.csv"]),
        "study": (studies, harm.study_content, [f"made_CartPole-v1{SUFFIX}"]),
        "learning rates": (table, harm.rates_content, [rate_table.TABLE.name]),
    }


def test_the_files_are_what_is_read(targets: Targets) -> None:
    assert [len(files) for _, _, files in targets.values()] == [4, 1, 1, 1, 1]
    assert all(content(folder) is not None for folder, content, _ in targets.values())


@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, count: int, targets: Targets, survives: Callable[..., None]) -> None:
    folder, content, files = targets[kind]
    case = partial(harm.attack, folder=folder, read=content, original=content(folder))
    survives(f"{kind}: damaged files", harm.damage(files), case, count)


REGISTERS = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
gymnasium.register("Stolen-v0", CartPoleEnv, max_episode_steps=20)
"""
SMALL = Config(env="stolen:Stolen-v0", seeds=1, steps=64, lanes=2, horizon=8, hidden=(4,))


def _resumed(folder: Path) -> None:
    with pytest.raises(InputError, match="stolen"):
        resume(folder)


OPENED: dict[str, Callable[[Path], object]] = {
    "load": load,
    "play": lambda folder: said(main, ["play", str(folder), "--episodes", "1"]),
    "games": lambda folder: said(ablations, ["games", str(folder), "--games", "5", "--out", str(folder / "x")]),
    "resume": _resumed,
    "--resume": lambda folder: said(main, ["train", "--resume", str(folder)]),
}


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("how", OPENED)
def test_opening_a_run_imports_nothing_it_names(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stolen.py").write_text(harm.MODULE + REGISTERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    if "resume" in how:
        interrupted(tmp_path, replace(SMALL, steps=900), PPO, 2, monkeypatch)
    else:
        train(SMALL, PPO).save(tmp_path)
    assert harm.ran()  # the training itself may import it
    OPENED[how](tmp_path)
    assert not harm.ran()


MAIN = {"tricks": tricks, "ablations": ablations}


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, object]]:
    """What a command leaves if nothing happens to it."""
    known: dict[str, dict[str, object]] = {}

    def left(command: str) -> dict[str, object]:
        if command not in known:
            module, arguments = COMMANDS[command]
            with contextlib.chdir(tmp_path_factory.mktemp(command)):
                assert MAIN[module]([*arguments]) == 0
                known[command] = content(Path(OUT))
        return known[command]

    return left


@pytest.mark.parametrize(
    ("commands", "earliest", "count"),
    [(("checkpoints",), 2.0, 1), pytest.param(tuple(COMMANDS), 0.0, 50, marks=pytest.mark.slow)],
)
def test_kills(
    commands: tuple[str, ...],
    earliest: float,
    count: int,
    undisturbed: Callable[[str], dict[str, object]],
    survives: Callable[..., None],
) -> None:
    expected = {command: undisturbed(command) for command in commands}
    survives("kills", kills(*commands, earliest=earliest), partial(attack, undisturbed=expected), count)

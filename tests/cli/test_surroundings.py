"""What surrounds a command: the terminal's encoding, where output leads, the disk, a backend for figures, names."""

import ast
import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commands import ROOT, TINY, begin, ended
from support.studies import study

from ablations.analysis.study_files import save
from ablations.cli import main as ablations
from ablations.design.designs import ladder
from ablations.training import pools
from ablations.training.store import LONGEST, name_of
from tricks import PPO, REINFORCE, Config, export, train
from tricks.cli.main import main
from tricks.cli.start import start as start_command
from tricks.cli.streams import Output
from tricks.fast import allocator

FULL = Path("/dev/full")
SAVED = ["agent.pt", "curve.csv", "curve.png", "last.pt", "run.json"]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
unix = pytest.mark.skipif(sys.platform == "win32", reason="limits as Unix has them")


def test_commands_and_their_workers_tell_the_allocator_to_keep_memory_and_train_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train(Config(seeds=1, steps=1, lanes=1, horizon=8), REINFORCE)  # loads what is compiled, through ctypes
    told = list[str]()
    libc = SimpleNamespace(mallopt=lambda option, size: told.append(option))
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr("ctypes.CDLL", lambda name: libc)
    monkeypatch.setattr(sys, "argv", ["tricks", "list"])
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # a worker closes it, and ignores Ctrl-C
    monkeypatch.setattr(pools, "signal", SimpleNamespace(signal=lambda *_: None, SIGINT=2, SIG_IGN=1))
    monkeypatch.setattr(pools, "follow_parent", lambda: None)
    for start in (lambda: start_command("tricks.cli.main"), pools.start_worker):
        allocator.keep_memory.cache_clear()
        train(Config(seeds=1, steps=1, lanes=1, horizon=8), REINFORCE)
        assert told == []
        start()
        assert told == [allocator.MMAP_THRESHOLD, allocator.TRIM_THRESHOLD]
        told.clear()


def test_what_a_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    status, out, err = ended(begin("tricks", ["list"], tmp_path, PYTHONIOENCODING="ascii"))
    assert (status, err) == (0, "")
    assert "\\u03bb" in out  # λ
    assert out.isascii()


def test_an_exported_file_is_the_same_program_in_ascii(tmp_path: Path) -> None:
    text = export(PPO)
    status, plain, _ = ended(begin("tricks", ["export", "ppo"], tmp_path, PYTHONIOENCODING="ascii"))
    assert status == 0
    assert "λ" in text
    assert ast.dump(ast.parse(plain)) == ast.dump(ast.parse(text))


def test_every_text_file_is_utf_8_in_any_locale() -> None:
    bare = []
    for path in [*(ROOT / "tricks").rglob("*.py"), *(ROOT / "ablations").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            mode = [x.value for x in call.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
            opens = name == "open" and ast.unparse(call.func) != "os.open" and not any("b" in x for x in mode)
            if (opens or name in ("read_text", "write_text")) and "encoding" not in {k.arg for k in call.keywords}:
                bare.append(f"{path.name}: {ast.unparse(call)}")
    assert not bare


@needs_full
def test_output_that_is_lost_costs_no_training_but_is_reported(tmp_path: Path) -> None:
    with FULL.open("w", encoding="utf-8") as full:
        status, _, err = ended(begin("tricks", ["train", *TINY, "--out", "x"], tmp_path, stdout=full))
    assert (status, err) == (2, "error: cannot write the output: No space left on device\n")
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == SAVED


def test_a_reader_that_leaves_and_a_backend_left_over_from_elsewhere_cost_no_training(tmp_path: Path) -> None:
    process = begin("tricks", ["train", *TINY, "--out", "x"], tmp_path, MPLBACKEND="nonsense")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert ended(process)[::2] == (0, "")
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == SAVED


@unix
def test_closed_streams_get_into_no_file(tmp_path: Path) -> None:
    shell = f"exec {sys.executable} -m tricks train {' '.join(TINY)} --out x <&- >&- 2>&-"
    closed = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
    assert closed.returncode == 0
    lines = (tmp_path / "x" / "curve.csv").read_text(encoding="utf-8").splitlines()
    assert {line.count(",") for line in lines} == {lines[0].count(",")}


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond this, as on a disk that is nearly full.

    No bytecode is written meanwhile: Python would save a module that is first imported here cut off at this size, and
    the next process to import it would fail.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
        sys.dont_write_bytecode = writes_none


@unix
@pytest.mark.parametrize("size", [0, 4000, 20_000])
def test_a_disk_that_fills_up_during_a_report_is_one_line_and_no_half_file(
    size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(study(ladder(["baseline"]), lambda on: 0), tmp_path)
    capsys.readouterr()
    with largest_file(size):
        assert ablations(["report", "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: cannot write {tmp_path}")
    assert err.endswith(": File too large\n")
    assert err.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size == size]
    assert not [*tmp_path.rglob(".*")]


@unix
def test_a_disk_that_fills_up_in_a_film_is_one_line_and_no_half_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *TINY, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    with largest_file(500):
        assert main(["play", str(tmp_path), "--episodes", "1"]) == 2
    assert capsys.readouterr().err == f"error: cannot write {tmp_path / 'play.gif'}: File too large\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == SAVED


def test_a_name_that_is_too_long_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tmp_path / ("x" * 300))
    for command, arguments in (
        (main, ["train", *TINY, "--out", name]),
        (main, ["train", *TINY, "--env", "x" * 300]),
        (main, ["train", "--resume", name]),
        (main, ["play", name]),
        (ablations, ["report", "--out", name]),
        (ablations, ["games", name]),
        (ablations, ["--out", name]),
    ):
        assert command(list(arguments)) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: ")
        assert err.count("\n") == 1


def test_the_name_of_a_study_always_fits_a_file() -> None:
    assert name_of("ladder", "", "CartPole-v1", first=10) == "ladder_CartPole-v1_from10"
    one, other = (name_of("γ" * 200, end, first=10) for end in ("a", "b"))
    assert one != other
    assert one.endswith("_from10")
    assert len(one.encode()) <= LONGEST + len("_from10")
    assert name_of("γ" * 200, "a", first=0) + "_from10" == one  # by which the two are joined


def test_no_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from tricks.cli.shell import guarded

    def greedy(_: list[str]) -> int:
        raise MemoryError("Unable to allocate\n8 TiB")

    assert guarded(greedy, []) == 2
    assert capsys.readouterr().err == "error: not enough memory (Unable to allocate 8 TiB)\n"


@needs_full
def test_an_output_notes_its_first_failure_and_drops_the_rest() -> None:
    with FULL.open("wb", buffering=0) as full:
        output = Output(full, encoding="ascii", errors="backslashreplace", write_through=True)
        assert output.write("γ") == 1
        assert output.failure is not None
        assert output.failure.strerror == "No space left on device"
        output.write("more")
        output.flush()
        output.detach()

"""What surrounds a command: the terminal, where output leads, the disk, names, and modules in the current folder."""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from support.commands import ROOT, TINY, begin, ended, largest_file
from support.fixtures import Capture, Refuses, Told
from support.studies import study

from ablations.analysis.records import save
from ablations.cli import main as ablations
from ablations.question.designs import ladder
from tricks import PPO, export
from tricks.cli.main import main
from tricks.cli.shell import guarded
from tricks.cli.start import safe_streams

FULL = Path("/dev/full")
SAVED = ["agent.pt", "curve.csv", "curve.png", "last.pt", "run.json"]
unix = pytest.mark.skipif(sys.platform == "win32", reason="limits as Unix has them")


def test_what_a_terminal_cannot_show_is_escaped_and_an_exported_file_is_the_same_program() -> None:
    terminal, text = io.TextIOWrapper(io.BytesIO(), encoding="ascii"), export(PPO)
    with contextlib.redirect_stdout(terminal):
        safe_streams()
        assert main(["export", "ppo"]) == 0
        terminal.seek(0)
        plain = terminal.read()
    assert "λ" in text
    assert "\\u03bb" in plain
    assert ast.dump(ast.parse(plain)) == ast.dump(ast.parse(text))


def test_every_text_file_is_utf_8_in_any_locale() -> None:
    bare = []
    for path in [*(ROOT / "tricks").rglob("*.py"), *(ROOT / "ablations").rglob("*.py")]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            mode = "".join(x.value for x in call.args if isinstance(x, ast.Constant) and isinstance(x.value, str))
            opens = name == "open" and ast.unparse(call.func) not in ("os.open", "Image.open") and "b" not in mode
            if (opens or name in ("read_text", "write_text")) and "encoding" not in {k.arg for k in call.keywords}:
                bare.append(f"{path.name}: {ast.unparse(call)}")
    assert not bare


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_output_that_is_lost_costs_no_training_but_is_reported() -> None:
    with FULL.open("w", encoding="utf-8") as full:
        status, _, err = ended(begin("tricks", ["train", *TINY, "--out", "x"], Path(), stdout=full))
    assert status == 2 and err.endswith("No space left on device\n")
    assert sorted(path.name for path in Path("x").iterdir()) == SAVED


def test_a_reader_that_leaves_and_a_backend_left_over_from_elsewhere_cost_no_training() -> None:
    process = begin("tricks", ["train", *TINY, "--out", "x"], Path(), MPLBACKEND="nonsense")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert ended(process)[::2] == (0, "")
    assert sorted(path.name for path in Path("x").iterdir()) == SAVED


@unix
def test_closed_streams_get_into_no_file() -> None:
    shell = f"exec {sys.executable} -m tricks train {' '.join(TINY)} --out x <&- >&- 2>&-"
    closed = subprocess.run(["sh", "-c", shell], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
    assert closed.returncode == 0
    lines = Path("x/curve.csv").read_text(encoding="utf-8").splitlines()
    assert {line.count(",") for line in lines} == {lines[0].count(",")}


@unix
@pytest.mark.parametrize("size", [0, 4000, 20_000])
def test_a_disk_that_fills_up_during_a_report_is_one_line_and_no_half_file(size: int, capsys: Capture) -> None:
    Path("x").mkdir()
    save(study(ladder(["baseline"]), lambda on: 0), Path("x"))
    capsys.readouterr()
    with largest_file(size):
        assert ablations(["report", "--out", "x"]) == 2
    assert re.fullmatch(r"error: cannot write x.*: File too large\n", capsys.readouterr().err)
    assert not [path for path in Path("x").rglob("*") if path.is_file() and path.stat().st_size == size]
    assert not [*Path("x").rglob(".*")]


@unix
def test_a_disk_that_fills_up_in_a_film_is_one_line_and_no_half_file(told: Told) -> None:
    told(f"train {' '.join(TINY)} --out x")
    with largest_file(500):
        assert told("play x --episodes 1", 2) == "error: cannot write x/play.gif: File too large\n"
    assert sorted(path.name for path in Path("x").iterdir()) == SAVED


def test_no_memory_is_one_line(refuses: Refuses) -> None:
    def greedy(_: list[str]) -> int:
        raise MemoryError("Unable to allocate\n8 TiB")

    refuses(partial(guarded, greedy), [], "error: not enough memory (Unable to allocate 8 TiB)\n")


ROOMS = """
import gymnasium as gym
from furniture import LIMIT
from support.probes import Endless
def make():
    return gym.wrappers.TimeLimit(Endless(), LIMIT)
"""


def test_a_module_of_the_current_folder_is_found_after_all_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "rooms.py").write_text(ROOMS)
    (tmp_path / "furniture.py").write_text("LIMIT = 5")
    for name in ("torch", "random", "numpy", "envpool", "tricks"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    script = tmp_path / "bin" / "tricks"
    script.parent.mkdir()
    script.write_text("import sys\nfrom tricks.__main__ import main\nsys.exit(main())")  # as pip writes it
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, str(script), "train", "reinforce", "--env", "rooms:make", *TINY]
    done = subprocess.run(command, env=paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "return 5.0" in done.stdout

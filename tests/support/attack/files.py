"""Ways to damage a file, by accident or on purpose; and every kind of file, as a value to compare."""

import contextlib
import gzip
import io
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from support.attack.law import refused
from support.studies import JOB

from ablations.analysis.records import load_all
from ablations.training import rates as rate_table
from ablations.training.jobs import Result
from ablations.training.store import Store
from tricks import Run, load
from tricks.runs import checkpoint
from tricks.runs.about import tensor_bytes

FLAG = "TRICKS_ATTACKED"  # set in the environment by the code that a hostile file names
MODULE = f"import os\nos.environ['{FLAG}'] = 'yes'\n"  # of stolen.py, beside the files
FOREIGN = (
    *("", "null", "[]", "{}", "a,b\n1,2\n", "# {}\na,b\n1,2\n"),
    *("[" * 100_000, "\x00" * 99, "γ" * 99, '{"config": 5}'),
)
JSON_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 10**20, 0.5, "", "x", "3", "stolen:Id-v0", "<script>", [], [1], [[1]], {}, {"x": 1}),
    *([[0, 5], [0, 6]], float("nan")),
)


class Touch:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (MODULE,)


# What is done to a file: how, where (a share of its length), and with which value.
Damage = namedtuple("Damage", "file how place value")


def _line(content: bytes, damage: Damage) -> bytes:
    """Without a line, with one twice, or with two swapped."""
    lines = content.splitlines(keepends=True) or [b""]
    at, other = int(damage.place * len(lines)), damage.value % len(lines)
    if damage.how == "swap lines":
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at : at + 1] = lines[at : at + 1] * (2 if damage.how == "duplicate a line" else 0)
    return b"".join(lines)


def _flip(content: bytes, damage: Damage) -> bytes:
    at = int(damage.place * len(content))
    return content[:at] + bytes(byte ^ (1 << damage.value % 8) for byte in content[at : at + 1]) + content[at + 1 :]


def _splice(content: bytes, damage: Damage) -> bytes:
    """With something else in place of nothing, a byte, many, or the whole rest."""
    at, put = int(damage.place * len(content)), (b"", b"\x00", b"\xff\xfe", b"x\n")[damage.value % 4]
    return content[:at] + put + content[at + (0, 1, 100, len(content))[damage.value // 4 % 4] :]


def _digit(content: bytes, damage: Damage) -> bytes:
    """Another digit, so that the file is as well formed as before."""
    digits = [at for at, byte in enumerate(content) if chr(byte).isdigit()]
    if not digits:
        return b""
    at = digits[int(damage.place * len(digits))]
    return content[:at] + str((int(chr(content[at])) + 1 + damage.value % 9) % 10).encode() + content[at + 1 :]


def _field(content: bytes, damage: Damage) -> bytes:
    """Another value in a field of the JSON that is the file, or its first line."""
    first, _, rest = content.partition(b"\n") if content.startswith(b"# ") else (content, b"", b"")
    try:
        about = json.loads(first.removeprefix(b"# "))
    except ValueError:
        return b"{}"
    spots = list(_spots(about))
    if not spots:
        return b"{}"
    holder, key = spots[int(damage.place * len(spots))]
    if damage.value % 4:
        holder[key] = JSON_VALUES[damage.value % len(JSON_VALUES)]
    else:
        del holder[key]
    text = json.dumps(about).encode()
    return b"# " + text + b"\n" + rest if content.startswith(b"# ") else text


def _spots(about: Any) -> Any:
    for key in list(about) if isinstance(about, dict) else range(len(about)) if isinstance(about, list) else ():
        yield about, key
        yield from _spots(about[key])


WAYS: dict[str, Callable[[bytes, Damage], bytes]] = {
    "flip a bit": _flip,
    "change a digit": _digit,
    "change a field": _field,
    **dict.fromkeys(["splice", "splice once more"], _splice),
    **dict.fromkeys(["duplicate a line", "drop a line", "swap lines"], _line),
    "more at the end": lambda content, damage: content + b"x\n",
    "another file": lambda content, damage: FOREIGN[damage.value % len(FOREIGN)].encode(),
    "a pickle that runs code": lambda content, damage: pickle.dumps(Touch()),
    "a checkpoint that runs code": lambda content, damage: tensor_bytes({"about": "{}", "step": 1, "parts": Touch()}),
}


def damage(files: Sequence[str]) -> SearchStrategy[Damage]:
    places, values = st.integers(0, 9999).map(lambda place: place / 10_000), st.integers(0, 255)
    return st.builds(Damage, st.sampled_from(files), st.sampled_from(list(WAYS)), places, values)


def attack(damage: Damage, folder: Path, read: Callable[[Path], object], original: object) -> str:
    """Damage a file in a copy of the folder and read it: the content must be the original, or the file be named."""
    with tempfile.TemporaryDirectory() as name:
        copied = Path(name) / "copy"
        shutil.copytree(folder, copied)
        (copied / "stolen.py").write_text(MODULE, encoding="utf-8")
        path = copied / damage.file
        zipped, before = path.suffix == ".gz", path.read_bytes()
        after = WAYS[damage.how](gzip.decompress(before) if zipped else before, damage)
        path.write_bytes(gzip.compress(after, mtime=0) if zipped and damage.value % 3 else after)
        with contextlib.chdir(copied), mock.patch("sys.path", [str(copied), *sys.path]):
            found, broken = refused(lambda: read(copied), damage.file)
        sys.modules.pop("stolen", None)
        if os.environ.pop(FLAG, ""):
            return f"{damage.file}, {damage.how}: runs code that the file names"
    if not broken and found is not None and found != original:
        broken = "is read as something else"
    return broken and f"{damage.file}, {damage.how}: {broken}"


def run_content(folder: Path) -> object:
    run: Run = load(folder)
    agents = tensor_bytes(dict(run.agent.state_dict()))
    return run.config, run.tricks.on, run.curve.to_csv(), run.diverged, run.seconds, agents


def checkpoint_content(folder: Path) -> object:
    saved = checkpoint.read(folder)
    return saved.config, saved.tricks.on, saved.every, saved.step, tensor_bytes(saved.parts), saved.evaluation


def job_content(folder: Path) -> object:
    """A job's result; None if it trains anew, of which at most one line tells."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        result: Result | None = Store(folder).read(JOB)
    assert said.getvalue().count("\n") <= (result is None), f"said: {said.getvalue()}"
    if result is None:
        return None
    return result.curve.to_csv(), dict(result.diverged), result.seconds, result.steps, dict(result.made_with)


def study_content(folder: Path) -> object:
    return [(study.name, study.designs, study.runs.to_csv(), dict(study.about)) for study in load_all(folder)]


def rates_content(folder: Path) -> object:
    return rate_table.read_table(folder / rate_table.TABLE.name).to_csv()

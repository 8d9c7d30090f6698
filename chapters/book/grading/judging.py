"""Judge an answer: another process runs the student's code within limits, and this one compares what came of it.

That process gets the student's code, inputs, and a copy of the packages without a right answer in it. It hands back
numbers. What else it is kept from is in `fence`, and in the command `apart`, which cuts it off from the network.
"""

import ast
import contextlib
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from chapters.book.exercise import Case, Draw, Exercise, Outcome
from chapters.book.grading.answering import OWN, decoded, encoded
from chapters.book.grading.asked import Asked
from chapters.book.grading.fence import TOO_LONG
from chapters.book.grading.submission import cut

ROOT = Path(__file__).parents[3]
GRADING = ("__init__", "answering", "fence", "needed")
BOOK = ("exercise.py", *(f"grading/{name}.py" for name in GRADING))  # what the copy has of the package `book`
SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random")
START = 120  # seconds for Python and the libraries to start
LONGEST = 8_000_000  # bytes of a reply
SAID = 2000  # characters of a verdict
DRAWN = 10  # cases at random
# What an answer sees of the environment: where programs and libraries are, and no secrets.
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
OWN_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "NUMBA_DISABLE_JIT": "1"}
APART = ("unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child")
RUN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\nfrom chapters.book.grading.answering import main; main()"
)
STOP = threading.Event()  # ends every answer that is being run


@dataclass(frozen=True)
class Limits:
    """What one answer may take, in seconds and in bytes of memory beyond the libraries, and the seed of its cases.

    No answer reads what is `hidden`: the notebooks that were handed in, and the grades.
    """

    seconds: float
    memory: int
    seed: int = 0
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`right`, `wrong`, `fails`, `unanswered`, `missing`, or `stopped`; what is said of it; what the answer uses."""

    status: str
    said: str
    uses: tuple[str, ...] = ()


UNANSWERED = Verdict("unanswered", "the function is not written yet")


@cache
def exercise(asked: Asked) -> Exercise:
    """The exercise's own check. Load it before any student's code runs."""
    found: Exercise = getattr(import_module(f"chapters.exercises.{asked.module}"), asked.check)
    return found


def cases_of(asked: Asked, seed: int) -> list[Case]:
    """The cases of a check in its chapter, and others at random, which only who has the seed can know."""
    check = exercise(asked)
    draw = Draw(seed, zlib.crc32(f"{asked.module}.{asked.check}".encode()))
    return [*check.cases, *(check.drawn(draw) for _ in range(DRAWN) if check.drawn)]


def judge(code: Sequence[tuple[int, str]], asked: Asked, limits: Limits) -> Verdict:
    """Run an exercise's answer, out of all code cells of a notebook, and judge what it gives."""
    check, cases = exercise(asked), cases_of(asked, limits.seed)
    sent = [{name: encoded(value) for name, value in case.items()} for case in cases]
    request = {"code": code, "check": asked.check, "answer": asked.answer, "cases": sent, "gradients": check.gradients}
    status, text = _run(request, import_module(f"chapters.exercises.{asked.module}"), limits)
    if status in ("slow", f"status {TOO_LONG}"):
        seconds = f"{limits.seconds:g} second{'s' * (limits.seconds != 1)}"
        return Verdict("stopped", f"it took longer than {seconds} and was stopped")
    try:
        return verdict(check, asked, json.loads(text), cases)
    except Exception:  # no reply, or not one of `answering`: nothing that a student's code sends ends this process
        return Verdict("stopped", f"its process ended without an answer ({status})")


def verdict(check: Exercise, asked: Asked, reply: dict[str, Any], cases: Sequence[Case] = ()) -> Verdict:
    """What the exercise says of a reply, as it would have said of the function itself."""
    if "missing" in reply:
        return Verdict("missing", f"the notebook has neither {asked.check}(...) nor a function {asked.answer}")
    if "fault" in reply:
        return Verdict("fails", cut(str(reply["fault"]), SAID))
    given, uses = list(reply["results"]), tuple(map(str, reply["uses"]))
    outcomes = iter(given)
    said = check.judged(cut(str(reply["name"]), 80), cases or check.cases, lambda _: _outcome(next(outcomes)))
    status = "right" if said.startswith("Right") else "wrong"
    if any("raised" in each for each in given):
        status = "fails"
    elif all("nothing" in each["result"] for each in given):
        return UNANSWERED
    return Verdict(status, cut(said.removeprefix("Not yet: ").removeprefix("Right, "), SAID), uses)


def _outcome(result: dict[str, Any]) -> Outcome:
    """What came of a case. Raises the exception that the answer raised."""
    if "raised" in result:
        raise type(str(result["raised"][0]), (Exception,), {})(result["raised"][1])
    return decoded(result["result"]), [decoded(slope) for slope in result["slopes"]]


def _run(request: dict[str, Any], module: ModuleType, limits: Limits) -> tuple[str, str]:
    """Let the process of `answering` take a request. Returns how it ended, and its reply.

    Requests and replies are files without a name, so that neither side can block the other.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place,
        tempfile.TemporaryFile() as asks,
        tempfile.TemporaryFile() as replies,
    ):
        packages, folder = Path(place, "packages"), Path(place, "own")
        values = [value for case in request["cases"] for value in case.values()]
        copy_packages(packages, module, [value["function"][1] for value in values if "function" in value])
        folder.mkdir()
        path = [str(packages), *libraries()]
        places = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "MPLCONFIGDIR"), str(folder))
        may = readable((*SYSTEM, sys.prefix, sys.base_prefix, *path), [*limits.hidden, *(ROOT / each for each in OWN)])
        whole = request | {"readable": may, "memory": limits.memory, "seconds": limits.seconds}
        asks.write(json.dumps(whole).encode())
        asks.seek(0)
        process = subprocess.Popen(
            [*apart(), sys.executable, "-I", "-B", "-c", RUN, json.dumps(path)],
            stdin=asks,
            stdout=replies,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={name: os.environ[name] for name in KEPT if name in os.environ} | OWN_ENVIRONMENT | places,
            start_new_session=True,
        )
        try:
            status = _wait(process, replies, limits.seconds)
        finally:  # with all that it started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
            process.wait()
        replies.seek(0)
        return status, replies.read(LONGEST).decode(errors="replace").removeprefix("ready\n")


def _wait(process: subprocess.Popen[bytes], replies: IO[bytes], seconds: float) -> str:
    """How the process ended; `slow` if it did not in time. Its time begins when the libraries are there."""
    end, ready = time.monotonic() + START, False
    while process.poll() is None:
        if not ready and os.fstat(replies.fileno()).st_size:
            end, ready = time.monotonic() + seconds, True
        if time.monotonic() > end or STOP.is_set():
            return "slow"
        time.sleep(0.02)
    return f"status {process.returncode}"


@cache
def apart() -> tuple[str, ...]:
    """The command that gives a process no network, and ends with all its descendants; empty where there is none."""
    if sys.platform != "linux" or shutil.which(APART[0]) is None:
        return ()
    return APART if subprocess.run([*APART, "true"], capture_output=True).returncode == 0 else ()


def copy_packages(target: Path, module: ModuleType, kept: Sequence[str] = ()) -> None:
    """Copy what an answer may import: the library, and the module of its exercise without anything to judge by."""
    ignored = shutil.ignore_patterns("__pycache__", "results")
    for package in ("tricks", "ablations"):
        shutil.copytree(ROOT / package, target / package, ignore=ignored)
    for each in ("book/grading", "exercises"):
        (target / "chapters" / each).mkdir(parents=True)
    for each in ("__init__.py", "book/__init__.py", "exercises/__init__.py"):
        (target / "chapters" / each).touch()
    for each in BOOK:
        shutil.copy(ROOT / "chapters" / "book" / each, target / "chapters" / "book" / each)
    path = target / "chapters" / "exercises" / f"{module.__name__.rpartition('.')[2]}.py"
    path.write_text(without_answers(inspect.getsource(module), kept), encoding="utf-8")


def without_answers(source: str, kept: Sequence[str] = ()) -> str:
    """A module of exercises without the right functions, the mistakes, and the cases: what has a private name goes,
    except for what is `kept`, and a check does nothing."""
    body = list[ast.stmt]()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names = [str(getattr(each, "name", getattr(each, "id", ""))) for each in targets]
        if names[0].startswith("check_"):
            body += ast.parse(f"def {names[0]}(answer): ...").body
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("chapters."):
            continue
        elif not names[0].startswith("_") or names[0] in kept:
            body.append(node)
    return ast.unparse(ast.Module(body, []))


@cache
def libraries() -> list[str]:
    """The path of this process without the folder that it was started in, and without a clone of this project."""
    own = {Path.cwd(), *([ROOT] if (ROOT / "pyproject.toml").is_file() else [])}
    found = [(each, Path(each).resolve()) for each in sys.path if each]
    python = Path(sys.prefix).resolve()  # may be in a clone
    return [x for x, path in found if path not in own and (ROOT not in path.parents or python in path.parents)]


def readable(roots: Sequence[str | Path], hidden: Sequence[Path]) -> list[str]:
    """As few files and folders as name everything in these folders but what is hidden."""
    secret = {path.resolve() for path in hidden}
    above = {parent for path in secret for parent in path.parents}
    seen, found, todo = set(secret), list[str](), list(roots)
    while todo:
        path = Path(os.path.realpath(todo.pop()))
        if path in seen or not path.exists():
            continue
        seen.add(path)
        if path not in above:
            found.append(str(path))
            continue
        with contextlib.suppress(OSError):
            todo += path.iterdir()
    return found

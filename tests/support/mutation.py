"""Mutation testing: does any test notice if one small thing in a file changes? `python -m support.mutation FILE ...`

Each mutant is tried in a fork of a process that has imported everything and collected the tests. Its function bodies are
put into the functions that exist already; what runs on import takes a fork from before this package was imported.
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from support.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "runs" / "mutation.jsonl"
OPTIONS = ["-x", "-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]
LIBRARIES = "torch numpy pandas scipy.stats gymnasium tyro msgspec hypothesis libcst matplotlib.pyplot PIL.Image tqdm psutil"
KILLED, SURVIVED, ON_IMPORT = 1, 0, 77
PATIENCE = float(os.environ.get("PATIENCE", 60))
Reached = list[tuple[str, float, dict[str, list[int]]]]  # each test's id, its seconds, and the lines it ran


def forked(work: Callable[[], int], seconds: float) -> int:
    """What `work` returns in a process of its own, which may take so many seconds of processor time."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            signal.alarm(10 * int(seconds + 1))  # for one that only waits
            os._exit(work())
        except BaseException:
            traceback.print_exc()
            os._exit(KILLED)
    status = os.waitpid(pid, 0)[1]
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # processes that it left behind
    return os.waitstatus_to_exitcode(status)


def run(session: pytest.Session, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Run tests until one fails; each is handed out before it runs."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        yield item
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return


class Trial:
    """A pytest plugin that runs, for every mutant, the tests that reach it."""

    def __init__(self, tried: Sequence[Mutant], scratch: Path, note: Callable[[Mutant, int, str], None]) -> None:
        self.tried, self.scratch, self.note = tried, scratch, note
        self.paths = {str(ROOT / mutant.file): mutant.file for mutant in tried}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert not session.testsfailed, "a test module does not import"
        if os.environ.get("REACHED"):
            self.scratch.write_text(Path(os.environ["REACHED"]).read_text())
        else:
            assert forked(lambda: self.baseline(session), 3600) == SURVIVED, "the tests must pass without a mutant"
            Path("/tmp/reached.json").write_text(self.scratch.read_text())
        reached: Reached = json.loads(self.scratch.read_text())
        tests = {item.nodeid: item for item in session.items}
        functions = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename in self.paths]
        for mutant in self.tried:
            names, seconds = nearest(reached, mutant, PATIENCE)
            code, killer = SURVIVED, Path(f"{self.scratch}.killer")
            killer.write_text("no test")

            def work(mutant: Mutant = mutant, names: list[str] = names, killer: Path = killer) -> int:
                if not (mutant.body and put_in(functions, mutant)):
                    return ON_IMPORT
                for item in run(session, [tests[name] for name in names]):
                    killer.write_text(item.nodeid)
                return KILLED if session.testsfailed else SURVIVED

            if names:
                code = forked(work, 10 + 4 * seconds)
            self.note(mutant, code, killer.read_text())
        return True

    def baseline(self, session: pytest.Session) -> int:
        """Write down how long each test takes, and which lines of the files it runs."""
        reached: Reached = []
        lines: dict[str, set[int]] = {}
        start = 0.0

        def local(frame: FrameType, event: str, _: Any) -> Any:
            lines.setdefault(self.paths[frame.f_code.co_filename], set()).add(frame.f_lineno)
            return local

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            return local if frame.f_code.co_filename in self.paths else None

        def end(item: pytest.Item) -> None:
            found = {file: sorted(numbers) for file, numbers in lines.items()}
            reached.append((item.nodeid, time.process_time() - start, found))
            lines.clear()

        previous = None
        for item in run(session, session.items):
            if previous is not None:
                end(previous)
            previous, start = item, time.process_time()
            threading.settrace(enter)
            sys.settrace(enter)
        sys.settrace(None)
        if session.testsfailed:
            print("fails without a mutant:", previous.nodeid if previous else "")
            return KILLED
        if previous is not None:
            end(previous)
        self.scratch.write_text(json.dumps(reached))
        return SURVIVED


def nearest(reached: Reached, mutant: Mutant, patience: float) -> tuple[list[str], float]:
    """The tests of every module of which one reaches the mutant, those that do and are fast first; their seconds."""
    first, last = mutant.reach
    places = [(name, seconds, lines.get(mutant.file, [])) for name, seconds, lines in reached]
    hits = {name: seconds for name, seconds, at in places if any(first <= x <= last or not mutant.body for x in at)}
    modules: dict[str, float] = {}
    for name, seconds in hits.items():
        modules[name.split("::")[0]] = modules.get(name.split("::")[0], 0) + seconds
    near = [(name, seconds) for name, seconds, at in places if at and name.split("::")[0] in modules]
    near.sort(key=lambda test: sha256(test[0].encode()).digest())  # any order but that of how much they do
    near.sort(key=lambda test: (test[0] not in hits, modules[test[0].split("::")[0]], test[0].split("::")[0]))
    total = list(accumulate(seconds for _, seconds in near))
    kept = [name for (name, _), seconds in zip(near, total, strict=True) if seconds <= patience] or [near[0][0]] if near else []
    return kept, min(patience, total[-1] if total else 0.0)


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def put_in(functions: list[FunctionType], mutant: Mutant) -> bool:
    """Give the functions the mutant's bodies; False if one does not fit, because it closes over other variables."""
    path = str(ROOT / mutant.file)
    new = {(c.co_qualname, c.co_firstlineno): c for c in codes(compile(mutant.source, path, "exec"))}
    for function in functions:
        code = function.__code__
        if code.co_filename == path:
            try:
                function.__code__ = new[code.co_qualname, code.co_firstlineno]
            except ValueError:
                return False
    return True


class Finder:
    """Imports the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.module = mutant, mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self.module else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader.get_code = lambda _: compile(self.mutant.source, str(ROOT / self.mutant.file), "exec")  # type: ignore
        return spec


def try_files(files: list[str], tests: list[str], only: str, results: Path) -> None:
    known = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    killed = {(entry["file"], entry["hash"]) for entry in known if entry["outcome"] != "survived"}
    tried = [m for file in files for m in mutants(ROOT, file) if (file, digest(m)) not in killed and only in m.name]
    later: list[Mutant] = []
    with tempfile.TemporaryDirectory() as folder, results.open("a") as log:
        scratch, options = Path(folder, "reached"), [*OPTIONS, f"--basetemp={folder}/pytest"]

        def note(mutant: Mutant, code: int, test: str) -> None:
            outcome = {SURVIVED: "survived", KILLED: "killed", ON_IMPORT: "on import"}.get(code, "too long")
            if code == ON_IMPORT:
                Path(folder, "later").open("a").write(f"{tried.index(mutant)}\n")
                return
            entry = {"file": mutant.file, "line": mutant.line, "before": mutant.before, "after": mutant.after}
            log.write(json.dumps(entry | {"hash": digest(mutant), "outcome": outcome, "test": test}) + "\n")
            log.flush()
            if outcome != "killed":
                print(f"{outcome}: line {mutant.line} of {mutant.name}", flush=True)

        assert forked(lambda: int(pytest.main([*options, *tests], [Trial(tried, scratch, note)])), 10**6) == 0
        marked = Path(folder, "later").read_text().split() if Path(folder, "later").exists() else []
        later = [tried[int(i)] for i in marked]
        reached: Reached = json.loads(scratch.read_text())
        for mutant in later:
            names, seconds = nearest(reached, mutant, PATIENCE)

            def work(mutant: Mutant = mutant, names: list[str] = names) -> int:
                sys.meta_path.insert(0, Finder(mutant))  # type: ignore[arg-type]
                return min(1, int(pytest.main([*options, *names])))

            note(mutant, forked(work, 30 + 4 * seconds) if names else SURVIVED, "on import")


def digest(mutant: Mutant) -> str:
    return sha256(mutant.source.encode()).hexdigest()[:16]


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="files to mutate, such as tricks/gae.py")
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--skip", default="nothing", help="leave out tests that match this, as in pytest -k")
    parser.add_argument("--only", default="", help="mutants whose description holds this text")
    options = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "chapters")]
    for library in LIBRARIES.split():
        importlib.import_module(library)
    importlib.import_module("torch").set_num_threads(1)
    try_files(options.files, [*options.tests, f"-knot ({options.skip})"], options.only, RESULTS)


if __name__ == "__main__":
    main()

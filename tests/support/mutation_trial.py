"""A pytest plugin that runs, for every mutant, the tests that reach it: in forks, so that nothing is done twice."""

import gc
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate, chain
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from support.mutants import Mutant

ROOT = Path(__file__).parents[2]
KILLED, SURVIVED, ON_IMPORT = 1, 0, 77
Note = Callable[[Mutant, int, str], None]
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
    try:
        status = os.waitpid(pid, 0)[1]
    finally:
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
    """A pytest plugin that runs, for every mutant, the tests that reach it. Those that need an import are left over."""

    def __init__(
        self, files: Sequence[str], tried: Sequence[Mutant], reached: Path, patience: float, note: Note
    ) -> None:
        self.tried, self.reached, self.patience, self.note = tried, reached, patience, note
        self.paths = {str(ROOT / file): file for file in files}  # all of the room: what is reached is kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed or not session.items:
            raise SystemExit("the tests cannot be collected")
        if not self.reached.exists() and forked(lambda: self.baseline(session), 3600) != SURVIVED:
            raise SystemExit("the tests must pass without a mutant")
        tests = {item.nodeid: item for item in session.items}
        places: Reached = [place for place in json.loads(self.reached.read_text()) if place[0] in tests]
        gc.collect()
        functions = [f for f in gc.get_objects() if type(f) is FunctionType and f.__code__.co_filename in self.paths]
        gc.freeze()  # else every fork would copy what its garbage collector looks at
        for mutant in self.tried:
            names, seconds = nearest(places, mutant, self.patience)
            killer = self.reached.with_suffix(".killer")
            killer.write_text("")

            def work(mutant: Mutant = mutant, names: list[str] = names, killer: Path = killer) -> int:
                if not (mutant.body and put_in(functions, mutant)):
                    return ON_IMPORT
                for item in run(session, [tests[name] for name in names]):
                    killer.write_text(item.nodeid)
                return KILLED if session.testsfailed else SURVIVED

            self.note(mutant, forked(work, 10 + 4 * seconds) if names else SURVIVED, killer.read_text())
        return True

    def baseline(self, session: pytest.Session) -> int:
        """Write down how long each test takes, and which lines of the files it runs."""
        reached: Reached = []
        lines: dict[str, set[int]] = {}
        last, start = "", time.process_time()

        def local(frame: FrameType, event: str, _: Any) -> Any:
            lines.setdefault(self.paths[frame.f_code.co_filename], set()).add(frame.f_lineno)
            return local

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            return local if frame.f_code.co_filename in self.paths else None

        threading.settrace(enter)
        for item in chain(run(session, session.items), [None]):  # each comes when the one before has run
            reached.append((last, time.process_time() - start, {file: sorted(at) for file, at in lines.items()}))
            last, start = item.nodeid if item else last, time.process_time()
            lines.clear()
            sys.settrace(enter)
        sys.settrace(None)
        if session.testsfailed:
            print(f"fails without a mutant: {last}", flush=True)
            return KILLED
        self.reached.write_text(json.dumps(reached[1:]))
        return SURVIVED


def nearest(reached: Reached, mutant: Mutant, patience: float) -> tuple[list[str], float]:
    """The tests that run the mutant's lines, and then others of the same modules; their seconds, up to `patience`.

    The others may reach the mutant through what an earlier test has cached. The cheapest comes first: the first that
    fails is the one by which the fast tests notice the mutant.
    """
    first, last = mutant.reach
    places = [(name, name.split("::")[0], seconds, lines.get(mutant.file, [])) for name, seconds, lines in reached]
    hits = {name for name, _, _, at in places if any(first <= x <= last or not mutant.body for x in at)}
    touched = {module for name, module, _, _ in places if name in hits}
    near = [(name, seconds) for name, module, seconds, at in places if at and module in touched]
    near.sort(key=lambda test: (test[0] not in hits, test[1]))
    ends = list(accumulate(seconds for _, seconds in near))
    names = [name for (name, _), end in zip(near, ends, strict=True) if end <= patience or end == ends[0]]
    return names, sum(ends[len(names) - 1 : len(names)])


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def put_in(functions: Iterable[FunctionType], mutant: Mutant) -> bool:
    """Give the functions the mutant's bodies; False if one does not fit, because it closes over other variables."""
    path = str(ROOT / mutant.file)
    new = {(c.co_qualname, c.co_firstlineno): c for c in codes(compile(mutant.source, path, "exec"))}
    with suppress(ValueError):
        for function in functions:
            code = function.__code__
            if code.co_filename == path:
                function.__code__ = new[code.co_qualname, code.co_firstlineno]
        return True
    return False


class Finder:
    """Imports the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.module = mutant, mutant.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self.module else None
        if spec is not None:
            code = compile(self.mutant.source, str(ROOT / self.mutant.file), "exec")
            spec.loader.get_code = lambda _: code  # type: ignore[union-attr]
        return spec

"""Mutation testing: does any test notice if one small thing in a file changes?

    PYTHONPATH=tests python -m support.mutation tricks core analysis training worlds    # rooms, or single files
    PYTHONPATH=tests python -m support.mutation --table                                 # what is known of all rooms

Every test runs once, to see how long it takes and which lines it reaches. Then each mutant is tried by the tests that
reach the change, those that run by default first, and of these the ones that cost least for what they have noticed
there: in a fork of a process that has collected them, in which the changed function takes the place of the one that
is there. What survives that, or runs on import, is tried once more in a fork of a process that has imported the
libraries, and nothing of this project.
"""

import gc
import importlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from coverage import Coverage
from support.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
RESULTS, EXPLAINED = ROOT / "runs" / "mutation.jsonl", ROOT / "docs" / "internal" / "mutants.md"
REACHED, WHOLE = RESULTS.with_name("reached.json"), ROOT / "tests" / "whole.txt"
LIBRARIES = "torch numpy pandas scipy.stats gymnasium msgspec hypothesis libcst matplotlib.pyplot PIL.Image psutil"
OPTIONS = ["-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]
SLOW = "within_a_hundredth or a_time_limit_of or any_size_are_all or trains_what_is_drawn"  # quicker ones hold it, too
NO_TRICKS = "__init__ __main__ config errors flags ladder loop one_agent one_game one_run own_trick replaced restore"
NO_TRICKS += " texts training values version"
RUNS = "run evaluation checkpoint folder listeners sizes"
TESTS = "analysis core ladder laws question training/test_question.py "
TESTS += " ".join(f"envs/test_{name}.py " for name in ["contract", "changed", "record"])
TESTS += "training/test_stored_files.py " + " ".join(f"runs/test_{name}.py" for name in RUNS.split())
FOLDERS = [f"tests/{name}" for name in TESTS.split()]
ROOMS = {  # the parts of the code: their files, without those after the bar
    "loop": "tricks/loop tricks/training",
    "one_agent": "tricks/one_agent",
    "tricks": f"tricks/* | {NO_TRICKS}",
    "core": "tricks/core/* tricks/fast/passes | __init__ env extras machine",
    "compiled": "tricks/*/compiled_* | compiled_product",
    "fast": "tricks/fast/[dr]* tricks/fast/formulas tricks/fused/[!c]* | __init__ digests",
    "analysis": "ablations/analysis/* | __init__",
    "training": "ablations/training/rates ablations/training/tuning",
    "worlds": "ablations/experiments/worlds",
}
WATCHED = ("tricks/*", "ablations/*")


def files(patterns: str) -> list[str]:
    kept, _, left_out = patterns.partition("|")
    found = (path for each in kept.split() for path in sorted(ROOT.glob(f"{each}.py")))
    return [path.relative_to(ROOT).as_posix() for path in found if path.stem not in left_out.split()]


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
            os._exit(1)
    try:
        status = os.waitpid(pid, 0)[1]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # processes that it left behind
    return os.waitstatus_to_exitcode(status)


def places(file: str, line: int, test: str) -> list[tuple[Any, ...]]:
    """Where what a test notices counts in its favor: in the file, and again in these lines of it."""
    return [(file, test), (file, line // 12, test)]


class Reach:
    """Which tests run which lines, and how long each takes. As a pytest plugin, it finds out."""

    def __init__(self) -> None:
        self.coverage = Coverage(data_file=None, include=[str(ROOT / each) for each in WATCHED])
        self.seconds, self.lines = dict[str, float](), dict[str, dict[str, list[str]]]()
        self.failed = set[str]()  # without any mutant
        self.noticed = Counter(x for e in noted().values() for x in places(e["file"], e["line"], e["test"]))
        self.whole = {*WHOLE.read_text().splitlines()}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        start = time.process_time()
        self.coverage.switch_context(item.nodeid)
        found = yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = time.process_time() - start
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def measure(self, options: list[str]) -> int:
        self.coverage.start()
        pytest.main([*options, f"-knot ({SLOW})", *FOLDERS], [self])
        self.coverage.stop()
        data, left_out = self.coverage.get_data(), {"", *self.failed}
        for path in data.measured_files():
            lines = data.contexts_by_lineno(path).items()
            by_line = {str(line): [test for test in at if test not in left_out] for line, at in lines}
            self.lines[Path(path).relative_to(ROOT).as_posix()] = by_line
        REACHED.write_text(json.dumps([self.seconds, self.lines]))
        print("".join(f"fails without a mutant, and is left out: {test}\n" for test in sorted(self.failed)), flush=True)
        return 0

    def known(self, options: list[str]) -> "Reach":
        """Asked of the tests once for each state of the code."""
        tops = ("tricks", "ablations", "tests")
        changed = max(path.stat().st_mtime for top in tops for path in Path(top).rglob("*.py"))
        if (not REACHED.exists() or REACHED.stat().st_mtime < changed) and forked(lambda: self.measure(options), 7200):
            raise SystemExit("the tests could not be measured")
        self.seconds, self.lines = json.loads(REACHED.read_text())
        return self

    def nearest(self, mutant: Mutant, patience: float) -> tuple[list[str], float]:
        """The tests that run its lines, see above, then others of their modules; seconds up to `patience`.

        The others may reach it through what an earlier test has cached. By the first that fails, it is noticed.
        """
        first, last = mutant.reach
        of_file = {int(line): at for line, at in self.lines.get(mutant.file, {}).items()}
        reached = {test for at in of_file.values() for test in at}
        hits = {test for line, at in of_file.items() if first <= line <= last or not mutant.body for test in at}
        touched = {test.split("::")[0] for test in hits}
        near = [test for test in reached if test.split("::")[0] in touched]
        seen = {test: places(mutant.file, mutant.line, test) for test in near}
        cost = {test: self.seconds[test] / math.prod(1 + self.noticed[x] for x in seen[test]) for test in near}
        near.sort(key=lambda test: (test not in hits, test in self.whole, cost[test], test))
        ends = list(accumulate(self.seconds[test] for test in near))
        names = [test for test, end in zip(near, ends, strict=True) if end <= patience or end == ends[0]]
        return names, sum(ends[len(names) - 1 : len(names)])


class Swapped:
    """A pytest plugin that collects the tests once, and tries each mutant in a fork, with its functions in place."""

    def __init__(self, tried: Sequence[Mutant], reach: Reach, patience: float, killer: Path) -> None:
        self.tried, self.reach, self.patience, self.killer = tried, reach, patience, killer
        self.functions = dict[str, list[FunctionType]]()  # of each file, those that exist

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        for each in gc.get_objects():
            if type(each) is FunctionType:  # not isinstance, which would import what libraries import lazily
                self.functions.setdefault(each.__code__.co_filename, []).append(each)
        gc.freeze()  # so that no fork copies what it only looks through
        for mutant in self.tried:
            names, seconds = self.reach.nearest(mutant, self.patience)
            self.killer.write_text("")
            code = forked(lambda: self.run(mutant, names), 10 + 4 * seconds) if names else 0  # noqa: B023 - at once
            if code:
                note(mutant, code, self.killer.read_text())
                self.reach.noticed.update(places(mutant.file, mutant.line, self.killer.read_text()))
        return True

    def run(self, mutant: Mutant, names: Sequence[str]) -> int:
        path = str(ROOT / mutant.file)
        changed = dict(nested(compile(mutant.source, path, "exec")))
        for function in self.functions.get(path, []):
            code = function.__code__
            new = changed.get((code.co_qualname, code.co_firstlineno), code)
            if new != code and new.co_freevars == code.co_freevars:
                function.__code__ = new
        for name in names:
            item = self.items[name]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer.write_text(report.nodeid)
            os._exit(1)


def nested(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Every function in this code, by name and line. Of several lambdas in a line, the last."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from nested(each)


class Imported:
    """Imports the mutant for its file, and notes the test that fails. Known to Python's imports and to pytest."""

    def __init__(self, mutant: Mutant, killer: Path) -> None:
        self.mutant, self.module, self.killer = mutant, mutant.file.removesuffix(".py").replace("/", "."), killer

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self.module else None
        if spec is not None:
            code = compile(self.mutant.source, str(ROOT / self.mutant.file), "exec")
            spec.loader.get_code = lambda _: code  # type: ignore[union-attr]
        return spec

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer.write_text(report.nodeid)

    def run(self, options: list[str], names: list[str]) -> int:
        sys.meta_path.insert(0, self)
        return min(1, int(pytest.main(["-x", *options, *names], [self])))


def digest(mutant: Mutant) -> str:
    return sha256(mutant.source.encode()).hexdigest()[:16]


def explained() -> set[str]:
    """The mutants of which docs/internal/mutants.md says why no test can notice them."""
    return {line[2:] for line in EXPLAINED.read_text().splitlines() if line.startswith("- ")}


def noted() -> dict[tuple[str, str], dict[str, Any]]:
    """What was noted last of each mutant."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(entry["file"], entry["digest"]): entry for entry in map(json.loads, lines)}


def known() -> dict[tuple[str, str], str]:
    return {mutant: entry["outcome"] for mutant, entry in noted().items()}


def note(mutant: Mutant, code: int, test: str) -> None:
    outcome = {0: "survived", 1: "killed"}.get(code, "too long")
    entry = {"outcome": outcome, "file": mutant.file, "line": mutant.line, "digest": digest(mutant), "test": test}
    with RESULTS.open("a") as log:
        log.write(json.dumps(entry) + "\n")


def try_all(tried: list[Mutant], patience: float) -> None:
    """First with the function swapped, which takes half a second, and what that does not notice from the start."""
    folder = Path(tempfile.mkdtemp())
    options, killer = [*OPTIONS, f"--basetemp={folder / 'pytest'}"], folder / "killer"
    try:
        reach = Reach().known(options)
        plugin = Swapped([mutant for mutant in tried if mutant.body], reach, patience, killer)
        if forked(lambda: int(pytest.main([*options, *FOLDERS], [plugin])), 200_000):
            raise SystemExit("the mutants could not be tried")
        outcomes = known()
        for mutant in tried:
            if outcomes.get((mutant.file, digest(mutant)), "survived") == "survived":
                names, seconds = reach.nearest(mutant, patience)
                killer.write_text("")
                trial = Imported(mutant, killer)
                code = forked(lambda: trial.run(options, names), 30 + 4 * seconds) if names else 0  # noqa: B023 - at once
                note(mutant, code, killer.read_text())
                if code == 0:
                    print(f"survived: line {mutant.line} of {mutant.name}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table() -> None:
    """Print how many mutants of each room were tried and killed, and which survived without an explanation."""
    outcomes, said, lost, whole = known(), explained(), list[Mutant](), {*WHOLE.read_text().splitlines()}
    late = {mutant for mutant, entry in noted().items() if entry["test"] in whole}
    print("| part | mutants | killed | by default | equivalent | other survivors | killed, of those that can be |")
    print("|---|---|---|---|---|---|---|")
    for room, patterns in ROOMS.items():
        every = [mutant for file in files(patterns) for mutant in mutants(ROOT, file)]
        of = {m: outcomes.get((m.file, digest(m)), "survived" if m.name in said else None) for m in every}
        left = [m for m, outcome in of.items() if outcome == "survived"]
        others = [m for m in left if m.name not in said]
        count = sum(outcome is not None for outcome in of.values())
        killed, same = count - len(left), len(left) - len(others)
        share, soon = 100 * killed / max(1, count - same), killed - sum((m.file, digest(m)) in late for m in every)
        print(f"| {room} | {count} of {len(of)} | {killed} | {soon} | {same} | {len(others)} | {share:.1f}% |")
        lost += others
    print("\n".join(f"line {m.line} of {m.name}" for m in lost))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="files or rooms")
    parser.add_argument("--table", action="store_true", help="print what is known of every room")
    parser.add_argument("--patience", type=float, default=20, help="seconds of tests that a mutant must survive")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.table:
        return table()
    RESULTS.parent.mkdir(exist_ok=True)
    sys.path[:0] = [str(ROOT)]
    for library in LIBRARIES.split():
        importlib.import_module(library)
    importlib.import_module("torch").set_num_threads(1)
    rooms = [name for room, patterns in ROOMS.items() if room in options.files for name in files(patterns)]
    chosen = dict.fromkeys([*rooms, *(name for name in options.files if name not in ROOMS)])
    done, said = known(), explained()
    left = [m for f in chosen for m in mutants(ROOT, f) if done.get((f, digest(m)), "survived") == "survived"]
    if tried := [mutant for mutant in left if mutant.name not in said]:
        try_all(sorted(tried, key=digest), options.patience)  # what is tried first is a fair sample


if __name__ == "__main__":
    main()

"""Mutation testing: does any test notice if one small thing in a file changes?

    PYTHONPATH=tests python -m support.mutation tricks core analysis training worlds    # rooms, or single files
    PYTHONPATH=tests python -m support.mutation --table                                 # what is known of all rooms

Each mutant is tried in a fork of a process that has imported everything and collected the tests. Its function bodies
are put into the functions that exist already; what runs on import takes a fork from before this package was imported.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate, chain
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest
from support.mutants import Mutant, mutants

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
    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.module = mutant, mutant.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self.module else None
        if spec is not None:
            code = compile(self.mutant.source, str(ROOT / self.mutant.file), "exec")
            spec.loader.get_code = lambda _: code  # type: ignore[union-attr]
        return spec


NO_TRICKS = ("__init__", "__main__", "config", "errors", "flags", "ladder", "loop", "one_agent", "restore", "values")
NO_NUMBERS = ("__init__", "asked", "compiler", "devices", "env", "extras", "memory", "orphans")
SLOW = (  # tests whose laws quicker ones hold, too
    "solves_cartpole or ruins_the_policy or within_a_hundredth or a_time_limit_of_one_step or any_size_are_all_learned "
    "or learns_from_images or falls_on_the_time_limit or trains_what_is_drawn or is_measured_again"
)


class Room(NamedTuple):
    """A part of the code: its name on the command line, its title, its files, and its tests."""

    name: str
    title: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def within(folder: str, *but: str) -> tuple[str, ...]:
    paths = sorted((ROOT / folder).glob("*.py"))
    return tuple(f"{folder}/{path.name}" for path in paths if path.stem not in (*but, "__init__"))


def held_by(names: str) -> tuple[str, ...]:
    """The files of these tests: `laws/laws` is tests/laws/test_laws.py."""
    return tuple(f"tests/{room}/test_{name}.py" for room, name in (pair.split("/") for pair in names.split()))


LADDER = within("tests/ladder", "test_ladder")
CALLS = {"fast": "dense dispatch formulas recurrence rows rules", "fused": "guard losses minibatch playing"}
COMPILED = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tricks").glob("*/compiled_*.py"))
ROOMS = (
    Room(
        "loop",
        "`tricks/loop.py`, `tricks/training.py`",
        ("tricks/loop.py", "tricks/training.py"),
        held_by(
            "laws/reference laws/laws ladder/reuse ladder/shared_trunk ladder/clip runs/folder runs/checkpoint "
            "runs/evaluation runs/listeners"
        ),
    ),
    Room("one_agent", "`tricks/one_agent.py`", ("tricks/one_agent.py",), held_by("laws/one_agent")),
    Room("tricks", "the trick files", within("tricks", *NO_TRICKS), (*LADDER, *held_by("laws/reference"))),
    Room(
        "core",
        "`tricks/core`, what computes",
        (*within("tricks/core", *NO_NUMBERS), "tricks/fast/passes.py"),
        within("tests/core", "test_orphans")
        + held_by(
            "laws/reference laws/laws envs/contract runs/run runs/doors runs/evaluation runs/checkpoint "
            "ladder/ladder ladder/shared_trunk ladder/reuse ladder/return_norm"
        ),
    ),
    Room(
        "compiled",
        "`tricks/fast` and `tricks/fused`, what is compiled",
        tuple(file for file in COMPILED if "product" not in file),  # which writes machine code, not Python
        held_by("laws/interpreted laws/kernels"),
    ),
    Room(
        "fast",
        "the same, what calls it",
        tuple(f"tricks/{room}/{name}.py" for room, names in CALLS.items() for name in names.split()),
        held_by(
            "core/fast core/contracts core/nets core/formulas laws/fused_guards laws/learning_contracts laws/fused "
            "laws/fused_playing laws/fused_segments laws/stepping_aside laws/interpreted"
        ),
    ),
    Room(
        "analysis",
        "`ablations/analysis`",
        within("ablations/analysis"),
        within("tests/analysis")
        + held_by("findings/results findings/trials training/stored_files experiments/run_commands"),
    ),
    Room(
        "training",
        "`ablations/training`: rates, tuning, table, plan",
        tuple(f"ablations/training/{name}.py" for name in ("plan", "rate_table", "rates", "tuning")),
        held_by("training/plan"),
    ),
    Room(
        "worlds",
        "`ablations/experiments/worlds.py`",
        ("ablations/experiments/worlds.py",),
        held_by("experiments/run_commands"),
    ),
)


RESULTS, SURVIVORS = ROOT / "runs" / "mutation.jsonl", ROOT / "docs" / "internal" / "mutants.md"
LIBRARIES = "torch numpy pandas scipy.stats gymnasium msgspec hypothesis libcst matplotlib.pyplot PIL.Image psutil"
OPTIONS = ["-x", "-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]


def try_room(room: Room, tried: list[Mutant], patience: float, note: Note) -> None:
    reached = RESULTS.with_name(f"mutation_{room.name}.json")
    changed = max(
        path.stat().st_mtime for room in ("tricks", "ablations", "tests") for path in Path(room).rglob("*.py")
    )
    if reached.exists() and reached.stat().st_mtime < changed:
        reached.unlink()
    with tempfile.TemporaryDirectory() as folder:
        options, outcomes = [*OPTIONS, f"--basetemp={folder}/pytest"], Path(folder, "outcomes")

        def heard(mutant: Mutant, code: int, test: str) -> None:
            if code == ON_IMPORT:
                outcomes.open("a").write(f"{tried.index(mutant)} ")
            else:
                note(mutant, code, test)

        arguments = [*options, f"-knot ({SLOW})", *room.tests]
        if forked(
            lambda: int(pytest.main(arguments, [Trial(room.files, tried, reached, patience, heard)])), 10**6
        ) not in (0, 5):
            raise SystemExit("pytest ended early")
        left = [int(index) for index in outcomes.read_text().split()] if outcomes.exists() else []
        for mutant in (tried[index] for index in left):
            names, seconds = nearest(json.loads(reached.read_text()), mutant, patience)

            def work(mutant: Mutant = mutant, names: list[str] = names) -> int:
                sys.meta_path.insert(0, Finder(mutant))
                return min(KILLED, int(pytest.main([*options, *names])))

            note(mutant, forked(work, 30 + 4 * seconds) if names else SURVIVED, "")


def digest(mutant: Mutant) -> str:
    return sha256(mutant.source.encode()).hexdigest()[:16]


def explained() -> set[str]:
    """The mutants of which docs/internal/mutants.md says why no test can notice them."""
    return {line[2:] for line in SURVIVORS.read_text().splitlines() if line.startswith("- ")}


def known() -> dict[tuple[str, str], str]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(entry["file"], entry["digest"]): entry["outcome"] for entry in map(json.loads, lines)}


def table() -> None:
    """Print how many mutants of each room were tried and killed, and which survived without an explanation."""
    outcomes, said, lost = known(), explained(), list[Mutant]()
    print("| part | mutants | killed | equivalent | other survivors | killed, of those that can be |")
    print("|---|---|---|---|---|---|")
    for room in ROOMS:
        of = {m: outcomes.get((m.file, digest(m))) for file in room.files for m in mutants(ROOT, file)}
        left = [m for m, outcome in of.items() if outcome == "survived"]
        others = [m for m in left if m.name not in said]
        tried = sum(outcome is not None for outcome in of.values())
        killed, same = tried - len(left), len(left) - len(others)
        share = 100 * killed / max(1, tried - same)
        print(f"| {room.title} | {tried} of {len(of)} | {killed} | {same} | {len(others)} | {share:.1f}% |")
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

    def note(mutant: Mutant, code: int, test: str) -> None:
        outcome = {SURVIVED: "survived", KILLED: "killed"}.get(code, "too long")
        entry = {"outcome": outcome, "file": mutant.file, "line": mutant.line, "digest": digest(mutant), "test": test}
        with RESULTS.open("a") as log:
            log.write(json.dumps(entry) + "\n")
        if outcome == "survived" and mutant.name not in explained():
            print(f"survived: line {mutant.line} of {mutant.name}", flush=True)

    for room in ROOMS:
        files = [file for file in room.files if file in options.files or room.name in options.files]
        done = known()
        tried = [m for f in files for m in mutants(ROOT, f) if done.get((f, digest(m)), "survived") == "survived"]
        tried.sort(key=digest)  # so that what is tried first is a fair sample
        if tried:
            try_room(room, tried, options.patience, note)


if __name__ == "__main__":
    main()

"""Mutation testing: does any test notice if one small thing in a file changes?

    PYTHONPATH=tests python -m support.mutation tricks core analysis training worlds    # rooms, or single files
    PYTHONPATH=tests python -m support.mutation --table                                 # what is known of all rooms

Each mutant is tried in a fork of a process that has imported the libraries, and nothing of this project: it imports
the changed file, and runs the tests that reach the change, the cheapest first.
"""

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
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
RESULTS, EXPLAINED = ROOT / "runs" / "mutation.jsonl", ROOT / "docs" / "internal" / "mutants.md"
LIBRARIES = "torch numpy pandas scipy.stats gymnasium msgspec hypothesis libcst matplotlib.pyplot PIL.Image psutil"
OPTIONS = ["-x", "-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]
SLOW = (  # tests whose laws quicker ones hold, too
    "within_a_hundredth or a_time_limit_of_one_step or any_size_are_all_learned or learns_from_images "
    "or falls_on_the_time_limit or trains_what_is_drawn"
)
NO_TRICKS = "__init__ __main__ config errors flags ladder loop one_agent one_game one_run own_trick replaced restore"
NO_TRICKS += " texts training values version"
ROOMS = {  # the parts of the code: their files, without those after the bar, and their tests: `runs/run` is test_run.py
    "loop": (
        "tricks/loop tricks/training",
        "laws/reference laws/laws laws/language ladder/reuse ladder/shared_trunk ladder/clip ladder/groups runs/folder "
        "runs/checkpoint runs/evaluation runs/listeners",
    ),
    "one_agent": ("tricks/one_agent", "laws/one_agent"),
    "tricks": (f"tricks/* | {NO_TRICKS}", "ladder/[!l]* laws/reference laws/language"),
    "core": (
        "tricks/core/* tricks/fast/passes | __init__ env extras machine",
        "core/[!o]* laws/contracts laws/reference laws/laws envs/contract runs/run runs/evaluation runs/checkpoint "
        "ladder/ladder ladder/shared_trunk ladder/reuse ladder/return_norm",
    ),
    "compiled": ("tricks/*/compiled_* | compiled_product", "laws/interpreted"),
    "fast": (
        "tricks/fast/[dr]* tricks/fast/formulas tricks/fused/[!c]* | __init__ digests",
        "core/fast core/nets core/formulas laws/contracts laws/fused* laws/stepping_aside laws/interpreted",
    ),
    "analysis": ("ablations/analysis/* | __init__", "analysis/* findings/[rt]* training/stored_files experiments/run*"),
    "training": ("ablations/training/rates ablations/training/tuning", "training/question"),
    "worlds": ("ablations/experiments/worlds", "experiments/run*"),
}
Reached = list[tuple[str, float, dict[str, list[int]]]]  # each test's id, its seconds, and the lines it ran


def files(patterns: str) -> list[str]:
    kept, _, left_out = patterns.partition("|")
    found = (path for each in kept.split() for path in sorted(ROOT.glob(f"{each}.py")))
    return [path.relative_to(ROOT).as_posix() for path in found if path.stem not in left_out.split()]


def tests(names: str) -> list[str]:
    return files(" ".join("tests/{}/test_{}".format(*name.split("/")) for name in names.split()))


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


class Baseline:
    """A pytest plugin that notes how long each test takes, and which lines of these files it runs."""

    def __init__(self, watched: Sequence[str]) -> None:
        self.paths, self.reached = {str(ROOT / file): file for file in watched}, Reached()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        lines, start = dict[str, set[int]](), time.process_time()

        def local(frame: FrameType, event: str, _: Any) -> Any:
            lines.setdefault(self.paths[frame.f_code.co_filename], set()).add(frame.f_lineno)
            return local

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            return local if frame.f_code.co_filename in self.paths else None

        threading.settrace(enter)
        sys.settrace(enter)
        found = yield
        sys.settrace(None)
        taken = time.process_time() - start
        self.reached.append((item.nodeid, taken, {file: sorted(at) for file, at in lines.items()}))
        return found


def baseline(room: str, options: list[str]) -> Reached:
    """What the tests of a room reach, which is asked of them once for each state of the code."""
    kept = RESULTS.with_name(f"mutation_{room}.json")
    changed = max(path.stat().st_mtime for top in ("tricks", "ablations", "tests") for path in Path(top).rglob("*.py"))

    def work() -> int:
        plugin = Baseline(files(ROOMS[room][0]))
        status = int(pytest.main([*options, f"-knot ({SLOW})", *tests(ROOMS[room][1])], [plugin]))
        kept.write_text(json.dumps(plugin.reached))
        return status

    if (not kept.exists() or kept.stat().st_mtime < changed) and forked(work, 3600):
        kept.unlink(missing_ok=True)
        raise SystemExit("the tests must pass without a mutant")
    found: Reached = json.loads(kept.read_text())
    return found


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


class Trial:
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
        return min(1, int(pytest.main([*options, *names], [self])))


def digest(mutant: Mutant) -> str:
    return sha256(mutant.source.encode()).hexdigest()[:16]


def explained() -> set[str]:
    """The mutants of which docs/internal/mutants.md says why no test can notice them."""
    return {line[2:] for line in EXPLAINED.read_text().splitlines() if line.startswith("- ")}


def known() -> dict[tuple[str, str], str]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(entry["file"], entry["digest"]): entry["outcome"] for entry in map(json.loads, lines)}


def try_room(room: str, tried: list[Mutant], patience: float) -> None:
    with tempfile.TemporaryDirectory() as folder, RESULTS.open("a") as log:
        options, killer = [*OPTIONS, f"--basetemp={folder}/pytest"], Path(folder, "killer")
        reached, said = baseline(room, options), explained()
        for mutant in tried:
            names, seconds = nearest(reached, mutant, patience)
            killer.write_text("")
            trial = Trial(mutant, killer)
            code = forked(lambda: trial.run(options, names), 30 + 4 * seconds) if names else 0  # noqa: B023 - at once
            outcome = {0: "survived", 1: "killed"}.get(code, "too long")
            entry = {"outcome": outcome, "file": mutant.file, "line": mutant.line, "digest": digest(mutant)}
            log.write(json.dumps(entry | {"test": killer.read_text()}) + "\n")
            log.flush()
            if outcome == "survived" and mutant.name not in said:
                print(f"survived: line {mutant.line} of {mutant.name}", flush=True)


def table() -> None:
    """Print how many mutants of each room were tried and killed, and which survived without an explanation."""
    outcomes, said, lost = known(), explained(), list[Mutant]()
    print("| part | mutants | killed | equivalent | other survivors | killed, of those that can be |")
    print("|---|---|---|---|---|---|")
    for room, (patterns, _) in ROOMS.items():
        of = {m: outcomes.get((m.file, digest(m))) for file in files(patterns) for m in mutants(ROOT, file)}
        left = [m for m, outcome in of.items() if outcome == "survived"]
        others = [m for m in left if m.name not in said]
        count = sum(outcome is not None for outcome in of.values())
        killed, same = count - len(left), len(left) - len(others)
        share = 100 * killed / max(1, count - same)
        print(f"| {room} | {count} of {len(of)} | {killed} | {same} | {len(others)} | {share:.1f}% |")
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
    for room, (patterns, _) in ROOMS.items():
        chosen, done = [f for f in files(patterns) if {f, room} & {*options.files}], known()
        tried = [m for f in chosen for m in mutants(ROOT, f) if done.get((f, digest(m)), "survived") == "survived"]
        if tried:
            try_room(room, sorted(tried, key=digest), options.patience)  # what is tried first is a fair sample


if __name__ == "__main__":
    main()

"""Mutation testing: does any test notice if one small thing in a file changes?

    PYTHONPATH=tests python -m support.mutation tricks core analysis training worlds    # rooms, or single files
    PYTHONPATH=tests python -m support.mutation --table                                 # what is known of all rooms

Each mutant is tried in a fork of a process that has imported everything and collected the tests. Its function bodies
are put into the functions that exist already; what runs on import takes a fork from before this package was imported.
"""

import importlib
import json
import os
import sys
import tempfile
from argparse import ArgumentParser
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from support.mutants import Mutant, mutants
from support.mutation_trial import KILLED, ON_IMPORT, ROOT, SURVIVED, Finder, Note, Trial, forked, nearest

NO_TRICKS = ("__init__", "__main__", "config", "errors", "flags", "ladder", "loop", "one_agent", "restore", "values")
NO_NUMBERS = ("__init__", "asked", "compiler", "devices", "env", "extras", "orphans")
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
    """The files of a folder, but for those of these names."""
    paths = sorted((ROOT / folder).glob("*.py"))
    return tuple(f"{folder}/{path.name}" for path in paths if path.stem not in (*but, "__init__"))


def held_by(names: str) -> tuple[str, ...]:
    """The files of these tests: `laws/laws` is tests/laws/test_laws.py."""
    return tuple(f"tests/{room}/test_{name}.py" for room, name in (pair.split("/") for pair in names.split()))


LADDER = within("tests/ladder", "test_ladder")
CALLS = {"fast": "dense dispatch formulas recurrence rows rules", "fused": "guard learning minibatch playing"}
COMPILED = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tricks").glob("*/compiled_*.py"))
ROOMS = (
    Room(
        "loop",
        "`tricks/loop.py`",
        ("tricks/loop.py",),
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
LIBRARIES = "torch numpy pandas scipy.stats gymnasium tyro msgspec hypothesis libcst matplotlib.pyplot PIL.Image psutil"
OPTIONS = ["-x", "-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]


def try_room(room: Room, tried: list[Mutant], patience: float, note: Note) -> None:
    """Try mutants with a room's tests."""
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
    """The last outcome of each mutant, by its file and digest."""
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

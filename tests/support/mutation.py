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

import pytest
from support.mutants import Mutant, mutants
from support.mutation_rooms import ROOMS, SLOW, Room
from support.mutation_trial import KILLED, ON_IMPORT, ROOT, SURVIVED, Finder, Note, Trial, forked, nearest

RESULTS, SURVIVORS = ROOT / "runs" / "mutation.jsonl", ROOT / "docs" / "internal" / "mutants.md"
LIBRARIES = "torch numpy pandas scipy.stats gymnasium msgspec hypothesis libcst matplotlib.pyplot PIL.Image psutil"
OPTIONS = ["-x", "-pno:terminal", "-pno:cacheprovider", "-pno:nbval", "-pno:xdist", "-oaddopts=-m 'not slow'"]


def try_room(room: Room, tried: list[Mutant], patience: float, note: Note) -> None:
    """Try mutants with a room's tests."""
    reached = RESULTS.with_name(f"mutation_{room.name}.json")
    changed = max(
        path.stat().st_mtime for part in ("tricks", "ablations", "tests") for path in (ROOT / part).rglob("*.py")
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

"""The fast tests: as few seconds as notice whatever all of them together notice. The others are in tests/whole.txt.

    PYTHONPATH=tests python -m pytest -n 2 -p support.tiers --all    # measure each test: its seconds and its steps
    PYTHONPATH=tests python -m support.tiers                         # choose, and write tests/whole.txt

Fast are all laws, the command line's tests, whatever notices a mutant first, and then, test by test, what takes most
steps of the code that too few fast ones take, for its seconds. A step is one line that runs after another.
"""

import heapq
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.mutation import RESULTS

ROOT = Path(__file__).parents[2]
MEASURED, WHOLE = ROOT / "runs" / "tiers", ROOT / "tests" / "whole.txt"
ALWAYS = ("tests/laws/", "tests/cli/")
TIMES = 2  # how many fast tests take each step, if so many do


class Measure:
    """A pytest plugin that writes down each test's seconds and steps."""

    def __init__(self) -> None:
        from coverage import Coverage

        who = os.environ.get("PYTEST_XDIST_WORKER", "main")
        MEASURED.mkdir(parents=True, exist_ok=True)
        self.cover = Coverage(
            str(MEASURED / f"{who}.coverage"), branch=True, source=["tricks", "ablations", "chapters"]
        )
        self.costs = (MEASURED / f"{who}.jsonl").open("w")
        self.cover.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        before = os.times()
        self.cover.switch_context(item.nodeid)
        found = yield
        self.cover.switch_context("")
        seconds = sum(os.times()[:4]) - sum(before[:4])  # of this process and of those that it waited for
        self.costs.write(json.dumps([item.nodeid, seconds]) + "\n")
        return found

    def pytest_sessionfinish(self) -> None:
        self.cover.stop()
        self.cover.save()
        self.costs.close()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measure())


def measured() -> tuple[dict[str, float], dict[str, set[Hashable]]]:
    """Each test's seconds, and the steps that it takes."""
    costs = dict[str, float](json.loads(line) for path in MEASURED.glob("*.jsonl") for line in path.open())
    steps: dict[str, set[Hashable]] = {test: set() for test in costs}
    tables = "arc JOIN context ON context.id = context_id JOIN file ON file.id = file_id"
    for path in MEASURED.glob("*.coverage"):
        with closing(sqlite3.connect(path)) as data:
            for test, *step in data.execute(f"SELECT context, path, fromno, tono FROM {tables}"):
                if test in steps:
                    steps[test].add(tuple(step))
    return costs, steps


def killers() -> set[str]:
    """The tests that notice a mutant first."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    last = {(entry["file"], entry["digest"]): entry for entry in map(json.loads, lines)}
    return {entry["test"] for entry in last.values() if entry["outcome"] != "survived"}


def cover(
    costs: Mapping[str, float], steps: Mapping[str, set[Hashable]], chosen: Iterable[str], times: int = TIMES
) -> set[str]:
    """These tests and, by what each adds for its seconds, others, until each step is taken so often if it can be."""
    fast, missing = set[str](), Counter(step for taken in steps.values() for step in taken)
    missing = Counter({step: min(times, count) for step, count in missing.items()})

    def worth(test: str) -> float:
        return -sum(missing[step] > 0 for step in steps[test]) / (0.005 + costs[test])

    def take(test: str) -> None:
        fast.add(test)
        missing.subtract(step for step in steps[test] if missing[step] > 0)

    for test in chosen:
        take(test)
    left = [(worth(test), test) for test in sorted(costs.keys() - fast)]
    heapq.heapify(left)
    while left:
        before, test = heapq.heappop(left)
        now = worth(test)
        if now == 0:
            continue
        if now > before and left and now > left[0][0]:  # others have taken its steps meanwhile
            heapq.heappush(left, (now, test))
        else:
            take(test)
    return fast


def main() -> None:
    costs, steps = measured()
    noticed = killers() & costs.keys()
    chosen = noticed | {test for test in costs if test.startswith(ALWAYS)}
    fast = cover(costs, steps, sorted(chosen))
    WHOLE.write_text("".join(f"{test}\n" for test in sorted(costs.keys() - fast)))
    seconds = [sum(costs[test] for test in some) for some in (costs, chosen, fast)]
    print(
        f"{len(costs)} tests, {seconds[0]:.0f} s; laws, command line and first to notice a mutant: {len(chosen)}, ",
        end="",
    )
    print(f"{seconds[1]:.0f} s; fast: {len(fast)}, {seconds[2]:.0f} s")
    if lost := killers() - costs.keys():
        print(f"{len(lost)} tests that noticed a mutant are gone: run support.mutation again")


if __name__ == "__main__":
    main()

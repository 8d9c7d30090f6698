"""Which tests run only with `--all`: those in tests/whole.txt, which cost much and are not needed.

    PYTHONPATH=tests python -m pytest -n 2 -p support.tiers tests    # measure each test's seconds
    PYTHONPATH=tests python -m support.tiers                         # choose, and write tests/whole.txt

All laws and the command line's tests are needed; of every mutant that a test notices, the cheapest one that does; and
of every test function, the cheapest of its cases, unless that takes long.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.mutation import RESULTS

ROOT = Path(__file__).parents[2]
MEASURED, WHOLE = ROOT / "runs" / "tiers", ROOT / "tests" / "whole.txt"
NEEDED = ("tests/laws/", "tests/cli/", "tests/core/test_bounds.py", "tests/findings/test_results.py")
CHEAP, LONG = 0.5, 4.0  # seconds


class Measure:
    """A pytest plugin that writes down each test's seconds, in which it may wait for processes that it starts."""

    def __init__(self) -> None:
        MEASURED.mkdir(parents=True, exist_ok=True)
        self.costs = (MEASURED / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("w")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        before = time.perf_counter()
        found = yield
        self.costs.write(json.dumps([item.nodeid, time.perf_counter() - before]) + "\n")
        self.costs.flush()
        return found


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measure())


def killers() -> set[str]:
    """The cheapest test that notices each mutant."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    last = {(entry["file"], entry["digest"]): entry for entry in map(json.loads, lines)}
    return {entry["test"] for entry in last.values() if entry["outcome"] != "survived"} - {""}


def main() -> None:
    costs = dict[str, float](json.loads(line) for path in MEASURED.glob("*.jsonl") for line in path.open())
    cheapest = {test.partition("[")[0]: test for test in sorted(costs, key=costs.__getitem__, reverse=True)}
    first, noticing = {test for test in cheapest.values() if costs[test] <= LONG}, killers()
    needed = first | noticing | {test for test in costs if test.startswith(NEEDED)}
    whole = {test for test, cost in costs.items() if cost > CHEAP and test not in needed}
    WHOLE.write_text("".join(f"{test}\n" for test in sorted(whole)))
    left = sum(cost for test, cost in costs.items() if test not in whole)
    print(f"{len(costs)} tests take {sum(costs.values()):.0f} s, the fast {len(costs) - len(whole)} {left:.0f} s")
    if lost := noticing - costs.keys():
        print(f"{len(lost)} tests that noticed a mutant are gone: run support.mutation again")


if __name__ == "__main__":
    main()

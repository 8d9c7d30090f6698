"""Which tests run only with `--all`: those in tests/whole.txt, which cost much and are not needed.

    PYTHONPATH=tests python -m pytest -n 2 -p support.tiers tests    # measure each test's seconds
    PYTHONPATH=tests python -m support.tiers                         # choose, and write tests/whole.txt

Needed are, of every mutant that a test notices, the cheapest one that does, and of every function that doesn't take
long, the cheapest of its cases. A law, or a test of the command line or of the pages, may take a minute.
"""

import json
import os
from collections import Counter

import pytest
from support.mutation import ROOT, noted

MEASURED, WHOLE = ROOT / "runs" / "tiers.jsonl", ROOT / "tests" / "whole.txt"
NEEDED = ("tests/laws/", "tests/cli/", "tests/findings/test_results.py")
CHEAP, LONG, AT_MOST = 0.1, 2.0, 60.0  # seconds, where two workers and more are busy


def pytest_configure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        MEASURED.parent.mkdir(exist_ok=True)
        MEASURED.write_text("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Each part of a test, in which it may wait for processes that it starts; workers report to the one that asks."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with MEASURED.open("a") as costs:
            costs.write(json.dumps([report.nodeid, report.duration]) + "\n")


def main() -> None:
    costs = Counter[str]()
    for test, seconds in map(json.loads, MEASURED.open()):
        if test.startswith("tests/"):  # notebooks are executed when they are due
            costs[test] += seconds
    cheapest = {test.partition("[")[0]: test for test in sorted(costs, key=costs.__getitem__, reverse=True)}
    first = {test for test in cheapest.values() if costs[test] <= (AT_MOST if test.startswith(NEEDED) else LONG)}
    noticing = {entry["test"] for entry in noted().values() if entry["outcome"] != "survived"} - {""}
    needed = first | noticing
    before = {test for test in WHOLE.read_text().splitlines() if test not in costs}  # not measured this time
    whole = {test for test, cost in costs.items() if cost > CHEAP and test not in needed} | (before - noticing)
    WHOLE.write_text("".join(f"{test}\n" for test in sorted(whole)))
    fast = [cost for test, cost in costs.items() if test not in whole]
    print(f"of {len(costs)} tests ({sum(costs.values()):.0f} s), {len(fast)} are fast ({sum(fast):.0f} s)")
    if lost := noticing - costs.keys():
        print(f"{len(lost)} tests that noticed a mutant are gone: run support.mutation again")


if __name__ == "__main__":
    main()

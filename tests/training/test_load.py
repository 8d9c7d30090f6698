"""How long it takes to report on thousands of finished jobs, and in how much memory: told, not judged."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support.many_jobs import DESIGNS, fill


@pytest.mark.slow
def test_a_thousand_finished_jobs_are_read_and_reported(tmp_path: Path) -> None:
    seeds = 430
    plan = fill(tmp_path, seeds)
    command = ["run", "--design", DESIGNS, "--seeds", str(seeds), "--out", str(tmp_path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "ablations", *command], capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert f"{len(plan.jobs)} jobs, {len(plan.jobs)} of them done before" in done.stdout
    assert len(plan.jobs) == 1421
    print(f"{used.ru_utime - before.ru_utime:.0f} s of processor time, {used.ru_maxrss / 1e6:.2f} GB")

"""No compiled function reads or writes beside an array: numba compiles them anew with bounds checks, and they agree.

What is behind an address, as nets are, has no bounds that could be checked: there, the contracts at the doors hold.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")
TESTS = Path(__file__).parents[1]
FILES = ["core/test_contracts.py", "laws/test_learning_contracts.py"]
WRONG = """
import numpy as np
from tricks.fast.compiled_rows import discounted_sum
discounted_sum(*(np.ones((1, rows, 3), np.float32) for rows in (2, 1, 2)))
"""


def test_with_bounds_checks_all_contracts_hold_and_a_wrong_shape_is_noticed(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "CONTRACTS": "30"}
    wrong = subprocess.run([sys.executable, "-c", WRONG], env=environment, capture_output=True, text=True)
    assert "IndexError" in wrong.stderr
    options = ["-qx", "-pno:xdist", "-pno:cacheprovider", "-oaddopts=", "-knot pair", f"--basetemp={tmp_path}/pytest"]
    command = [sys.executable, "-m", "pytest", *options, *(str(TESTS / file) for file in FILES)]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

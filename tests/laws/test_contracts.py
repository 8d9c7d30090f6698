"""For any input, what is compiled and its formula both raise or agree: shapes, strides, NaN, ties, filler, every flag.

Gradients agree where they are finite, and are so in the same places. Nets whose weights are zero make ties exact: π is
uniform and V is 0. `CONTRACTS` in the environment says how many inputs of each form and how many minibatches are drawn.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.draws import FORMS, Draw, assert_form
from support.learners import COMPILED, FLAGS, Learner, assert_learned, compiled_losses

from tricks import InputError
from tricks.ladder import closed, switched

code = pytest.importorskip("tricks.fused.compiled_learning")
INPUTS, COUNT = (int(os.environ.get("CONTRACTS", usual)) for usual in (60, 75))


@pytest.mark.parametrize("form", FORMS)
def test_for_any_input_both_forms_raise_or_agree(form: str) -> None:
    worked = 0
    for seed in range(INPUTS):
        worked += assert_form(getattr(Draw(f"{form} {seed}"), form)(), seed)
    assert INPUTS / 5 < worked < INPUTS


def test_every_flag_that_a_kernel_tests_is_drawn_and_buffers_have_rows_of_their_own() -> None:
    assert code.FLAGS == COMPILED
    for seed in range(40):
        assert_learned(Learner(seed, switched(closed({"ppg_buffers"})), usual=True, odd=False))


@pytest.mark.parametrize("part", range(4))
def test_any_minibatch_is_learned_from_alike_or_refused_alike(part: int) -> None:
    with compiled_losses() as found:
        worked = sum(assert_learned(Learner(part * COUNT + seed)) for seed in range(COUNT))
    assert COUNT / 2 < worked < COUNT and COUNT / 2 < sum(found) < len(found)


def test_a_policy_exactly_as_far_away_as_it_may_be_is_near_enough() -> None:
    flags, ties = switched(closed({"kl_stop"})), 0
    for seed in range(20):
        learner = Learner(seed, flags, usual=True, odd=False)
        kl = (learner.learned(formulas=False) or {})["approx_kl"][0]
        for target in (kl / 1.5)[kl.isfinite() & (kl > 0)].tolist():
            learner.config = replace(learner.config, target_kl=target)
            tie = 1.5 * target == kl
            steps = (learner.learned(formulas=False) or {})["steps_taken"][0]
            assert (steps[tie] == 1).all()
            ties += int(tie.sum())
    assert ties


@pytest.mark.parametrize("box", [False, True], ids=["discrete", "box"])
@pytest.mark.parametrize("reuse", [False, True], ids=["once", "reused"])
def test_each_pair_of_flags_of_the_compiled_branches(reuse: bool, box: bool) -> None:
    seen = set[tuple[str, ...]]()
    for one in FLAGS:
        for other in FLAGS:
            try:
                flags = switched(closed({one, other, *(["reuse"] if reuse else [])}))
            except InputError:
                continue
            if flags.on in seen or (not reuse and flags.reuse) or (box and flags.action_mask):
                continue
            seen.add(flags.on)
            assert_learned(Learner(len(seen), flags, box))
    assert len(seen) > 10


WRONG = """
import numpy as np
from tricks.fast.compiled_rows import discounted_sum
discounted_sum(*(np.ones((1, rows, 3), np.float32) for rows in (2, 1, 2)))
"""


def test_with_bounds_checks_all_contracts_hold_and_a_wrong_shape_is_noticed(tmp_path: Path) -> None:
    """No compiled function reads or writes beside an array: numba compiles them anew with bounds checks.

    What is behind an address, as nets are, has no bounds that could be checked: there, the contracts at the doors hold.
    """
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "CONTRACTS": "30"}
    wrong = subprocess.run([sys.executable, "-c", WRONG], env=environment, capture_output=True, text=True)
    assert "IndexError" in wrong.stderr
    left_out = "-knot pair and not bounds"
    options = ["-qx", "-pno:xdist", "-pno:cacheprovider", "-oaddopts=", left_out, f"--basetemp={tmp_path}/pytest"]
    command = [sys.executable, "-m", "pytest", *options, __file__]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

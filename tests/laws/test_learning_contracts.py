"""For any minibatch, `learn` compiled and as written both raise or agree, in every flag: NaN, ties, filler, any shape.

Nets whose weights are zero make ties exact: π is uniform and V is 0. `CONTRACTS` in the environment says how many
minibatches are drawn.
"""

import os
from dataclasses import replace

import pytest
from support.learners import COMPILED, FLAGS, Learner, assert_alike
from support.updates import compiled_losses

from tricks import InputError
from tricks.ladder import closed, switched

code = pytest.importorskip("tricks.fused.compiled_losses")
COUNT = int(os.environ.get("CONTRACTS", 300))


def test_every_flag_that_a_kernel_tests_is_drawn_and_buffers_have_rows_of_their_own() -> None:
    assert code.FLAGS == COMPILED
    for seed in range(40):
        assert_alike(Learner(seed, switched(closed({"ppg_buffers"})), usual=True, odd=False))


def test_any_minibatch_is_learned_from_alike_or_refused_alike() -> None:
    with compiled_losses() as found:
        worked = sum(assert_alike(Learner(seed)) for seed in range(COUNT))
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
            assert_alike(Learner(len(seen), flags, box))
    assert len(seen) > 10

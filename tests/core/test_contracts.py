"""For any input, a compiled form and its formula either both raise or agree: shapes, strides, types, NaN, ties, ends.

Gradients agree where they are finite, and are so in the same places. `CONTRACTS` in the environment says how many
inputs are drawn of each form.
"""

import os

import pytest
from support.draws import FORMS, Draw, assert_alike

pytest.importorskip("numba")
COUNT = int(os.environ.get("CONTRACTS", 60))


@pytest.mark.parametrize("form", FORMS)
def test_for_any_input_both_forms_raise_or_agree(form: str) -> None:
    worked = 0
    for seed in range(COUNT):
        draw = Draw(f"{form} {seed}")
        worked += assert_alike(getattr(draw, form)(), seed)
    assert COUNT / 5 < worked < COUNT

"""Labels: the full name of an arm, its heading, and its small print."""

import pytest

from ablations.design.crossed import factorial
from ablations.design.designs import DESIGNS, add_one_in, ladder
from ablations.design.labels import Label, added, taken
from ablations.design.story import story_of


@pytest.mark.parametrize(
    ("label", "whole", "heading", "small_print"),
    [
        (taken("clip", ["clip_anneal"]), "− clip, clip_anneal", "− clip", "and clip_anneal"),
        (
            added(["baseline", "return_norm", "popart"]),
            "+ baseline, return_norm, popart",
            "+ popart",
            "on baseline, return_norm",
        ),
        (added(["gae"]), "+ gae", "+ gae", ""),
        (taken("gae", []), "− gae", "− gae", ""),
        (Label("reinforce"), "reinforce", "reinforce", ""),
        (Label("reuse", note="what the chosen tricks need"), "reuse", "reuse", "what the chosen tricks need"),
    ],
)
def test_a_label_formats_itself(label: Label, whole: str, heading: str, small_print: str) -> None:
    assert (str(label), label.heading, label.small_print) == (whole, heading, small_print)


def test_the_first_arm_is_named_for_what_the_chosen_tricks_need() -> None:
    chosen = ladder(["baseline", "clip"])
    assert [arm.name for arm in chosen.arms] == ["reuse", "+ baseline", "+ clip"]
    assert chosen.base == ("reuse",)
    told = story_of(chosen).panels
    assert told is not None
    assert told.title == "From reuse up, one trick at a time"
    assert factorial(["gae", "entropy"]).arms[0].name == "baseline"
    assert ladder(["baseline"]).arms[0].name == add_one_in(["clip"]).arms[0].name == "reinforce"


def test_a_comparison_is_about_the_arm_that_its_label_names() -> None:
    for name in ("ladder", "leave-one-out", "add-one-in", "beyond", "beyond-normed"):
        design = DESIGNS[name](["baseline", "reuse", "clip"])
        arms = {arm.tricks: arm.label for arm in design.arms}
        assert design.comparisons
        for pair in design.comparisons:
            assert arms[pair.focus] == pair.label
            assert {pair.focus, pair.reference} == {pair.without, pair.having}
            assert pair.reference in arms


def test_a_design_has_the_name_that_it_is_registered_under() -> None:
    names = ["baseline", "reuse", "clip"]
    assert {name: make(names).name for name, make in DESIGNS.items()} == {name: name for name in DESIGNS}

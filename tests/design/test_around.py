"""Designs around any base: its numbers are in all arms, and each trick is compared to what it needs."""

import re

import pytest

from ablations import Arm, Comparison, Design
from ablations.design.arm_texts import arm_from
from ablations.design.around import add_one_in, factorial, ladder, leave_one_out, references_of
from tricks import CONTINUOUS, CONTINUOUS_CONFIG, PPO, REINFORCE, Config, InputError

BASE = arm_from("continuous --no-grad-clip")


def test_the_base_s_numbers_are_in_every_arm() -> None:
    for design in (leave_one_out(BASE), add_one_in(BASE, ["popart"]), factorial(BASE, ["clip", "gae"]), ladder(BASE)):
        assert {arm.numbers for arm in design.arms} == {BASE.numbers}
        assert all(arm.config(Config()).horizon == CONTINUOUS_CONFIG.horizon for arm in design.arms)


def test_leave_one_out_has_the_base_and_an_arm_without_each_of_its_tricks() -> None:
    design = leave_one_out(BASE)
    on = [name for name in CONTINUOUS.on if name != "grad_clip"]
    assert [pair.trick for pair in design.comparisons] == on
    assert design.arms[0] == BASE
    assert set(references_of(design).values()) == {BASE.name}
    assert references_of(design)["− reuse, clip, value_clip"] == BASE.name  # with what needs it


def test_add_one_in_compares_a_trick_to_the_base_with_what_it_needs_and_leaves_out_what_is_excluded() -> None:
    assert references_of(add_one_in(BASE, ["popart"])) == {"+ return_norm, popart": "+ return_norm"}
    tried = {pair.trick for pair in add_one_in(arm_from("ppg")).comparisons}
    assert "shared_trunk" not in tried  # which ppg excludes
    assert "kl_stop" in tried


def test_a_ladder_climbs_to_the_base_in_teaching_order() -> None:
    design = ladder(arm_from("gae --entropy"))
    assert [arm.name for arm in design.arms] == ["reinforce", "+ baseline", "+ reuse", "+ clip", "+ gae", "+ entropy"]
    assert references_of(design)["+ gae"] == "+ clip"
    some = ladder(Arm("ppo", PPO), ["clip", "gae"])
    assert [arm.name for arm in some.arms] == ["ppo without clip, gae", "+ clip", "+ gae"]
    assert some.name == "ladder of ppo"
    assert ladder(Arm("ppo", PPO), ["gae", "clip"]).names == ("gae", "clip")  # or in another order, if one asks for it
    most = [name for name in PPO.on if name != "orthogonal_init"]
    assert ladder(Arm("ppo", PPO), most).arms[0].name == "only orthogonal_init of ppo"


def test_a_ladder_of_tricks_that_the_rest_needs_says_which_to_take_as_well() -> None:
    base = arm_from("ppo --no-value-clip --return-norm --popart")
    for few in (["baseline"], ["reuse"], ["return_norm"], ["baseline", "reuse"]):
        with pytest.raises(InputError, match="this ladder starts without ") as refused:
            ladder(base, few)
        more = str(refused.value).split("--tricks ")[1].split(",")
        design = ladder(base, more)  # the advice can be followed
        assert set(few) < set(more) == {pair.trick for pair in design.comparisons}


def test_a_ladder_in_an_order_that_cannot_be_climbed_says_which_can() -> None:
    with pytest.raises(InputError, match=r"^in this order, clip needs reuse; try --tricks reuse,clip,value_clip$"):
        ladder(Arm("ppo", PPO), ["clip", "reuse", "value_clip"])


def test_a_factorial_has_every_combination_on_top_of_the_rest_of_the_base() -> None:
    design = factorial(Arm("ppo", PPO), ["clip", "entropy"])
    assert [arm.name for arm in design.arms] == ["none of them", "+ entropy", "+ clip", "+ clip, entropy"]
    assert all({*PPO.on} - {"clip", "entropy"} <= {*arm.tricks.on} for arm in design.arms)
    assert factorial(Arm("bare", REINFORCE), ["clip", "gae"]).dropped  # without what these need


@pytest.mark.parametrize(
    ("make", "names", "said"),
    [
        (leave_one_out, ["popart"], "does not have popart, so it cannot be left out"),
        (add_one_in, ["clip"], "already has clip, so it cannot be added"),
        (ladder, ["popart"], "does not have popart"),
        (factorial, ["clip"], "a factorial takes 2 to 5 tricks, not 1"),
    ],
)
def test_tricks_that_a_design_cannot_be_about_are_refused(make: object, names: list[str], said: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=re.escape(said)):
        make(BASE, names)


def test_a_design_of_one_s_own_compares_arms_that_it_has() -> None:
    fast, slow = Arm("fast", PPO), Arm("slow", PPO, {"lr": 1e-4})  # the same flags
    design = Design("mine", (), (fast, slow), (Comparison.of(slow, fast),))
    assert references_of(design) == {"slow": "fast"}
    with pytest.raises(InputError, match="the design 'mine' compares an arm that it does not have, other"):
        references_of(Design("mine", (), (fast, slow), (Comparison.of(Arm("other", REINFORCE), fast),)))
    with pytest.raises(InputError, match="compares the arm slow 2 times; an arm has one reference"):
        references_of(Design("mine", (), (fast, slow), (Comparison.of(slow, fast), Comparison.of(slow, fast))))

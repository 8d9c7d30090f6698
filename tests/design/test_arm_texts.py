"""Arms in words, what `python -m tricks train` would train; and designs around any base, whose numbers are in all arms
and in which each trick is compared to what it needs."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ablations import Arm, Comparison, Design, compare
from ablations.design.arm_texts import arm_from, arms_of, refuse_unfit
from ablations.design.around import add_one_in, factorial, ladder, leave_one_out, references_of
from tricks import CONTINUOUS, CONTINUOUS_CONFIG, PPO, REINFORCE, Config, InputError, switched

DEFAULT, WHOLE = Config(), Arm("ppo", PPO)
BASE = arm_from("continuous --no-grad-clip")


def test_a_text_is_a_rung_with_flags_and_numbers_and_names_itself() -> None:
    arm = arm_from("ppo+kl_stop --no-gae --target-kl 0.02")
    on = [name for name in (*PPO.on, "kl_stop") if name != "gae"]
    assert arm == Arm("ppo+kl_stop --no-gae --target-kl 0.02", switched(on), {"target_kl": 0.02})
    assert arm_from("mine=ppo --lr 0.01") == Arm("mine", PPO, {"lr": 0.01})
    assert arm_from("'my own=ppo'").name == "my own"
    assert not arm_from("ppo", flags=["--no-gae"]).tricks.gae
    assert arm_from("ppo --gae", flags=["--no-gae"]).tricks.gae  # flags for all arms come before the arm's own
    arms = arms_of({"a": PPO, "b = c": "ppo --no-gae", "d": Arm("x", REINFORCE, {"lr": 0.1})}, DEFAULT)
    assert [arm.name for arm in arms] == ["a", "b = c", "d"]  # from Python, a mapping names them
    assert arms[2].numbers == (("lr", 0.1),)


def test_a_preset_brings_its_numbers_except_those_that_were_given_for_all() -> None:
    own = dict(arm_from("continuous --epochs 3").numbers)
    assert own == {"lanes": 1, "horizon": 2048, "lr": 3e-4, "epochs": 3, "minibatches": 32, "value_epochs": 10}
    assert "lr" not in dict(arm_from("continuous", given=["lr"]).numbers)  # though 0.001 is the default
    shared = replace(DEFAULT, gamma=0.9, lanes=16)
    (arm,) = arms_of(["continuous"], shared)
    config = arm.config(shared)
    assert (config.gamma, config.lanes, config.horizon) == (0.9, 16, CONTINUOUS_CONFIG.horizon)
    assert arm.tricks == CONTINUOUS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense --lr 1", "arm 'nonsense --lr 1': unknown rung 'nonsense'"),
        ("--no-gae", "arm '--no-gae' starts with no rung; for example: 'ppo --no-gae'"),
        ("", "arm '' starts with no rung"),
        ("=ppo", "arm '=ppo' has an empty name"),
        ("ppo --popart", "arm 'ppo --popart': popart needs return_norm"),
        ("ppo --target-kl 0.1", "arm 'ppo --target-kl 0.1': target_kl has no effect without kl_stop"),
        ("ppo --lr fast", "arm 'ppo --lr fast': "),
        ("ppo --gama 0.9", "arm 'ppo --gama 0.9': unknown option --gama (did you mean --gamma?)"),
        ("ppo --gamma 2", "arm 'ppo --gamma 2': gamma must be in [0, 1], not 2.0"),
        ("ppo --steps 5", "arm 'ppo --steps 5': steps is the same for all arms: put --steps outside the quotes"),
        ("ppo 'x", 'arm "ppo \'x": No closing quotation'),
    ],
)
def test_what_is_no_arm_is_refused_in_one_line_with_its_name(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as error:
        arm_from(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (["ppo"], "a comparison needs at least two arms"),
        (["ppo", "ppo"], "two arms have the name 'ppo'"),
        (["ppo", Arm("x", PPO, {"target_kl": 0.1})], "arm 'x': target_kl has no effect without kl_stop"),
        ([PPO, "ppo"], "an arm has no name"),
        ([3, "ppo"], "an arm is an Arm, Tricks or a text such as 'ppo --no-gae', not int"),
        (["ppo", "ppo --no-action-mask"], "--no-action-mask changes nothing.* already off in ppo; try --action-mask$"),
        (["ppo --gae", "ppo"], "--gae changes nothing, since gae is already on in ppo; try --no-gae$"),
        (["ppo", "x=ppo"], "the same, with the same flags and numbers$"),
        (["ppo --no-gae", "mine=ppo --no-gae"], "the same, with the same flags and numbers$"),
    ],
)
def test_arms_that_make_no_comparison_are_refused(arms: list[Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        compare(arms, Config(steps=500), seeds=2, out=tmp_path)
    if said[-1] != "$":
        with pytest.raises(InputError, match=said):
            refuse_unfit(arms_of(arms, DEFAULT))


def test_numbers_of_an_arm_are_config_s_and_not_those_that_all_arms_share() -> None:
    for numbers, said in (
        ({"gama": 0.9}, "arm 'x': gama is no field of Config"),
        ({"env": "Taxi-v4"}, "arm 'x': env is the same for all arms"),
        ({"gamma": 7.0}, "arm 'x': gamma must be in [0, 1], not 7"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            Arm("x", PPO, numbers).config(DEFAULT)


def test_the_base_s_numbers_are_in_every_arm() -> None:
    for design in (leave_one_out(BASE), add_one_in(BASE, ["popart"]), factorial(BASE, ["clip", "gae"]), ladder(BASE)):
        assert {arm.numbers for arm in design.arms} == {BASE.numbers}
        assert all(arm.config(Config()).horizon == CONTINUOUS_CONFIG.horizon for arm in design.arms)


def test_a_trick_is_left_out_with_what_needs_it_and_added_to_what_it_needs_unless_it_is_excluded() -> None:
    design = leave_one_out(BASE)
    assert [pair.trick for pair in design.comparisons] == [name for name in CONTINUOUS.on if name != "grad_clip"]
    assert design.arms[0] == BASE
    assert set(references_of(design).values()) == {BASE.name}
    assert references_of(design)["− reuse, clip, value_clip"] == BASE.name
    assert references_of(add_one_in(BASE, ["popart"])) == {"+ return_norm, popart": "+ return_norm"}
    tried = {pair.trick for pair in add_one_in(arm_from("ppg")).comparisons}
    assert "shared_trunk" not in tried  # which ppg excludes
    assert "kl_stop" in tried


def test_a_ladder_climbs_to_the_base_in_teaching_order_or_in_another_if_one_asks_for_it() -> None:
    design = ladder(arm_from("gae --entropy"))
    assert [arm.name for arm in design.arms] == ["reinforce", "+ baseline", "+ reuse", "+ clip", "+ gae", "+ entropy"]
    assert references_of(design)["+ gae"] == "+ clip"
    some = ladder(WHOLE, ["clip", "gae"])
    assert [arm.name for arm in some.arms] == ["ppo without clip, gae", "+ clip", "+ gae"]
    assert some.name == "ladder of ppo"
    assert ladder(WHOLE, ["gae", "clip"]).names == ("gae", "clip")
    most = [name for name in PPO.on if name != "orthogonal_init"]
    assert ladder(WHOLE, most).arms[0].name == "only orthogonal_init of ppo"
    with pytest.raises(InputError, match=r"^in this order, clip needs reuse; try --tricks reuse,clip,value_clip$"):
        ladder(WHOLE, ["clip", "reuse", "value_clip"])
    base = arm_from("ppo --no-value-clip --return-norm --popart")
    for few in (["baseline"], ["reuse"], ["return_norm"], ["baseline", "reuse"]):  # which the rest needs
        with pytest.raises(InputError, match="this ladder starts without ") as refused:
            ladder(base, few)
        more = str(refused.value).split("--tricks ")[1].split(",")
        design = ladder(base, more)  # the advice can be followed
        assert set(few) < set(more) == {pair.trick for pair in design.comparisons}


def test_a_factorial_has_every_combination_on_top_of_the_rest_of_the_base() -> None:
    design = factorial(WHOLE, ["clip", "entropy"])
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
def test_tricks_that_a_design_cannot_be_about_are_refused(
    make: Callable[..., Any], names: list[str], said: str
) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        make(BASE, names)


def test_a_design_of_one_s_own_compares_arms_that_it_has() -> None:
    fast, slow, other = (
        Arm("fast", PPO),
        Arm("slow", PPO, {"lr": 1e-4}),
        Arm("other", REINFORCE),
    )  # two of the same flags
    known, unknown = Comparison.of(slow, fast), Comparison.of(other, fast)
    assert references_of(Design("mine", (), (fast, slow), (known,))) == {"slow": "fast"}
    for pairs, said in (
        ((unknown,), "the design 'mine' compares an arm that it does not have, other"),
        ((known, known), "compares the arm slow 2 times; an arm has one reference"),
    ):
        with pytest.raises(InputError, match=said):
            references_of(Design("mine", (), (fast, slow), pairs))

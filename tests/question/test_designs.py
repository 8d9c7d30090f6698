"""Designs: every arm meets its needs, shared arms are trained once, and comparisons differ as their labels say. Arms in
words, and designs around any base, whose numbers are in all arms."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.fixtures import refusal

from ablations import Arm, Comparison, Design, compare
from ablations.findings.our_designs import beyond, beyond_raw, scales
from ablations.question import around
from ablations.question.arms import added, compared, flags
from ablations.question.around import arm_by_arm, fits
from ablations.question.designs import DESIGNS, add_one_in, as_design, as_stored, factorial, ladder, leave_one_out
from ablations.question.words import arm_from, arms_of, refuse_unfit, usable
from tricks import CONTINUOUS, CONTINUOUS_CONFIG, EVERY, PPO, REINFORCE, Config, switched
from tricks.ladder import LADDER, NEEDS, PPG

NAMES = usable(Config("CartPole-v1"))


def references_of(design: Design) -> dict[str, str]:
    """Which arm each arm is compared to, by name."""
    return {pair.having.name: pair.without.name for pair in arm_by_arm(design).comparisons}


OUTSIDE = tuple(name for name in NEEDS if name not in LADDER and fits(PPO, name))


def test_an_arm_under_another_name_trains_the_same() -> None:
    arm = Arm("mine", PPO, {"target_kl": 0.02}, {"standardize": abs}, body=Mock())
    other = arm.like("other")
    assert (other, other.name, other.body) == (arm, "other", arm.body)
    assert arm.like("less", REINFORCE) == Arm("less", REINFORCE, arm.numbers, arm.functions, arm.body)


def test_the_ladder_has_a_rung_per_trick_and_beyond_compares_each_to_ppo() -> None:
    cartpole, taxi = ladder(NAMES), ladder(usable(Config("Taxi-v4")))
    assert [arm.name for arm in taxi.arms] == ["reinforce", *(f"+ {name}" for name in LADDER)]
    assert (taxi.arms[-1].tricks, set(LADDER) - set(NAMES)) == (EVERY, {"action_mask"})
    assert len(cartpole.arms) == len(taxi.arms) - 1
    assert all((pair.without, pair.having) == cartpole.arms[k : k + 2] for k, pair in enumerate(cartpole.comparisons))
    masks = ("Taxi-v4", "auto"), ("Taxi-v4", "gymnasium"), ("tricks/Trading-v0", "auto")  # whatever steps them
    assert all("action_mask" in usable(Config(*each)) for each in masks)
    assert "action_mask" not in usable(Config("tricks/Corridor-v0"))
    three = ["shared_trunk", "ppg", "ppg_buffers"]
    design, raw = beyond(three), beyond_raw(three)
    assert [arm.name for arm in design.arms] == ["ppo", "+ shared_trunk", "+ ppg", "+ ppg, ppg_buffers"]
    gained = [{*pair.having.tricks.on} - {*pair.without.tricks.on} for pair in design.comparisons]
    assert gained == [{pair.trick} for pair in design.comparisons] == [{name} for name in three]
    assert [pair.without.tricks for pair in design.comparisons] == [PPO, PPO, PPG]
    assert [arm.name for arm in raw.arms][::3] == ["ppo without return_norm", "+ ppg, ppg_buffers"]
    assert [arm.tricks for arm in raw.arms] == [replace(arm.tricks, return_norm=False) for arm in design.arms]
    assert [pair.without for pair in raw.comparisons] == [raw.arms[i] for i in (0, 0, 2)]


@pytest.mark.parametrize("design", [beyond, beyond_raw])
def test_beyond_is_about_the_tricks_it_is_told_or_about_all_that_are_no_rungs(design: Callable[..., Design]) -> None:
    assert design([]).names == design(NAMES).names == OUTSIDE and design(["ppg", *NAMES]).names == ("ppg",)
    told = design(OUTSIDE[:2])  # what was stored before a trick was added
    assert DESIGNS[told.name](told.names) == told
    for name in OUTSIDE:
        made = design([name])
        assert name in made.names
        assert all({pair.without, pair.having} <= {*made.arms} for pair in made.comparisons)


def test_leaving_one_out_takes_along_what_needs_it_and_adding_one_in_what_it_needs() -> None:
    design = leave_one_out(NAMES)
    pairs = {pair.trick: pair for pair in design.comparisons}
    assert all(pair.having.tricks.on == tuple(NAMES) for pair in pairs.values())
    assert str(pairs["clip"].label) == "− clip, clip_anneal"
    assert set(NAMES) - set(pairs["reuse"].without.tricks.on) == {"reuse", "clip", "value_clip", "clip_anneal"}
    assert (set(NAMES) - set(pairs["entropy"].without.tricks.on), len(design.arms)) == ({"entropy"}, len(NAMES) + 1)
    design = add_one_in(NAMES)
    pairs = {pair.trick: pair for pair in design.comparisons}
    assert pairs["popart"].having.tricks.on == ("baseline", "return_norm", "popart")
    assert pairs["popart"].without.tricks.on == ("baseline", "return_norm")
    assert str(pairs["popart"].label) == "+ baseline, return_norm, popart"
    assert pairs["entropy"].without == Arm("", REINFORCE)
    assert all(len(pair.having.tricks.on) == len(pair.without.tricks.on) + 1 for pair in pairs.values())
    trained = {*design.arms}
    assert len(trained) == len(design.arms)  # the needs of one trick are the arm of another
    assert all({pair.without, pair.having} <= trained for pair in pairs.values())


def test_a_factorial_has_every_combination_and_drops_what_breaks_a_need_and_the_rest_of_the_base() -> None:
    design = factorial(["gae", "entropy"])  # gae's need is on in all arms
    combinations = [(), ("entropy",), ("gae",), ("gae", "entropy")]
    assert [arm.tricks.on for arm in design.arms] == [("baseline", *names) for names in combinations]
    nested = factorial(["baseline", "gae", "entropy"])
    assert len(nested.arms) == 6
    assert nested.dropped == (("+ gae", "gae needs baseline"), ("+ gae, entropy", "gae needs baseline"))
    for names in (["gae"], NAMES[:6]):
        refusal("a factorial takes 2 to 5 tricks", factorial, names)
    design = around.factorial(WHOLE, ["clip", "entropy"])
    assert [arm.name for arm in design.arms] == ["none of them", "+ entropy", "+ clip", "+ clip, entropy"]
    assert all({*PPO.on} - {"clip", "entropy"} <= {*arm.tricks.on} for arm in design.arms)
    assert around.factorial(Arm("bare", REINFORCE), ["clip", "gae"]).dropped  # without what these need


def test_designs_and_arms_have_names_of_their_own_and_the_sign_of_the_reward_is_an_arm() -> None:
    for name, design in DESIGNS.items():
        made = design(NAMES[:5] if name == "factorial" else NAMES)
        assert made.name == name
        assert len({arm.name for arm in made.arms}) == len({*made.arms}) == len(made.arms)
    raw, sign, normed, _ = scales([]).arms
    assert (raw.tricks, sign.numbers) == (sign.tricks, (("reward_sign", True),))
    assert flags(sign.tricks, sign.signed) == f"{flags(raw.tricks, raw.signed)} reward_sign"
    stored = as_stored(scales([])) | {"comparisons": []}
    stored["arms"] = [(("reward_sign", "+"), flags(sign.tricks, True), [])]  # as stored results say it
    assert as_design(stored).arms == (sign,)
    assert [pair.without for pair in scales([]).comparisons] == [raw, raw, normed]
    config = Config("tricks/BricksByRow-v0")
    assert [arm.config(config).reward_sign for arm in scales([]).arms] == [False, True, False, False]


@pytest.mark.parametrize(("having", "count", "shared"), [(3, 6, True), (3, 7, False), (2, 3, False), (3, 3, True)])
def test_an_arm_is_shared_if_half_of_the_comparisons_and_three_have_it(having: int, count: int, shared: bool) -> None:
    whole = Arm("ppg", PPG)
    arms = [Arm(str(k), switched(NAMES[:k])) for k in range(2 * count + 1)]  # all others are in one comparison each
    pairs = [(whole if k < having else arms[2 * k], arms[2 * k + 1]) for k in range(count)]
    design = Design("x", (), (), tuple(Comparison(added(["gae"]), *pair) for pair in pairs))
    assert design.shared == ((whole,) if shared else ())


def test_the_first_arm_is_named_for_what_is_needed_and_a_comparison_for_the_arm_it_is_about() -> None:
    chosen = ladder(["baseline", "clip"])
    assert [arm.name for arm in chosen.arms] == ["reuse", "+ baseline", "+ clip"] and chosen.base == ("reuse",)
    assert factorial(["gae", "entropy"]).arms[0].name == "baseline"
    assert ladder(["baseline"]).arms[0].name == add_one_in(["clip"]).arms[0].name == "reinforce"
    for name in ("ladder", "leave-one-out", "add-one-in", "beyond", "beyond-raw"):
        design = DESIGNS[name](["baseline", "reuse", "clip"])
        arms = {arm: arm.label for arm in design.arms}
        assert design.comparisons
        for pair in design.comparisons:
            assert arms[pair.focus] == pair.label
            assert {pair.focus, pair.reference} == {pair.without, pair.having} and pair.reference in arms


DEFAULT, WHOLE = Config(), Arm("ppo", PPO)
BASE = arm_from("continuous --no-grad-clip")


def test_a_text_is_a_rung_with_flags_and_numbers_and_a_preset_brings_its_own() -> None:
    arm = arm_from("ppo+kl_stop --no-gae --target-kl 0.02")
    on = [name for name in (*PPO.on, "kl_stop") if name != "gae"]
    assert arm == Arm("ppo+kl_stop --no-gae --target-kl 0.02", switched(on), {"target_kl": 0.02})
    assert arm_from("mine=ppo --lr 0.01") == Arm("mine", PPO, {"lr": 0.01})
    assert arm_from("'my own=ppo'").name == "my own" and not arm_from("ppo", flags=["--no-gae"]).tricks.gae
    assert arm_from("ppo --gae", flags=["--no-gae"]).tricks.gae  # flags for all arms come before the arm's own
    arms = arms_of({"a": PPO, "b = c": "ppo --no-gae", "d": Arm("x", REINFORCE, {"lr": 0.1})}, DEFAULT)
    assert [arm.name for arm in arms] == ["a", "b = c", "d"]  # from Python, a mapping names them
    assert arms[2].numbers == (("lr", 0.1),)
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
        ("=ppo", "arm '=ppo' has an empty name"),
        ("cleanrl --popart", "arm 'cleanrl --popart': popart needs return_norm"),
        ("ppo --target-kl 0.1", "arm 'ppo --target-kl 0.1': target_kl has no effect without kl_stop"),
        ("ppo --lr fast", "arm 'ppo --lr fast': "),
        ("ppo --gama 0.9", "arm 'ppo --gama 0.9': unknown option --gama (did you mean --gamma?)"),
        ("ppo --gamma 2", "arm 'ppo --gamma 2': gamma must be in [0, 1], not 2.0"),
        ("ppo --steps 5", "arm 'ppo --steps 5': steps is the same for all arms: put --steps outside the quotes"),
        ("ppo 'x", 'arm "ppo \'x": No closing quotation'),
    ],
)
def test_what_is_no_arm_is_refused_in_one_line_with_its_name(text: str, said: str) -> None:
    refusal(re.escape(said), arm_from, text)


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (["ppo"], "a comparison needs at least two arms"),
        (["ppo", "ppo"], "two arms have the name 'ppo'"),
        (["ppo", Arm("x", PPO, {"target_kl": 0.1})], "arm 'x': target_kl has no effect without kl_stop"),
        ([3, "ppo"], "an arm is an Arm, Tricks or a text such as 'ppo --no-gae', not int"),
        (["ppo", "ppo --no-action-mask"], "are the same, with the same flags and numbers$"),
        (["ppo", "x=ppo"], "the same, with the same flags and numbers$"),
    ],
)
def test_arms_that_make_no_comparison_are_refused(arms: list[Any], said: str, tmp_path: Path) -> None:
    refusal(said, compare, arms, Config(steps=500), seeds=2, out=tmp_path)
    if said[-1] != "$":
        refusal(said, lambda: refuse_unfit(arms_of(arms, DEFAULT)))


def test_numbers_of_an_arm_are_config_s_and_those_of_the_base_in_every_arm() -> None:
    for numbers, said in (
        ({"gama": 0.9}, "arm 'x': gama is no field of Config"),
        ({"env": "Taxi-v4"}, "arm 'x': env is the same for all arms"),
        ({"gamma": 7.0}, "gamma must be in [0, 1], not 7"),
    ):
        refusal(re.escape(said), lambda: Arm("x", PPO, numbers).config(DEFAULT))  # noqa: B023 - at once
    added_to = around.add_one_in(BASE, ["popart"]), around.factorial(BASE, ["clip", "gae"])
    for design in (around.leave_one_out(BASE), around.ladder(BASE), *added_to):
        assert {arm.numbers for arm in design.arms} == {BASE.numbers}
        assert all(arm.config(Config()).horizon == CONTINUOUS_CONFIG.horizon for arm in design.arms)


def test_a_trick_is_left_out_with_what_needs_it_and_added_to_what_it_needs_unless_it_is_excluded() -> None:
    design = around.leave_one_out(BASE)
    assert [pair.trick for pair in design.comparisons] == [name for name in CONTINUOUS.on if name != "grad_clip"]
    assert (design.arms[0], set(references_of(design).values())) == (BASE, {BASE.name})
    assert references_of(design)["− reuse, clip, value_clip"] == BASE.name
    assert references_of(around.add_one_in(BASE, ["popart"])) == {"+ return_norm, popart": "+ return_norm"}
    tried = {pair.trick for pair in around.add_one_in(arm_from("ppg")).comparisons}
    assert "shared_trunk" not in tried  # which ppg excludes
    assert "kl_stop" in tried


def test_a_ladder_climbs_to_the_base_in_teaching_order_or_in_another_if_one_asks_for_it() -> None:
    design = around.ladder(arm_from("gae --entropy"))
    assert [arm.name for arm in design.arms] == ["reinforce", "+ baseline", "+ reuse", "+ clip", "+ gae", "+ entropy"]
    assert references_of(design)["+ gae"] == "+ clip"
    some = around.ladder(WHOLE, ["clip", "gae"])
    assert [arm.name for arm in some.arms] == ["ppo without clip, gae", "+ clip", "+ gae"]
    assert some.name == "ladder of ppo"
    assert around.ladder(WHOLE, ["gae", "clip"]).names == ("gae", "clip")
    most = [name for name in PPO.on if name != "orthogonal_init"]
    assert around.ladder(WHOLE, most).arms[0].name == "only orthogonal_init of ppo"
    said = "^in this order, clip needs reuse; try --tricks reuse,clip,gae$"
    refusal(said, around.ladder, WHOLE, ["clip", "reuse", "gae"])
    base = arm_from("ppo --popart")
    for few in (["baseline"], ["reuse"], ["return_norm"], ["baseline", "reuse"]):  # which the rest needs
        refused = refusal("^in this order, .* needs ", around.ladder, base, few)
        more = refused.split("--tricks ")[1].split(",")
        design = around.ladder(base, more)  # the advice can be followed
        assert set(few) < set(more) == {pair.trick for pair in design.comparisons}


@pytest.mark.parametrize(
    ("make", "names", "said"),
    [
        (around.leave_one_out, ["popart"], "does not have popart, so it cannot be left out"),
        (around.add_one_in, ["clip"], "already has clip, so it cannot be added"),
        (around.ladder, ["popart"], "does not have popart"),
        (around.factorial, ["clip"], "a factorial takes 2 to 5 tricks, not 1"),
    ],
)
def test_tricks_of_no_design_are_refused(make: Callable[..., Any], names: list[str], said: str) -> None:
    refusal(re.escape(said), make, BASE, names)


def test_arms_that_train_the_same_are_equal_and_a_design_reads_back_as_it_was_stored() -> None:
    slow = Arm("slow", PPO, {"lr": 0.1, "hidden": (8, 8)})
    assert slow == Arm("b", PPO, slow.numbers) != Arm("slow", PPO)
    crossed = [around.factorial(slow, ["clip", "entropy"]), around.leave_one_out(slow)]
    for design in (*(make(NAMES[:5]) for make in DESIGNS.values()), *crossed):
        back = as_design(json.loads(json.dumps(as_stored(design))))
        assert (back, [arm.label for arm in back.arms]) == (design, [arm.label for arm in design.arms])
        before = "whole" if design.crossed else ""  # as earlier versions said it
        assert as_design(as_stored(design) | {"crossed": before}) == design


def test_a_design_of_one_s_own_compares_arms_that_it_has() -> None:
    fast, slow, other = Arm("fast", PPO), Arm("slow", PPO, {"lr": 1e-4}), Arm("other", REINFORCE)
    known, unknown = compared(slow, fast), compared(other, fast)
    assert references_of(Design("mine", (), (fast, slow), (known,))) == {"slow": "fast"}
    for pairs, said in (
        ((unknown,), "the design 'mine' compares an arm that it does not have, other"),
        ((known, known), "compares the arm slow 2 times; an arm has one reference"),
    ):
        refusal(said, references_of, Design("mine", (), (fast, slow), pairs))

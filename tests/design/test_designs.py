"""Designs: every arm meets its needs, shared arms are trained once, and comparisons differ as their labels say."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ablations.design.arms import Comparison, Design
from ablations.design.choice import gives_mask, usable
from ablations.design.crossed import factorial, screen
from ablations.design.designs import DESIGNS, add_one_in, ladder, leave_one_out
from ablations.design.flag_sets import as_trained, flags
from ablations.design.labels import Label, added, taken
from ablations.design.story import story_of
from ablations.findings.our_designs import beyond, beyond_normed, scales
from tricks import EVERY, PPO, REINFORCE, Config, InputError
from tricks.ladder import LADDER, NEEDS, PPG, switched

NAMES = list(usable(Config("CartPole-v1")))
OUTSIDE = tuple(name for name in NEEDS if name not in LADDER)


def test_the_ladder_has_a_rung_per_trick_and_leaves_out_what_cannot_act() -> None:
    cartpole, taxi = ladder(NAMES), ladder(list(usable(Config("Taxi-v4"))))
    assert [arm.name for arm in taxi.arms] == ["reinforce", *(f"+ {name}" for name in LADDER)]
    assert taxi.arms[-1].tricks == EVERY
    assert set(LADDER) - set(NAMES) == {"action_mask"}
    assert len(cartpole.arms) == len(taxi.arms) - 1
    for k, pair in enumerate(cartpole.comparisons):
        assert (pair.without, pair.having) == (cartpole.arms[k].tricks, cartpole.arms[k + 1].tricks)
    masks = {"auto": True, "gymnasium": True, "envpool": False}  # they are found whatever steps the environment
    assert {backend: gives_mask(Config("Taxi-v4", backend)) for backend in masks} == masks
    assert gives_mask(Config("tricks/Trading-v0"))
    assert not gives_mask(Config("tricks/Corridor-v0"))


def test_beyond_compares_each_trick_to_ppo_with_what_it_needs() -> None:
    three = ["shared_trunk", "ppg", "ppg_buffers"]
    design, normed = beyond(three), beyond_normed(three)
    assert [arm.name for arm in design.arms] == ["ppo", "+ shared_trunk", "+ ppg", "+ ppg, ppg_buffers"]
    differences = [(pair.trick, set(pair.having.on) - set(pair.without.on)) for pair in design.comparisons]
    assert differences == [(name, {name}) for name in three]
    assert [pair.without for pair in design.comparisons] == [PPO, PPO, PPG]
    assert [arm.name for arm in normed.arms][::3] == ["+ return_norm", "+ return_norm, ppg, ppg_buffers"]
    assert [arm.tricks for arm in normed.arms] == [replace(arm.tricks, return_norm=True) for arm in design.arms]
    assert [pair.without for pair in normed.comparisons] == [normed.arms[i].tricks for i in (0, 0, 2)]


@pytest.mark.parametrize("design", [beyond, beyond_normed])
def test_beyond_is_about_the_tricks_it_is_told_or_about_all_that_are_no_rungs(design: Callable[..., Design]) -> None:
    assert design([]).names == design(NAMES).names == OUTSIDE
    assert design(["ppg", *NAMES]).names == ("ppg",)
    told = design(OUTSIDE[:2])  # what was stored before a trick was added
    assert DESIGNS[told.name](told.names) == told
    for name in OUTSIDE:
        made = design([name])
        trained = {arm.tricks for arm in made.arms}
        assert name in made.names
        assert all({pair.without, pair.having} <= trained for pair in made.comparisons)


def test_leaving_one_out_takes_along_what_needs_it() -> None:
    design = leave_one_out(NAMES)
    pairs = {pair.trick: pair for pair in design.comparisons}
    assert all(pair.having.on == tuple(NAMES) for pair in pairs.values())
    assert str(pairs["clip"].label) == "− clip, clip_anneal"
    assert set(NAMES) - set(pairs["reuse"].without.on) == {"reuse", "clip", "value_clip", "clip_anneal"}
    assert set(NAMES) - set(pairs["entropy"].without.on) == {"entropy"}
    assert len(design.arms) == len(NAMES) + 1


def test_adding_one_in_brings_along_what_it_needs_and_is_compared_to_that() -> None:
    design = add_one_in(NAMES)
    pairs = {pair.trick: pair for pair in design.comparisons}
    assert pairs["popart"].having.on == ("baseline", "return_norm", "popart")
    assert pairs["popart"].without.on == ("baseline", "return_norm")
    assert str(pairs["popart"].label) == "+ baseline, return_norm, popart"
    assert pairs["entropy"].without == REINFORCE
    assert all(len(pair.having.on) == len(pair.without.on) + 1 for pair in pairs.values())
    trained = {arm.tricks for arm in design.arms}
    assert len(trained) == len(design.arms)  # the needs of one trick are the arm of another
    assert all({pair.without, pair.having} <= trained for pair in pairs.values())


def test_a_factorial_has_every_combination_and_drops_what_breaks_a_need() -> None:
    design = factorial(["gae", "entropy"])  # gae's need is on in all arms
    combinations = [(), ("entropy",), ("gae",), ("gae", "entropy")]
    assert [arm.tricks.on for arm in design.arms] == [("baseline", *names) for names in combinations]
    nested = factorial(["baseline", "gae", "entropy"])
    assert len(nested.arms) == 6
    assert nested.dropped == (("+ gae", "gae needs baseline"), ("+ gae, entropy", "gae needs baseline"))
    for names in (["gae"], NAMES[:6]):
        with pytest.raises(InputError, match="a factorial takes 2 to 5 tricks"):
            factorial(names)


def test_a_screen_is_balanced_and_clear_of_pairwise_interactions() -> None:
    design = screen(NAMES)
    assert design.names == tuple(name for name in NAMES if not any(name in NEEDS[other] for other in NAMES))
    assert (len(design.names), len(design.arms), design.dropped) == (12, 32, ())
    signs = np.array([[1 if getattr(arm.tricks, name) else -1 for name in design.names] for arm in design.arms])
    assert (signs.sum(0) == 0).all()
    assert (signs.T @ signs == 32 * np.eye(12)).all()  # main effects clear of each other
    products = np.einsum("ra,rb->rab", signs, signs)[:, *np.triu_indices(12, 1)]
    assert (signs.T @ products == 0).all()  # and of every pairwise interaction: resolution IV


def test_every_design_has_the_name_it_is_registered_under_and_every_arm_a_name_of_its_own() -> None:
    for name, design in DESIGNS.items():
        made = design(NAMES[:5] if name == "factorial" else NAMES)
        assert made.name == name
        assert len({arm.name for arm in made.arms}) == len({arm.tricks for arm in made.arms}) == len(made.arms)


def test_scales_has_the_sign_of_the_reward_as_an_arm_of_its_own() -> None:
    ppo, sign, normed, popart = scales([]).arms
    assert [arm.name for arm in scales([]).arms] == ["ppo", "+ reward_sign", "+ return_norm", "+ return_norm, popart"]
    assert (ppo.tricks.on, flags(ppo.tricks)) == (sign.tricks.on, flags(sign.tricks).removesuffix(" reward_sign"))
    assert ppo.tricks != sign.tricks
    assert set(normed.tricks.on) - set(PPO.on) == {"return_norm"}
    assert set(popart.tricks.on) - set(normed.tricks.on) == {"popart"}
    assert [pair.without for pair in scales([]).comparisons] == [PPO, PPO, normed.tricks]
    config = Config("tricks/BricksByRow-v0")
    assert [as_trained(config, arm.tricks).reward_sign for arm in scales([]).arms] == [False, True, False, False]


@pytest.mark.parametrize(("having", "count", "shared"), [(3, 6, True), (3, 7, False), (2, 3, False), (3, 3, True)])
def test_an_arm_is_shared_if_half_of_the_comparisons_and_three_have_it(having: int, count: int, shared: bool) -> None:
    arms = [switched(NAMES[:k]) for k in range(2 * count + 1)]  # all others are in one comparison each
    pairs = [(PPG if k < having else arms[2 * k], arms[2 * k + 1]) for k in range(count)]
    design = Design("x", (), (), tuple(Comparison(added(["gae"]), *pair) for pair in pairs))
    assert design.shared == ((PPG,) if shared else ())


NEED, NORM = "what the chosen tricks need", ["baseline", "return_norm", "popart"]


@pytest.mark.parametrize(
    ("label", "whole", "heading", "small_print"),
    [
        (taken("clip", ["clip_anneal"]), "− clip, clip_anneal", "− clip", "and clip_anneal"),
        (added(NORM), "+ baseline, return_norm, popart", "+ popart", "on baseline, return_norm"),
        (added(["gae"]), "+ gae", "+ gae", ""),
        (taken("gae", []), "− gae", "− gae", ""),
        (Label("reinforce"), "reinforce", "reinforce", ""),
        (Label("reuse", note=NEED), "reuse", "reuse", NEED),
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

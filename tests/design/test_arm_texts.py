"""Arms in words: what `python -m tricks train` would train, with the numbers that are the arm's own."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ablations import compare
from ablations.design.arm_texts import arm_from, arms_of, refuse_unfit
from ablations.design.arms import Arm
from tricks import CONTINUOUS, CONTINUOUS_CONFIG, PPO, REINFORCE, Config, InputError, switched

BASE = Config()


def test_a_text_is_a_rung_with_flags_and_numbers_and_names_itself() -> None:
    arm = arm_from("ppo+kl_stop --no-gae --target-kl 0.02")
    on = [name for name in (*PPO.on, "kl_stop") if name != "gae"]
    assert arm == Arm("ppo+kl_stop --no-gae --target-kl 0.02", switched(on), {"target_kl": 0.02})
    assert arm_from("mine=ppo --lr 0.01") == Arm("mine", PPO, {"lr": 0.01})
    assert arm_from("'my own=ppo'").name == "my own"


def test_a_preset_brings_its_numbers_except_those_that_were_given_for_all() -> None:
    own = dict(arm_from("continuous --epochs 3").numbers)
    assert own == {"lanes": 1, "horizon": 2048, "lr": 3e-4, "epochs": 3, "minibatches": 32, "value_epochs": 10}
    assert "lr" not in dict(arm_from("continuous", given=["lr"]).numbers)  # though 0.001 is the default
    shared = replace(BASE, gamma=0.9, lanes=16)
    (arm,) = arms_of(["continuous"], shared)
    config = arm.config(shared)
    assert (config.gamma, config.lanes, config.horizon) == (0.9, 16, CONTINUOUS_CONFIG.horizon)
    assert arm.tricks == CONTINUOUS


def test_flags_for_all_arms_come_before_the_arm_s_own() -> None:
    assert not arm_from("ppo", flags=["--no-gae"]).tricks.gae
    assert arm_from("ppo --gae", flags=["--no-gae"]).tricks.gae


def test_from_python_arms_are_arms_tricks_or_texts_and_a_mapping_names_them() -> None:
    arms = arms_of({"a": PPO, "b = c": "ppo --no-gae", "d": Arm("x", REINFORCE, {"lr": 0.1})}, BASE)
    assert [arm.name for arm in arms] == ["a", "b = c", "d"]
    assert arms[2].numbers == (("lr", 0.1),)


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
    ],
)
def test_arms_that_make_no_comparison_are_refused(arms: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        refuse_unfit(arms_of(arms, BASE))


def test_numbers_of_an_arm_are_config_s_and_not_those_that_all_arms_share() -> None:
    with pytest.raises(InputError, match="arm 'x': gama is no field of Config"):
        Arm("x", PPO, {"gama": 0.9})
    with pytest.raises(InputError, match="arm 'x': env is the same for all arms"):
        Arm("x", PPO, {"env": "Taxi-v4"})
    with pytest.raises(InputError, match=re.escape("arm 'x': gamma must be in [0, 1], not 7")):
        Arm("x", PPO, {"gamma": 7.0}).config(BASE)


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (["ppo", "ppo --no-action-mask"], "--no-action-mask changes nothing.* already off in ppo; try --action-mask$"),
        (["ppo --gae", "ppo"], "--gae changes nothing, since gae is already on in ppo; try --no-gae$"),
        (["ppo", "x=ppo"], "the same, with the same flags and numbers$"),
        (["ppo --no-gae", "mine=ppo --no-gae"], "the same, with the same flags and numbers$"),
    ],
)
def test_arms_that_are_the_same_say_which_switch_does_nothing(arms: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        compare(arms, Config(steps=500), seeds=2, out=tmp_path)

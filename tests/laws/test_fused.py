"""Learning in a few compiled calls equals the loop's `learn`, and gives way to what was edited or replaced."""

import inspect
from dataclasses import replace
from functools import partial
from operator import mul
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import pandas as pd
import pytest
import torch
from gymnasium.wrappers import TransformReward
from support.random_settings import SMALL, drawn_from
from support.register import register
from support.restless import Restless
from support.updates import compiled_losses
from torch import Tensor

import tricks.loop
from tricks import PPO, Config, Tricks, train
from tricks.action_mask import mask_logits
from tricks.clip import clipped_surrogate
from tricks.core.adam import Adam
from tricks.fast import formulas
from tricks.fast.dispatch import plain
from tricks.ladder import NEEDS, PRESETS, closed, named, rungs
from tricks.replaced import patched

pytest.importorskip("numba")
register("Restless-v0", Restless)
register("RestlessBox-v0", Restless, discrete=False)
ENVS = ("Restless-v0", BOX := "RestlessBox-v0")
SETS = {f"ladder up to {rung.on[-1]}" if rung.on else "no flag": rung for rung in rungs()} | PRESETS
SETS |= {f"ppo and {name}": named(name) for name in NEEDS if not set(closed([name])) <= set(PPO.on)}


def assert_both_forms_agree(config: Config, flags: Tricks) -> list[bool]:
    """Train in both forms, and compare curves and weights; returns whether each loss was compiled."""
    with plain():
        theirs = train(config, flags)
    with compiled_losses() as found:
        mine = train(config, flags)
    pd.testing.assert_frame_equal(mine.curve, theirs.curve, check_exact=False, rtol=1e-4, atol=1e-5)
    for p, q in zip(mine.agent.parameters(), theirs.agent.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    return found


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("name", SETS)
def test_rungs_presets_and_flags_on_ppo_equal_the_loop(name: str, env: str) -> None:
    flags = replace(SETS[name], **{"action_mask" if env == BOX else "squash": False})
    found = assert_both_forms_agree(replace(SMALL, env=env, adam_eps=1e-3), flags)
    assert set(found) == (set() if flags.recurrent or flags.squash else {True})


@pytest.mark.parametrize("number", range(40))
def test_random_flags_and_numbers_equal_the_loop(number: int) -> None:
    off = {BOX: {"action_mask", "recurrent", "squash"}, ENVS[0]: {"recurrent", "squash"}}
    found = assert_both_forms_agree(
        *drawn_from(number, ENVS, lambda env: [name for name in NEEDS if name not in off[env]])
    )
    assert set(found) == {True}


@pytest.mark.parametrize("flags", [{"clip": False}, {}, {"dual_clip": True, "value_clip": True, "huber": True}])
def test_the_first_ratios_are_exactly_1_whatever_the_range(flags: dict[str, bool]) -> None:
    curve = train(replace(SMALL, env=ENVS[0], epochs=1, minibatches=1), replace(PPO, **flags)).curve
    assert (curve.max_ratio == 1).all()
    assert (curve.approx_kl == 0).all()


def test_a_seed_whose_numbers_are_not_finite_ends_and_the_other_learns_as_before() -> None:
    def curve(reward: float) -> Any:
        given = iter([1.0, 1.0, reward, reward])  # two lanes of each seed
        make = lambda: TransformReward(gym.make(ENVS[0]), partial(mul, next(given)))  # noqa: E731
        return train(replace(SMALL, env="own"), PPO, env=make)

    well, ill = curve(1.0), curve(1e308)
    assert [*ill.diverged] == [8]
    assert well.curve[well.curve.seed == 3].equals(ill.curve[ill.curve.seed == 3])
    assert all(p.isfinite().all() for p in ill.agent.parameters())


def test_an_optimizer_a_mask_and_a_function_of_one_s_own_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, calls, masked = list[None](), list[None](), list[bool]()

    def mine(*args: Any) -> Any:
        calls.append(None)
        return clipped_surrogate(*args)

    class Counting(Adam):
        def step(self, *given: Any) -> None:
            steps.append(None)
            super().step(*given)

    def mask(logits: Tensor, legal: Tensor) -> Tensor:
        masked.append(torch.is_grad_enabled())
        return mask_logits(logits, legal)

    with patch.object(tricks.loop, "Adam", Counting), patched(clipped_surrogate=mine):
        train(SMALL, PPO)
    assert steps
    assert calls
    monkeypatch.setattr(tricks.loop, "mask_logits", mask)
    train(replace(SMALL, env=ENVS[0]), replace(PPO, action_mask=True))
    assert any(masked)  # in the loss, too


def test_a_formula_that_was_edited_takes_its_plain_form_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written, source = inspect.getsource(clipped_surrogate), inspect.getsource
    edited = written.replace("1 - clip_range", "1 - 2 * clip_range")
    assert edited != written
    monkeypatch.setattr(inspect, "getsource", lambda each: edited if each is clipped_surrogate else source(each))
    formulas.as_written.cache_clear()
    try:
        assert not formulas.as_written("tricks.loop.policy_loss")
        assert "tricks.loop.policy_loss, or what it reads, was edited" in capsys.readouterr().err
        assert formulas.as_written("tricks.loop.value_loss")
    finally:
        formulas.as_written.cache_clear()


@pytest.mark.parametrize("name", formulas.FORMULAS)
def test_each_compiled_form_was_written_for_the_formula_as_it_is(name: str) -> None:
    """If you changed a formula: change its compiled form, too, see that tests hold them equal, and note the digest."""
    assert formulas.written(name) == formulas.DIGESTS[name]
    assert formulas.DIGESTS.keys() == formulas.FORMULAS.keys()


def test_a_trick_that_was_added_runs_as_written_and_where_it_is_off_all_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, source, trick = "tricks.loop.policy_loss", inspect.getsource, "        objective = my_own(ratio, advantage)\n"
    written = source(formulas.formula(name))
    edited = written.replace("    if tricks.dual_clip:\n", f"    if tricks.mine:\n{trick}    if tricks.dual_clip:\n")
    assert edited != written
    monkeypatch.setattr(inspect, "getsource", lambda each: edited if each is formulas.formula(name) else source(each))
    formulas.as_written.cache_clear()
    try:
        assert formulas.as_written(name, PPO.on)
        assert not formulas.as_written(name, (*PPO.on, "mine"))
        assert f"{name} runs as written, uncompiled: its compiled form does not know mine" in capsys.readouterr().err
    finally:
        formulas.as_written.cache_clear()


def test_a_compiled_loss_and_one_of_pytorch_add_up() -> None:
    def mine(*given: Any) -> Tensor:
        return clipped_surrogate(*given)

    with compiled_losses() as found, patched(clipped_surrogate=mine):
        run = train(replace(SMALL, env=ENVS[0]), PPO)
    assert found
    assert all(found)  # of the value net
    with plain():
        theirs = train(replace(SMALL, env=ENVS[0]), PPO)
    pd.testing.assert_frame_equal(run.curve, theirs.curve, check_exact=False, rtol=1e-4, atol=1e-5)

"""Environments that misbehave, each in one way at one moment: in what they raise, pay, show, and say."""

from collections import namedtuple
from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st
from support.attack.law import refused
from support.probes import Endless

from tricks import Config, Run, train
from tricks.ladder import PRESETS, closed, switched

nan, inf = float("nan"), float("inf")

# Exceptions of an environment's own, ways out that no `except Exception` catches, and one that cannot say what it is.
BASES = Exception, SystemExit, KeyboardInterrupt
Own, OwnExit, OwnInterrupt = (type(f"Own{base.__name__}", (base,), {}) for base in BASES)
Unprintable = type("Unprintable", (Exception,), {"__str__": lambda self: 1 / 0})


def table(*texts: str) -> dict[str, Any]:
    return {text: eval(text) for text in texts}


ERRORS = table(
    "Exception()", "ValueError('one\\ntwo')", "Own('γ')", "Unprintable()", "SystemExit(0)", "OwnExit('bye')",
    "OwnInterrupt()", "StopIteration()", "GeneratorExit()", "MemoryError()", "RecursionError('maximum')",
    "OSError(28, 'No space left on device')", "AssertionError()", "AttributeError('none')",
)  # fmt: skip
OBSERVATIONS = table(
    "np.full(3, nan, np.float32)", "np.full(3, inf, np.float32)", "np.full(3, 1e30, np.float32)",
    "np.full(3, 7, np.float32)", "np.zeros(2, np.float32)", "np.zeros(4, np.float32)", "np.float32(0)",
    "np.zeros((3, 3), np.float32)", "np.zeros(3)", "np.zeros(3, int)", "np.array(['a', 'b', 'c'])",
    "np.array([None, None, None])", "[0.0, 0.0, 0.0]", "[0.0, [0.0], 0.0]", "None", "'x'", "{}", "np.zeros(0, 'f4')",
)  # fmt: skip
RETURNS = table("None", "(0, 0.0, False, {})", "(0, 0.0, False, False, {}, 0)", "5")
FAULTS: dict[str, dict[str, Any]] = {
    "reward": table(
        "nan", "inf", "-inf", "1e300", "None", "'1'", "'x'", "np.array([1.0])", "np.array([1.0, 2.0])", "np.array([])",
        "True", "np.int8(3)", "1j", "{}",
    ),
    "observation": OBSERVATIONS,
    "first observation": OBSERVATIONS,
    "mask": table(
        "[1]", "[1, 1, 1]", "[0, 0]", "None", "'x'", "[2, 0]", "[nan, 1.0]", "1", "[[1, 1], [1, 1]]",
        "np.array([1, 0], np.int8)",
    ),
    "info": table("None", "[]", "'x'", "5", "()"),
    "ending": table(
        "(True, True)", "(np.bool_(True), np.bool_(False))", "(1, 0)", "(None, None)", "('no', 'no')",
        "([True], [False])", "(np.array([True, False]), False)", "(nan, False)",
    ),
    "returns": RETURNS,
    "reset returns": RETURNS,
    **dict.fromkeys([f"raises in {where}" for where in ("step", "reset", "close", "the constructor")], ERRORS),
    "never ends": {"": None},
    "nothing": {"": None},
}  # fmt: skip
HARMLESS = {  # with these, every seed must be trained to the end
    "nothing": ("",), "reward": ("True", "np.int8(3)"), "first observation": ("np.zeros(3)",),
    "observation": ("np.zeros(3)", "np.zeros(3, int)", "[0.0, 0.0, 0.0]"), "mask": ("np.array([1, 0], np.int8)",),
    "ending": ("(True, True)", "(np.bool_(True), np.bool_(False))"),
}  # fmt: skip

# What an environment does wrong, how, in which of its steps, and how it is played.
Fault = namedtuple("Fault", "where what step rung backend lanes")
PLAYED: Any = [1, 4, 5, 6, 20], [*PRESETS, "action_mask", "state_norm"], ["gymnasium"] * 9 + ["processes"], [1, 2]
FAULTY = st.sampled_from([*FAULTS]).flatmap(
    lambda where: st.builds(Fault, *(st.sampled_from(each) for each in ([where], [*FAULTS[where]], *PLAYED)))
)


class Faulty(Endless):
    """Well-behaved but for one fault."""

    observation_space, length = gym.spaces.Box(-1, 1, (3,), np.float32), 5

    def __init__(self, fault: Fault) -> None:
        self.fault, self.count = fault, 0
        self._raise("the constructor")

    def reset(self, **asked: Any) -> Any:
        return self._or("reset returns", super().reset(**asked))

    def begin(self) -> None:
        if self.count >= self.fault.step:
            self._raise("reset")

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.count >= self.fault.step:
            self._raise("step")
        obs, reward, terminated, truncated, info = super().step(action)
        ending = self._or("ending", (terminated and self.fault.where != "never ends", truncated))
        return self._or("returns", (obs, reward, *ending, info))

    def see(self) -> Any:
        return self._or("observation" if self.t else "first observation", np.zeros(3, np.float32))

    def pay(self, action: Any) -> Any:
        return self._or("reward", 1.0)

    def info(self) -> Any:
        return self._or("info", {"action_mask": self._or("mask", np.ones(2, np.int8))})

    def close(self) -> None:
        self._raise("close")

    def _or(self, where: str, right: Any) -> Any:
        begun = self.count == 0 or self.count >= self.fault.step
        return FAULTS[where][self.fault.what] if self.fault.where == where and begun else right

    def _raise(self, where: str) -> None:
        if self.fault.where == f"raises in {where}":
            raise ERRORS[self.fault.what]


def attack(fault: Fault) -> str:
    """Train in the environment: seeds are trained, or diverge, or one line says what is wrong."""
    flags = PRESETS[fault.rung] if fault.rung in PRESETS else switched(closed([fault.rung]))
    settings: dict[str, Any] = {"seeds": 2, "steps": 48, "horizon": 8, "hidden": (4,), "epochs": 2, "minibatches": 2}
    lanes = 2 if flags.group_baseline else fault.lanes  # one lane alone is no group
    config = Config(env="Faulty-v0", backend=fault.backend, lanes=lanes, group=2, **settings)
    run, broken = refused(lambda: train(config, flags, env=lambda: Faulty(fault)))
    if fault.what == "OwnInterrupt()" and "OwnKeyboardInterrupt" in broken:
        return ""  # the same as Ctrl-C in the environment
    if not broken and run is None and fault.what in HARMLESS.get(fault.where, ()):
        broken = "is refused although it is right"
    if not broken and isinstance(run, Run):
        sound = run.curve[~run.curve.seed.isin(list(run.diverged))]
        broken = "an infinite return of a seed that did not diverge" if np.isinf(sound["return"]).any() else ""
    return broken and f"{fault.where}, {fault.what}: {broken}"

"""Environments that misbehave, each in one way at one moment: in what they raise, pay, show, and say."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st
from support.attack.law import refused

from tricks import Config, Run, train
from tricks.ladder import PRESETS, closed, switched

nan, inf = float("nan"), float("inf")
LENGTH = 5  # steps of an episode


class Own(Exception):
    """An exception of an environment's own."""


class OwnExit(SystemExit):
    """A way out that no `except Exception` catches."""


class OwnInterrupt(KeyboardInterrupt):
    """The same, like Ctrl-C."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


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


@dataclass(frozen=True)
class Fault:
    """What an environment does wrong, how, in which of its steps, and how it is played."""

    where: str
    what: str
    step: int
    rung: str
    backend: str
    lanes: int


FAULTY = st.sampled_from(list(FAULTS)).flatmap(
    lambda where: st.builds(
        Fault,
        st.just(where),
        st.sampled_from(list(FAULTS[where])),
        st.sampled_from([1, 4, 5, 6, 20]),
        st.sampled_from([*PRESETS, "action_mask", "state_norm"]),
        st.sampled_from(["gymnasium"] * 9 + ["processes"]),
        st.sampled_from([1, 2]),
    )
)


class Faulty(gym.Env):
    """Well-behaved but for one fault."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)

    def __init__(self, fault: Fault) -> None:
        self.fault, self.count, self.t = fault, 0, 0
        self._raise("the constructor")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        if self.count >= self.fault.step:
            self._raise("reset")
        obs = self._or("first observation", np.zeros(3, np.float32))
        return self._or("reset returns", (obs, self._info()))

    def step(self, action: int) -> Any:
        self.count, self.t = self.count + 1, self.t + 1
        if self.count < self.fault.step:
            return np.zeros(3, np.float32), 1.0, self.t == LENGTH, False, {"action_mask": np.ones(2, np.int8)}
        self._raise("step")
        terminated, truncated = self._or("ending", (self.t >= LENGTH and self.fault.where != "never ends", False))
        obs, reward = self._or("observation", np.zeros(3, np.float32)), self._or("reward", 1.0)
        return self._or("returns", (obs, reward, terminated, truncated, self._info()))

    def close(self) -> None:
        self._raise("close")

    def _or(self, where: str, right: Any) -> Any:
        return FAULTS[where][self.fault.what] if self.fault.where == where else right

    def _raise(self, where: str) -> None:
        if self.fault.where == f"raises in {where}":
            raise ERRORS[self.fault.what]

    def _info(self) -> Any:
        return self._or("info", {"action_mask": self._or("mask", np.ones(2, np.int8))})


def attack(fault: Fault) -> str:
    """Train in the environment: seeds are trained, or diverge, or one line says what is wrong."""
    flags = PRESETS[fault.rung] if fault.rung in PRESETS else switched(closed([fault.rung]))
    settings: dict[str, Any] = {"seeds": 2, "steps": 48, "horizon": 8, "hidden": (4,), "epochs": 2, "minibatches": 2}
    config = Config(env="Faulty-v0", backend=fault.backend, lanes=fault.lanes, **settings)
    run, broken = refused(lambda: train(config, flags, env=lambda: Faulty(fault)))
    if fault.what == "OwnInterrupt()" and "OwnInterrupt" in broken:
        return ""  # the same as Ctrl-C in the environment
    if not broken and run is None and fault.what in HARMLESS.get(fault.where, ()):
        broken = "is refused although it is right"
    if not broken and isinstance(run, Run):
        sound = run.curve[~run.curve.seed.isin(list(run.diverged))]
        broken = "an infinite return of a seed that did not diverge" if np.isinf(sound["return"]).any() else ""
    return broken and f"{fault.where}, {fault.what}: {broken}"

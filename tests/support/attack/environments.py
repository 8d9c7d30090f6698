"""Environments that misbehave, each in one way at one moment."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st
from support.attack.faults import ERRORS, FAULTS
from support.attack.law import refused

from tricks import Config, Run, train
from tricks.ladder import PRESETS, closed, switched

HARMLESS = (  # with these, every seed must be trained to the end
    ("nothing", ""),
    ("reward", "True"),
    ("reward", "np.int8"),
    ("observation", "float64"),
    ("observation", "int"),
    ("observation", "list"),
    ("first observation", "float64"),
    ("mask", "fine"),
    ("ending", "both"),
    ("ending", "np.bool_"),
)
LENGTH = 5  # steps of an episode


@dataclass(frozen=True)
class Fault:
    """What an environment does wrong, how, in which of its steps, and how it is played."""

    where: str
    what: str
    step: int
    rung: str
    backend: str = "gymnasium"
    lanes: int = 2


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
        self._raise("constructor")

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
        if self.fault.where in (f"raises in {where}", f"raises in the {where}"):
            raise ERRORS[self.fault.what]

    def _info(self) -> Any:
        return self._or("info", {"action_mask": self._or("mask", np.ones(2, np.int8))})


def attack(fault: Fault) -> str:
    """Train in the environment: seeds are trained, or diverge, or one line says what is wrong."""
    flags = PRESETS[fault.rung] if fault.rung in PRESETS else switched(closed([fault.rung]))
    config = Config(
        env="Faulty-v0",
        backend=fault.backend,
        seeds=2,
        steps=48,
        lanes=fault.lanes,
        horizon=8,
        hidden=(4,),
        epochs=2,
        minibatches=2,
    )
    run, broken = refused(lambda: train(config, flags, env=lambda: Faulty(fault)))
    if fault.what == "own interrupt" and "OwnInterrupt" in broken:
        return ""  # the same as Ctrl-C in the environment
    if not broken and run is None and (fault.where, fault.what) in HARMLESS:
        broken = "is refused although it is right"
    if not broken and isinstance(run, Run):
        sound = run.curve[~run.curve.seed.isin(list(run.diverged))]
        broken = "an infinite return of a seed that did not diverge" if np.isinf(sound["return"]).any() else ""
    return broken and f"{fault.where}, {fault.what}: {broken}"

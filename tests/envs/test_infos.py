"""Infos may hold anything: only masks, lives and what is recorded leave a lane."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Discrete
from support.any_space import THREE, AnySpace

from tricks import PPO, Config, InputError, train
from tricks.envs.make import make_env

SMALL = Config("own", seeds=(0, 3), steps=100, lanes=3, horizon=10, epochs=1, minibatches=2, hidden=(8,))
Tell = Callable[[np.random.Generator], dict[Any, Any]]
INFOS: dict[str, Tell] = {
    "arrays of any length": lambda rng: {"x": np.arange(rng.integers(1, 5))},
    "arrays of any type": lambda rng: {"x": np.zeros(2, rng.choice(["f4", "i8", "U3", "O", "M8[s]"]))},
    "none or a number": lambda rng: {"x": None if rng.random() < 0.5 else 1},
    "a number or a word": lambda rng: {"x": 0 if rng.random() < 0.5 else "crashed"},
    "words of any length": lambda rng: {"x": "y" * int(rng.integers(100))},
    "a dict or none": lambda rng: {"x": {"a": 1} if rng.random() < 0.5 else None},
    "dicts in dicts": lambda rng: {"x": {"a": {"b": [1, "c", {}]} if rng.random() < 0.5 else 3}},
    "a huge number": lambda rng: {"x": 2**70},
    "now and then": lambda rng: {"x": 1.5} if rng.random() < 0.1 else {},
    "keys of any kind": lambda rng: {1: 2, None: 3, ("a", 1): 4, "_x": 5, "x": 6},
    "objects": lambda rng: {"x": object(), "lock": threading.Lock(), "f": lambda: 1, "kind": int},
    "tensors": lambda rng: {"x": torch.zeros(int(rng.integers(3)), 2), "y": torch.nn.Linear(1, 1)},
    "errors": lambda rng: {"x": ValueError("no"), "final_obs": 3, "final_info": "x", "episode": None},
    "ragged": lambda rng: {"x": [[1], [2, 3]], "z": complex(1, 2), "b": b"x", "s": {1, 2}},
    "lives that are none": lambda rng: {"lives": "nine" if rng.random() < 0.5 else [1, 2]},
    "no mask": lambda rng: {"action_mask": None},
}


class Telling(AnySpace):
    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self.tell = tell

    def info(self) -> dict[Any, Any]:
        return self.tell(self.np_random)  # of which each lane has its own


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_an_info_that_nobody_asked_for_changes_nothing(backend: str) -> None:
    def curve(tell: Tell) -> pd.DataFrame:
        return train(replace(SMALL, backend=backend), PPO, env=lambda: Telling(tell)).curve

    silent = curve(lambda rng: {})
    for name, tell in INFOS.items():
        pd.testing.assert_frame_equal(silent, curve(tell), obj=name)


def test_lives_that_are_no_number_are_not_reported() -> None:
    with pytest.raises(InputError, match=r"^life_ends: own does not report lives"):
        make_env(replace(SMALL, life_ends=True), make=lambda: Telling(lambda rng: {"lives": "nine"}))


def test_lanes_with_other_spaces_are_an_error_that_names_the_lane() -> None:
    actions = iter([2, 2, 2, 2, 3, 3, 3])
    with pytest.raises(InputError, match=r"^own: all lanes .* the same action space, but lane 1 of seed 3 has Disc"):
        train(SMALL, PPO, env=lambda: AnySpace(THREE, Discrete(next(actions))))


def test_a_seed_that_waits_is_not_stepped() -> None:
    for backend in ("gymnasium", "processes"):
        env = make_env(replace(SMALL, backend=backend), make=lambda: Telling(lambda rng: {}))
        before, actions = env.now, torch.zeros(2, 3, dtype=torch.int64)
        for _ in range(7):
            step = env.step(actions, torch.tensor([True, False]))
            assert torch.equal(step.obs[1], before.obs[1])
            assert not step.reward[1].any()
            assert not step.resetting[1].any()
        env.close()

"""Masks come from the info, from a method, or from an entry of the observation, and are the same mask."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from support.any_space import THREE as SEEN
from support.any_space import AnySpace
from support.register import register

from tricks import Config, InputError, train
from tricks.envs.make import make_env
from tricks.ladder import switched

CONFIG = Config("own", seeds=2, steps=100, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
MASKED = switched(["action_mask", "reuse"])


class Masked(AnySpace):
    """Of five actions, 0 and the one whose turn it is are legal; others are refused."""

    def __init__(self) -> None:
        super().__init__(SEEN, Discrete(5))

    def mask(self) -> Any:
        return np.isin(np.arange(5), [0, self.t % 5]).astype(np.int8)

    def step(self, action: Any) -> Any:
        if not self.allowed(action):
            raise ValueError(f"{action} is illegal")
        return super().step(action)

    def allowed(self, action: Any) -> bool:
        return action in (0, self.t % 5)


class InInfo(Masked):
    def info(self) -> dict[str, Any]:
        return {"action_mask": self.mask()}


class ByMethod(Masked):
    def action_masks(self) -> Any:
        return self.mask()


class InObservation(gym.ObservationWrapper):
    """As in PettingZoo."""

    def __init__(self) -> None:
        super().__init__(Masked())
        self.observation_space = Dict(observation=SEEN, action_mask=Box(0, 1, (5,), np.int8))

    def observation(self, obs: Any) -> Any:
        return {"observation": obs, "action_mask": self.unwrapped.mask()}  # type: ignore[attr-defined]


class Several(Masked):
    """The same mask for the first of two components; of the second, the last choice is illegal."""

    def __init__(self, flat: bool = True) -> None:
        AnySpace.__init__(self, SEEN, MultiDiscrete([5, 3]))
        self.flat = flat

    def allowed(self, action: Any) -> bool:
        return super().allowed(action[0]) and action[1] != 2

    def info(self) -> dict[str, Any]:
        parts = self.mask(), np.array([1, 1, 0], np.int8)
        return {"action_mask": np.concatenate(parts) if self.flat else parts}


class Bits(Masked):
    """Three bits, of which the first must be 1."""

    def __init__(self) -> None:
        AnySpace.__init__(self, SEEN, MultiBinary(3))

    def allowed(self, action: Any) -> bool:
        return bool(action[0] == 1)

    def action_masks(self) -> Any:
        return np.array([0, 1, 1, 1, 1, 1], bool)


WAYS: dict[str, Any] = {
    "info": InInfo,
    "method": ByMethod,
    "observation": InObservation,
    "flat": Several,
    "tuple": partial(Several, flat=False),
    "bits": Bits,
}
for name, kind in WAYS.items():
    register(f"Masked-{name}-v0", kind)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
@pytest.mark.parametrize("name", WAYS)
def test_no_illegal_action_is_played_however_the_mask_is_given(name: str, backend: str) -> None:
    run = train(replace(CONFIG, backend=backend), MASKED, env=WAYS[name])
    assert (run.curve["return"] == 5).all()
    assert run.agent.spaces.features == 3
    assert (run.evaluate(2) == 5).all()
    with pytest.raises(InputError, match="illegal"):
        train(CONFIG, switched(["reuse"]), env=WAYS[name])
    by_id = train(replace(CONFIG, env=f"Masked-{name}-v0"), MASKED)
    pd.testing.assert_frame_equal(by_id.curve, run.curve)


@pytest.mark.parametrize("name", ["info", "method", "observation"])
def test_the_mask_of_the_state_is_the_mask_of_its_row_in_each_way(name: str) -> None:
    env = make_env(CONFIG, make=WAYS[name])
    assert env.masks
    for t in (0, 1, 2, 3, 4, 5, 0):
        assert env.now.legal.eq(torch.isin(torch.arange(5), torch.tensor([0, t % 5]))).all()
        assert env.now.obs.shape == (2, 2, 3)
        env.step(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2) > 0)


def test_the_method_of_a_wrapper_counts_and_a_mask_in_the_info_comes_first() -> None:
    class Only(gym.Wrapper):
        def action_masks(self) -> np.ndarray:
            return np.array([0, 0, 0, 0, 1])

    for inner, allowed in ((AnySpace(SEEN, Discrete(5)), [4]), (InInfo(), [0])):
        env = make_env(replace(CONFIG, seeds=1, lanes=1), make=partial(Only, inner))
        assert env.now.legal[0, 0].nonzero().flatten().tolist() == allowed
    assert make_env(CONFIG, make=lambda: gym.wrappers.TimeLimit(ByMethod(), 3)).masks
    for action, entry in ((Discrete(5), Box(0, 1, (4,))), (Box(-1, 1, (4,)), Box(0, 1, (4,)))):  # which is no mask
        env = make_env(CONFIG, make=partial(AnySpace, Dict(action_mask=entry, v=SEEN), action))
        assert (env.spaces.features, env.masks) == (7, False)


def test_a_component_without_a_legal_choice_is_an_error_that_names_the_step() -> None:
    class Stuck(Several):
        def info(self) -> dict[str, Any]:
            last = [1, 1, 0] if self.t < 3 else [0, 0, 0]
            return {"action_mask": np.concatenate([self.mask(), last])}

    with pytest.raises(InputError, match=r"own: the action mask leaves no legal action \(seed 0, step 3"):
        train(CONFIG, MASKED, env=Stuck)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_mask_of_another_size_is_an_error_that_names_its_source(backend: str) -> None:
    class ShortMethod(ByMethod):
        def mask(self) -> Any:
            return Masked.mask(self)[: 5 if self.t < 3 else 4]

    class ShortInfo(InInfo):
        mask = ShortMethod.mask

    for make, source in ((ShortMethod, r"action_masks\(\)"), (ShortInfo, r'info\["action_mask"\]')):
        with pytest.raises(InputError, match=rf"own: {source} has shape \(4,\), not \(5,\): one entry per action"):
            train(replace(CONFIG, backend=backend), MASKED, env=make)
    entry = Dict(action_mask=Box(0, 1, (4,)), v=SEEN)
    with pytest.raises(InputError, match=r'own gives none, for its entry "action_mask" is Box\(0.0, 1.0, \(4,\)'):
        train(CONFIG, MASKED, env=partial(AnySpace, entry, Discrete(5)))


def test_an_environment_without_a_mask_is_told_the_three_ways_to_give_one() -> None:
    with pytest.raises(InputError) as refused:
        train(CONFIG, MASKED, env=partial(AnySpace, SEEN, MultiDiscrete([5, 3])))
    for way in ('info["action_mask"]', "method action_masks()", 'entry "action_mask" in Dict observations', "8 zeros"):
        assert way in str(refused.value)

"""What was trained is not lost to its own file: every space that `train` takes is loaded as it was."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from hypothesis import given, settings
from hypothesis import strategies as st
from support.any_space import BOOL, TWO, AnySpace
from support.chance_spaces import boxes, discrete, named, nested

from tricks import PPO, REINFORCE, Config, InputError, load, train
from tricks.core.plain_spaces import from_plain, to_plain
from tricks.core.spaces import Spaces
from tricks.runs import about
from tricks.runs.about import plain_spaces, read_back, write_about

CONFIG = Config("own", seeds=1, steps=8, lanes=1, horizon=8, epochs=1, minibatches=1, hidden=(4,))
PROPERTY = settings(deadline=None, database=None, derandomize=True)
DARK = Box(0, 1, (10, 10, 4), BOOL)


def parts(space: gym.Space[Any]) -> list[gym.Space[Any]]:
    """The spaces in a nested one, in their order, with the keys of Dicts."""
    if isinstance(space, Dict | Tuple):
        inner = space.spaces.values() if isinstance(space, Dict) else space.spaces
        return [part for one in inner for part in parts(one)]
    return [space]


@settings(PROPERTY, max_examples=300)
@given(nested(1e300), st.one_of(boxes(1e300), discrete()))
def test_a_space_is_read_as_it_was_written(space: gym.Space[Any], action: gym.Space[Any]) -> None:
    read_back(CONFIG, Spaces("x", space, action))  # run.json keeps every pair
    again = from_plain(json.loads(json.dumps(to_plain(space), allow_nan=False)))
    assert again == space
    for old, new in zip(parts(space), parts(again), strict=True):
        assert old.dtype == new.dtype
        if isinstance(old, Box):
            assert isinstance(new, Box)
            np.testing.assert_array_equal([new.low, new.high], [old.low, old.high])
    if isinstance(space, Dict):
        assert isinstance(again, Dict)
        assert list(again.spaces) == list(space.spaces)


@settings(PROPERTY, max_examples=25)
@given(nested(100.0), st.one_of(boxes(100.0), discrete()))
def test_every_space_that_trains_survives_saving_and_loading(
    tmp_path_factory: pytest.TempPathFactory, observation: gym.Space[Any], action: gym.Space[Any]
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    run = train(CONFIG, REINFORCE, env=partial(AnySpace, observation, action))
    run.save(folder)
    again = load(folder)
    assert again.agent.spaces == run.agent.spaces
    obs = observation.sample()
    np.testing.assert_array_equal(run.agent.act(obs), again.agent.act(obs))


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Box(0, 1, (0,)), "^own has an empty observation space"),
        (Dict(a=TWO, b=Box(0, 1, (2, 0))), "^own has an empty observation space"),
        (Tuple([]), "^own has an empty observation space"),
        pytest.param(
            Box(0, 1, (2,), np.longdouble),
            r"^own: no file can keep the \w+ of its observation space; make it float64$",
            marks=pytest.mark.skipif(np.dtype(np.longdouble).itemsize <= 8, reason="long doubles are doubles here"),
        ),
    ],
)
def test_a_space_that_cannot_be_kept_is_refused_before_training(space: gym.Space[Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(CONFIG, PPO, env=partial(AnySpace, space))


def test_what_would_be_read_as_something_else_is_an_error_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unplayed(AnySpace):
        def step(self, action: Any) -> Any:
            raise AssertionError("a step")

    monkeypatch.setattr(about, "from_plain", lambda plain: from_plain(plain | {"n": 3} if "n" in plain else plain))
    said = r"^own: no file can keep this run, with the spaces Box.* and Discrete\(2\): it "
    with pytest.raises(InputError, match=said):
        train(CONFIG, PPO, env=Unplayed)


def rewritten(change: Callable[[Any], None]) -> None:
    """Another run.json, with the right checksum."""
    content = json.loads(Path("x/run.json").read_text())
    change(content)
    del content["checksum"]
    Path("x/run.json").write_bytes(write_about(content))


def test_a_run_with_bounds_of_bool_can_be_opened() -> None:
    def as_before(content: dict[str, Any]) -> None:
        """As it was written before images were recognized, with bounds of bool."""
        del content["config"]["as_vector"], content["spaces"]["seen"], content["spaces"]["action"]["dtype"]
        content["spaces"]["observation"] |= {"low": [False], "high": [True]}

    run = train(replace(CONFIG, as_vector=True), PPO, env=partial(AnySpace, DARK))
    run.save("x")
    rewritten(as_before)
    again = load("x", env=partial(AnySpace, DARK))
    assert again.agent.spaces == run.agent.spaces
    assert again.agent.spaces.shape == (400,)  # as it was trained
    assert again.evaluate(1).tolist() == [[5]]


def test_spaces_too_large_for_any_machine_are_damage() -> None:
    huge = {"kind": "Box", "shape": [9_000, 9_000], "dtype": "float32", "low": [0], "high": [1]}
    train(CONFIG, REINFORCE, env=AnySpace).save("x")
    rewritten(lambda content: content["spaces"].update(observation={"kind": "Tuple", "spaces": [huge, huge]}))
    with pytest.raises(InputError, match=r"is damaged: .* a space of 162,000,000 numbers is too large"):
        load("x")


def test_what_run_json_says_of_a_nested_space() -> None:
    spaces = Spaces("x", named([Discrete(2, start=1), Tuple([DARK])]), TWO)
    dark = {"kind": "Box", "shape": [10, 10, 4], "dtype": "bool", "low": [0], "high": [1]}
    number = {"kind": "Discrete", "n": 2, "start": 1, "dtype": "int64"}
    nested = {"kind": "Dict", "spaces": [["z", number], ["a", {"kind": "Tuple", "spaces": [dark]}]]}
    assert plain_spaces(spaces)["observation"] == nested

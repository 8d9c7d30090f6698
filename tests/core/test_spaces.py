"""Spaces as plain values: what is written into a file is the space that is read from it."""

import json

import gymnasium as gym
import numpy as np
import pytest
import torch

from tricks import InputError
from tricks.core.plain_spaces import from_plain, to_plain
from tricks.core.spaces import Spaces

BIG = 2**62 + 1  # no float64 is this number
SPACES = {
    "discrete": gym.spaces.Discrete(5, start=-2),
    "pixels": gym.spaces.Box(0, 255, (4, 84, 84), np.uint8),
    "unbounded": gym.spaces.Box(-np.inf, np.inf, (3,), np.float64),
    "uneven": gym.spaces.Box(np.array([-0.1, -np.inf], np.float32), np.array([1e30, 7], np.float32)),
    "integers": gym.spaces.Box(-BIG, BIG, (2, 1), np.int64),
    "scalar": gym.spaces.Box(-1, 1, (), np.float32),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_space_comes_back_from_json_as_it_was(name: str) -> None:
    space = SPACES[name]
    again = from_plain(json.loads(json.dumps(to_plain(space), allow_nan=False)))
    assert again == space
    assert again.dtype == space.dtype
    if isinstance(space, gym.spaces.Box):
        assert isinstance(again, gym.spaces.Box)
        np.testing.assert_array_equal(again.low, space.low)  # Box compares bounds only roughly
        np.testing.assert_array_equal(again.high, space.high)
    with pytest.raises(ValueError, match="unknown space 'Text'"):
        from_plain({"kind": "Text"})
    equal_bounds = {"kind": "Box", "shape": [4, 84, 84], "dtype": "uint8", "low": [0], "high": [255]}
    assert to_plain(SPACES["pixels"]) == equal_bounds


def test_what_the_bounds_cut_off_is_a_share_of_the_dimensions() -> None:
    uneven = Spaces("x", SPACES["scalar"], SPACES["uneven"])  # in [-0.1, 1e30] and [-inf, 7]
    action = torch.tensor([[-0.2, 8.0], [-0.1, 7.0], [0.0, 7.5], [-0.3, -1e30], [torch.nan, 0.0]])
    assert uneven.clip_share(action).tolist() == [1, 0, 0.5, 0.5, 0]  # type: ignore[union-attr]
    whole = Spaces("x", SPACES["scalar"], gym.spaces.Box(-1, 2, (2, 1), np.int64))
    action = torch.tensor([[-1.4, 2.4], [-1.6, 2.6]])  # they are rounded first
    assert whole.clip_share(action).tolist() == [0, 1]  # type: ignore[union-attr]
    assert Spaces("x", SPACES["scalar"], SPACES["discrete"]).clip_share(torch.tensor([9])) is None


def test_discrete_observations_become_one_hot_and_actions_what_the_space_allows() -> None:
    spaces = Spaces("x", gym.spaces.Discrete(5, start=2), gym.spaces.Discrete(3, start=-1))
    for kind in (np.int64, np.int32, np.float32):
        assert spaces.encode(np.array([2, 6], kind), (2,)).tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    for bad in (1, 7):
        with pytest.raises(InputError, match=rf"x: the observation {bad} is not in Discrete\(5, start=2\)"):
            spaces.encode(np.array([2, bad]), (2,))
    assert spaces.decode(torch.tensor([0, 2])).tolist() == [-1, 1]
    whole = Spaces("x", gym.spaces.Discrete(5), gym.spaces.Box(-3, 3, (1,), np.int64))  # rounded and clipped
    assert whole.decode(torch.tensor([[-9.0], [-0.6], [0.4], [2.99]])).tolist() == [[-3], [-1], [0], [3]]

"""Nested observations lie flat in Gymnasium's order, and images are recognized and moved to channels-first."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from hypothesis import given, settings
from support.any_space import BOOL
from support.chance_spaces import nested

from tricks import Config, InputError
from tricks.core.agent import Agent
from tricks.core.images import Joined, Shallow
from tricks.core.nets import Nature
from tricks.core.spaces import Spaces

TWO = Discrete(2)


def batch(space: gym.Space[Any], rows: int) -> tuple[Any, list[Any]]:
    """Samples as a vector environment gives them, and one by one."""
    samples = [space.sample() for _ in range(rows)]
    empty: Any = gym.vector.utils.create_empty_array(space, rows)
    return gym.vector.utils.concatenate(space, samples, empty), samples


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(nested(1000.0))
def test_an_observation_is_what_gymnasium_flattens_it_to(space: gym.Space[Any]) -> None:
    space.seed(0)
    spaces = Spaces("x", space, TWO, as_vector=True)
    many, samples = batch(space, 4)
    flat: list[Any] = [gym.spaces.flatten(space, sample) for sample in samples]
    theirs = np.stack(flat).astype(np.float32)
    encoded = spaces.encode(many, (4,))
    if not spaces.images:
        np.testing.assert_array_equal(encoded.numpy(), theirs.reshape(4, -1))
        assert spaces.shape == (theirs[0].size,)


U8, F32 = np.uint8, np.float32


@pytest.mark.parametrize(
    ("space", "shape"),
    [
        (Box(0, 255, (96, 96, 3), U8), (3, 96, 96)),
        (Box(0, 255, (10, 12, 1), U8), (1, 10, 12)),
        (Box(0, 255, (1, 10, 12), U8), (1, 10, 12)),
        (Box(0, 255, (4, 84, 84), U8), (4, 84, 84)),
        (Box(0, 255, (8, 9), U8), (1, 8, 9)),
        (Box(0, 1, (10, 10, 4), BOOL), (4, 10, 10)),
        (Box(0, 1, (4, 84, 84), F32), (4, 84, 84)),
        (Box(0, 1, (40, 50, 3), np.float64), (3, 40, 50)),
        (Dict({"image": Box(0, 255, (9, 9, 2), U8)}), (2, 9, 9)),
        (Box(0, 255, (2, 128), U8), (256,)),  # a stack of vectors
        (Box(0, 255, (8, 9, 8), U8), (576,)),  # as many channels as columns
        (Box(0, 255, (2, 2, 1), U8), (4,)),  # too small for any convolution
        (Box(-1, 1, (9, 9, 3), F32), (243,)),
        (Box(0, 1, (9, 9), F32), (81,)),
        (Box(0, 9, (9, 9, 3), np.int64), (243,)),
        (Box(0, 255, (4, 9, 9, 3), U8), (972,)),
    ],
    ids=str,
)
def test_images_are_recognized_by_their_dtype_bounds_and_axes(space: gym.Space[Any], shape: tuple[int, ...]) -> None:
    spaces = Spaces("x", space, TWO)
    assert spaces.shape == shape
    assert spaces.pixels == (len(shape) == 3)
    assert spaces.encode(batch(space, 6)[0], (2, 3)).shape == (2, 3, *shape)
    old = Spaces("x", space, TWO, as_vector=True)  # only bytes with their channels first are pixels to it
    assert old.pixels == (space in (Box(0, 255, (1, 10, 12), U8), Box(0, 255, (4, 84, 84), U8)))
    assert old.shape == (space.shape if old.pixels else (gym.spaces.flatdim(space),))
    assert old.encode(batch(space, 6)[0], (6,)).dtype == (torch.uint8 if old.pixels else torch.float32)
    assert old.seen == []


def test_channels_move_to_the_front_and_pixels_stay_what_they_were() -> None:
    for space in (Box(0, 255, (5, 4, 3), U8), Box(0, 1, (5, 4, 3), F32), Box(0, 1, (5, 4, 3), BOOL)):
        rows, _ = batch(space, 6)
        encoded = Spaces("x", space, TWO).encode(rows, (2, 3))
        np.testing.assert_array_equal(encoded.numpy(), np.moveaxis(rows, -1, 1).reshape(2, 3, 3, 5, 4))
        assert encoded.dtype == (torch.float32 if space.dtype == F32 else torch.uint8)
    gray = np.arange(80, dtype=U8).reshape(8, 10)
    assert Spaces("x", Box(0, 255, (8, 10), U8), TWO).encode(gray, ()).numpy().tolist() == [gray.tolist()]


def test_what_was_moved_is_said_once_for_each_image() -> None:
    kinds: dict[str, gym.Space[Any]] = {
        "a": Box(0, 255, (9, 9, 3), U8),
        "b": Box(0, 255, (3, 9, 9), U8),
        "c": Box(0, 1, (3, 9, 9)),
        "d": TWO,
    }
    assert Spaces("x", Dict(kinds), TWO).seen == [
        "observation['a'] is an image [9, 9, 3], which becomes [3, 9, 9]",
        "observation['c'] is an image [3, 9, 9]",
    ]


@pytest.mark.parametrize("space", [Box(0, 1, (40, 40, 3), F32), Box(0, 1, (40, 40, 3), BOOL)], ids=["float", "bool"])
def test_images_within_0_and_1_are_as_bright_as_bytes(space: Box) -> None:
    agent, theirs = (Agent(Spaces("x", kind, TWO), Config(seeds=1)) for kind in (space, Box(0, 255, (40, 40, 3), U8)))
    image = np.random.default_rng(0).integers(2, size=(40, 40, 3))
    mine, other = agent.spaces.encode(image, (1, 1)), theirs.spaces.encode(255 * image, (1, 1))
    kept = mine.clone()
    torch.testing.assert_close(agent.value(mine), theirs.value(other))
    assert mine.equal(kept)


MIXED = Dict(
    [
        ("v", Box(-1, 1, (2,), F32)),
        ("near", Box(0, 255, (8, 9, 3), U8)),
        ("deep", Tuple([Discrete(3, start=1), Box(0, 255, (1, 36, 36), U8)])),
        ("bits", MultiBinary(2)),
    ]
)


def test_each_image_has_convolutions_of_its_own_and_what_they_see_joins_the_vectors_before_the_head() -> None:
    spaces = Spaces("x", MIXED, TWO)
    assert spaces.shape == (2 + 3 * 8 * 9 + 3 + 36 * 36 + 2,)
    config = Config(seeds=(3, 5), hidden=(6,))
    agent = Agent(spaces, config)
    body = agent.policy_net.body
    assert isinstance(body, Joined)
    small, large = body.bodies
    assert isinstance(small, Shallow)
    assert isinstance(large, Nature)
    assert body.dense.layers[0][0].shape == (2, 2 + 64 + 3 + 512 + 2, 6)
    assert len(body.layers) == 2 + 4 + 1
    obs = spaces.encode(batch(MIXED, 8)[0], (2, 4))  # [S, B, D]
    v, near, kind, gray, bits = obs.split([leaf.size for leaf in spaces.leaves], -1)
    seen = [v, small(near.unflatten(-1, (3, 8, 9)).byte()), kind, large(gray.unflatten(-1, (1, 36, 36)).byte()), bits]
    kept = obs.clone()
    torch.testing.assert_close(body(obs), body.dense(torch.cat(seen, -1)))
    assert obs.equal(kept)


def test_an_agent_acts_on_observations_as_the_environment_gives_them() -> None:
    agent = Agent(Spaces("x", MIXED, TWO), Config(seeds=1, hidden=(6,)))
    many, samples = batch(MIXED, 5)
    assert agent.act(many, rng=np.random.default_rng(0)).shape == (5,)
    assert agent.act(many).tolist() == [int(agent.act(sample)) for sample in samples]
    broken = {key: part for key, part in samples[0].items() if key != "deep"}
    with pytest.raises(InputError, match=r"an observation of x needs observation\['deep'\]\[0\]"):
        agent.act(broken)
    with pytest.raises(InputError, match=r"observations\['deep'\]\[0\] of x are whole numbers from 1 to 3, not 4"):
        agent.act(samples[0] | {"deep": (4, samples[0]["deep"][1])})
    with pytest.raises(InputError, match="lead with different axes"):
        agent.act(samples[0] | {"v": np.zeros((5, 2))})


def test_whole_numbers_out_of_range_are_named_with_their_part() -> None:
    spaces = Spaces("x", Dict(k=MultiDiscrete([2, 3], start=[0, 1])), TWO)
    assert spaces.encode({"k": np.array([[1, 3], [0, 1]])}, (2,)).tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    with pytest.raises(InputError, match=r"^x: the observation\['k'\] 4 is not in MultiDiscrete"):
        spaces.encode({"k": np.array([[1, 4]])}, (1,))


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (gym.spaces.Text(5), "x has a Text observation space, which is not"),
        (Dict(mission=gym.spaces.Text(5), v=TWO), r"Text observation space \(observation\['mission'\]\)"),
        (Tuple([gym.spaces.Sequence(TWO)]), r"Sequence observation space \(observation\[0\]\)"),
        (gym.spaces.Graph(Box(0, 1, (2,)), None), "Graph observation space"),
        (gym.spaces.OneOf([TWO, TWO]), "OneOf observation space"),
    ],
    ids=["text", "mission", "sequence", "graph", "one of"],
)
def test_what_is_no_fixed_number_of_numbers_is_refused_with_what_to_do(space: gym.Space[Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        Spaces("x", space, TWO)
    assert "gymnasium.wrappers.TransformObservation" in str(refused.value)
    assert ("FilterObservation(['v'])" in str(refused.value)) == isinstance(space, Dict)


@pytest.mark.parametrize(
    "space",
    [Box(0, 1, (0,)), MultiDiscrete([]), Dict({}), Tuple([]), Dict(a=TWO, b=Box(0, 1, (3, 0))), Dict(a=Tuple([]))],
    ids=str,
)
def test_a_part_without_numbers_is_refused(space: gym.Space[Any]) -> None:
    with pytest.raises(InputError, match=r"^x has an empty observation space"):
        Spaces("x", space, TWO)

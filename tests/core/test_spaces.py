"""Spaces as plain values, nested observations lie flat, choices are independent, and images stay bytes [C, H, W]."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from hypothesis import given, settings
from support.chance_spaces import nested
from support.fixtures import refusal
from support.probes import BOOL, Endless, register
from torch import Tensor, distributions

from tricks import Agent, Config, InputError, Spaces
from tricks.action_mask import mask_logits
from tricks.core.nets import Joined, Nature, Shallow
from tricks.core.policies import multi_categorical
from tricks.core.rollout import Batch, Player, Rollout
from tricks.envs.make import make_env
from tricks.reuse import minibatches
from tricks.segments import play_segment

SPACES = {
    "discrete": gym.spaces.Discrete(5, start=-2),
    "uneven": gym.spaces.Box(np.array([-0.1, -np.inf], np.float32), np.array([1e30, 7], np.float32)),
    "scalar": gym.spaces.Box(-1, 1, (), np.float32),
}


def test_what_bounds_cut_off_is_a_share_and_discrete_observations_become_one_hot() -> None:
    uneven = Spaces("x", SPACES["scalar"], SPACES["uneven"])  # in [-0.1, 1e30] and [-inf, 7]
    action = torch.tensor([[-0.2, 8.0], [-0.1, 7.0], [0.0, 7.5], [-0.3, -1e30], [torch.nan, 0.0]])
    assert uneven.clip_share(action).tolist() == [1, 0, 0.5, 0.5, 0]  # type: ignore[union-attr]
    whole = Spaces("x", SPACES["scalar"], gym.spaces.Box(-1, 2, (2, 1), np.int64))
    action = torch.tensor([[-1.4, 2.4], [-1.6, 2.6]])  # they are rounded first
    assert whole.clip_share(action).tolist() == [0, 1]  # type: ignore[union-attr]
    assert Spaces("x", SPACES["scalar"], SPACES["discrete"]).clip_share(torch.tensor([9])) is None
    spaces = Spaces("x", gym.spaces.Discrete(5, start=2), gym.spaces.Discrete(3, start=-1))
    for bad in (1, 7):
        refusal(rf"x: the observation {bad} is not in Discrete\(5, start=2\)", spaces.encode, np.array([2, bad]), (2,))
    assert spaces.decode(torch.tensor([0, 2])).tolist() == [-1, 1]
    whole = Spaces("x", gym.spaces.Discrete(5), gym.spaces.Box(-3, 3, (1,), np.int64))  # rounded and clipped
    assert whole.decode(torch.tensor([[-9.0], [-0.6], [0.4], [2.99]])).tolist() == [[-3], [-1], [0], [3]]


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
        (Box(0, 255, (1, 10, 12), U8), (1, 10, 12)),
        (Box(0, 255, (8, 9), U8), (1, 8, 9)),
        (Box(0, 1, (10, 10, 4), BOOL), (4, 10, 10)),
        (Box(0, 1, (4, 84, 84), F32), (4, 84, 84)),
        (Dict({"image": Box(0, 255, (9, 9, 2), U8)}), (2, 9, 9)),
        (Box(0, 255, (2, 128), U8), (256,)),  # a stack of vectors
        (Box(0, 255, (8, 9, 8), U8), (576,)),  # as many channels as columns
        (Box(0, 255, (2, 2, 1), U8), (4,)),  # too small for any convolution
        (Box(-1, 1, (9, 9, 3), F32), (243,)),
        (Box(0, 1, (9, 9), F32), (81,)),
        (Box(0, 255, (4, 9, 9, 3), U8), (972,)),
    ],
    ids=str,
)
def test_images_are_recognized_by_their_dtype_bounds_and_axes(space: gym.Space[Any], shape: tuple[int, ...]) -> None:
    spaces = Spaces("x", space, TWO)
    assert spaces.shape == shape and spaces.pixels == (len(shape) == 3)
    assert spaces.encode(batch(space, 6)[0], (2, 3)).shape == (2, 3, *shape)
    old = Spaces("x", space, TWO, as_vector=True)  # only bytes with their channels first are pixels to it
    assert old.pixels == (space in (Box(0, 255, (1, 10, 12), U8), Box(0, 255, (4, 84, 84), U8)))
    assert old.shape == (space.shape if old.pixels else (gym.spaces.flatdim(space),))
    assert old.encode(batch(space, 6)[0], (6,)).dtype == (torch.uint8 if old.pixels else torch.float32)
    assert old.seen == []


def test_channels_move_to_the_front_which_is_said_once_for_each_image() -> None:
    for space in (Box(0, 255, (5, 4, 3), U8), Box(0, 1, (5, 4, 3), F32), Box(0, 1, (5, 4, 3), BOOL)):
        rows, _ = batch(space, 6)
        encoded = Spaces("x", space, TWO).encode(rows, (2, 3))
        np.testing.assert_array_equal(encoded.numpy(), np.moveaxis(rows, -1, 1).reshape(2, 3, 3, 5, 4))
        assert encoded.dtype == (torch.float32 if space.dtype == F32 else torch.uint8)
    gray = np.arange(80, dtype=U8).reshape(8, 10)
    assert Spaces("x", Box(0, 255, (8, 10), U8), TWO).encode(gray, ()).numpy().tolist() == [gray.tolist()]
    images = Dict(a=Box(0, 255, (9, 9, 3), U8), b=Box(0, 255, (3, 9, 9), U8), c=Box(0, 1, (3, 9, 9)), d=TWO)
    assert Spaces("x", images, TWO).seen == [
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


DEEP = Tuple([Discrete(3, start=1), Box(0, 255, (1, 36, 36), U8)])
MIXED = Dict(
    [("v", Box(-1, 1, (2,), F32)), ("near", Box(0, 255, (8, 9, 3), U8)), ("deep", DEEP), ("bits", MultiBinary(2))]
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
    assert body.dense.layers[0][0].shape == (2, 2 + 64 + 3 + 512 + 2, 6) and len(body.layers) == 2 + 4 + 1
    obs = spaces.encode(batch(MIXED, 8)[0], (2, 4))  # [S, B, D]
    v, near, kind, gray, bits = obs.split([leaf.size for leaf in spaces.leaves], -1)
    seen = [v, small(near.unflatten(-1, (3, 8, 9)).byte()), kind, large(gray.unflatten(-1, (1, 36, 36)).byte()), bits]
    kept = obs.clone()
    torch.testing.assert_close(body(obs), body.dense(torch.cat(seen, -1)))
    assert obs.equal(kept)


def test_an_agent_acts_on_observations_as_they_come_and_what_is_out_of_range_is_named_with_its_part() -> None:
    agent = Agent(Spaces("x", MIXED, TWO), Config(seeds=1, hidden=(6,)))
    many, samples = batch(MIXED, 5)
    assert agent.act(many, rng=np.random.default_rng(0)).shape == (5,)
    assert agent.act(many).tolist() == [int(agent.act(sample)) for sample in samples]
    broken = {key: part for key, part in samples[0].items() if key != "deep"}
    refusal(r"an observation of x needs observation\['deep'\]\[0\]", agent.act, broken)
    with pytest.raises(InputError, match=r"observations\['deep'\]\[0\] of x are whole numbers from 1 to 3, not 4"):
        agent.act(samples[0] | {"deep": (4, samples[0]["deep"][1])})
    refusal("lead with different axes", agent.act, samples[0] | {"v": np.zeros((5, 2))})
    refusal(r"of these; not \[1, 1, 1, 2\]", agent.act, samples[0] | {"v": np.zeros((1, 1, 1, 2))})
    spaces = Spaces("x", Dict(k=MultiDiscrete([2, 3], start=[0, 1])), TWO)
    assert spaces.encode({"k": np.array([[1, 3], [0, 1]])}, (2,)).tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    refusal(r"^x: the observation\['k'\] 4 is not in MultiDiscrete", spaces.encode, {"k": np.array([[1, 4]])}, (1,))


BOX = gym.spaces.Box(-1, 1, (2,))
EMPTY = [Box(0, 1, (0,)), MultiDiscrete([]), Dict({}), Tuple([]), Dict(a=TWO, b=Box(0, 1, (3, 0))), Dict(a=Tuple([]))]
REFUSED = [
    (gym.spaces.Text(5), TWO, r"x has a Text observation space, which is not .*wrappers\.TransformObservation"),
    (Dict(mission=gym.spaces.Text(5), v=TWO), TWO, r"Text .*\(observation\['mission'\]\).*Filter\w+\(\['v'\]\)"),
    (Tuple([gym.spaces.Sequence(TWO)]), TWO, r"Sequence observation space \(observation\[0\]\).*TransformObservation"),
    (gym.spaces.Graph(Box(0, 1, (2,)), None), TWO, "Graph observation space.*TransformObservation"),
    (gym.spaces.OneOf([TWO, TWO]), TWO, "OneOf observation space.*TransformObservation"),
    *[(space, TWO, r"^x .*\b(empty|nothing)\b") for space in EMPTY],
    *[
        (BOX, action, r"^x has a \w+ action space; .*gymnasium\.wrappers\.TransformAction$")
        for action in (Dict(a=TWO), Tuple([TWO]), gym.spaces.Text(3))
    ],
]


@pytest.mark.parametrize(("observation", "action", "said"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_no_fixed_number_of_numbers_is_refused_with_what_to_do(
    observation: gym.Space[Any], action: gym.Space[Any], said: str
) -> None:
    refused = refusal(said, Spaces, "x", observation, action)
    assert ("FilterObservation" in refused) == ("Filter" in said)


SIZES = pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2, 2), (5,), (1, 3)], ids=str)


def drawn(sizes: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(2, 7, sum(sizes), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def truths(logits: Tensor, sizes: tuple[int, ...]) -> list[distributions.Categorical]:
    return [distributions.Categorical(logits=part) for part in logits.split(sizes, -1)]


@SIZES
def test_log_probabilities_entropies_and_divergences_are_sums_over_components(sizes: tuple[int, ...]) -> None:
    family, logits, other = multi_categorical(sizes), drawn(sizes), drawn(sizes, 1)
    action = torch.stack([truth.sample() for truth in truths(logits, sizes)], -1)  # [S, B, K]
    each = list(zip(truths(logits, sizes), truths(other, sizes), action.unbind(-1), strict=True))
    torch.testing.assert_close(family.log_prob(logits, action), sum(p.log_prob(a) for p, _, a in each))
    torch.testing.assert_close(family.entropy(logits), sum(p.entropy() for p, _, _ in each))
    apart = sum(distributions.kl_divergence(p, q) for p, q, _ in each)
    torch.testing.assert_close(family.kl(logits, other), apart)
    modes = torch.stack([p.logits.argmax(-1) for p, _, _ in each], -1)
    assert family.mode(logits).equal(modes)
    assert family.sample(logits, torch.zeros_like(logits)).equal(modes)


def test_actions_come_in_the_environment_s_own_format() -> None:
    square = Spaces("x", BOX, MultiDiscrete(np.array([[2, 3], [4, 1]]), start=np.array([[0, 5], [-1, 0]])))
    assert (square.actions, square.components) == (10, (2, 3, 4, 1))
    decoded = square.decode(torch.tensor([[[1, 2, 3, 0]]]))
    assert decoded.tolist() == [[[[1, 7], [2, 0]]]] and square.action.contains(decoded[0, 0])
    binary = Spaces("x", BOX, MultiBinary([2, 2]))
    assert (binary.actions, binary.components) == (8, (2, 2, 2, 2))
    assert binary.action.contains(binary.decode(torch.tensor([[1, 0, 1, 1]]))[0])
    assert binary.clip_share(torch.tensor([[1, 0, 1, 1]])) is None
    legal = torch.tensor([[1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]) > 0  # each component needs a choice
    assert Spaces("x", BOX, MultiDiscrete([2, 3])).possible(legal).tolist() == [True, False, False]


@pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2)], ids=str)
def test_masked_choices_have_probability_zero_and_gradients_stay_finite(sizes: tuple[int, ...]) -> None:
    family, legal = multi_categorical(sizes), torch.ones(sum(sizes), dtype=torch.bool)
    legal[[0, sizes[0] + 1]] = False  # one choice of each of the first two components
    logits = drawn(sizes).requires_grad_()
    masked, action = mask_logits(logits, legal), torch.zeros(2, 7, len(sizes), dtype=torch.int64)
    assert family.log_prob(masked, action).exp().max() == 0
    action[..., :2] = 1
    assert family.log_prob(masked, action).exp().max() == 0
    noise = torch.full_like(logits, -9.0).masked_fill(~legal, 1e6).detach()
    taken = family.sample(masked, noise)
    assert (taken[..., 0] != 0).all() and (taken[..., 1] != 1).all()
    left = [part[..., keep] for part, keep in zip(logits.split(sizes, -1), legal.split(sizes), strict=True)]
    entropy = family.entropy(masked)
    torch.testing.assert_close(entropy, sum(distributions.Categorical(logits=part).entropy() for part in left))
    (gradient,) = torch.autograd.grad((entropy + family.log_prob(masked, taken)).sum(), logits)
    assert gradient.isfinite().all() and gradient[..., ~legal].abs().max() == 0


@pytest.mark.parametrize("low", [-500.0, -1e6, -1e20])
def test_what_a_smaller_component_lacks_is_never_chosen_however_low_its_logits_are(low: float) -> None:
    family, logits = multi_categorical((1, 3)), torch.full((1, 1, 4), low, dtype=torch.float64)
    action = torch.zeros(1, 1, 2, dtype=torch.int64)
    assert family.log_prob(logits, action).item() == pytest.approx(-np.log(3))
    assert family.entropy(logits).item() == pytest.approx(np.log(3))
    assert family.sample(logits, torch.zeros_like(logits)).tolist() == [[[0, 0]]]
    assert family.mode(logits).tolist() == [[[0, 0]]]


def test_an_agent_acts_with_flat_masks_and_with_a_tuple_of_one_for_each_component() -> None:
    agent = Agent(Spaces("x", BOX, MultiDiscrete([2, 3], start=[0, 1])), Config(seeds=1, hidden=(4,)))
    flat = np.array([0, 1, 1, 0, 0], bool)
    for legal in (flat, (flat[:2], flat[2:]), [flat[:2], flat[2:]]):
        for rng in (None, np.random.default_rng(0)):
            assert agent.act(np.zeros(2), legal, rng).tolist() == [1, 1]
    rows = np.stack([flat, ~flat])
    assert agent.act(np.zeros((2, 2)), (rows[:, :2], rows[:, 2:])).tolist()[0] == [1, 1]


SHAPE = (2, 5, 4)


class Screen(Endless):
    """A gray screen: the first image is as bright as the time, the second as its double; episodes of three steps."""

    observation_space, length = Box(0, 255, SHAPE, np.uint8), 3

    def see(self) -> np.ndarray:
        return np.stack([np.full(SHAPE[1:], self.t * k + 100, np.uint8) for k in (1, 2)])


register("Screen-v0", Screen)
CONFIG = Config(env="Screen-v0", seeds=2, lanes=3, horizon=9)


def test_a_rollout_of_pixels_keeps_every_frame_as_bytes_and_a_batch_is_no_copy() -> None:
    player, at_random = Player(make_env(CONFIG), 16), lambda obs, legal: torch.zeros(*obs.shape[:2], 2)
    rollout = play_segment(player, at_random, CONFIG.horizon, torch.tensor([True, False]))
    assert rollout.obs.dtype == torch.uint8 and rollout.obs.shape == (2, 10, 3, *SHAPE)
    assert rollout.obs.nbytes == 2 * 10 * 3 * 40  # a byte per pixel
    bright = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0, 1])  # three steps, and what the reset shows
    for image, factor in ((0, 1), (1, 2)):
        expected = (100 + factor * bright).view(10, 1, 1, 1).expand(10, 3, 5, 4)
        assert torch.equal(rollout.obs[0, :, :, image].long(), expected)
    assert not rollout.obs[1].any() and rollout.valid[0, :, 0].tolist() == [True, True, True, False] * 2 + [True]
    columns: dict[str, Any] = {name: x[:1] for name, x in vars(rollout).items() if isinstance(x, Tensor)}
    assert Batch.of(Rollout(**columns)).obs.data_ptr() == rollout.obs.data_ptr()
    assert {b.obs.dtype for b in minibatches(Batch.of(rollout), (0, 1), 0, 1, 4)} == {torch.uint8}

"""What the agent needs to know about an environment's observation and action spaces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from torch import Tensor

from tricks.core.policies import Categorical, DiagonalGaussian, Family, multi_categorical
from tricks.errors import InputError

PLAIN: dict[Any, tuple[str, ...]] = {Box: ("low", "high"), Discrete: ("n", "start"), MultiDiscrete: ("nvec", "start")}
PLAIN[MultiBinary] = ()  # the numbers that each kind is made of, beside its shape and dtype
LARGEST_DTYPE = 8  # bytes of a number
SMALLEST = 3  # pixels: the shorter side of an image
SMALLEST_GRAY = 8  # the same without an axis of channels, which is easily something else, such as a stack of vectors


def as_array(given: Any) -> np.ndarray:
    """As an array; of objects, if it has no other."""
    try:
        return np.asarray(given)
    except Exception:  # ragged lists, and whatever an object's own __array__ raises
        return np.empty((), object)


@dataclass(frozen=True)
class Leaf:
    """A part of an observation that is not nested: a Box, Discrete, MultiDiscrete or MultiBinary space."""

    env: str
    path: tuple[str | int, ...]  # the keys and indices that lead to it, () if it is the whole observation
    space: gym.Space[Any]
    axes: str = ""  # those of an image, CHW, HWC or HW

    @property
    def name(self) -> str:
        """How one reads it in Python: observation["goal"][0]."""
        return "observation" + "".join(f"[{key!r}]" for key in self.path)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the encoded part: [C, H, W] for an image, [D] for a vector."""
        own = self.space.shape or ()
        images = {"CHW": own, "HWC": (own[-1:] + own[:-1]), "HW": (1, *own)}
        return images.get(self.axes, (gym.spaces.flatdim(self.space),))

    @property
    def size(self) -> int:
        """D: how many numbers the encoded part has."""
        return prod(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the encoded part's numbers: uint8 for images of bytes, and of bools, otherwise float32."""
        return torch.uint8 if self.axes and self.space.dtype in (np.uint8, np.bool_) else torch.float32

    @property
    def brightest(self) -> float:
        """The largest number that a pixel can be."""
        return float(self.space.high.max()) if self.space.dtype == np.uint8 else 1.0  # type: ignore[attr-defined]

    def of(self, obs: Any) -> Any:
        """This part of an observation, or of a batch of observations."""
        for key in self.path:
            obs = obs[key]
        return obs

    def encode(self, obs: Any, rows: tuple[int, ...]) -> Tensor:
        """Rows of this part [*rows, ...] -> [*rows, *shape]: float32, or uint8 for an image of bytes; see `Spaces`."""
        if isinstance(self.space, Discrete | MultiDiscrete):
            given, (counts, starts) = np.asarray(obs, dtype=np.int64).reshape(*rows, -1), map(np.ravel, self.choices)
            index = given - starts
            if (outside := (index < 0) | (index >= counts)).any():
                raise InputError(f"{self.env}: the {self.name} {given[outside][0]} is not in {self.space}")
            places = torch.from_numpy(index + (np.cumsum(counts) - counts).astype(np.int64))
            return torch.zeros(*rows, self.size, dtype=torch.float32).scatter_(-1, places, 1)
        array = np.asarray(obs, dtype=np.uint8 if self.dtype is torch.uint8 else np.float32)
        if self.axes == "HWC":
            array = np.ascontiguousarray(np.moveaxis(array.reshape(*rows, *self.space.shape), -1, -3))  # type: ignore[misc]
        return torch.from_numpy(array.reshape(*rows, *self.shape))

    @cached_property
    def choices(self) -> tuple[np.ndarray, np.ndarray]:
        """How many choices each component of a Discrete or MultiDiscrete part has, and which number is the first."""
        space: Any = self.space
        return np.asarray(space.n if isinstance(space, Discrete) else space.nvec), np.asarray(space.start, np.int64)


def leaves(
    env: str, space: gym.Space[Any], as_vector: bool, path: tuple[str | int, ...] = (), usable: Sequence[Any] = ()
) -> Iterator[Leaf]:
    """The parts of the space at this path of a larger one. usable: which of that one's are numbers, for the message."""
    if isinstance(space, Dict | Tuple):
        inner: list[Any] = list(space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces))
        usable = usable if path else [key for key, part in inner if isinstance(part, (*PLAIN, Dict, Tuple))]
        for key, part in inner:
            if isinstance(space, Dict) and not isinstance(key, str):
                raise InputError(f"{env} has an observation space with the key {key!r}; keys must be strings")
            yield from leaves(env, part, as_vector, (*path, key), usable)
        return
    leaf = Leaf(env, path, space, image_axes(space, as_vector))
    at = f" ({leaf.name})" if path else ""
    if not isinstance(space, tuple(PLAIN)):
        rest = [key for key in usable if key != path[0]]
        how = f'leave it out with --wrap "gymnasium.wrappers:FilterObservation({rest})", or ' if rest else ""
        what = f"{env} has a {type(space).__name__} observation space{at}, which is not a fixed number of numbers"
        raise InputError(f"{what}; {how}turn it into a Box with gymnasium.wrappers.TransformObservation")
    refuse_unusable(env, "observation", space, at)
    yield leaf


def refuse_unusable(env: str, role: str, space: gym.Space[Any], at: str = "") -> None:
    """Raise InputError for a space without numbers, or with numbers that no file can keep."""
    if gym.spaces.flatdim(space) == 0:
        raise InputError(f"{env} has an empty {role} space{at}, {space}")
    if space.dtype is not None and space.dtype.itemsize > LARGEST_DTYPE:
        raise InputError(f"{env}: no file can keep the {space.dtype} of its {role} space{at}; make it float64")


def image_axes(space: gym.Space[Any], as_vector: bool = False) -> str:
    """The order of an image's axes: CHW, HWC or HW, where C is smaller than H and W; empty if this is no image.

    Images are uint8. With three axes they can also be bool, or floats in [0, 1].
    """
    if not isinstance(space, Box):
        return ""
    shape, of_bytes, axes = space.shape, space.dtype == np.uint8, ""
    unit = space.dtype.kind in "bf" and bool((space.low >= 0).all() and (space.high <= 1).all())
    if len(shape) == 3 and (of_bytes or unit):
        last = "HWC" if shape[2] < min(shape[:2]) >= SMALLEST else ""
        axes = "CHW" if shape[0] < min(shape[1:]) >= SMALLEST else last
    elif len(shape) == 2 and of_bytes and min(shape) >= SMALLEST_GRAY:
        axes = "HW"
    return axes if not as_vector or (of_bytes and axes == "CHW") else ""


@dataclass(frozen=True)
class Spaces:
    """An observation space as vectors, or as images if it is one of images, and an action space as a policy's family.

    Observations are Box, Discrete, MultiDiscrete or MultiBinary, or Dict and Tuple of these, nested as one likes.
    Several parts become one vector, part after part in the order of Gymnasium's `flatten`, with images channels-first.
    Actions are one of the first four. Raises InputError for any other space, naming it and what to do.
    """

    env: str
    observation: gym.Space[Any]
    action: gym.Space[Any]
    tasks: int = 1  # K; if more, the first K features of an observation say which task it belongs to, one-hot
    as_vector: bool = False  # only uint8 images with their channels first are images, and all others vectors

    def __post_init__(self) -> None:
        if not isinstance(self.action, tuple(PLAIN)):
            known = "actions are Discrete, MultiDiscrete, MultiBinary or Box"
            how = "turn yours into one of these with gymnasium.wrappers.TransformAction"
            raise InputError(f"{self.env} has a {type(self.action).__name__} action space; {known}: {how}")
        refuse_unusable(self.env, "action", self.action)
        if not self.leaves:
            raise InputError(f"{self.env} has an empty observation space, {self.observation}")
        if not isinstance(self.tasks, int) or self.tasks < 1:
            raise InputError(f"{self.env}: the number of tasks must be a whole number from 1 on, not {self.tasks!r}")
        if self.tasks > 1 and (self.pixels or self.tasks > self.features):
            which = f"must say which of {self.tasks} tasks it belongs to, but observations are {self.observation}"
            raise InputError(f"{self.env}: the first {self.tasks} features of an observation {which}")

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The parts of an observation, in their order."""
        return tuple(leaves(self.env, self.observation, self.as_vector))

    def task(self, obs: Tensor) -> Tensor | None:
        """Which task each observation belongs to: [..., D] -> [...] int64, or None in an environment of one task."""
        return None if self.tasks == 1 else obs[..., : self.tasks].argmax(-1)

    @property
    def discrete(self) -> bool:
        """Whether an action is one choice from a few, or several such choices, and not a Box."""
        return not isinstance(self.action, Box)

    @cached_property
    def components(self) -> tuple[int, ...]:
        """The number of choices in each component of a MultiDiscrete or MultiBinary action; () for the others."""
        if isinstance(self.action, MultiDiscrete):
            return tuple(self.action.nvec.ravel().tolist())
        return (2,) * prod(self.action.shape) if isinstance(self.action, MultiBinary) else ()

    @property
    def family(self) -> Family:
        if self.components:
            return multi_categorical(self.components)
        return Categorical if self.discrete else DiagonalGaussian

    @property
    def features(self) -> int:
        """D: the length of a flattened observation."""
        return sum(leaf.size for leaf in self.leaves)

    @property
    def images(self) -> bool:
        """Whether an observation is an image or has one as a part."""
        return any(leaf.axes for leaf in self.leaves)

    @property
    def pixels(self) -> bool:
        """Whether an observation is one image alone, which stays an image [C, H, W], its channels first."""
        return len(self.leaves) == 1 and self.images

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one encoded observation: [D], or [C, H, W] for pixels."""
        return self.leaves[0].shape if self.pixels else (self.features,)

    @property
    def dtype(self) -> torch.dtype:
        """The type of an encoded observation's numbers."""
        return self.leaves[0].dtype if self.pixels else torch.float32

    @property
    def sizes(self) -> tuple[object, ...]:
        """What nets must fit: the observation's shape and images, and the kind and number of actions."""
        images = [(leaf.shape, place) for place, leaf in enumerate(self.leaves) if leaf.axes]
        return self.shape, images, self.discrete, self.components, self.actions

    @property
    def actions(self) -> int:
        """A: the number of discrete actions, over all components, or of action dimensions."""
        return sum(self.components) or gym.spaces.flatdim(self.action)

    @property
    def seen(self) -> list[str]:
        """A line on each image that is not one of bytes with its channels first, which goes without saying."""
        odd = [x for x in self.leaves if x.axes and (x.axes != "CHW" or x.space.dtype != np.uint8)]
        become = [f", which becomes {list(leaf.shape)}" * (leaf.axes != "CHW") for leaf in odd]
        return [f"{x.name} is an image {list(x.space.shape or ())}{more}" for x, more in zip(odd, become, strict=True)]

    def encode(self, obs: Any, rows: tuple[int, ...]) -> Tensor:
        """Observations [*rows, ...], nested like their space, as [*rows, *shape]; whole numbers become one-hot."""
        return self.joined([leaf.of(obs) for leaf in self.leaves], rows)

    def joined(self, given: Sequence[Any], rows: tuple[int, ...]) -> Tensor:
        """The same from a list of the parts."""
        parts = [leaf.encode(part, rows) for leaf, part in zip(self.leaves, given, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat([part.flatten(len(rows)).float() for part in parts], -1)

    def possible(self, legal: Tensor) -> Tensor:
        """Whether a mask leaves an action, in each component if there are several: [..., A] -> [...] bool."""
        parts = legal.split(self.components, -1) if self.components else [legal]
        return torch.stack([part.any(-1) for part in parts], -1).all(-1)

    def clip_share(self, action: Tensor) -> Tensor | None:
        """Share of a Box action's dimensions that `decode` clips: [..., A] -> [...]. None for other actions."""
        if not isinstance(self.action, Box):
            return None
        bounds = np.stack([self.action.low.ravel(), self.action.high.ravel()]).astype(np.float32)
        low, high = torch.from_numpy(bounds).to(action.device).unbind()
        action = action.round() if self.action.dtype.kind in "iub" else action
        return ((action < low) | (action > high)).float().mean(-1)

    def decode(self, action: Tensor) -> np.ndarray:
        """Actions [*rows], [*rows, K] or [*rows, A] in the environment's format: Box ones as `within` has them."""
        array: np.ndarray = action.cpu().numpy()
        if isinstance(self.action, Discrete):
            return np.asarray(array + int(self.action.start), self.action.dtype)
        array = array.reshape(*array.shape[:-1], *(self.action.shape or ()))
        if isinstance(self.action, MultiDiscrete):
            array = array + self.action.start
        elif isinstance(self.action, Box):
            return within(self.action, array)
        return np.asarray(array, self.action.dtype)


def within(box: Box, numbers: np.ndarray) -> np.ndarray:
    """Numbers [..., *shape] as actions in the box: of its dtype, finite, and whole if it is one of integers.

    One beyond a bound becomes the bound. NaN becomes 0 or the nearest bound; its seed stops at the end of the update.
    """
    whole = box.dtype.kind in "iub"
    largest = np.inf if whole else float(np.finfo(box.dtype).max)  # type: ignore[type-var]
    asked = np.nan_to_num(numbers.astype(float), posinf=largest, neginf=-largest).clip(-largest, largest)
    asked = np.rint(asked) if whole else asked
    with np.errstate(invalid="ignore"):  # where the nearest float to a bound is beyond it
        inside = asked.astype(box.dtype)
    return np.where(asked >= box.high, box.high, np.where(asked <= box.low, box.low, inside))


def to_plain(space: gym.Space[Any]) -> dict[str, Any]:
    """A space that `Spaces` accepts, as plain values. The order of a Dict is kept."""
    if isinstance(space, Dict):
        return {"kind": "Dict", "spaces": [[key, to_plain(part)] for key, part in space.spaces.items()]}
    if isinstance(space, Tuple):
        return {"kind": "Tuple", "spaces": [to_plain(part) for part in space.spaces]}
    kind = next(kind for kind in PLAIN if isinstance(space, kind))
    numbers = {name: _in_row_order(getattr(space, name)) for name in PLAIN[kind]}
    return {"kind": kind.__name__, "shape": list(space.shape or ()), "dtype": np.dtype(space.dtype).name, **numbers}


def _in_row_order(given: Any) -> list[float | str]:
    """The numbers of an array, or just one if they are all equal; infinities are strings, as JSON has none."""
    array = np.asarray(given)
    numbers = array.astype(np.uint8 if array.dtype == np.bool_ else array.dtype).ravel().tolist()
    return [str(x) if np.isinf(x) else x for x in (numbers[:1] if len(set(numbers)) == 1 else numbers)]


def from_plain(plain: dict[str, Any]) -> gym.Space[Any]:
    """The inverse of `to_plain`. Raises KeyError, TypeError or ValueError if the description is invalid."""
    if plain["kind"] == "Dict":
        return Dict([(key, from_plain(part)) for key, part in plain["spaces"]])
    if plain["kind"] == "Tuple":
        return Tuple([from_plain(part) for part in plain["spaces"]])
    kind = next((kind for kind in PLAIN if kind.__name__ == plain["kind"]), None)
    if kind is None:
        raise ValueError(f"unknown space {plain['kind']!r}")
    shape, dtype = tuple(plain.get("shape", ())), np.dtype(plain.get("dtype", "int8")).type  # older files lack them
    if kind is MultiBinary:
        return MultiBinary(shape if len(shape) != 1 else shape[0])
    arrays = {name: np.array([dtype(x) for x in np.ravel(plain[name]).tolist()], dtype) for name in PLAIN[kind]}
    full = {name: np.full(shape, x[0]) if len(x) == 1 else x.reshape(shape) for name, x in arrays.items()}
    if kind is Discrete:
        return Discrete(full["n"].item(), start=full["start"].item(), dtype=dtype)
    made: gym.Space[Any] = kind(**full, dtype=dtype)
    return made

"""run.json: what was trained, and the checksums of the run's files; checked when it is read."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

import gymnasium as gym
import msgspec
from msgspec import Meta, Struct

from tricks.config import Config
from tricks.core.plain_spaces import from_plain, to_plain
from tricks.core.spaces import Spaces
from tricks.errors import InputError, said
from tricks.ladder import Tricks, switched
from tricks.runs.evaluation import Evaluation
from tricks.runs.provenance import MadeWith

Count = Annotated[int, Meta(ge=0)]
Whole = Annotated[str, Meta(pattern=r"^u?int(8|16|32|64)$")]
Own = list[Literal["env", "body"]]
LARGEST = 10**8  # numbers in an observation
ORIGIN = ("joined", "from")  # attributes of a curve, see `Run`


class Discrete(Struct, tag="Discrete", tag_field="kind", forbid_unknown_fields=True):
    """A Discrete space, as `to_plain` writes it."""

    n: Annotated[int, Meta(ge=1, le=LARGEST)]
    start: int
    dtype: Whole = "int64"


class Box(Struct, tag="Box", tag_field="kind", forbid_unknown_fields=True):
    """A Box space, as `to_plain` writes it; earlier versions wrote the bounds of bool ones as bool."""

    shape: list[Count]
    dtype: Annotated[str, Meta(pattern=r"^((u?int|float)(8|16|32|64)|bool)$")]
    low: list[bool | int | float | str]
    high: list[bool | int | float | str]


class MultiDiscrete(Struct, tag="MultiDiscrete", tag_field="kind", forbid_unknown_fields=True):
    """A MultiDiscrete space, as `to_plain` writes it."""

    shape: list[Count]
    dtype: Whole
    nvec: list[Annotated[int, Meta(ge=1, le=LARGEST)]]
    start: list[int]


class MultiBinary(Struct, tag="MultiBinary", tag_field="kind", forbid_unknown_fields=True):
    """A MultiBinary space, as `to_plain` writes it."""

    shape: list[Count]


class Dict(Struct, tag="Dict", tag_field="kind", forbid_unknown_fields=True):
    """A Dict space, as `to_plain` writes it."""

    spaces: list[tuple[str, "Space"]]


class Tuple(Struct, tag="Tuple", tag_field="kind", forbid_unknown_fields=True):
    """A Tuple space, as `to_plain` writes it."""

    spaces: list["Space"]


Space = Discrete | Box | MultiDiscrete | MultiBinary | Dict | Tuple


def numbers(space: Space) -> int:
    """How many numbers an element of the space has, one-hot where it is discrete."""
    if isinstance(space, Dict):
        return sum(numbers(part) for _, part in space.spaces)
    if isinstance(space, Tuple):
        return sum(numbers(part) for part in space.spaces)
    if isinstance(space, Discrete):
        return space.n
    return sum(space.nvec) if isinstance(space, MultiDiscrete) else math.prod(space.shape)


class Both(Struct, forbid_unknown_fields=True):
    """The observation space, the action space, the number of tasks, and how images are seen, in words."""

    observation: Space
    action: Space
    tasks: Annotated[int, Meta(ge=1, le=LARGEST)]
    seen: list[str] = []

    def __post_init__(self) -> None:
        for space in (self.observation, self.action):
            if numbers(space) > LARGEST:
                raise ValueError(f"a space of {numbers(space):,} numbers is too large")


class About(Struct, forbid_unknown_fields=True):
    """The content of run.json."""

    config: dict[str, Any]
    tricks: list[str]
    diverged: list[tuple[Count, Count]]
    rows: Count
    reasons: list[tuple[Count, str]]
    seconds: Annotated[float, Meta(ge=0)] | None
    spaces: Both
    own: Own
    checksums: dict[str, str]
    checksum: str
    joined: list[Count] = []
    started_from: str = msgspec.field(default="", name="from")
    made_with: MadeWith = {}
    evaluation: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.evaluation is not None:
            Evaluation.read(self.evaluation)  # refuses what is none

    @property
    def origin(self) -> dict[str, Any]:
        """The attributes of the curve, see `Run`."""
        given = zip(ORIGIN, (self.joined, self.started_from), strict=True)
        return {name: each for name, each in given if each}

    def gym_spaces(self) -> list[gym.Space[Any]]:
        """The observation space and the action space."""
        return [from_plain(msgspec.to_builtins(space)) for space in (self.spaces.observation, self.spaces.action)]


def plain_spaces(spaces: Spaces) -> dict[str, Any]:
    """What run.json says about the spaces."""
    both = {"observation": to_plain(spaces.observation), "action": to_plain(spaces.action)}
    return {**both, "tasks": spaces.tasks, "seen": spaces.seen}


def read_back(config: Config, spaces: Spaces) -> None:
    """Raise InputError unless run.json would tell these numbers and spaces as it was told them."""
    nothing: dict[str, Any] = {
        "tricks": [],
        "diverged": [],
        "rows": 0,
        "reasons": [],
        "seconds": None,
        "own": [],
        "checksums": {},
    }
    told = {"config": asdict(config), "spaces": plain_spaces(spaces)}
    try:
        about = read_about(write_about(told | nothing))
        observation, action = about.gym_spaces()
        again = Spaces(config.env, observation, action, about.spaces.tasks, config.as_vector)
        if asked(about.config, [])[0] != config or plain_spaces(again) != told["spaces"]:
            raise ValueError("it would be read as something else")
    except Exception as error:
        both = f"{spaces.observation} and {spaces.action}"
        raise InputError(f"{config.env}: no file can keep this run, with the spaces {both}: {said(error)}") from error


def digest(content: bytes) -> str:
    """The SHA-256 checksum, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_about(about: Mapping[str, Any]) -> bytes:
    """run.json with its own checksum: that of the same text with an empty checksum."""
    text = json.dumps({"checksum": "", **about}, indent=2) + "\n"
    return text.replace('"checksum": ""', f'"checksum": "{digest(text.encode())}"', 1).encode()


def read_about(content: bytes) -> About:
    """Parse run.json. Raises ValueError if it is not what `write_about` wrote."""
    about = msgspec.json.decode(content, type=About)
    if not whole(content):
        raise ValueError("it does not match its checksum")
    return about


def whole(content: bytes) -> bool:
    """Whether this run.json, of any version, matches its checksum; the first versions wrote none."""
    found = re.search(rb'"checksum": "([^"]*)"', content)
    return found is None or digest(content.replace(found[1], b"", 1)) == found[1].decode(errors="replace")


def asked(config: Mapping[str, Any], tricks: list[str]) -> tuple[Config, Tricks]:
    """The Config and Tricks of a run, from JSON. Raises ValueError or InputError if they are invalid.

    A run.json without `as_vector` was written before images of other forms were recognized, and is read with it on.
    """
    if unknown := set(config) - {field.name for field in fields(Config)}:
        raise ValueError(f"Config has no field {', '.join(sorted(unknown))}")
    return msgspec.convert({"as_vector": True, **config}, Config), switched(tricks)

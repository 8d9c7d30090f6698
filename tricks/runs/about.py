"""What a run's files hold: run.json, which says what was trained, and files of tensors; both checked when read.

Reading a file builds tensors and plain values, and never runs code.
"""

import hashlib
import io
import json
import math
import pickle
import re
import warnings
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

import gymnasium as gym
import msgspec
import torch
from msgspec import Meta, Struct

from tricks.config import Config
from tricks.core.plain_spaces import from_plain, to_plain
from tricks.core.spaces import Spaces
from tricks.errors import InputError, said
from tricks.ladder import Tricks, switched
from tricks.runs.provenance import MadeWith

Count = Annotated[int, Meta(ge=0)]
Own = list[Literal["env", "body"]]
LARGEST = 10**8  # numbers in an observation
ORIGIN = ("joined", "from")  # attributes of a curve, see `Run`
SEAL = b"\ntricks sha256 "  # before the checksum, at the end of a checkpoint
END = b"PK\5\6"  # begins the last 22 bytes of a PyTorch file


class Both(Struct, forbid_unknown_fields=True):
    """The observation space and the action space as `to_plain` has them, the number of tasks, and images in words."""

    observation: dict[str, Any]
    action: dict[str, Any]
    tasks: Annotated[int, Meta(ge=1, le=LARGEST)]
    seen: list[str] = []

    def __post_init__(self) -> None:
        for plain in (self.observation, self.action):
            if (count := numbers(plain)) > LARGEST:
                raise ValueError(f"a space of {count:,} numbers is too large")
        self.pair()  # refuses what is no space

    def pair(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        """The two spaces."""
        return from_plain(self.observation), from_plain(self.action)


def numbers(plain: Mapping[str, Any]) -> int:
    """How many numbers an element of a space has, one-hot where it is discrete."""
    if plain.get("kind") in ("Dict", "Tuple"):
        return sum(numbers(part[1] if plain["kind"] == "Dict" else part) for part in plain["spaces"])
    return plain["n"] if "n" in plain else sum(plain.get("nvec", ())) or math.prod(plain.get("shape", ()))


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

    @property
    def origin(self) -> dict[str, Any]:
        """The attributes of the curve, see `Run`."""
        given = zip(ORIGIN, (self.joined, self.started_from), strict=True)
        return {name: each for name, each in given if each}


def plain_spaces(spaces: Spaces) -> dict[str, Any]:
    """What run.json says about the spaces."""
    both = {"observation": to_plain(spaces.observation), "action": to_plain(spaces.action)}
    return {**both, "tasks": spaces.tasks, "seen": spaces.seen}


def read_back(config: Config, spaces: Spaces) -> None:
    """Raise InputError unless run.json would tell these numbers and spaces as it was told them."""
    try:
        told = plain_spaces(spaces)
        both = msgspec.json.decode(msgspec.json.encode(told), type=Both)
        same, _ = asked(msgspec.json.decode(msgspec.json.encode(asdict(config))), [])
        if same != config or plain_spaces(Spaces(config.env, *both.pair(), both.tasks, config.as_vector)) != told:
            raise ValueError("it would be read as something else")
    except Exception as error:
        what = f"this run, with the spaces {spaces.observation} and {spaces.action}"
        raise InputError(f"{config.env}: no file can keep {what}: {said(error)}") from error


def asked(config: Mapping[str, Any], tricks: list[str]) -> tuple[Config, Tricks]:
    """The Config and Tricks of a run, from JSON. Raises ValueError or InputError if they are invalid.

    A run.json without `as_vector` was written before images of other forms were recognized, and is read with it on.
    """
    if unknown := set(config) - {field.name for field in fields(Config)}:
        raise ValueError(f"Config has no field {', '.join(sorted(unknown))}")
    return msgspec.convert({"as_vector": True, **config}, Config), switched(tricks)


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


def tensor_bytes(content: Any) -> bytes:
    """A dict of tensors and plain values as the bytes of a PyTorch file."""
    box = io.BytesIO()
    torch.save(content, box)
    return box.getvalue()


def tensors_in(content: bytes) -> Any:
    """The inverse of `tensor_bytes`. Raises ValueError, with a one-line reason, for anything else.

    A file with other pickled objects is refused before any of them is built or imported.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's remarks on pickles that it refuses
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)|type (\S+)", str(error))
        what = f"pickled Python code ({found[1] or found[2]})" if found else "pickled objects that are not tensors"
        raise ValueError(f"it contains {what}; only tensors are loaded") from None
    except Exception:  # unpickling a file that is not a pickle can raise anything
        raise ValueError("it is not a PyTorch file, or only a part of one") from None


def sealed(content: bytes) -> bytes:
    """The content with its checksum at the end."""
    return content + SEAL + digest(content).encode()


def unsealed(content: bytes) -> bytes:
    """The inverse of `sealed`. Raises ValueError if the checksum is missing or does not match."""
    body, seal, checksum = content.rpartition(SEAL)
    if not seal:
        raise ValueError("it has no checksum: it was cut off, or an older version of this package wrote it")
    if digest(body).encode() != checksum:
        raise ValueError("it does not match its checksum")
    return body


def seals_nothing(content: bytes) -> bool:
    """Whether this is a whole PyTorch file without a checksum, as early versions wrote them."""
    return content[-22:].startswith(END)

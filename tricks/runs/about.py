"""What a run's files hold: run.json, which says what was trained, and files of tensors; both checked when read.

Reading a file builds tensors and plain values, and never runs code.
"""

import hashlib
import io
import json
import math
import pickle
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal

import gymnasium as gym
import msgspec
import torch
from msgspec import Meta, Struct

from tricks.config import Config
from tricks.core.spaces import Spaces, from_plain, to_plain
from tricks.errors import InputError, said
from tricks.ladder import NEEDS, Tricks, own_files, switched
from tricks.runs.evaluation import Evaluation
from tricks.runs.provenance import Made, MadeWith, unknown_to_us

Count = Annotated[int, Meta(ge=0)]
Own = list[Literal["env", "body"]]
LARGEST = 10**8  # numbers in an observation
ORIGIN = ("joined", "from")  # attributes of a curve, see `Run`
SEAL = b"\ntricks sha256 "  # before the checksum, at the end of a checkpoint


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


@dataclass(frozen=True)
class Settings:
    """What was asked of a training, and what it was made with, as a file has it."""

    config: Config
    tricks: Tricks
    evaluation: Evaluation | None
    own: Own  # what was passed to `train` and is not in the file
    spaces: Both
    made_with: MadeWith


class NotLoaded(InputError):
    """A file names a trick that comes from another file of the user's."""


class Told(Struct, forbid_unknown_fields=True, kw_only=True):
    """The same as JSON, in run.json and in a checkpoint."""

    config: dict[str, Any]
    tricks: list[str]
    evaluation: dict[str, Any] | None = None
    own: Own
    spaces: Both
    made_with: MadeWith

    def settings(self) -> Settings:
        """Raises ValueError or InputError if they are invalid."""
        files = str(self.made_with.get("files", ""))
        if files and (lost := {*self.tricks} - {*NEEDS}):
            raise NotLoaded(f"has a trick from a file, {', '.join(sorted(lost))}: --trick or load_trick ({files})")
        for name in (name for name in own_files(switched(self.tricks)) if name not in files):
            print(f"not the file that this run was made with: {name}", file=sys.stderr)
        if unknown := set(self.config) - {field.name for field in fields(Config)}:
            raise ValueError(f"Config has no field {', '.join(sorted(unknown))}")
        evaluation = None if self.evaluation is None else Evaluation.read(self.evaluation)
        what = msgspec.convert(self.config, Config), switched(self.tricks), evaluation
        return Settings(*what, self.own, self.spaces, self.made_with)


class About(Told):
    """The content of run.json."""

    diverged: list[tuple[Count, Count]]
    rows: Count
    reasons: list[tuple[Count, str]]
    seconds: Annotated[float, Meta(ge=0)] | None
    checksums: dict[str, str]
    checksum: str
    joined: list[Count] = []
    started_from: str = msgspec.field(default="", name="from")

    @property
    def origin(self) -> dict[str, Any]:
        """The attributes of the curve, see `Run`."""
        given = zip(ORIGIN, (self.joined, self.started_from), strict=True)
        return {name: each for name, each in given if each}


def told(
    config: Config, tricks: Tricks, evaluation: Evaluation | None, own: Sequence[str], spaces: Spaces
) -> dict[str, Any]:
    """What a file says of a training, without what it was made with: see `Told`."""
    how = None if evaluation is None else evaluation.told()
    both = {"observation": to_plain(spaces.observation), "action": to_plain(spaces.action)}
    plain = {**both, "tasks": spaces.tasks, "seen": spaces.seen}
    return {"config": asdict(config), "tricks": tricks.on, "evaluation": how, "own": list(own), "spaces": plain}


def read_back(config: Config, spaces: Spaces) -> None:
    """Raise InputError unless run.json would tell these numbers and spaces as it was told them."""
    try:
        before = told(config, Tricks(), None, (), spaces)
        found = msgspec.json.decode(msgspec.json.encode(before | {"made_with": {}}), type=Told).settings()
        again = Spaces(config.env, *found.spaces.pair(), found.spaces.tasks, config.as_vector)
        if told(found.config, Tricks(), None, (), again) != before:
            raise ValueError("it would be read as something else")
    except Exception as error:
        what = f"this run, with the spaces {spaces.observation} and {spaces.action}"
        raise InputError(f"{config.env}: no file can keep {what}: {said(error)}") from error


@contextmanager
def judged(where: str, made: Made | None, file: str = "", passing: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn whatever is wrong with the content of a file into an InputError. made: with what, if the file is whole."""
    try:
        yield
    except passing:
        raise
    except NotLoaded as error:
        raise InputError(f"{where} {error}") from error
    except Exception as error:  # what a file holds can be wrong in any way
        kind = f"{type(error).__name__}: " * isinstance(error, LookupError)  # which says but a name
        reason = f"{file}: " * bool(file) + kind + said(error)
        raise unknown_to_us(where, made, reason) or InputError(f"{where} is damaged: {reason}") from error


def digest(content: bytes) -> str:
    """The SHA-256 checksum, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_about(about: Mapping[str, Any]) -> bytes:
    """run.json with its own checksum: that of the same text with an empty checksum."""
    text = json.dumps({"checksum": "", **about}, indent=2) + "\n"
    return text.replace('"checksum": ""', f'"checksum": "{digest(text.encode())}"', 1).encode()


def whole(content: bytes) -> bool:
    """Whether this run.json, of any version, matches its checksum."""
    found = re.search(rb'"checksum": "(\w*)"', content)
    return found is not None and digest(content.replace(found[1], b"", 1)) == found[1].decode()


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
    body, _, checksum = content.rpartition(SEAL)
    if digest(body).encode() != checksum:
        raise ValueError("it has no checksum, or does not match it")
    return body

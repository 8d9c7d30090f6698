"""What a run's files hold: run.json and files of tensors. Reading them checks them, and never runs code."""

import hashlib
import io
import json
import pickle
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec
import torch
from msgspec import Meta, Struct

from tricks.config import Config
from tricks.core.spaces import Spaces, from_plain, to_plain
from tricks.errors import InputError, said
from tricks.ladder import NEEDS, Tricks, own_files, switched
from tricks.runs.evaluation import Evaluation
from tricks.runs.provenance import MadeWith, refuse_other_version

Count = Annotated[int, Meta(ge=0)]
Own = list[Literal["env", "body"]]
ORIGIN = ("joined", "from")  # attributes of a curve, see `Run`
SEAL = b"\ntricks sha256 "  # before the checksum, at the end of a checkpoint


class Both(Struct, forbid_unknown_fields=True):
    """The observation space and the action space as `to_plain` has them, the number of tasks, and images in words."""

    observation: dict[str, Any]
    action: dict[str, Any]
    tasks: Annotated[int, Meta(ge=1)]
    seen: list[str] = []

    def of(self, config: Config) -> Spaces:
        """The spaces of the environment that the config names."""
        both = from_plain(self.observation), from_plain(self.action)
        return Spaces(config.env, *both, self.tasks, config.as_vector)


@dataclass(frozen=True)
class Settings:
    """What was asked of a training, and what it was made with, as a file has it."""

    config: Config
    tricks: Tricks
    evaluation: Evaluation | None
    own: Own  # what was passed to `train` and is not in the file
    spaces: Both
    made_with: MadeWith


class Told(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run's record as JSON: the content of run.json, and what a checkpoint says of its run."""

    config: dict[str, Any]
    tricks: list[str]
    evaluation: dict[str, Any] | None = None
    own: Own
    spaces: Both
    made_with: MadeWith
    every: int | None = None  # of a checkpoint: steps between two of them
    diverged: list[tuple[Count, Count]] = []
    reasons: list[tuple[Count, str]] = []
    seconds: Annotated[float, Meta(ge=0)] | None = None
    checksums: dict[str, str] = {}  # of run.json: those of the files beside it
    checksum: str = ""  # of run.json: that of the same text with an empty checksum
    joined: list[Count] = []
    started_from: str = msgspec.field(default="", name="from")

    def settings(self) -> Settings:
        """Raises InputError or TypeError if they are invalid."""
        evaluation = None if self.evaluation is None else Evaluation.read(self.evaluation)
        what = Config(**self.config), switched(self.tricks), evaluation
        return Settings(*what, self.own, self.spaces, self.made_with)


def read_record(where: str, file: str, text: str | bytes) -> tuple[Told, Settings]:
    """A run's record, and its settings. Raises InputError if it is damaged, of another version, or lacks a trick."""
    with judged(where, file):
        plain = json.loads(text)
        made, lost = plain.get("made_with", {}), {*plain["tricks"]} - {*NEEDS}
        files = str(made.get("files", ""))
    refuse_other_version(where, made)
    if files and lost:
        raise InputError(f"{where} has a trick from a file, {', '.join(sorted(lost))}: --trick or load_trick ({files})")
    with judged(where, file):
        record = msgspec.json.decode(text, type=Told)
        settings = record.settings()
    for name in (name for name in own_files(settings.tricks) if name not in files):
        print(f"not the file that this run was made with: {name}", file=sys.stderr)
    return record, settings


def told(config: Config, tricks: Tricks, evaluation: Evaluation | None, own: Own, spaces: Spaces) -> dict[str, Any]:
    """What a file says of a training, without what it was made with: see `Told`."""
    kinds = {"observation": to_plain(spaces.observation), "action": to_plain(spaces.action)}
    how, seen = evaluation and evaluation.told(), {"tasks": spaces.tasks, "seen": spaces.seen}
    return {"config": asdict(config), "tricks": tricks.on, "evaluation": how, "own": own, "spaces": kinds | seen}


def read_back(config: Config, spaces: Spaces) -> None:
    """Raise InputError unless run.json would tell these numbers and spaces as it was told them."""
    try:
        before = told(config, Tricks(), None, [], spaces)
        found = msgspec.json.decode(msgspec.json.encode(before | {"made_with": {}}), type=Told).settings()
        if told(found.config, Tricks(), None, [], found.spaces.of(config)) != before:
            raise ValueError("it would be read as something else")
    except Exception as error:
        what = f"this run, with the spaces {spaces.observation} and {spaces.action}"
        raise InputError(f"{config.env}: no file can keep {what}: {said(error)}") from error


@contextmanager
def judged(where: str, file: str = "", passing: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn whatever is wrong with the content of a file into an InputError, except for what is `passing`."""
    try:
        yield
    except passing:
        raise
    except Exception as error:  # what a file holds can be wrong in any way
        kind = f"{type(error).__name__}: " * isinstance(error, LookupError)  # which says but a name
        raise InputError(f"{where} is damaged: {f'{file}: ' * bool(file)}{kind}{said(error)}") from error


def digest(content: bytes) -> str:
    """The SHA-256 checksum, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_about(about: Mapping[str, Any]) -> bytes:
    """run.json with its own checksum."""
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
    """The inverse of `tensor_bytes`. Raises ValueError for anything else, before it builds or imports any of it."""
    try:
        with warnings.catch_warnings(action="ignore"):  # PyTorch's remarks on pickles that it refuses
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

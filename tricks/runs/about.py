"""run.json: what was trained, and the checksums of the run's files; checked when it is read."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

import gymnasium as gym
import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta, Struct

from tricks.config import Config
from tricks.core.spaces import from_plain
from tricks.ladder import Tricks, switched
from tricks.runs.learning_curve import COLUMNS, COUNTS

Count = Annotated[int, Meta(ge=0)]
Own = list[Literal["env", "body"]]
LARGEST = 10**8  # numbers in an observation
MEASURES = tuple(name for name in COLUMNS if name not in COUNTS)


class Discrete(Struct, tag="Discrete", tag_field="kind", forbid_unknown_fields=True):
    """A Discrete space, as `to_plain` writes it."""

    n: Annotated[int, Meta(ge=1, le=LARGEST)]
    start: int


class Box(Struct, tag="Box", tag_field="kind", forbid_unknown_fields=True):
    """A Box space, as `to_plain` writes it."""

    shape: list[Count]
    dtype: Annotated[str, Meta(pattern=r"^(u?int|float)(8|16|32|64)$")]
    low: list[int | float | str]
    high: list[int | float | str]

    def __post_init__(self) -> None:
        if math.prod(self.shape) > LARGEST:
            raise ValueError(f"a space of shape {self.shape} is too large")


class Both(Struct, forbid_unknown_fields=True):
    """The observation space, the action space, and the number of tasks."""

    observation: Discrete | Box
    action: Discrete | Box
    tasks: Annotated[int, Meta(ge=1, le=LARGEST)]


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

    def gym_spaces(self) -> list[gym.Space[Any]]:
        """The observation space and the action space."""
        return [from_plain(msgspec.to_builtins(space)) for space in (self.spaces.observation, self.spaces.action)]


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
    if digest(content.replace(about.checksum.encode(), b"", 1)) != about.checksum:
        raise ValueError("it does not match its checksum")
    return about


def asked(config: Mapping[str, Any], tricks: list[str]) -> tuple[Config, Tricks]:
    """The Config and Tricks of a run, from JSON. Raises ValueError or InputError if they are invalid."""
    if unknown := set(config) - {field.name for field in fields(Config)}:
        raise ValueError(f"Config has no field {', '.join(sorted(unknown))}")
    return msgspec.convert(config, Config), switched(tricks)


def check_curve(curve: pd.DataFrame, rows: int, seeds: tuple[int, ...], diverged: Mapping[int, int]) -> None:
    """Raise ValueError unless these can be the rows of a run: its columns, seeds, and numbers that can occur.

    Older runs may lack some diagnostics. Returns and lengths are finite except in seeds that diverged.
    """
    needed = COLUMNS[: COLUMNS.index("length") + 1]
    if missing := [name for name in needed if name not in curve]:
        raise ValueError(f"it has no column {', '.join(missing)}")
    if unknown := [name for name in curve if name not in COLUMNS]:
        raise ValueError(f"it has an unknown column {', '.join(map(str, unknown))}")
    if len(curve) != rows:
        raise ValueError(f"it has {len(curve)} rows, not {rows}")
    wrong = [name for name in COUNTS if curve[name].dtype != np.int64 or (curve[name] < 0).any()]
    wrong += [name for name in MEASURES if name in curve and curve[name].dtype.kind not in "if"]
    healthy = curve[~curve["seed"].isin(list(diverged))]
    wrong += [name for name in ("return", "length") if not wrong and np.isinf(healthy[name]).any()]
    if wrong:
        raise ValueError(f"it has an impossible value in the column {', '.join(wrong)}")
    if set(curve["seed"]) != set(seeds):
        raise ValueError("it has other seeds than run.json")
    for name, least in (("update", 1), ("step", 0)):  # a rollout may have no experience
        if (curve.groupby("seed")[name].diff() < least).any():
            raise ValueError(f"it is out of order in the column {name}")

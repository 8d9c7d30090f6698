"""Checkpoints: everything that training goes on from, in one file that is whole or absent."""

import io
import json
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks, switched
from tricks.runs.files import make_folder, partial, write_whole

NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Found:
    """A checkpoint that was read: what the run was asked for, and the state of its parts after so many steps."""

    config: Config
    tricks: Tricks
    every: int
    step: int
    parts: dict[str, Any]


class Part(Protocol):
    """Something that changes while a run goes on, in torch's manner."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""

    def load_state_dict(self, state: Any) -> Any:
        """Be as `state_dict` found it."""


class Checkpoints:
    """Keeps the parts of a run in `folder`/checkpoint.pt, whenever a seed has taken `every` more environment steps.

    What is random needs no keeping: its streams are named by the counts of updates, rollouts, steps and resets.
    Raises InputError if `every` is no count, if the folder cannot be made, or if it holds the checkpoint of a run that
    is not finished, which this run would overwrite.
    """

    def __init__(self, folder: str | Path, every: int, found: Found | None = None) -> None:
        self.folder, self.every = Path(folder), every
        self._found = found  # the checkpoint that a resumed run goes on from
        self._parts: dict[str, Part] = {}
        self._kept = 0 if found is None else found.step
        if every < 1:
            raise InputError(f"checkpoints must be at least 1 step apart, not {every}")
        if found is None:
            refuse_unfinished(self.folder)
        make_folder(self.folder)

    def begin(self, config: Config, tricks: Tricks, **parts: Any) -> None:
        """Name the run and its first parts: among them env and log."""
        self._about = {"config": asdict(config), "tricks": tricks.on, "every": self.every}
        self.add(**parts)
        if self._found and not parts["env"].resumable:
            parts["log"].forget_open_episodes()
            print(f"{config.env} cannot be put back where it was: every lane begins a new episode", file=sys.stderr)

    def add(self, **parts: Part) -> None:
        """Keep these parts, too, from now on; a resumed run sets them to what was kept."""
        self._parts |= parts
        if self._found:
            try:
                for name, part in parts.items():
                    part.load_state_dict(self._found.parts[name])
            except InputError:
                raise
            except Exception as error:  # whatever does not fit
                raise _damaged(self.folder, error) from error

    def end_update(self, steps: Tensor) -> None:
        """Write a checkpoint if one is due. steps [S] are those that each seed has taken."""
        step = int(steps.max())
        if step // self.every > self._kept // self.every:
            parts = {name: part.state_dict() for name, part in self._parts.items()}
            box = io.BytesIO()
            torch.save({"about": json.dumps(self._about), "step": step, "parts": parts}, box)
            write_whole(self.folder / NAME, box.getvalue())
            self._kept = step


def read(folder: Path) -> Found:
    """The checkpoint in `folder`. Raises InputError if there is none, or if it is damaged."""
    if not (folder / NAME).is_file():
        finished = (folder / "run.json").is_file()
        why = "its run is complete" if finished else "only `train --checkpoint-every STEPS` writes one"
        raise InputError(f"nothing to resume in {folder}: there is no {NAME}; {why}")
    try:
        found = torch.load(folder / NAME, map_location="cpu", weights_only=True)
        about = json.loads(found["about"])
        return Found(*asked(about), int(about["every"]), int(found["step"]), dict(found["parts"]))
    except Exception as error:  # unpickling what is no pickle can raise anything
        raise _damaged(folder, error) from error


def asked(about: dict[str, Any]) -> tuple[Config, Tricks]:
    """What a run was asked for, as JSON keeps it."""
    numbers: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in about["config"].items()}
    return Config(**numbers), switched(about["tricks"])


def how_to_go_on(folder: Path) -> str:
    """The command that resumes the run in the folder."""
    return f"python -m tricks train --resume {shlex.quote(str(folder))}"


def refuse_unfinished(folder: Path) -> None:
    """Raises InputError if the folder holds a run that is not finished."""
    if (folder / NAME).exists():
        raise InputError(
            f"{folder} holds a run that is not finished; go on with: {how_to_go_on(folder)}, or remove {folder / NAME}"
        )


def remove(folder: Path) -> None:
    """What a run that is complete no longer needs."""
    for path in (folder / NAME, partial(folder / NAME)):
        path.unlink(missing_ok=True)


def _damaged(folder: Path, error: Exception) -> InputError:
    reason = f"{type(error).__name__}: {error}".splitlines()[0].split(". ")[0]
    return InputError(f"{folder / NAME} is damaged ({reason})")

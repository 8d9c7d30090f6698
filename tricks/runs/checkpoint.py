"""Checkpoints: everything needed to resume training, in one file that is written atomically."""

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
from tricks.runs.evaluation import Evaluation
from tricks.runs.files import make_folder, partial, write_whole
from tricks.values import checked

NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Saved:
    """A checkpoint read from disk: the run's settings, and the state of its parts at `step`."""

    config: Config
    tricks: Tricks
    every: int
    step: int
    parts: dict[str, Any]
    evaluation: Evaluation | None


class Part(Protocol):
    """Training state that can be saved and restored, with PyTorch's method names."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""

    def load_state_dict(self, state: Any) -> Any:
        """Restore the state that `state_dict` saved."""


class Checkpoints:
    """Saves a run's state to `folder`/checkpoint.pt, each time a seed has taken `every` more environment steps.

    Random streams need no saving: they are identified by the counts of updates, rollouts, steps and resets.
    Raises InputError if `every` is less than 1, if the folder cannot be made, or if it holds the checkpoint of another
    unfinished run, which this one would overwrite.
    """

    @checked
    def __init__(self, folder: str | Path, every: int, saved: Saved | None = None) -> None:
        self.folder, self.every = Path(folder), every
        self._saved = saved  # the checkpoint to resume from
        self._parts: dict[str, Part] = {}
        self._kept = 0 if saved is None else saved.step
        if every < 1:
            raise InputError(f"checkpoints must be at least 1 step apart, not {every}")
        if saved is None:
            refuse_unfinished(self.folder)
        make_folder(self.folder)

    def begin(self, config: Config, tricks: Tricks, evaluation: Evaluation | None = None, **parts: Any) -> None:
        """Register the run's settings and its first parts, which include env and log."""
        self._about = {"config": asdict(config), "tricks": tricks.on, "every": self.every}
        self._about["evaluation"] = None if evaluation is None else asdict(evaluation)
        self.add(**parts)
        if self._saved and not parts["env"].resumable:
            parts["log"].forget_open_episodes()
            print(f"{config.env} cannot resume in mid-episode: every lane starts a new one", file=sys.stderr)

    def add(self, **parts: Part) -> None:
        """Add parts to the checkpoint; in a resumed run, restore them."""
        self._parts |= parts
        if self._saved:
            try:
                for name, part in parts.items():
                    part.load_state_dict(self._saved.parts[name])
            except InputError:
                raise
            except Exception as error:  # a state that does not fit can raise anything
                raise _damaged(self.folder, error) from error

    def end_update(self, steps: Tensor) -> None:
        """Write a checkpoint if one is due. steps [S]: environment steps taken by each seed."""
        step = int(steps.max())
        if step // self.every > self._kept // self.every:
            parts = {name: part.state_dict() for name, part in self._parts.items()}
            box = io.BytesIO()
            torch.save({"about": json.dumps(self._about), "step": step, "parts": parts}, box)
            write_whole(self.folder / NAME, box.getvalue())
            self._kept = step


def read(folder: Path) -> Saved:
    """Read the checkpoint in `folder`. Raises InputError if there is none, or if it is damaged."""
    if not (folder / NAME).is_file():
        finished = (folder / "run.json").is_file()
        why = "its run is complete" if finished else "only `train --checkpoint-every STEPS` writes one"
        raise InputError(f"nothing to resume in {folder}: there is no {NAME}; {why}")
    try:
        content = torch.load(folder / NAME, map_location="cpu", weights_only=True)
        about = json.loads(content["about"])
        config, tricks = asked(about)
        evaluation = Evaluation(**about["evaluation"]) if about.get("evaluation") else None
        return Saved(config, tricks, int(about["every"]), int(content["step"]), dict(content["parts"]), evaluation)
    except Exception as error:  # unpickling a file that is not a pickle can raise anything
        raise _damaged(folder, error) from error


def asked(about: dict[str, Any]) -> tuple[Config, Tricks]:
    """The Config and Tricks of a run, from JSON."""
    numbers: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in about["config"].items()}
    return Config(**numbers), switched(about["tricks"])


def resume_command(folder: Path) -> str:
    """The shell command that resumes the run in the folder."""
    return f"python -m tricks train --resume {shlex.quote(str(folder))}"


def refuse_unfinished(folder: Path) -> None:
    """Raise InputError if the folder holds an unfinished run."""
    if (folder / NAME).exists():
        raise InputError(
            f"{folder} holds an unfinished run; resume it with: {resume_command(folder)}, or remove {folder / NAME}"
        )


def remove(folder: Path) -> None:
    """Remove the checkpoint of a finished run."""
    for path in (folder / NAME, partial(folder / NAME)):
        path.unlink(missing_ok=True)


def _damaged(folder: Path, error: Exception) -> InputError:
    reason = f"{type(error).__name__}: {error}".splitlines()[0].split(". ")[0]
    return InputError(f"{folder / NAME} is damaged ({reason})")

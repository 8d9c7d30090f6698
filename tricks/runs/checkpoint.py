"""Checkpoints: everything needed to resume training, in one file that is written atomically."""

import json
import shlex
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import gymnasium as gym
import msgspec
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import AddsUp
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.about import Own, asked
from tricks.runs.evaluation import Evaluation
from tricks.runs.files import as_path, remove_empty, write_whole
from tricks.runs.folder import CHECKPOINT, LAST, finished, opened
from tricks.runs.lock import take
from tricks.runs.tensor_files import sealed, tensor_bytes, tensors_in, unsealed
from tricks.values import checked
from tricks.wrapper_texts import wrapper_name

SAFE = [name for name in gym.wrappers.__all__ if name != "RecordVideo"]  # which writes files where a run tells it to
GYMNASIUMS = [f"gymnasium.wrappers:{name}" for name in SAFE]  # wrappers that are no stranger's


@dataclass(frozen=True)
class Saved:
    """A checkpoint read from disk: the run's settings, and the state of its parts at `step`."""

    config: Config
    tricks: Tricks
    every: int
    step: int
    parts: dict[str, Any]
    evaluation: Evaluation | None
    own: Own  # what was passed to `train` and is not in the file: env, body


class About(msgspec.Struct, forbid_unknown_fields=True):
    """What a checkpoint says about its run, as JSON."""

    config: dict[str, Any]
    tricks: list[str]
    every: int
    evaluation: dict[str, Any] | None
    own: Own


class Part(Protocol):
    """Training state that can be saved and restored, with PyTorch's method names."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""

    def load_state_dict(self, state: Any) -> Any:
        """Restore the state that `state_dict` saved."""


class Checkpoints:
    """Saves a run's state to `folder`/checkpoint.pt, each time a seed has taken `every` more environment steps.

    Random streams need no saving: they are identified by the counts of updates, rollouts, steps and resets.
    As long as this object exists, no other process can train in the folder. Raises InputError if another one does, if
    `every` is less than 1, if the folder cannot be written, if it holds the checkpoint of another unfinished run,
    which this one would overwrite, or if it holds a finished run and `overwrite` is off.
    """

    @checked
    def __init__(self, folder: str | Path, every: int, saved: Saved | None = None, overwrite: bool = False) -> None:
        self.folder, self.every = as_path(folder), every
        self._saved = saved  # the checkpoint to resume from
        self._parts: dict[str, Any] = {}
        self._kept = 0 if saved is None else saved.step
        if every < 1:
            raise InputError(f"checkpoints must be at least 1 step apart, not {every}")
        with opened(self.folder, overwrite or saved is not None) as new:
            if saved is None:
                refuse_unfinished(self.folder)
            self.release = weakref.finalize(self, _leave, take(self.folder), new)

    def begin(
        self,
        config: Config,
        tricks: Tricks,
        evaluation: Evaluation | None = None,
        own: Sequence[str] = (),
        **parts: Any,
    ) -> None:
        """Register the run's settings and its first parts, which include env and log; own: see `Saved`."""
        config = replace(config, env=parts["env"].id)  # of an environment of one's own, the name of its class
        self._about = {"config": asdict(config), "tricks": tricks.on, "every": self.every, "own": own}
        self._about["evaluation"] = None if evaluation is None else evaluation.told()
        self.add(**parts)
        if self._saved and not parts["env"].resumable:
            print(f"{config.env} cannot resume in mid-episode: every lane starts a new one", file=sys.stderr)

    def add(self, **parts: Part) -> None:
        """Add parts to the checkpoint; in a resumed run, restore them."""
        self._parts |= parts
        if self._saved:
            path = self.folder / CHECKPOINT
            for name, part in parts.items():
                if name not in self._saved.parts:
                    raise InputError(f"{path} has no part {name!r}: another version of this package wrote it")
                try:
                    part.load_state_dict(self._saved.parts[name])
                except InputError:
                    raise
                except Exception as error:  # a state that does not fit can raise anything
                    advice = "another version of this package wrote it, or another body"
                    raise InputError(f"{path} has a part {name!r} that does not fit: {advice}") from error
                if isinstance(part, AddsUp) and not self._parts["env"].resumable:
                    part.forget_open_episodes()

    def end_update(self, steps: Tensor) -> None:
        """Write a checkpoint if one is due. steps [S]: environment steps taken by each seed.

        After the last update, the state is also written to last.pt, from which `further` goes on. If a file cannot be
        written, a line says so, the previous one stays, and the training goes on.
        """
        step, log = int(steps.max()), self._parts.get("log")
        names = [CHECKPOINT] if step // self.every > self._kept // self.every else []
        names += [LAST] if log is not None and not log.active.any() else []
        if names:
            parts = {name: part.state_dict() for name, part in self._parts.items()}
            content = sealed(tensor_bytes({"about": json.dumps(self._about), "step": step, "parts": parts}))
        if CHECKPOINT in names:
            self._kept = step
        for name in names:
            try:
                write_whole(self.folder / name, content)
            except InputError as error:
                print(f"{error}; the training goes on without this checkpoint", file=sys.stderr)


def read(folder: Path, name: str = CHECKPOINT) -> Saved:
    """Read the checkpoint in `folder`, or its LAST. Raises InputError if there is none, or if it is damaged."""
    path = folder / name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        why = "only `train --checkpoint-every STEPS` writes one"
        if finished(folder) and name == CHECKPOINT:
            why = "its run is complete" + f"; --continue {folder} goes on" * (folder / LAST).is_file()
        what = "resume" if name == CHECKPOINT else "continue"
        raise InputError(f"nothing to {what} in {folder}: there is no {name}; {why}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        found = tensors_in(unsealed(content))
        about = msgspec.json.decode(found["about"], type=About)
        config, tricks = asked(about.config, about.tricks)
        evaluation = about.evaluation and Evaluation.read(about.evaluation)
        return Saved(
            config, tricks, about.every, int(found["step"]), dict(found["parts"]), evaluation or None, about.own
        )
    except Exception as error:  # what a file holds can be wrong in any way
        raise _damaged(path, error) from error


def _leave(release: Callable[[], None], new: Sequence[Path]) -> None:
    """Release the lock of the folder, and remove the folders that were made for it if nothing came of that."""
    release()
    remove_empty(new)


def how_to_resume(folder: Path) -> str:
    """What resumes the unfinished run in the folder, with all that has to be named again."""
    try:
        saved = read(folder)
    except InputError:  # `resume` says why
        return resume_command(folder)
    if "body" in saved.own:
        return f"resume({str(folder)!r}, {', '.join(f'{name}=...' for name in saved.own)}) from Python"
    env, told = "module:Id" if "env" in saved.own else saved.config.env, saved.evaluation
    eval_env = "" if told is None else "module:Id" if told.make is not None else str(told.env)
    return resume_command(folder, env, saved.config.wrap, eval_env)


def resume_command(folder: Path, env: str = "", wrap: Sequence[str] = (), eval_env: str = "") -> str:
    """The shell command that resumes the run in the folder, in these environments and wrappers."""
    return shlex.join(["python", "-m", "tricks", "train", "--resume", str(folder), *naming(env, wrap, eval_env)])


def naming(env: str, wrap: Sequence[str], eval_env: str = "") -> list[str]:
    """The options that name these, so far as they have modules that are imported only if they are named."""
    options = {"--env": env, "--eval-env": eval_env}
    found = [word for option, name in options.items() if ":" in name for word in (option, name)]
    return [*found, *(word for each in wrap if wrapper_name(each) not in GYMNASIUMS for word in ("--wrap", each))]


def refuse_unfinished(folder: Path) -> None:
    """Raise InputError if the folder holds an unfinished run."""
    if (folder / CHECKPOINT).exists():
        raise InputError(
            f"{folder} holds an unfinished run; resume it with: {how_to_resume(folder)}, "
            f"or remove {folder / CHECKPOINT}"
        )


def _damaged(path: Path, error: Exception) -> InputError:
    known = isinstance(error, InputError | ValueError)
    reason = (str(error) if known else f"{type(error).__name__}: {error}").splitlines()[0].split(". ")[0]
    return InputError(f"{path} is damaged ({reason})")

"""Checkpoints: everything needed to resume training, in one file that is written atomically."""

import shlex
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
from torch import Tensor

from tricks.config import Config
from tricks.core.owners import forget_episodes
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.evaluation import Evaluation
from tricks.runs.files import CHECKPOINT, LAST, as_path, finished, opened, remove_empty, take, write_whole
from tricks.runs.provenance import provenance_of_a_run, wrote
from tricks.runs.signals import Patience
from tricks.runs.state import Part, Saved, State, parse
from tricks.texts import wrapper_name
from tricks.values import checked

SAFE = [name for name in gym.wrappers.__all__ if name != "RecordVideo"]  # which writes files where a run tells it to
GYMNASIUMS = [f"gymnasium.wrappers:{name}" for name in SAFE]  # wrappers that are no stranger's


class Checkpoints(State):
    """Saves a run's state to `folder`/checkpoint.pt, each time a seed has taken `every` more environment steps.

    Without `every`, only a run that is stopped is saved: on Ctrl-C, SIGTERM or SIGHUP, the training finishes its update
    and writes a checkpoint before it does what the signal asks for. A second signal doesn't wait for that.
    As long as this object exists, no other process can train in the folder. Raises InputError if another one does, if
    `every` is less than 1, if the folder cannot be written, if it holds the checkpoint of another unfinished run,
    which this one would overwrite, or if it holds a finished run and `overwrite` is off.
    """

    @checked
    def __init__(
        self, folder: str | Path, every: int | None = None, saved: Saved | None = None, overwrite: bool = False
    ) -> None:
        super().__init__()
        self.folder, self.every = as_path(folder), every
        self._saved = saved  # the checkpoint to resume from
        self._kept = 0 if saved is None else saved.step
        self._patience = Patience()
        if every is not None and every < 1:
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
        super().begin(config, tricks, evaluation, own, **parts)
        self._about["made_with"] = provenance_of_a_run(config.device)
        if self._saved and not parts["env"].resumable:
            print(f"{parts['env'].id} cannot resume in mid-episode: every lane starts a new one", file=sys.stderr)

    def add(self, **parts: Part) -> None:
        """Add parts to the checkpoint; in a resumed run, restore them."""
        super().add(**parts)
        if self._saved:
            path, writer = self.folder / CHECKPOINT, wrote(self._saved.made_with)
            for name, part in parts.items():
                if name not in self._saved.parts:
                    raise InputError(f"{path} has no part {name!r}: {writer}")
                try:
                    part.load_state_dict(self._saved.parts[name])
                except InputError:
                    raise
                except Exception as error:  # a state that does not fit can raise anything
                    body = "; or body makes other networks now" if "body" in self._saved.own else ""
                    raise InputError(f"{path} has a part {name!r} that does not fit: {writer}{body}") from error
                if not self._parts["env"].resumable:
                    forget_episodes(part)

    def patience(self) -> Patience:
        return self._patience

    def end_update(self, steps: Tensor) -> None:
        """Write a checkpoint if one is due. steps [S]: environment steps taken by each seed.

        If it cannot be written, a line says so, the previous one stays, and the training goes on.
        """
        if self._saved and (unknown := self._saved.parts.keys() - self._parts.keys()):
            path, writer = self.folder / CHECKPOINT, wrote(self._saved.made_with)
            raise InputError(f"{path} has an unknown part {min(unknown)!r}: {writer}")
        step = int(steps.max())
        if self.every is not None and step // self.every > self._kept // self.every:
            self._kept = step
            self._write("; the training goes on without this checkpoint")
        self.give_way()

    def give_way(self) -> None:
        """If a signal asks the process to stop, write a checkpoint, and let it."""
        if self._patience.waiting is not None:
            self._write("")
            self._patience.give_way()

    def _write(self, consequence: str) -> None:
        try:
            write_whole(self.folder / CHECKPOINT, self.now()())
        except InputError as error:
            print(f"{error}{consequence}", file=sys.stderr)


def read(folder: Path, name: str = CHECKPOINT) -> Saved:
    """Read the checkpoint in `folder`, or its LAST.

    Raises InputError if there is none, if it is damaged, or if it is of a version whose files differ from today's.
    """
    path = folder / name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"nothing to {_why_not(folder, name)}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return parse(path, content)


def _why_not(folder: Path, name: str) -> str:
    """Which file is missing in the folder, and why."""
    missing = f"in {folder}: there is no {name}; "
    if name == CHECKPOINT:
        why = "only `train --checkpoint-every STEPS`, or a training that is interrupted, writes one"
        if finished(folder):
            longer = shlex.join(["python", "-m", "tricks", "train", "--continue", str(folder), "--steps", "STEPS"])
            why = "its run is complete" + f"; train it further with: {longer}" * (folder / LAST).is_file()
        return f"resume {missing}{why}"
    if (folder / CHECKPOINT).is_file():
        return f"continue {missing}its run is unfinished; resume it with: {how_to_resume(folder)}"
    if finished(folder):
        why = "an earlier version saved its run, or it is a part of one"
        return f"continue {missing}{why}; --start-from begins a new training with its agents"
    return f"continue {missing}it holds no run"


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
        return f"resume({str(folder)!r}, {', '.join(f'{name}=...' for name in saved.own)}) in Python"
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

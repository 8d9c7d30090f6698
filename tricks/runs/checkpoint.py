"""Checkpoints: everything needed to resume training, in one file that is written atomically."""

import json
import shlex
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
from torch import Tensor
from torch.utils._pytree import tree_map_only

from tricks.core.owners import forget_episodes
from tricks.errors import InputError
from tricks.runs.about import Settings, judged, read_record, sealed, tensor_bytes, tensors_in, unsealed
from tricks.runs.files import CHECKPOINT, LAST, as_path, finished, opened, trying, write_whole
from tricks.runs.provenance import provenance_of_a_run
from tricks.runs.signals import Patience
from tricks.texts import wrapper_name
from tricks.values import checked

# wrappers that are no stranger's, but for the one that writes files where a run tells it to
GYMNASIUMS = [f"gymnasium.wrappers:{name}" for name in gym.wrappers.__all__ if name != "RecordVideo"]
TRAIN = "python -m tricks train"


@dataclass(frozen=True)
class Saved(Settings):
    """A checkpoint read from disk: the run's settings, and the state of its parts at `step`."""

    every: int | None
    step: int
    parts: dict[str, Any]


class State:
    """Knows a training's settings and its parts that have state; counts stand for the random streams."""

    every: int | None = None  # steps between two checkpoints, if the training writes any
    saved: Saved | None = None  # the checkpoint to resume from
    patience: AbstractContextManager[Any] = nullcontext()  # in which the training runs

    def begin(self, about: dict[str, Any], parts: dict[str, Any]) -> None:
        """Register what a file says of the run, and its parts with state, which include env and log."""
        self._about, self._parts = about | {"every": self.every}, parts

    def end_update(self, steps: Tensor) -> None:
        """Take note of the end of an update, or once more of the last one; steps [S]: taken by each seed."""

    def now(self) -> Callable[[], bytes]:
        """What makes the bytes of a file with the state as it is between two updates, or after the last one."""
        parts = {name: tree_map_only(Tensor, Tensor.cpu, part.state_dict()) for name, part in self._parts.items()}
        return partial(packed, self._about, int(self._parts["log"].steps.max()), parts)


class Checkpoints(State):
    """Saves a run's state to `folder`/checkpoint.pt, each time a seed has taken `every` more environment steps.

    Also on Ctrl-C, SIGTERM or SIGHUP: the training finishes its update and writes a checkpoint before it does what the
    signal asks for, unless a second one comes. As long as this object exists, no other process can train in the folder.
    Raises InputError if the folder is in use, or holds another unfinished run or, with `overwrite` off, a finished one.
    """

    patience: Patience

    @checked
    def __init__(
        self, folder: str | Path, every: int | None = None, saved: Saved | None = None, overwrite: bool = False
    ) -> None:
        self.folder, self.every, self.saved, self.patience = as_path(folder), every, saved, Patience()
        self._kept = 0 if saved is None else saved.step
        if every is not None and every < 1:
            raise InputError(f"checkpoints must be at least 1 step apart, not {every}")
        with opened(self.folder, overwrite or saved is not None) as held:
            if saved is None:
                refuse_unfinished(self.folder)
            self.release = weakref.finalize(self, held.pop_all().close)

    def begin(self, about: dict[str, Any], parts: dict[str, Any]) -> None:
        """Register both, see `State`; of a resumed run, restore the parts."""
        super().begin(about | {"made_with": provenance_of_a_run(about["config"]["device"])}, parts)
        if self.saved is None:
            return
        saved, env = self.saved.parts, parts["env"]
        where = f"{self.folder / CHECKPOINT} is of another version, or of other nets than body= makes"
        if other := min(saved.keys() ^ parts.keys(), default=""):
            raise InputError(f"{where}: it has {'an unknown' if other in saved else 'no'} part {other!r}")
        for name, part in parts.items():
            try:
                part.load_state_dict(saved[name])
            except InputError:
                raise
            except Exception as error:  # a state that does not fit can raise anything
                raise InputError(f"{where}: its part {name!r} does not fit") from error
            if not env.resumable:
                forget_episodes(part)
        if not env.resumable:
            print(f"{env.id} cannot resume in mid-episode: every lane starts a new one", file=sys.stderr)

    def end_update(self, steps: Tensor) -> None:
        """Write a checkpoint if one is due, or if a signal asks the process to stop, and let it; see `State`."""
        step = int(steps.max())
        if self.every is not None and step // self.every > self._kept // self.every:
            self._kept = step
            self._write("; the training goes on without this checkpoint")
        if self.patience.waiting is not None:
            self._write("")
            self.patience.give_way()

    def _write(self, consequence: str) -> None:
        try:
            write_whole(self.folder / CHECKPOINT, self.now()())
        except InputError as error:
            print(f"{error}{consequence}", file=sys.stderr)


def packed(about: dict[str, Any], step: int, parts: dict[str, Any]) -> bytes:
    """The content of checkpoint.pt and of last.pt."""
    about = {"made_with": provenance_of_a_run(about["config"]["device"])} | about
    return sealed(tensor_bytes({"about": json.dumps(about), "step": step, "parts": parts}))


def parse(path: Path, content: bytes) -> Saved:
    """The checkpoint with this content, which was read from `path`. Raises InputError, see `read`."""
    with judged(str(path)):
        found = tensors_in(unsealed(content))
        text, step, parts = found["about"], int(found["step"]), dict(found["parts"])
    record, settings = read_record(str(path), "", text)
    return Saved(**vars(settings), every=record.every, step=step, parts=parts)


def read(folder: Path, name: str = CHECKPOINT) -> Saved:
    """Read the checkpoint in `folder`, or its LAST. Raises InputError if there is none or if it cannot be used."""
    path = folder / name
    with trying(f"read {path}"):
        if path.is_file():
            return parse(path, path.read_bytes())
    what, done = "resume" if name == CHECKPOINT else "continue", finished(folder)
    why = "only `train --checkpoint-every STEPS`, or a training that is interrupted, writes one"
    if name == LAST:
        why = "its run was saved without it, as a part of a run is; --start-from begins a new training with its agents"
        why = why if done else "it holds no run"
    elif done:
        longer = f"; train it further with: {TRAIN} --continue {shlex.quote(str(folder))} --steps STEPS"
        why = "its run is complete" + longer * (folder / LAST).is_file()
    raise InputError(f"nothing to {what} in {folder}: there is no {name}; {why}")


def how_to_resume(folder: Path) -> str:
    """What resumes the unfinished run in the folder, with all that has to be named again."""
    named = list[str]()
    with suppress(InputError):  # `resume` says why
        saved = read(folder)
        if "body" in saved.own:
            return f"resume({str(folder)!r}, {', '.join(f'{name}=...' for name in saved.own)}) in Python"
        env, told = "module:Id" if "env" in saved.own else saved.config.env, saved.evaluation
        eval_env = "" if told is None else "module:Id" if told.make is not None else str(told.env)
        named = naming(env, saved.config.wrap, eval_env)
    return f"{TRAIN} {shlex.join(['--resume', str(folder), *named])}"


def naming(env: str, wrap: Sequence[str], eval_env: str = "") -> list[str]:
    """The options that name these, so far as they have modules that are imported only if they are named."""
    options = {"--env": env, "--eval-env": eval_env}
    found = [word for option, name in options.items() if ":" in name for word in (option, name)]
    return [*found, *(word for each in wrap if wrapper_name(each) not in GYMNASIUMS for word in ("--wrap", each))]


def refuse_unfinished(folder: Path) -> None:
    """Raise InputError if the folder holds an unfinished run."""
    if (path := folder / CHECKPOINT).exists():
        how = f"resume it with: {how_to_resume(folder)}, or remove {path}"
        raise InputError(f"{folder} holds an unfinished run; {how}")

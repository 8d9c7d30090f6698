"""The state of a training between two updates: all that it needs to go on."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
from torch import Tensor

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.about import Both, Own, asked, plain_spaces, sealed, seals_nothing, tensor_bytes, tensors_in, unsealed
from tricks.runs.evaluation import Evaluation
from tricks.runs.provenance import MadeWith, made_with, provenance_of_a_run, unknown_to_us


@dataclass(frozen=True)
class Saved:
    """A checkpoint read from disk: the run's settings, and the state of its parts at `step`."""

    config: Config
    tricks: Tricks
    every: int | None
    step: int
    parts: dict[str, Any]
    evaluation: Evaluation | None
    own: Own  # what was passed to `train` and is not in the file: env, body
    spaces: Both
    made_with: MadeWith


class About(msgspec.Struct, forbid_unknown_fields=True):
    """What a checkpoint says about its run, as JSON."""

    config: dict[str, Any]
    tricks: list[str]
    every: int | None
    evaluation: dict[str, Any] | None
    own: Own
    spaces: Both
    made_with: MadeWith


class Part(Protocol):
    """Training state that can be saved and restored, with PyTorch's method names."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""

    def load_state_dict(self, state: Any) -> Any:
        """Restore the state that `state_dict` saved."""


class State:
    """Knows a training's settings and its parts that have state. `Checkpoints` also writes them to a folder.

    Random streams need no saving: they are identified by the counts of updates, rollouts, steps and resets.
    """

    every: int | None = None
    """Steps between two checkpoints, if the training writes any."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}
        self._about: dict[str, Any] = {}

    def begin(
        self,
        config: Config,
        tricks: Tricks,
        evaluation: Evaluation | None = None,
        own: Sequence[str] = (),
        **parts: Any,
    ) -> None:
        """Register the run's settings and its first parts, which include env and log; own: see `Saved`."""
        env = parts["env"]
        config = replace(config, env=env.id)  # of an environment of one's own, the name of its class
        self._about = {"config": asdict(config), "tricks": tricks.on, "every": self.every, "own": own}
        self._about |= {"evaluation": evaluation and evaluation.told(), "spaces": plain_spaces(env.spaces)}
        self.add(**parts)

    def add(self, **parts: Part) -> None:
        """Register more parts."""
        self._parts |= parts

    def end_update(self, steps: Tensor) -> None:
        """Take note of the end of an update. steps [S]: environment steps taken by each seed."""

    def give_way(self) -> None:
        """Let a signal stop the training, if one asks for that."""

    def patience(self) -> AbstractContextManager[Any]:
        """In which the training runs; see `Checkpoints`."""
        return nullcontext()

    def now(self) -> Callable[[], bytes]:
        """What makes the bytes of a file with the state as it is between two updates, or after the last one."""
        parts = {name: on_cpu(part.state_dict()) for name, part in self._parts.items()}
        return partial(packed, self._about, int(self._parts["log"].steps.max()), parts)


def packed(about: dict[str, Any], step: int, parts: dict[str, Any]) -> bytes:
    """The content of checkpoint.pt and of last.pt."""
    about = {"made_with": provenance_of_a_run(about["config"]["device"])} | about
    return sealed(tensor_bytes({"about": json.dumps(about), "step": step, "parts": parts}))


def parse(path: Path, content: bytes) -> Saved:
    """The checkpoint with this content, which was read from `path`. Raises InputError, see `read`."""
    made: MadeWith | None = {} if seals_nothing(content) else None
    try:
        found = tensors_in(unsealed(content))
        made = made_with(found["about"])
        about = msgspec.json.decode(found["about"], type=About)
        config, tricks = asked(about.config, about.tricks)
        evaluation = None if about.evaluation is None else Evaluation.read(about.evaluation)
        how = evaluation, about.own, about.spaces, about.made_with
        return Saved(config, tricks, about.every, int(found["step"]), dict(found["parts"]), *how)
    except Exception as error:  # what a file holds can be wrong in any way
        known = isinstance(error, InputError | ValueError)
        reason = (str(error) if known else f"{type(error).__name__}: {error}").splitlines()[0].split(". ")[0]
        raise unknown_to_us(str(path), made, reason) or InputError(f"{path} is damaged ({reason})") from error


def on_cpu(state: Any) -> Any:
    """The same nested state with its tensors in the computer's own memory."""
    if isinstance(state, dict):
        return {name: on_cpu(each) for name, each in state.items()}
    if isinstance(state, list):
        return [on_cpu(each) for each in state]
    return state.cpu() if isinstance(state, Tensor) else state

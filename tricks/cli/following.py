"""What `python -m tricks train` writes while it trains."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tricks.errors import InputError

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.log import Listener, Rows

BOARD = "tb"  # TensorBoard's subfolder in the run's folder
NAMING = ("--env", "--wrap", "--eval-env")  # options that name modules that may be imported


class Named(NamedTuple):
    """What a command names of a run, for `resume` and `further`."""

    env: str | None
    wrap: tuple[str, ...]
    eval_env: str | None


@contextmanager
def followed(folder: Path, named: Named, tensorboard: bool) -> Iterator["Listener"]:
    """The listener that writes a run to its folder during training; on Ctrl-C, the message says what was saved."""
    from tricks.runs.checkpoint import read, resume_command
    from tricks.runs.files import CHECKPOINT
    from tricks.runs.listeners import CurveFile, TensorBoard

    file = CurveFile(folder)
    listeners: list[Callable[[Rows], object]] = [file]

    def tell(rows: "Rows") -> None:
        for listener in list(listeners):
            try:
                listener(rows)
            except (InputError, OSError) as error:  # a full disk must not end the training
                listeners.remove(listener)
                print(f"{error}; the training goes on and will be saved at its end", file=sys.stderr)

    with ExitStack() as stack:
        if tensorboard:
            listeners.append(stack.enter_context(closing(TensorBoard(folder / BOARD))))
        try:
            yield tell
        except KeyboardInterrupt as stop:
            if not (folder / CHECKPOINT).is_file():
                said = f" before the first checkpoint; the curve so far is in {file.path}"
                raise KeyboardInterrupt(said if file.begun else "") from stop
            saved, how = read(folder), resume_command(folder, named.env or "", named.wrap, named.eval_env or "")
            where = f"at step {saved.step:,} of {saved.config.steps:,}, which is saved"
            raise KeyboardInterrupt(f" {where}; resume with: {how}") from stop


@contextmanager
def quietly() -> Iterator[None]:
    """Print nothing on standard output, and show no progress."""
    from tricks.runs.progress import unseen

    with unseen(), redirect_stdout(io.StringIO()):
        yield

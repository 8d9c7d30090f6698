"""Entry point of `python -m tricks` and `python -m ablations`: prepares the process, then runs the command."""

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from types import FrameType

from tricks.fast.allocator import keep_memory
from tricks.runs.signals import Patience


def start(module: str) -> int:
    """Import a module and run its `main`; returns the exit status. A signal is one line, and 128 plus its number."""
    keep_memory()
    os.environ["MPLBACKEND"] = "Agg"  # figures are files here; a notebook's or a display's backend may not exist
    safe_streams()
    with suppress(FileNotFoundError):  # the folder may be gone
        sys.path += [os.getcwd()] * (not sys.flags.safe_path)  # as `python -m` has it, but after what is installed
    with Stoppable() as stoppable:
        try:
            status = int(import_module(module).main())
        except SystemExit as stop:  # --help
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            status = 130
        if stoppable.waiting and status == 130:
            status = 128 + stoppable.waiting
        return flushed(status)


class Stoppable(Patience):
    """Within its `with` block, the first signal to stop raises KeyboardInterrupt; a second one ends the process."""

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.waiting is not None:
            os._exit(128 + number)  # as safe as kill -9: files are whole or absent, and workers follow
        self.waiting = number
        raise KeyboardInterrupt


def safe_streams() -> None:
    """Open closed standard streams, so that no file gets their numbers, and let no terminal lack a character."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # opens as the lowest free number: this one
        if number and getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as we run
        stream = getattr(sys, name)
        if number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flushed(status: int) -> int:
    """The exit status after all output is written; 2 if that fails, unless its reader has exited."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still buffered
        if not isinstance(error, BrokenPipeError):
            print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
            return status or 2
    return status

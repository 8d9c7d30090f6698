"""Entry point of `python -m tricks` and `python -m ablations`: prepares the process, then runs the command."""

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from types import FrameType
from typing import Any

from tricks.fast.allocator import keep_memory
from tricks.runs.signals import Patience

NAMED = re.compile(r"(?<![\w.])([^\W\d]\w*)(?:\.\w+)*:[^\W\d]")  # the first part of rooms:Room-v0 and rooms.large:make


def start(module: str) -> int:
    """Import a module and run its `main`; returns the exit status.

    Ctrl-C, SIGTERM and SIGHUP print one line, even during the import; the status is 128 plus the signal's number.
    Output that cannot be written turns status 0 into 2, unless its reader has exited.
    """
    keep_memory()
    os.environ["MPLBACKEND"] = "Agg"  # figures are files here; a notebook's or a display's backend may not exist
    output = safe_output()
    look_here(sys.argv[1:])
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
        sys.stdout.flush()
        if output and output.failure and output.failure.errno != errno.EPIPE:
            print(f"error: cannot write the output: {output.failure.strerror}", file=sys.stderr)
            status = status or 2
        return status


class Stoppable(Patience):
    """Within its `with` block, the first signal to stop raises KeyboardInterrupt; a second one ends the process."""

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.waiting is not None:
            os._exit(128 + number)  # as safe as kill -9: files are whole or absent, and workers follow
        self.waiting = number
        raise KeyboardInterrupt


def look_here(arguments: Sequence[str]) -> None:
    """Let modules that the arguments name (`rooms:make`) be in the current folder, as for `python -m`.

    A script, `tricks`, does not look there. The folder comes last in sys.path, after Python's own modules and the
    installed ones, and only if it has one of these modules that is nowhere else.
    """
    names = {name for word in arguments for name in NAMED.findall(word)}
    with suppress(FileNotFoundError, ValueError):  # the folder may be gone, and __main__ cannot be found
        folder = os.getcwd()
        here = any(find_spec(name) is None and PathFinder.find_spec(name, [folder]) for name in names)
        sys.path += [folder] * (here and not sys.flags.safe_path)


class Output(io.TextIOWrapper):
    """A standard stream that never stops a command, so that what has been trained is also saved.

    Characters that the terminal's encoding lacks are escaped. Text that cannot be written (a full disk, a reader that
    has exited) is dropped. `failure` is the first reason why.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        stream.flush()
        self.failure: OSError | None = None
        modes = stream.line_buffering, stream.write_through
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", None, *modes)

    def write(self, text: str) -> int:
        self._safely(super().write, text)
        return len(text)

    def flush(self) -> None:
        self._safely(super().flush)

    def _safely(self, act: Callable[..., Any], *text: str) -> None:
        try:
            act(*text)
        except OSError as error:
            self.failure = self.failure or error
            nowhere = os.open(os.devnull, os.O_WRONLY)  # for the rest, and what is still buffered
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


def safe_output() -> Output | None:
    """Let standard output and error never fail. Returns the former, or None if it is closed or a test's."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # otherwise, the next file that is opened would get its number
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # opens as the lowest free number: this one
        if number and getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as we run
    if sys.stdout is not sys.__stdout__:
        return None
    sys.stdout, sys.stderr = output, _ = Output(sys.stdout), Output(sys.stderr)  # type: ignore[arg-type]
    return output

"""Entry point of `python -m tricks` and `python -m ablations`: prepares the process, then runs the command."""

import errno
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType

from tricks.cli.streams import Output, as_output, open_missing
from tricks.fast.allocator import keep_memory
from tricks.runs.signals import STOPPING

NAMED = re.compile(r"(?<![\w.])([^\W\d]\w*)(?:\.\w+)*:[^\W\d]")  # the first part of rooms:Room-v0 and rooms.large:make


def start(module: str) -> int:
    """Import a module and run its `main`; returns the exit status.

    Ctrl-C, SIGTERM and SIGHUP print one line, even during the import; the status is 128 plus the signal's number.
    Output that cannot be written turns status 0 into 2, unless its reader has exited.
    """
    keep_memory()
    os.environ["MPLBACKEND"] = "Agg"  # figures are files here; a notebook's or a display's backend may not exist
    with safe_output() as output, stoppable() as received, modules_here(sys.argv[1:]):
        try:
            status = int(import_module(module).main())
        except SystemExit as stop:  # --help
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            status = 130
        if received and status == 130:
            status = 128 + received[0]
        sys.stdout.flush()
        failure = output.failure if output else None
        if failure and failure.errno != errno.EPIPE:
            print(f"error: cannot write the output: {failure.strerror}", file=sys.stderr)
            status = status or 2
        return status


@contextmanager
def modules_here(arguments: Sequence[str]) -> Iterator[None]:
    """Let the modules that the arguments name (`rooms:make`) be in the current folder, as for `python -m`.

    A script, `tricks`, does not look there. Python's own modules and installed ones come first, and the folder counts
    only once a module that is named was found in it: then at the end of sys.path, for what that module imports itself.
    """
    finder, before = Here({name for word in arguments for name in NAMED.findall(word)}), list(sys.path)
    if not sys.flags.safe_path:
        sys.meta_path.append(finder)  # the last one, which is asked for what no other finds
    try:
        yield
    finally:
        sys.path[:] = before
        with suppress(ValueError):
            sys.meta_path.remove(finder)


class Here:
    """Finds the modules of these names in the current folder."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self.names:
            return None
        with suppress(FileNotFoundError):  # the folder itself may be gone
            folder = os.getcwd()
            if PathFinder.find_spec(name, [folder]) and folder not in sys.path:
                sys.path.append(folder)
        return PathFinder.find_spec(name)


@contextmanager
def safe_output() -> Iterator[Output | None]:
    """Replace standard output and error by streams that never fail. Yields the former, or None if it is a test's."""
    open_missing()
    before = sys.stdout, sys.stderr
    if sys.stdout is not sys.__stdout__:
        yield None
        return
    sys.stdout, sys.stderr = output, _ = as_output(sys.stdout), as_output(sys.stderr)  # type: ignore[arg-type]
    yield output
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    sys.stdout, sys.stderr = before


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Let the first signal that asks the process to stop raise KeyboardInterrupt; a second one ends it at once.

    Signals that are ignored, as under `nohup`, remain so. Yields a list that will hold the number of the first signal.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if received:
            os._exit(128 + number)  # as safe as kill -9: files are whole or absent, and workers follow
        received.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
    before = {number: kept for number in numbers if (kept := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""How far a long job is: a bar in a terminal or a notebook, elsewhere a line every half minute."""

import multiprocessing
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

EVERY = 30.0  # seconds between two lines
LINE = "{percentage:.0f}%: {n_fmt} of {total_fmt} steps in {elapsed}, {remaining} left"

_silent = False


class Lines:
    """Environment steps done so far, printed on standard error every EVERY seconds, so that a log file fills.

    A line is due on an update or, in a `with` block, at any time.
    """

    def __init__(self, total: int, initial: int = 0, silent: bool = False) -> None:
        self.total, self.n, self.initial, self.silent = total, initial, initial, silent
        self._start = self._last = time.monotonic()
        self._left = threading.Event()

    def update(self, steps: int = 0) -> None:
        """Count steps, and print a line if one is due."""
        self.n += steps
        now = time.monotonic()
        if now - self._last >= EVERY and not self.silent:
            self._last, elapsed = now, now - self._start
            done = min(self.n, self.total)  # the last batch is always completed
            counted = {"n": done, "total": self.total, "initial": self.initial, "elapsed": elapsed}
            print(tqdm.format_meter(**counted, unit_scale=True, bar_format=LINE), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Print no more lines."""
        self._left.set()

    def __enter__(self) -> "Lines":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _watch(self) -> None:
        while not self._left.wait(EVERY / 10):
            self.update()


def progress(total: int, initial: int = 0, leave: bool = False) -> Any:
    """Count environment steps up to `total`, of which `initial` are done: `update(steps)`, and at the end `close()`.

    It is tqdm's bar in a terminal, tqdm's widget in a notebook, and Lines elsewhere. leave: whether a bar stays.
    """
    look: dict[str, Any] = {"total": total, "initial": initial, "leave": leave, "unit": "step", "unit_scale": True}
    if in_notebook() and not _silent:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets, tqdm falls back to text, and says so
            from tqdm.auto import tqdm as notebook_bar
        return notebook_bar(file=sys.stdout, **look)
    if sys.stderr.isatty() and not _silent:
        return tqdm(**look)
    return Lines(total, initial, _silent)


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, and no worker of one."""
    shell = sys.modules.get("IPython")
    kind = type(shell.get_ipython()) if shell else object
    return multiprocessing.parent_process() is None and any("ZMQ" in base.__name__ for base in kind.__mro__)


@contextmanager
def unseen() -> Iterator[None]:
    """Show no progress."""
    global _silent
    _silent = True
    try:
        yield
    finally:
        _silent = False

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
    """For a log file: a line on standard error every EVERY seconds, on an update or, in a `with` block, at any time."""

    def __init__(self, total: int, initial: int = 0) -> None:
        self.total, self.n, self.initial = total, initial, initial
        self._start = self._last = time.monotonic()
        self._left = threading.Event()

    def update(self, steps: int = 0) -> None:
        self.n += steps
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last, done = now, min(self.n, self.total)  # the last batch is always completed
            look: dict[str, Any] = {"initial": self.initial, "unit_scale": True, "bar_format": LINE}
            print(tqdm.format_meter(done, self.total, now - self._start, **look), file=sys.stderr, flush=True)

    def close(self) -> None:
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
    shell = sys.modules.get("IPython")
    kernel = shell and any("ZMQ" in base.__name__ for base in type(shell.get_ipython()).__mro__)
    if _silent:
        return tqdm(disable=True, **look)
    if kernel and multiprocessing.parent_process() is None:  # not in a notebook's workers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets, tqdm falls back to text, and says so
            from tqdm.auto import tqdm as notebook_bar
        return notebook_bar(file=sys.stdout, **look)
    return tqdm(**look) if sys.stderr.isatty() else Lines(total, initial)


@contextmanager
def unseen() -> Iterator[None]:
    """Show no progress."""
    global _silent
    _silent = True
    try:
        yield
    finally:
        _silent = False

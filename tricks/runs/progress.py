"""How far a long job is: a bar in a terminal or a notebook, elsewhere a line every half minute."""

import multiprocessing
import sys
import threading
import time
import warnings
from typing import Any

from tqdm import tqdm

EVERY = 30.0  # seconds between two lines
LOOK: dict[str, Any] = {"unit": "step", "unit_scale": True}
LINE = "{percentage:.0f}%: {n_fmt} of {total_fmt} steps in {elapsed}, {remaining} left"
silent = False  # set by `train --quiet`


class Lines:
    """For a log file: a line on standard error every EVERY seconds, on an update or, in a `with` block, at any time."""

    def __init__(self, total: int, initial: int = 0) -> None:
        self.total, self.n, self.initial = total, initial, initial
        self._start = self._last = time.monotonic()
        self._left = threading.Event()

    def update(self, steps: int = 0) -> None:
        self.n += steps
        if (now := time.monotonic()) - self._last >= EVERY:
            self._last, done = now, min(self.n, self.total)  # the last batch is always completed
            line = tqdm.format_meter(done, self.total, now - self._start, initial=self.initial, bar_format=LINE, **LOOK)
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> "Lines":
        def watch() -> None:
            while not self._left.wait(EVERY / 10):
                self.update()

        threading.Thread(target=watch, daemon=True).start()
        return self

    def close(self, *_: object) -> None:
        self._left.set()

    __exit__ = close


def progress(total: int, initial: int = 0, leave: bool = False) -> Any:
    """Count environment steps by `update(steps)`: tqdm's bar in a terminal, its widget in a notebook, else Lines."""
    look: dict[str, Any] = {"total": total, "initial": initial, "leave": leave, **LOOK}
    look |= {"disable": True} if silent else {}  # else TQDM_DISABLE in the environment counts
    shell = sys.modules.get("IPython")
    kernel = shell and any("ZMQ" in base.__name__ for base in type(shell.get_ipython()).__mro__)
    if kernel and not silent and multiprocessing.parent_process() is None:  # not in a notebook's workers
        with warnings.catch_warnings(action="ignore"):  # without ipywidgets, tqdm falls back to text, and says so
            from tqdm.auto import tqdm as notebook_bar
        return notebook_bar(file=sys.stdout, **look)
    return tqdm(**look) if silent or sys.stderr.isatty() else Lines(total, initial)

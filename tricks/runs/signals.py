"""Signals that ask a process to stop: a training finishes its update first, so that its state can be saved."""

import signal
import threading
from types import FrameType
from typing import Any

STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")  # Ctrl-C, a polite kill, a closed terminal; Windows has no SIGHUP


class Patience:
    """Within its `with` block, the first signal waits for `give_way`, or for the end; a second one doesn't wait.

    Then it does what it would have done at once. Signals that are ignored, as under `nohup`, remain so.
    """

    def __init__(self) -> None:
        self.waiting: int | None = None  # the number of the signal
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Patience":
        if threading.current_thread() is threading.main_thread():  # in others, nothing waits
            for number in (getattr(signal, name) for name in STOPPING if hasattr(signal, name)):
                if (before := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        self.give_way()

    def give_way(self) -> None:
        """Deliver the signal that waits, if there is one."""
        if self.waiting is not None:
            number, self.waiting = self.waiting, None
            self._restore()
            signal.raise_signal(number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        first, self.waiting = self.waiting is None, number
        if not first:
            self.give_way()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

"""Worker processes that end with the process that started them."""

import multiprocessing
import os
import signal
import threading
import time

import psutil


def follow_parent(patience: float = 0.0) -> None:
    """Make this worker process exit when its parent does, however the parent ends.

    With `patience`, the worker first gets SIGTERM and that many seconds to clean up. A daemon thread watches the
    parent, so it works even if the worker is busy.
    """
    threading.Thread(target=_follow, args=(patience,), daemon=True).start()


def _follow(patience: float) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "follow_parent is for worker processes"
    # the pipe closes when the parent ends, except among forked workers, which hold each other's ends open: so poll, too
    while parent.is_alive() and psutil.pid_exists(parent.pid or 0):
        parent.join(0.5)
    if patience:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(patience)
    os._exit(1)

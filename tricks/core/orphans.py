"""Worker processes that end with the process that started them."""

import multiprocessing
import os
import signal
import threading
import time


def follow_parent(patience: float = 0.0) -> None:
    """Call this in a worker process: it ends when its parent has, however that ended.

    With `patience`, it gets SIGTERM first and that many seconds to clean up. A daemon thread watches, whatever the
    worker is doing.
    """
    threading.Thread(target=_follow, args=(patience,), daemon=True).start()


def _follow(patience: float) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "follow_parent is for worker processes"
    # the pipe to the parent tells at once, but not among forked workers, which hold each other's ends open
    while parent.is_alive() and os.getppid() == parent.pid:
        parent.join(0.5)
    if patience:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(patience)
    os._exit(1)

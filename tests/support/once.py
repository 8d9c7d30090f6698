"""What is made once for all processes of a test session."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder with this name that `make` has filled. The first process to ask does it, and the others wait for that.

    Whoever finds that it failed tries again, and so fails with the reason.
    """
    own = factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = common / name
    with FileLock(common / f"{name}.lock"):
        if not folder.exists():
            work = factory.mktemp("once") / name
            make(work)
            work.rename(folder)
    return folder

"""Planted faults: the library's own loop, with one of its functions replaced by a wrong one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import tricks.loop  # noqa: F401 - so that its names can be replaced


@contextmanager
def planted(**faults: Callable) -> Iterator[None]:
    """`with planted(gae=wrong): train(...)` trains with `wrong` wherever the loop calls `gae`.

    Raises AttributeError for a name that the loop does not use.
    """
    with ExitStack() as stack:
        for name, fault in faults.items():
            stack.enter_context(patch(f"tricks.loop.{name}", fault))
        yield

"""How numba compiles a function and keeps it on the disk."""

import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config, njit

if getattr(config, "DISABLE_JIT", False):
    raise ImportError("NUMBA_DISABLE_JIT is set, so numba compiles nothing")

COMPILED = sorted(Path(__file__).parents[1].glob("*/compiled_*.py"))
FILES = *COMPILED, Path(__file__), Path(__file__).with_name("digests.py")
EDITION = sha256(b"".join(each.read_bytes() for each in FILES)).hexdigest()[:8]


def kernel(signature: str | list[str] | None = None, contract: bool = True) -> Callable[[Callable[..., Any]], Any]:
    """A function that numba compiles for this signature, or for each one that it is called with, and keeps on the disk.

    Its name ends with the edition of all such functions: numba finds what it kept by the name and by the function's own
    file, but it keeps what the function calls in other files, too. With `contract`, a·b + c may be rounded once.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if contract:
        options["fastmath"] = {"contract"}

    def made(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{function.__name__}_{EDITION}"
        kept = Path(njit(**options)(function).stats.cache_path)
        if not any(kept.glob(f"*.{function.__qualname__}-*.nbi")):
            announce()
        return njit(signature, **options)(function)

    return made


@cache
def announce() -> None:
    """Say, once in a process, that it is about to compile."""
    print("compiling for this CPU, which only the first run has to do: 10 to 40 s", file=sys.stderr, flush=True)

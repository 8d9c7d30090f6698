"""Exports, each made once, and executed."""

from functools import cache
from typing import Any

from tricks import Tricks, export

code = cache(export)


def executed(tricks: Tricks, images: bool = False) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "exported"}
    exec(code(tricks, images=True) if images else code(tricks), module)
    return module

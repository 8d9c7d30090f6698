"""What a training does on its way, noted without changing it."""

from collections.abc import Callable
from typing import Any

import pytest


def spied(patch: pytest.MonkeyPatch, owner: Any, name: str, note: Callable[..., Any]) -> list[Any]:
    """From now on, what `note` makes of the arguments of each call of this function, before the call."""
    notes, function = list[Any](), getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        notes.append(note(*given, **named))
        return function(*given, **named)

    patch.setattr(owner, name, call)
    return notes

"""Which range each number of `Config` must be in: its field's own, or else positive and finite."""

from collections.abc import Callable
from dataclasses import Field
from math import inf, isfinite
from typing import Any

from tricks.errors import InputError

Range = dict[str, Any]  # a field's metadata: what a number must be, in words and as a test


def _range(said: str, holds: Callable[[float], bool]) -> Range:
    return {"said": said, "holds": holds}


POSITIVE = _range("positive and finite", lambda x: 0 < x < inf)
SHARE = _range("in [0, 1]", lambda x: 0 <= x <= 1)
OR_ZERO = _range("at least 0 and finite", lambda x: 0 <= x < inf)
FINITE = _range("finite", isfinite)
ABOVE_1 = _range("more than 1 and finite", lambda x: 1 < x < inf)


def check_range(field: "Field[Any]", number: float) -> None:
    """Raise InputError for a number that is out of its field's range."""
    own = field.metadata or POSITIVE
    if not own["holds"](number):
        raise InputError(f"{field.name} must be {own['said']}, not {number}")

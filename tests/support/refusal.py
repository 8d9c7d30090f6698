"""What cannot be done is refused in one line."""

from collections.abc import Callable
from typing import Any

import pytest

from tricks import InputError


def refusal(said: str, call: Callable[..., object], *given: Any, **named: Any) -> str:
    """The one line with which this call is refused; the pattern `said` is found in it."""
    with pytest.raises(InputError, match=said) as caught:
        call(*given, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)

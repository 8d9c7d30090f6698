"""The types of fixtures; and a call that is refused, as `refuses` checks a command."""

from collections.abc import Callable
from typing import Any

import pytest

from tricks import InputError

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Refuses = Callable[..., None]
Told = Callable[..., str]


def refusal(said: str, call: Callable[..., object], *given: Any, **named: Any) -> str:
    """The one line with which this call is refused; the pattern `said` is found in it."""
    with pytest.raises(InputError, match=said) as caught:
        call(*given, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)

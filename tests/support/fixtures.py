"""The types of fixtures."""

from collections.abc import Callable

import pytest

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Refuses = Callable[..., None]
Told = Callable[..., str]

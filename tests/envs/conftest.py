"""No test leaves a process behind."""

import multiprocessing
from collections.abc import Iterator

import pytest


@pytest.fixture
def _nobody_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) == before

"""Commands train their jobs in this process: a pool of workers costs seconds before it trains anything."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ablations.training import workers


def in_this_process(jobs: Sequence[Any], count: int, task: Callable[[Any], Any]) -> Iterator[tuple[Any, Any]]:
    return ((job, task(job)) for job in jobs)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "in_pool", in_this_process)

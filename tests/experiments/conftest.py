"""Commands train their jobs in this process."""

import pytest
from support.jobs import in_turn

from ablations.training import workers


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "in_pool", in_turn)

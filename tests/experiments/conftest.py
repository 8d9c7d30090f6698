"""Commands train their jobs in this process."""

import pytest
from support.studies import in_turn

from ablations.training import workers


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "in_pool", in_turn)

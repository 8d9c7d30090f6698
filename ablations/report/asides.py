"""What a report says beyond a design's own figures and tables. The findings put theirs here."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ablations.analysis.studies import Study

ON_EFFECTS: list[Callable[["pd.DataFrame"], str]] = []
"""Texts below an environment's effects. Given: the rows of `effects`, of all its designs."""
ON_ARMS: list[Callable[["Study"], str]] = []
"""Texts above the table of each design's arms."""
SECTIONS: dict[str, Callable[["Study", Path, bool], tuple[str, list[Path]]]] = {}
"""Sections on studies of further kinds, by kind: the text, and the files it is made from."""

"""Tables from CSV files, with every number as it was written, to the last bit."""

from typing import Any

import pandas as pd

MAJOR, MINOR = map(int, pd.__version__.split(".")[:2])
EXACT: dict[str, Any] = {} if (MAJOR, MINOR) >= (3, 1) else {"float_precision": "round_trip"}  # else off by a bit


def read_table(source: Any, **reading: Any) -> pd.DataFrame:
    """What pandas' `read_csv` reads from a path or a buffer, with the options `reading`."""
    found: pd.DataFrame = pd.read_csv(source, **EXACT, **reading)
    return found

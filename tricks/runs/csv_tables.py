"""Tables from CSV files, with every number as it was written, to the last bit."""

from typing import Any

import pandas as pd

MAJOR, MINOR = map(int, pd.__version__.split(".")[:2])
EXACT = {} if (MAJOR, MINOR) >= (3, 1) else {"float_precision": "round_trip"}  # before, pandas' default is one bit off


def read_table(source: Any, **reading: Any) -> pd.DataFrame:
    """What pandas' `read_csv` reads from a path or a buffer, with the options `reading`."""
    return pd.read_csv(source, **EXACT, **reading)

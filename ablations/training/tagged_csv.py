"""CSV files that say in their first line, `# {json}`, what their rows are and how they were made."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd


def tagged(about: Mapping[str, Any], rows: pd.DataFrame, digits: int) -> str:
    """The text of such a file, its numbers with so many digits."""
    return f"# {json.dumps(about)}\n" + rows.to_csv(index=False, float_format=f"%.{digits}g")


def untagged(text: str, **reading: Any) -> tuple[Any, pd.DataFrame]:
    """What the first line holds, and the rows, read as pandas' `read_csv` is told to.

    Raises ValueError, or RecursionError for a first line that is nested too deep, if that cannot be read.
    """
    first, _, rest = text.partition("\n")
    return json.loads(first.removeprefix("# ")), pd.read_csv(io.StringIO(rest), **reading)

"""CSV files whose first line, `# {json}`, says what the rows are and how they were made."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd


def tagged(about: Mapping[str, Any], rows: pd.DataFrame, digits: int) -> str:
    """The text of such a file. digits: significant digits of its numbers."""
    return f"# {json.dumps(about)}\n" + rows.to_csv(index=False, float_format=f"%.{digits}g")


def untagged(text: str, **reading: Any) -> tuple[Any, pd.DataFrame]:
    """The content of the first line, and the rows. reading: options of pandas' `read_csv`.

    Raises ValueError if the text cannot be parsed, or RecursionError if its first line is nested too deep.
    """
    first, _, rest = text.partition("\n")
    return json.loads(first.removeprefix("# ")), pd.read_csv(io.StringIO(rest), **reading)

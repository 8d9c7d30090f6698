"""CSV files whose first line says what the rows are, with a checksum."""

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tricks.runs.learning_curve import read_table


def tagged(about: Mapping[str, Any], rows: pd.DataFrame, digits: int | None) -> str:
    """The text of such a file, checksum included. digits: significant digits of its numbers; None for all of them."""
    body = rows.to_csv(index=False, float_format=None if digits is None else f"%.{digits}g")

    def text(checksum: str) -> str:
        return f"# {json.dumps({**about, 'sha256': checksum})}\n{body}"

    return text(_sha256(text("")))


def untagged(text: str, **reading: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    """The first line, and the rows. reading: options of pandas' `read_csv`. Raises ValueError, in one line."""
    first, _, rest = text.partition("\n")
    try:
        about = json.loads(first.removeprefix("# "))
        if not isinstance(about, dict):
            raise ValueError("its first line is no JSON object")
        return about, read_table(io.StringIO(rest), **reading).copy()  # in one piece, or every look costs ten times
    except (RecursionError, ValueError) as error:  # some of pandas' have several lines
        raise ValueError(" ".join(str(error).split())) from error


def check_sum(text: str, checksum: str | None) -> None:
    """Raise ValueError if the text is not what the checksum was made of; None, a file without one, is not checked."""
    if checksum is not None and (not checksum or _sha256(text.replace(checksum, "", 1)) != checksum):
        raise ValueError("its checksum does not match")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

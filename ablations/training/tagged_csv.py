"""CSV files whose first line, `# {json}`, says what the rows are, how they were made, and the checksum of it all.

The JSON's `sha256` is that of the whole file without these 64 digits. Some studies that ship with this package
have none, and still count; a file that has one must match it.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pandas as pd

from tricks.runs.learning_curve import read_table


def tagged(about: Mapping[str, Any], rows: pd.DataFrame, digits: int | None) -> str:
    """The text of such a file, checksum included. digits: significant digits of its numbers; None for all of them."""
    body = rows.to_csv(index=False, float_format=None if digits is None else f"%.{digits}g")

    def text(checksum: str) -> str:
        return f"# {json.dumps({**about, 'sha256': checksum})}\n{body}"

    return text(_sha256(text("")))


def untagged(text: str, kind: Any = dict[str, Any], **reading: Any) -> tuple[Any, pd.DataFrame]:
    """The first line, as a value of the TypedDict `kind`, and the rows. reading: options of pandas' `read_csv`.

    Raises ValueError, in one line, if the first line is not JSON, lacks a key, or has a wrong type or an unknown key,
    or if the rows cannot be parsed.
    """
    first, _, rest = text.partition("\n")
    try:
        found = json.loads(first.removeprefix("# "))
        about = msgspec.convert(found, kind)
        if unknown := sorted(set(found) - set(getattr(kind, "__annotations__", found))):
            raise ValueError(f"its first line has an unknown {unknown[0]!r}")
    except RecursionError as error:
        raise ValueError("its first line is nested too deep") from error
    try:
        return about, read_table(io.StringIO(rest), **reading).copy()  # in one piece, or every look costs ten times
    except ValueError as error:  # some of pandas' have several lines
        raise ValueError(" ".join(str(error).split())) from error


def check_sum(text: str, checksum: str | None) -> None:
    """Raise ValueError if the text is not what the checksum was made of; None, a file without one, is not checked."""
    if checksum is not None and (not checksum or _sha256(text.replace(checksum, "", 1)) != checksum):
        raise ValueError("its checksum does not match")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

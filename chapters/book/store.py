"""Numbers that a chapter computes for the moving figures of the web book."""

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "numbers"
BUILDING = "BOOK_BUILDING"  # set while chapters are built, so that reading or testing one changes no file


def store(name: str, numbers: Any) -> None:
    """Keep numbers, lists and dictionaries of them as numbers/<name>.json, with four significant digits."""
    if BUILDING in os.environ:
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(rounded(numbers), separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def rounded(numbers: Any) -> Any:
    """The same numbers with four significant digits."""
    if isinstance(numbers, dict):
        return {str(key): rounded(each) for key, each in numbers.items()}
    if isinstance(numbers, float):
        return float(f"{numbers:.4g}")
    return numbers if isinstance(numbers, int | str) else [rounded(each) for each in numbers]

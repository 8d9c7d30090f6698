"""What is recorded of infos: `is_success`, `cost:sum`, `episode.r`, as names and rules."""

import re
from collections.abc import Mapping
from typing import Any

from tricks.errors import InputError

RULES = ("last", "sum", "mean")  # of what an episode's steps give: the first one if none is named


def record_texts(given: tuple[str, ...]) -> tuple[str, ...]:
    """The texts one by one, where some hold several with commas between. Raises InputError for one without meaning."""
    texts = tuple(text.strip() for each in given for text in each.split(","))
    for text in texts:
        name, _, rule = text.partition(":")
        if not re.fullmatch(r"[^\s\"':]+", name) or (":" in text and rule not in RULES):
            raise InputError(f"record takes names of info, each with :{' or :'.join(RULES)} if need be, not {text!r}")
    if twice := [name for name in recorded(texts) if [text.partition(":")[0] for text in texts].count(name) > 1]:
        raise InputError(f"record has a column for each name, and {twice[0]!r} is there twice")
    return texts


def recorded(texts: tuple[str, ...]) -> dict[str, str]:
    """The rule of each name."""
    return {name: rule or RULES[0] for name, _, rule in (text.partition(":") for text in texts)}


def found(info: Mapping[str, Any], name: str) -> Any:
    """What info has under a name, or a.b in the entry b of the entry a; None if it has nothing."""
    if name in info or "." not in name:
        return info.get(name)
    first, _, rest = name.partition(".")
    inner = info.get(first)
    return found(inner, rest) if isinstance(inner, Mapping) else None

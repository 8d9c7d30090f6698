"""A flag's name as it is typed: its switch, and a guess if it is misspelled."""

import difflib
import re
from collections.abc import Iterable


def switch(name: str) -> str:
    """The command-line switch of a flag: `--return-norm`."""
    return f"--{name.replace('_', '-')}"


def meant(name: str, names: Iterable[str], before: str = "") -> str:
    """` (did you mean clip?)` if one of these names is close, else an empty string; before: what stands before it."""
    plain = {_bare(each): each for each in names}
    near = difflib.get_close_matches(_bare(name), list(plain), n=1)
    return f" (did you mean {before}{plain[near[0]]}?)" if near else ""


def _bare(name: str) -> str:
    """A name without what all options share, or all environments: --dry-run is not close to --shared-trunk."""
    return re.sub(r"_v\d+$", "", name.lower().replace("-", "_").lstrip("_"))

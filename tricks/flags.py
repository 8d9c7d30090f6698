"""Metadata of a flag, checks for unmet needs, and guesses at misspelled names."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

Needs = Mapping[str, tuple[str, ...]]  # the flags that each flag needs, in ladder order


def trick(
    adds: str,
    paper: str,
    *,
    color: str,
    needs: tuple[str, ...] = (),
    numbers: tuple[str, ...] = (),
    diagnostics: tuple[str, ...] = (),
    file: str = "",
    beyond: bool = False,
    excludes: tuple[str, ...] = (),
    chapter: str = "",
) -> Any:
    """A flag, off by default: what it `adds`, its `paper`, its `color` in every figure, and the flags it `needs`.

    numbers: its fields in Config. diagnostics: the columns it adds to the curve. file: its module, if not named after
    the flag. beyond: it extends PPO and is not a rung of the ladder. excludes: flags that it cannot be combined with.
    chapter: the chapter that covers it, if not its own.

    No palette this large is fully distinct to a color-blind reader, so figures label every line by name. But neighbors
    in the ladder, and names that share a word, differ clearly even to a deuteranope, and every color is dark enough
    for text on white.
    """
    texts = {"adds": adds, "paper": paper, "color": color, "file": file}
    lists = {"needs": needs, "numbers": numbers, "diagnostics": diagnostics, "excludes": excludes}
    return field(default=False, metadata={**texts, **lists, "beyond": beyond, "chapter": chapter or file})


def with_needs(names: Iterable[str], needs: Needs) -> tuple[str, ...]:
    """These flags and everything they need, in ladder order."""
    on = set(names)
    while more := {need for name in on for need in needs[name]} - on:
        on |= more
    return tuple(name for name in needs if name in on)


def unmet(on: Sequence[str], needs: Needs) -> tuple[list[str], str]:
    """The unmet needs, one sentence per flag, and the switches that would meet them; both empty if none is missing.

    Example: `popart needs return_norm, which needs baseline` and `add --baseline --return-norm`.
    """
    missing = [name for name in with_needs(on, needs) if name not in on]
    chains = [chain for name in on if (chain := _chain(name, missing, needs))]
    return chains, f"add {' '.join(map(switch, missing))}" if missing else ""


def _chain(name: str, missing: Sequence[str], needs: Needs) -> str:
    """`popart needs return_norm, which needs baseline`, naming each missing flag once; empty if none is missing."""
    chain, named, front = "", [name], [name]
    while front:
        flag, *front = front
        lacks = [need for need in needs[flag] if need in missing and need not in named]
        if lacks:
            chain += f"{', which' if chain else name} needs {' and '.join(lacks)}"
        named, front = named + lacks, front + lacks
    return chain


def switch(name: str) -> str:
    """The command-line switch of a flag: `--return-norm`."""
    return f"--{name.replace('_', '-')}"


def meant(name: str, names: Iterable[str], before: str = "") -> str:
    """` (did you mean clip?)` if the name is close to one of these, otherwise an empty string.

    before: what stands before the name and is not to be compared, such as the module of an environment.
    """
    plain = {_bare(each): each for each in names}
    near = difflib.get_close_matches(_bare(name), list(plain), n=1)
    return f" (did you mean {before}{plain[near[0]]}?)" if near else ""


def _bare(name: str) -> str:
    """A name without what all options share, or all environments: --dry-run is not close to --shared-trunk."""
    return re.sub(r"_v\d+$", "", name.lower().replace("-", "_").lstrip("_"))

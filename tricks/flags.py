"""What is said about a flag, and what a set of flags lacks."""

import difflib
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
    excludes: str = "",
    chapter: str = "",
) -> Any:
    """A flag, off by default: what it `adds`, its `paper`, its `color` in every figure, and the flags it `needs`.

    numbers: the fields of Config that belong to it. diagnostics: the columns that it brings to the curve. file: where
    it is, if not under its name. beyond: it is no rung of the ladder, but a way on from PPO. excludes: a flag that it
    cannot go with. chapter: whose chapter it is in, if not its own.

    So many colors are not all distinct to a color-blind reader, and every line is labeled by name. But neighbors in the
    ladder, and names that share a word, are far apart to a deuteranope, too, and each is dark enough for text on white.
    """
    said = {"adds": adds, "paper": paper, "color": color, "file": file, "excludes": excludes}
    lists = {"needs": needs, "numbers": numbers, "diagnostics": diagnostics}
    return field(default=False, metadata={**said, **lists, "beyond": beyond, "chapter": chapter or file})


def with_needs(names: Iterable[str], needs: Needs) -> tuple[str, ...]:
    """The flags with all that they need, in ladder order."""
    on = set(names)
    while more := {need for name in on for need in needs[name]} - on:
        on |= more
    return tuple(name for name in needs if name in on)


def unmet(on: Sequence[str], needs: Needs) -> tuple[list[str], str]:
    """What is missing, flag by flag, and what to type; nothing and nothing if nothing is missing.

    `popart needs return_norm, which needs baseline`, and `add --baseline --return-norm`.
    """
    missing = [name for name in with_needs(on, needs) if name not in on]
    chains = [chain for name in on if (chain := _chain(name, missing, needs))]
    return chains, f"add {' '.join(map(switch, missing))}" if missing else ""


def _chain(name: str, missing: Sequence[str], needs: Needs) -> str:
    """`popart needs return_norm, which needs baseline`: each missing flag is said once; nothing if none is missing."""
    chain, said, front = "", [name], [name]
    while front:
        flag, *front = front
        lacks = [need for need in needs[flag] if need in missing and need not in said]
        if lacks:
            chain += f"{', which' if chain else name} needs {' and '.join(lacks)}"
        said, front = said + lacks, front + lacks
    return chain


def switch(name: str) -> str:
    """A flag as the command line takes it: `--return-norm`."""
    return f"--{name.replace('_', '-')}"


def meant(name: str, names: Iterable[str]) -> str:
    """` (did you mean clip?)` for a name that is close to one of these, else nothing."""
    near = difflib.get_close_matches(name.replace("-", "_"), list(names), n=1)
    return f" (did you mean {near[0]}?)" if near else ""

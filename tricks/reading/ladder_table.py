"""The ladder as text: what each flag adds, what it needs, and its paper."""

from dataclasses import fields

from tricks.ladder import LADDER, NEEDS, Tricks

BEYOND = "Beyond the ladder, each on top of `ppo` and its needs:"


def described() -> dict[str, str]:
    """One sentence per trick: what it adds, what it needs, and its paper."""
    need = {name: f" (needs {', '.join(needs)})" if needs else "" for name, needs in NEEDS.items()}
    return {f.name: f"{f.metadata['adds']}{need[f.name]}. {f.metadata['paper']}." for f in fields(Tricks)}


def table(markdown: bool = False) -> str:
    """Two tables, for the ladder and for the tricks beyond it: flag, what it adds, what it needs, paper."""
    rows = [(f.name, f.metadata["adds"], " ".join(NEEDS[f.name]), f.metadata["paper"]) for f in fields(Tricks)]
    rows = [("flag", "adds", "needs", "paper"), *rows]
    if markdown:
        lines = [f"| {' | '.join([flag if flag == 'flag' else f'`{flag}`', *rest])} |" for flag, *rest in rows]
        head = [lines[0], "|---|---|---|---|"]
    else:
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*(c.ljust(w) for c, w in zip(row[:3], widths, strict=True)), row[3]]) for row in rows]
        head = lines[:1]
    last = 1 + len(LADDER)
    return "\n".join([*head, *lines[1:last], "", BEYOND, "", *(head if markdown else []), *lines[last:]])

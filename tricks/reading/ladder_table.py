"""The ladder as text: what each flag adds, what it needs, and its paper."""

from dataclasses import fields
from textwrap import TextWrapper

from tricks.ladder import LADDER, NEEDS, Tricks

BEYOND = "Beyond the ladder, each on top of `ppo` and its needs:"


def described() -> dict[str, str]:
    """One sentence per trick: what it adds, what it needs, and its paper."""
    need = {name: f" (needs {', '.join(needs)})" if needs else "" for name, needs in NEEDS.items()}
    return {f.name: f"{f.metadata['adds']}{need[f.name]}. {f.metadata['paper']}." for f in fields(Tricks)}


def table(markdown: bool = False) -> str:
    """Two tables, for the ladder and for the tricks beyond it: flag, what it adds, what it needs, paper.

    As plain text, in lines of at most 80 characters.
    """
    rows = [(f.name, f.metadata["adds"], " ".join(NEEDS[f.name]), f.metadata["paper"]) for f in fields(Tricks)]
    rows = [("flag", "adds", "needs", "paper"), *rows]
    if markdown:
        lines = [f"| {' | '.join([flag if flag == 'flag' else f'`{flag}`', *rest])} |" for flag, *rest in rows]
        head = [lines[0], "|---|---|---|---|"]
    else:
        width = max(map(len, NEEDS)) + 2
        texts = [("flag", "what it adds (what it needs). Paper."), *described().items()]
        wrap = TextWrapper(80, subsequent_indent=" " * width, break_on_hyphens=False)
        lines = [wrap.fill(flag.ljust(width) + text) for flag, text in texts]
        head = lines[:1]
    last = 1 + len(LADDER)
    return "\n".join([*head, *lines[1:last], "", BEYOND, "", *(head if markdown else []), *lines[last:]])

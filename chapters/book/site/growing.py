"""The growing loop: at every rung the listing, the lines that are new, those that they replaced, and their shapes."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from chapters.book.site.traced import shapes
from tricks import REINFORCE, Tricks, listing
from tricks.ladder import LADDER, NEEDS, named, switched

ADDS = {f.name: f.metadata["adds"] for f in fields(Tricks)}
BEGIN = "def build_agent("  # before it are the docstring, the imports, and the opening of the environment


class Line(NamedTuple):
    """A line of the loop: its text, `same`, `new` or `gone`, and the shapes of the tensors on it."""

    text: str
    kind: str
    shapes: str


def steps() -> Iterator[tuple[str, Tricks, Tricks]]:
    """The name of each rung with the flags before and after it: up the ladder, then what is beyond it on PPO."""
    yield "reinforce", REINFORCE, REINFORCE
    for k, name in enumerate(LADDER):
        yield name, switched(LADDER[:k]), switched(LADDER[: k + 1])
    for name in (name for name in NEEDS if name not in LADDER):
        after = named(name)
        yield name, switched([other for other in after.on if other != name]), after


def body(tricks: Tricks) -> list[str]:
    """The lines of the listing that build the agent and train it."""
    lines = str(listing(tricks)).splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith(BEGIN)) :]


def lines(before: Tricks, after: Tricks) -> list[Line]:
    """The loop with the flags `after`; what it had with `before` and lost stands in front of what replaced it."""
    old, new = body(before), body(after)
    first = len(str(listing(after)).splitlines()) - len(new) + 1
    seen, found = shapes(after), list[Line]()
    for kind, i, j, k, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [Line(text, "gone", "") for text in old[i:j]]
        made = "same" if kind == "equal" else "new"
        found += [Line(new[n], made, seen.get(first + n, "")) for n in range(k, end)]
    return found


def origins(ladder: Sequence[str]) -> list[tuple[str, str]]:
    """The lines of the loop with these tricks, highlighted, each with the trick that brought it or `reinforce`."""
    brought = dict.fromkeys(body(REINFORCE), "reinforce")
    for k, name in enumerate(ladder):
        for line in body(switched(ladder[: k + 1])):
            brought.setdefault(line, name)
    return [(colored(line), brought[line]) for line in body(switched(ladder))]


def loop() -> dict[str, Any]:
    """All rungs, with their code highlighted. Each line is a place in `texts`, a kind, and a place in `notes`.

    Texts and notes stand once, however many rungs share them.
    """
    texts, notes, rungs = dict[str, int](), {"": 0}, list[dict[str, Any]]()
    for name, before, after in steps():
        placed = [
            (texts.setdefault(each.text, len(texts)), each.kind, notes.setdefault(each.shapes, len(notes)))
            for each in lines(before, after)
        ]
        rungs.append({"name": name, "title": ADDS.get(name, "the policy gradient alone"), "lines": placed})
    return {"rungs": rungs, "texts": [colored(text) for text in texts], "notes": list(notes)}


def colored(line: str) -> str:
    """A line of Python as HTML."""
    indent = len(line) - len(line.lstrip())
    code: str = highlight(line.strip(), PythonLexer(), HtmlFormatter(nowrap=True))
    return " " * indent + code.rstrip("\n")

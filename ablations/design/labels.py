"""What arms and comparisons are called, as values that tables, headings and small print format each in their way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Label:
    """`+` or `−` (or neither, for a name of its own), the trick, and the tricks that go along with it."""

    trick: str
    """The trick that is added or taken away; or the whole name, of an arm that is about no trick."""
    sign: Literal["+", "−", ""] = ""
    others: tuple[str, ...] = ()
    """What a trick is added on top of, or what is taken away with it."""
    note: str = ""
    """Small print of a name of its own."""

    def __str__(self) -> str:
        """`+ baseline, gae` adds gae to baseline; `− clip, clip_anneal` takes away clip, and clip_anneal with it."""
        names = [self.trick, *self.others] if self.sign == "−" else [*self.others, self.trick]
        return f"{self.sign} {', '.join(names)}".lstrip()

    @property
    def heading(self) -> str:
        """Without what goes along: `− clip`."""
        return f"{self.sign} {self.trick}".lstrip()

    @property
    def small_print(self) -> str:
        """What goes along, in words: `and clip_anneal`, `on baseline`; nothing if nothing does."""
        if not self.others:
            return self.note
        return f"{'and' if self.sign == '−' else 'on'} {', '.join(self.others)}"


def added(names: Sequence[str]) -> Label:
    """The last of the names, on top of the others."""
    *others, trick = names
    return Label(trick, "+", tuple(others))


def taken(trick: str, others: Sequence[str]) -> Label:
    """The trick away, and the others with it."""
    return Label(trick, "−", tuple(others))

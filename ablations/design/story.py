"""What a design is: its arms, the pairs to compare, and everything that figures, tables and sentences say of it.

Nothing else in the package knows a design by its name, so a new one is a function in designs.py and nothing more.
"""

from dataclasses import dataclass
from typing import Literal

from ablations.design.labels import Label
from tricks.ladder import LADDER, Tricks


@dataclass(frozen=True)
class Arm:
    """One combination of flags, and the label under which the design's tables and figures show it."""

    label: Label
    tricks: Tricks

    @property
    def name(self) -> str:
        """The label as text: no two arms of a design have the same."""
        return str(self.label)


@dataclass(frozen=True)
class Comparison:
    """Two arms whose difference is what a trick does; `label` names the trick and what goes along with it."""

    label: Label
    without: Tricks
    having: Tricks

    @property
    def trick(self) -> str:
        return self.label.trick

    @property
    def focus(self) -> Tricks:
        """The arm that the comparison is about: the one without the trick, where the label takes it away."""
        return self.without if self.label.sign == "−" else self.having

    @property
    def reference(self) -> Tricks:
        """The arm that `focus` is compared to."""
        return self.having if self.label.sign == "−" else self.without


@dataclass(frozen=True)
class Panels:
    """Small multiples, an arm a panel: what they tell, and what their bold, dashed and gray lines are."""

    title: str
    lines: tuple[str, str, str]


@dataclass(frozen=True)
class Mark:
    """How a design's effects are drawn: matplotlib's marker, the same as a character, and what it means."""

    shape: str
    glyph: str
    meaning: str


@dataclass(frozen=True)
class Phrases:
    """What sentences say of a design's effects; what is empty is not said.

    {up} and {down} are the tricks detected as helping and hurting, in `climb` with sizes and in one: {seen}.
    """

    climb: str = ""
    """A sentence of its own, from the first arm's area {first} to the last arm's {last}, over {count} comparisons."""
    detected: str = ""
    """A part of the sentence that several designs share; {a_trick} is `it` after the first."""
    place: str = ""
    """Where a trick is tried: in one sentence over all environments, `alone or taken out of the full set`."""
    nowhere: str = ""
    """The same after `neither`: `when taken out`."""
    base: str = ""
    """What the tricks are added to, where one sentence says in which environments each helps or hurts."""
    question: str = ""
    """In a table of one trick's effects, what the comparison asks of it: `as the next rung`."""
    question_with: str = ""
    """The same where {others} go along (default: `..., with` them)."""
    curves: str | None = None
    """What is added to the environment above this design's curves of one trick; None: they are not shown there."""

    def asked(self, label: Label) -> str:
        """A comparison in words: `as the next rung`; `alone, on baseline`; `taken out of everything, with clip`."""
        if not label.others:
            return self.question
        return (self.question_with or f"{self.question}, with {{others}}").format(others=", ".join(label.others))


@dataclass(frozen=True)
class Design:
    """Arms in the order of the story, the pairs to compare, the arms that were dropped, and how all that is told."""

    name: str
    names: tuple[str, ...]
    """The tricks that it is about."""
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    """The names of arms that break a need, each with the reason."""
    base: tuple[str, ...] = ()
    """What the chosen tricks need and is not chosen: on in all arms."""
    panels: Panels | None = None
    """None: no small multiples."""
    mark: Mark = Mark("o", "○", "with and without")
    """Of its comparisons."""
    phrases: Phrases = Phrases()
    rank: int = 0
    """Its place among several, in the rows of a figure and in a sentence: the lower, the sooner."""
    crossed: Literal["", "whole", "fraction"] = ""
    """Whether tricks are crossed: in all combinations, or in a balanced part of them. Then it has main effects."""
    paired: bool = True
    """Whether seed k of two arms belong together; else differences are those of two independent groups."""
    published: bool = False
    """Whether its arms stand beside published scores."""
    own_arms: bool = False
    """Whether its arms are the same whatever tricks are chosen."""

    @property
    def beyond(self) -> bool:
        """Whether it is about tricks beyond the ladder."""
        return any(name not in LADDER for name in self.names)

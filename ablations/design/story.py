"""A design: its arms, the pairs to compare, and everything that figures, tables and sentences say about it.

No other code asks for a design by its name, so adding one takes a single function in designs.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ablations.design.flag_sets import SHARED
from ablations.design.labels import Label
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import LADDER, Tricks

NUMBERS = tuple(field.name for field in fields(Config) if field.name not in SHARED)
Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Arm:
    """What is trained and shown under one name: flags, and its own numbers.

    `Arm("mine", PPO, {"target_kl": 0.02})`. A plain name becomes a `Label`. numbers: fields of `Config`; the comparison
    sets all others. functions: those that stand in for ours in this arm, by name, as for `patched`. Raises InputError
    for a number that `Config` does not have, or that all arms share.
    """

    label: Label
    tricks: Tricks
    numbers: tuple[tuple[str, Any], ...] = ()
    functions: tuple[tuple[str, Callable[..., Any]], ...] = ()

    def __init__(
        self,
        name: str | Label,
        tricks: Tricks,
        numbers: Pairs = (),
        functions: Pairs = (),
    ) -> None:
        own = dict(numbers)
        if unknown := [each for each in own if each not in NUMBERS]:
            why = "is the same for all arms" if unknown[0] in SHARED else "is no field of Config"
            raise InputError(f"arm {str(name)!r}: {unknown[0]} {why}")
        if not isinstance(tricks, Tricks):
            raise InputError(f"arm {str(name)!r} needs Tricks, not {type(tricks).__name__}")
        object.__setattr__(self, "label", Label(name) if isinstance(name, str) else name)
        object.__setattr__(self, "tricks", tricks)
        object.__setattr__(self, "numbers", tuple(own.items()))
        object.__setattr__(self, "functions", tuple(dict(functions).items()))

    @property
    def name(self) -> str:
        """The label as text, unique within a design."""
        return str(self.label)

    def config(self, base: Config) -> Config:
        """The config that it is trained with, where others have `base`. Raises InputError for an impossible number."""
        try:
            return replace(base, **dict(self.numbers))
        except InputError as error:
            raise InputError(f"arm {self.name!r}: {error}") from None


@dataclass(frozen=True)
class Comparison:
    """Two arms whose difference is the effect of a trick; `label` names it and the tricks that go along with it."""

    label: Label
    without: Tricks
    having: Tricks

    @classmethod
    def of(cls, arm: Arm, reference: Arm) -> "Comparison":
        """Two arms of a design of one's own: the arm is compared to the reference."""
        return cls(arm.label, reference, arm)  # type: ignore[arg-type]

    @property
    def trick(self) -> str:
        return self.label.trick

    @property
    def focus(self) -> Tricks:
        """The arm that the comparison is about: the one without the trick if the label removes it."""
        return self.without if self.label.sign == "−" else self.having

    @property
    def reference(self) -> Tricks:
        """The arm that `focus` is compared to."""
        return self.having if self.label.sign == "−" else self.without


@dataclass(frozen=True)
class Panels:
    """Small multiples with one panel per arm: their title, and what the bold, dashed and gray lines are."""

    title: str
    lines: tuple[str, str, str]


@dataclass(frozen=True)
class Mark:
    """How a design's effects are drawn: matplotlib's marker, the same shape as a character, and its meaning."""

    shape: str
    glyph: str
    meaning: str


@dataclass(frozen=True)
class Phrases:
    """What sentences say about a design's effects; an empty phrase is left out.

    {up} and {down} are the tricks detected as helping and hurting. `climb` has both, with their sizes, in {seen}.
    """

    climb: str = ""
    """A whole sentence: from the first arm's area {first} to the last arm's {last}, over {count} comparisons."""
    detected: str = ""
    """Part of a sentence that several designs share; {a_trick} is `it` after the first."""
    place: str = ""
    """Where a trick is tried, for one sentence about all environments: `alone or taken out of the full set`."""
    nowhere: str = ""
    """The same after `neither`: `when taken out`."""
    base: str = ""
    """What the tricks are added to, for a sentence about the environments in which each one helps or hurts."""
    question: str = ""
    """What the comparison asks about a trick, in a table of its effects: `as the next rung`."""
    question_with: str = ""
    """The same if {others} go along (default: the question, then `, with {others}`)."""
    curves: str | None = None
    """What follows the environment's name above this design's curves of one trick; None: those are not shown."""

    def asked(self, label: Label) -> str:
        """A comparison in words: `as the next rung`; `alone, on baseline`; `taken out of everything, with clip`."""
        if not label.others:
            return self.question
        return (self.question_with or f"{self.question}, with {{others}}").format(others=", ".join(label.others))


@dataclass(frozen=True)
class Design:
    """Arms in the order in which they are shown, the pairs to compare, the dropped arms, and how to present them."""

    name: str
    names: tuple[str, ...]
    """The tricks that it is about."""
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    """The names of arms that break a need, each with the reason."""
    base: tuple[str, ...] = ()
    """Tricks that the chosen ones need but that are not chosen: on in all arms."""
    panels: Panels | None = None
    """None: no small multiples."""
    mark: Mark = Mark("o", "○", "with and without")
    """The mark of its comparisons."""
    phrases: Phrases = Phrases()
    rank: int = 0
    """Its place among several designs, in the rows of a figure and in sentences: lowest first."""
    crossed: Literal["", "whole", "fraction"] = ""
    """Whether tricks are crossed, in all combinations or in a balanced fraction. If so, it has main effects."""
    published: bool = False
    """Whether its arms are shown next to published scores."""
    own_arms: bool = False
    """Whether its arms are the same no matter which tricks are chosen."""

    around: str = ""
    """The preset that it takes apart and adds to, if it does."""

    @property
    def beyond(self) -> bool:
        """Whether it is about tricks beyond the ladder."""
        return any(name not in LADDER for name in self.names)

    @property
    def subject(self) -> str:
        """What it is about: the `ladder`, what goes `beyond` it, or the preset that it takes apart, by its name."""
        return self.around or ("beyond" if self.beyond else "ladder")

    @property
    def shared(self) -> tuple[Tricks, ...]:
        """The arms that at least half of the comparisons (and three) have in common: their luck is in all of them."""
        sides = [arm for pair in self.comparisons for arm in (pair.without, pair.having)]
        least = max(3, len(self.comparisons) / 2)
        return tuple(arm for arm in dict.fromkeys(sides) if sides.count(arm) >= least)

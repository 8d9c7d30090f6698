"""A design: its arms, and the pairs to compare. No code refers to one by name, so adding one takes one function."""

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
class Design:
    """Arms in the order in which they are shown, the pairs to compare, and the dropped arms."""

    name: str
    names: tuple[str, ...]
    """The tricks that it is about."""
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    """The names of arms that break a need, each with the reason."""
    base: tuple[str, ...] = ()
    """Tricks that the chosen ones need but that are not chosen: on in all arms."""
    crossed: Literal["", "whole", "fraction"] = ""
    """Whether tricks are crossed, in all combinations or in a balanced fraction. If so, it has main effects."""
    own_arms: bool = False
    """Whether its arms are the same no matter which tricks are chosen."""

    @property
    def beyond(self) -> bool:
        """Whether it is about tricks beyond the ladder."""
        return any(name not in LADDER for name in self.names)

    @property
    def shared(self) -> tuple[Tricks, ...]:
        """The arms that at least half of the comparisons (and three) have in common: their luck is in all of them."""
        sides = [arm for pair in self.comparisons for arm in (pair.without, pair.having)]
        least = max(3, len(self.comparisons) / 2)
        return tuple(arm for arm in dict.fromkeys(sides) if sides.count(arm) >= least)

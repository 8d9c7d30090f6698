"""Labels of arms and comparisons, as values that tables, headings and small print each format in their own way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tricks.config import Config


@dataclass(frozen=True)
class Label:
    """`+` or `−` (or neither, for a plain name), the trick, and the tricks that go along with it."""

    trick: str
    """The trick that is added or removed, or the whole name of an arm that is not about a trick."""
    sign: Literal["+", "−", ""] = ""
    others: tuple[str, ...] = ()
    """The tricks that it is added on top of, or that are removed with it."""
    note: str = ""
    """Small print under a plain name."""

    def __str__(self) -> str:
        """`+ baseline, gae` adds gae to baseline; `− clip, clip_anneal` removes clip, and clip_anneal with it."""
        names = [self.trick, *self.others] if self.sign == "−" else [*self.others, self.trick]
        return f"{self.sign} {', '.join(names)}".lstrip()

    @property
    def heading(self) -> str:
        """The label without the other tricks: `− clip`."""
        return f"{self.sign} {self.trick}".lstrip()

    @property
    def small_print(self) -> str:
        """The other tricks in words, `and clip_anneal` or `on baseline`; the note if there are none."""
        if not self.others:
            return self.note
        return f"{'and' if self.sign == '−' else 'on'} {', '.join(self.others)}"


def added(names: Sequence[str]) -> Label:
    """The label of an arm that adds the last name on top of the others."""
    *others, trick = names
    return Label(trick, "+", tuple(others))


def taken(trick: str, others: Sequence[str]) -> Label:
    """The label of an arm without the trick, and without the others that go with it."""
    return Label(trick, "−", tuple(others))


def place(world: str, numbers: str, rate: float | None = None) -> str:
    """The world, the numbers that belong to a trick, an unusual depth, a fixed learning rate (None or NaN: none).

    Example: `NoisyChain-v0, gae_lambda=0.0`.
    """
    given = dict(number.split("=") for number in numbers.split())
    own = [f"{name}={x}" for name, x in given.items() if name not in ("lanes", "horizon", "hidden", "gamma")]
    depth = len(given.get("hidden", "(1,1)").strip("(),").split(","))
    deep = [f"{depth} hidden layers"] if depth != len(Config.hidden) else []
    fixed = [f"lr={rate:g}"] if rate == rate and rate is not None else []
    return ", ".join([world.removeprefix("tricks/"), *own, *deep, *fixed])

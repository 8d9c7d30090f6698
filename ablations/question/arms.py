"""Arms: what is trained under one name, its flags and numbers, and which pairs of them are compared."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import LADDER, Tricks

if TYPE_CHECKING:
    from tricks.core.nets import MakeBody


@dataclass(frozen=True)
class Label:
    """`+` or `−` (or neither, for a plain name), the trick, and the tricks that go along with it."""

    trick: str  # the one that is added or removed, or the whole name of an arm that is not about a trick
    sign: Literal["+", "−", ""] = ""
    others: tuple[str, ...] = ()  # those that it is added on top of, or that are removed with it
    note: str = ""  # small print under a plain name

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


OF_WORLDS = ("lanes", "horizon", "hidden", "gamma", "imitate_steps")  # numbers that belong to no trick


def place(world: str, numbers: str, rate: float | None = None) -> str:
    """A world, the numbers that belong to a trick, an unusual depth, a fixed rate: `NoisyChain-v0, gae_lambda=0.0`."""
    given = dict(number.split("=") for number in numbers.split())
    own = [f"{name}={x}" for name, x in given.items() if name not in OF_WORLDS]
    depth = len(given.get("hidden", "(1,1)").strip("(),").split(","))
    deep = [f"{depth} hidden layer{'s' * (depth > 1)}"] if depth != len(Config.hidden) else []
    fixed = [f"lr={rate:g}"] if rate is not None and rate == rate else []  # NaN: of a table, where none is fixed
    return ", ".join([world.removeprefix("tricks/"), *own, *deep, *fixed])


SIGN = "reward_sign"  # a number that is listed among the flags of an arm that sets it
SHARED = ("env", "steps", "seeds", "backend", "device", "compile")  # of a config: the same for all arms
NUMBERS = tuple(each.name for each in fields(Config) if each.name not in SHARED)  # the others


def flags(tricks: Tricks, signed: bool = False) -> str:
    """The flags that are on, in ladder order: `baseline gae`; empty for REINFORCE. signed: `reward_sign` comes last."""
    return " ".join([*tricks.on, *[SIGN] * signed])


def in_words(tricks: Tricks) -> str:
    """The flags that are on, or `reinforce`."""
    return flags(tricks) or "reinforce"


def own_numbers(config: Config) -> dict[str, Any]:
    """The numbers of a config that differ from the defaults, the learning rate among them."""
    return {name: value for name in NUMBERS if (value := getattr(config, name)) != getattr(Config, name)}


def numbers(config: Config, signed: bool = False) -> str:
    """The numbers of a config that differ from the defaults, without the learning rate: `epochs=20 lanes=16`."""
    left = {name: x for name, x in own_numbers(config).items() if name not in ("lr", SIGN if signed else "")}
    return " ".join(f"{name}={x}".replace(" ", "") for name, x in left.items())


Pairs = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Arm:
    """What is trained and shown under one name: flags, and its own numbers.

    `Arm("mine", PPO, {"target_kl": 0.02})`. A plain name becomes a `Label`. numbers: fields of `Config`; the comparison
    sets all others. functions: those that stand in for ours in this arm, by name, as for `patched`. body: the function
    that makes its nets' hidden layers, as for `train`. Arms that train the same are equal, whatever they are called.
    Raises InputError for a number that `Config` does not have, or that all arms share.
    """

    label: Label = field(compare=False)
    tricks: Tricks
    numbers: tuple[tuple[str, Any], ...] = ()
    functions: tuple[tuple[str, Callable[..., Any]], ...] = ()
    body: "MakeBody | None" = None

    def __init__(
        self,
        name: str | Label,
        tricks: Tricks,
        numbers: Pairs = (),
        functions: Pairs = (),
        body: "MakeBody | None" = None,
    ) -> None:
        own = dict(numbers)
        if unknown := [each for each in own if each not in NUMBERS]:
            why = "is the same for all arms" if unknown[0] in SHARED else "is no field of Config"
            raise InputError(f"arm {str(name)!r}: {unknown[0]} {why}")
        if not isinstance(tricks, Tricks):
            raise InputError(f"arm {str(name)!r} needs Tricks, not {type(tricks).__name__}")
        label, given = Label(name) if isinstance(name, str) else name, tuple(dict(functions).items())
        vars(self).update(label=label, tricks=tricks, numbers=tuple(own.items()), functions=given, body=body)

    @property
    def name(self) -> str:
        """The label as text, unique within a design."""
        return str(self.label)

    @property
    def signed(self) -> bool:
        return SIGN in dict(self.numbers)

    def like(self, name: str | Label, tricks: Tricks | None = None) -> "Arm":
        """The arm under another name, and with other flags if they are given."""
        return Arm(name, self.tricks if tricks is None else tricks, self.numbers, self.functions, self.body)

    def config(self, base: Config) -> Config:
        """The config that it is trained with, where others have `base`. Raises InputError for an impossible number."""
        return replace(base, **dict(self.numbers))


@dataclass(frozen=True)
class Comparison:
    """Two arms whose difference is the effect of a trick; `label` names it and the tricks that go along with it."""

    label: Label
    without: Arm
    having: Arm

    @property
    def trick(self) -> str:
        return self.label.trick

    @property
    def focus(self) -> "Arm":
        """The arm that the comparison is about: the one without the trick if the label removes it."""
        return self.without if self.label.sign == "−" else self.having

    @property
    def reference(self) -> "Arm":
        """The arm that `focus` is compared to."""
        return self.having if self.label.sign == "−" else self.without


def levels_of(factor: str) -> tuple[str, Any, Any] | None:
    """The number and its two values that `epochs=1/10` names; None for a flag. Raises InputError for anything else."""
    number, given, values = factor.partition("=")
    if not given:
        return None
    kind = {each.name: each.type for each in fields(Config)}.get(number)
    try:
        low, high = (int(x) if kind is int else float(x) for x in values.split("/"))
    except ValueError:
        low = high = 0  # which is refused
    if number not in NUMBERS or low == high:
        raise InputError(f"{factor!r} must be a flag, or a number of Config with two values, such as epochs=1/10")
    return number, low, high


def compared(arm: Arm, reference: Arm) -> Comparison:
    """The comparison of an arm of a design of one's own to a reference."""
    return Comparison(arm.label, reference, arm)


@dataclass(frozen=True)
class Design:
    """Arms in the order in which they are shown, the pairs to compare, and the dropped arms."""

    name: str
    names: tuple[str, ...]  # the tricks that it is about
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()  # the names of arms that break a need, each with the reason
    base: tuple[str, ...] = ()  # tricks that the chosen ones need but that are not chosen: on in all arms
    crossed: bool = False  # whether it has all combinations of its tricks
    own_arms: bool = False  # whether its arms are the same no matter which tricks are chosen

    @property
    def beyond(self) -> bool:
        """Whether it is about tricks beyond the ladder."""
        return any(name not in LADDER for name in self.names)

    @property
    def repeats(self) -> bool:
        """Whether it compares a trick more than once."""
        return len({pair.trick for pair in self.comparisons}) < len(self.comparisons)

    def factors_of(self, arm: Arm) -> frozenset[str]:
        """Which of the crossed tricks and numbers an arm has on."""
        numbers, levels = dict(arm.numbers), {name: levels_of(name) for name in self.names}
        high = {name for name, level in levels.items() if level and numbers.get(level[0]) == level[2]}
        return frozenset({*arm.tricks.on} & {*self.names} | high)

    @property
    def shared(self) -> tuple[Arm, ...]:
        """The arms that at least half of the comparisons (and three) have in common: their luck is in all of them."""
        sides = Counter(arm for pair in self.comparisons for arm in (pair.without, pair.having))
        return tuple(arm for arm, times in sides.items() if times >= max(3, len(self.comparisons) / 2))

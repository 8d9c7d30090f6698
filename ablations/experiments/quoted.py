"""Command lines that have arms in quotes, options of their own, and those of `python -m tricks train` for all arms."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from ablations.design.arm_texts import LISTS, SWITCHES, option_name
from ablations.design.arms import NUMBERS
from ablations.training.seed_ranges import parse_seeds
from ablations.training.tuning import SEEDS_PER_RATE
from tricks.config import Config
from tricks.errors import InputError
from tricks.flags import meant
from tricks.ladder import NEEDS

TUNE = "tune"
OUT = Path("runs/ablations")
ABOUT = """An arm is a rung with flags and numbers, in quotes, as for `python -m tricks train`:
'ppo --no-gae --lr 0.01', or 'name=ppo --no-gae'. All other options of `train`, such as
--env, --steps or --gamma, hold for all arms and stand outside the quotes."""
MORE = (
    "Every number of `python -m tricks train`, such as --gamma or --lanes, is an option, too, and holds for all arms."
)
Rates = tuple[float, ...] | None  # empty: each arm at its own `lr`; None: the whole procedure of tuning


@dataclass(frozen=True)
class Options:
    """The options that all of these commands have."""

    seeds: str = "20"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    rates: str = ""
    """Learning rates such as 0.001,0.003,0.01, of which each arm gets its own best, chosen on other seeds; `tune` for
    the whole procedure; empty: every arm runs at the rate given."""
    rate_seeds: int = SEEDS_PER_RATE
    """Seeds on which each of these rates is tried."""
    margin: float | None = None
    """A difference in area that is certainly smaller than this counts as practically nothing (default: a twentieth of
    the environment's scale, if it has one)."""
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    out: Path = OUT
    """Folder for the finished jobs, the tables and the figures."""


Own = TypeVar("Own", bound=Options)


@dataclass(frozen=True)
class Line(Generic[Own]):
    """A command line in its parts."""

    texts: list[str]
    """What stands before the first option."""
    own: Own
    """The command's own options."""
    flags: list[str]
    """Switches of tricks, as they were given."""
    config: Config
    """What holds for all arms."""
    given: Collection[str]
    """The numbers of the config that were given."""
    seeds: tuple[int, ...]
    rates: Rates

    @property
    def held(self) -> Collection[str]:
        """Numbers that a preset does not set: those given, and the learning rate where one is chosen."""
        return {*self.given, "lr"} if self.rates != () else self.given


def parsed(arguments: Sequence[str], own: type[Own], usage: str) -> Line[Own]:
    """Take a command line apart. own: the dataclass of the command's options. Raises InputError."""
    from tricks.cli.shell import options, parse

    arguments = ["--help" if word == "-h" else word for word in arguments]
    first = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    parts: dict[str, list[str]] = {"own": [], "flags": [], "shared": []}
    names = [field.name for field in fields(own)]
    known = [*names, *NEEDS, *(field.name for field in fields(Config)), "help"]
    for words in _by_option(arguments[first:]):
        name = option_name(words[0])
        if name not in known:
            switches = [f"--{each.replace('_', '-')}" for each in known]
            raise InputError(f"unknown option {words[0]}{meant(words[0], switches) or '; see --help'}")
        if len(words) > 1 + (name not in NEEDS and name not in SWITCHES) and name not in LISTS:
            raise InputError(f"{words[-1]!r} comes after the options; put it first: {usage}")
        parts["own" if name in (*names, "help") else "flags" if name in NEEDS else "shared"] += words
    chosen = options(own, parts["own"], f"python -m ablations {usage}", ABOUT)
    _, (config,) = parse(["ppo", *parts["shared"]], "train", Config)
    given = {option_name(words[0]) for words in _by_option(parts["shared"])}
    rates = checked_rates(chosen.rates)
    if rates != () and "lr" in given:
        raise InputError("--lr and --rates exclude each other; --rates '' leaves them out")
    return Line(list(arguments[:first]), chosen, parts["flags"], config, given, parse_seeds(chosen.seeds), rates)


Kind = TypeVar("Kind")


def numbered(kind: type[Kind], arguments: Sequence[str], command: str) -> Kind:
    """A command's options; numbers of `Config` that are no options of its own, such as --gamma, go into `numbers`.

    kind: a dataclass with a field `numbers`. Raises InputError.
    """
    from tricks.cli.shell import options, parse

    own, shared = list[str](), list[str]()
    names = {field.name for field in fields(kind)} - {"numbers"}  # type: ignore[arg-type]
    first = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    for words in _by_option(arguments[first:]):
        name = option_name(words[0])
        if name not in {*names, *NUMBERS, "help", "h"}:
            switches = [f"--{each.replace('_', '-')}" for each in (*names, *NUMBERS)]
            raise InputError(f"unknown option {words[0]}{meant(words[0], switches) or '; see --help'}")
        (shared if name in NUMBERS and name not in names else own).extend(words)
    chosen = options(kind, [*arguments[:first], *own], f"python -m ablations {command}", MORE)
    _, (config,) = parse(["ppo", *shared], "train", Config)
    given = [option_name(words[0]) for words in _by_option(shared)]
    return replace(chosen, numbers=tuple((name, getattr(config, name)) for name in given))  # type: ignore[type-var]


def checked_rates(given: str | Sequence[float]) -> Rates:
    """The rates that are asked for. Raises InputError for one that cannot be."""
    if given == TUNE:
        return None
    try:
        every: Sequence[Any] = given.split(",") if isinstance(given, str) else given
        rates = tuple(sorted({float(rate) for rate in every if rate != ""}))
    except (TypeError, ValueError):
        raise InputError(f"rates must be numbers such as 0.001,0.003, or tune, not {given!r}") from None
    if wrong := [rate for rate in rates if not 0 < rate <= 1]:
        raise InputError(f"a learning rate must be more than 0 and at most 1, not {wrong[0]:g}")
    return rates


def _by_option(arguments: Sequence[str]) -> list[list[str]]:
    """Each option with its values."""
    found: list[list[str]] = []
    for word in arguments:
        if word.startswith("-") and not _is_number(word):
            found.append([word])
        else:
            found[-1].append(word)
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

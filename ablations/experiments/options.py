"""The options of commands: where jobs train, numbers of `Config` that hold for all arms, and questions in words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from ablations.question.arms import NUMBERS
from ablations.question.words import option_name
from ablations.training.question import TUNE, Rates
from ablations.training.tuning import SEEDS_PER_RATE
from ablations.training.workers import worker_count
from tricks.cli.shell import Parser
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import NEEDS

OUT = Path("runs/ablations")
AT_MOST = 100  # seeds per arm, of a question that is asked until it is decided
T = TypeVar("T")


@dataclass(frozen=True)
class Machine:
    """Where jobs train."""

    workers: int = 0
    """Number of worker processes (0: one per core, or one on a GPU)."""
    device: str = "cpu"
    """Where to train: cpu, cuda, cuda:1, ... CPUs and GPUs round differently, so their jobs are different ones."""
    out: Path = OUT
    """Folder for the finished jobs, the tables and the figures."""

    @property
    def processes(self) -> int:
        """The number of worker processes. Raises InputError if this machine lacks the device."""
        return worker_count(self.workers, self.device)


@dataclass(frozen=True)
class Numbered(Machine):
    """A command that takes numbers of `Config`, too."""

    about, takes = "", NUMBERS  # what its help says first, and which fields of `Config` can be given
    usual = Config()  # what its help gives as defaults
    numbers: tuple[tuple[str, Any], ...] = ()
    """Those that were given, which hold for all arms."""

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.numbers)

    @property
    def said(self) -> str:
        """`gamma=0.9 epochs=2`."""
        return " ".join(f"{name}={value}" for name, value in self.numbers)


@dataclass(frozen=True)
class Worded(Numbered):
    """A question whose arms are rungs with flags and numbers."""

    about = """An arm is a rung with flags and numbers, in quotes, as for `python -m tricks train`:
'ppo --no-gae --lr 0.01', or 'name=ppo --no-gae'. All other options of `train`, such as
--env, --steps or --gamma, hold for all arms and stand outside the quotes."""
    takes = tuple(field.name for field in fields(Config))
    flags: tuple[Any, ...] = ()
    """Switches of tricks, as they were given."""
    suite: str = ""
    """Train in all environments of a suite, such as classic (default: in those of --env, separated by commas)."""
    seeds: str = "20"
    """How many seeds, all unused by other questions in --out; or a range (10:30: seeds 10 to 29)."""
    until: str = ""
    """`decided`: add seeds, beginning with ten, until every comparison is decided, or each arm has --at-most seeds."""
    at_most: int = AT_MOST
    """The most seeds per arm with --until decided."""
    rates: str = ""
    """Learning rates such as 0.001,0.003,0.01, of which each arm gets its own best, chosen on other seeds; `tune` for
    the whole procedure; empty: every arm runs at the rate given."""
    rate_seeds: int = SEEDS_PER_RATE
    """Seeds on which each of these rates is tried."""
    score: str = "area"
    """What is compared: `area`, the mean return over training, or `late`, that of its last tenth."""
    margin: float | None = None
    """A difference in area that is certainly smaller than this counts as practically nothing (default: a twentieth of
    the environment's scale, if it has one)."""

    @property
    def config(self) -> Config:
        return Config(device=self.device, **self.given)

    @property
    def tried(self) -> Rates:
        """The learning rates as a `Question` takes them. Raises InputError if one cannot be."""
        rates = checked_rates(self.rates)
        if rates and "lr" in self.given:
            raise InputError("--lr and --rates exclude each other; --rates '' leaves them out")
        return rates

    @property
    def held(self) -> Collection[str]:
        """Numbers that a preset does not set: those given, and the learning rate where one is chosen."""
        return {*self.given, "lr"} if self.tried else self.given


def parsed(kind: type[T], arguments: Sequence[str], command: str) -> T:
    """A command's options, with the numbers and the switches that were given, if it takes those. Raises InputError."""
    start = kind()
    parser = Parser(f"python -m ablations {command}", getattr(start, "about", ""))
    parser.takes(start)
    if not isinstance(start, Numbered):
        return parser.filled(arguments)[0]  # type: ignore[no-any-return]
    flags = [word for word in arguments if word.startswith("--") and option_name(word) in NEEDS]
    more: dict[str, Any] = {"flags": tuple(flags)} if isinstance(start, Worded) else {}
    words = [word for word in arguments if not more or word not in flags]
    others = [name for name in start.takes if not hasattr(start, name)]
    parser.takes(start.usual, "What holds for all arms.", others)
    chosen, config = parser.filled(words)
    names = dict.fromkeys(option_name(word) for word in words if word.startswith("--"))
    numbers = tuple((name, getattr(config, name)) for name in names if name in others)
    return replace(chosen, numbers=numbers, **more)  # type: ignore[no-any-return]


def checked_rates(given: str | Sequence[float]) -> Rates:
    """The rates that are asked for. Raises InputError for one that cannot be."""
    if isinstance(given, str) and given == TUNE:  # an array has no single answer
        return TUNE
    try:
        every: Sequence[Any] = given.split(",") if isinstance(given, str) else given
        rates = tuple(sorted({float(rate) for rate in every if rate != ""}))
    except (TypeError, ValueError):
        raise InputError(f"rates must be numbers such as 0.001,0.003, or tune, not {given!r}") from None
    if wrong := [rate for rate in rates if not 0 < rate <= 1]:
        raise InputError(f"a learning rate must be more than 0 and at most 1, not {wrong[0]:g}")
    return rates

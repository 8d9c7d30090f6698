"""`python -m ablations compare`, and `compare` in Python: any arms against a reference, over many seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ablations.design.choice import idle
from ablations.design.spoken import SWITCHES, arms_of, option_name, spoken_arm
from ablations.experiments.comparing import Request, answer
from ablations.report.comparison_page import Compared, brief
from ablations.training.seed_ranges import parse_seeds
from ablations.training.tuning import SEEDS_PER_RATE
from tricks import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.flags import meant
from tricks.ladder import NEEDS
from tricks.values import checked

TUNE = "tune"
OUT = Path("runs/ablations")
Rates = str | Sequence[float]
ABOUT = """An arm is a rung with flags and numbers, in quotes, as for `python -m tricks train`:
'ppo --no-gae --lr 0.01', or 'name=ppo --no-gae'. All other options of `train`, such as
--env, --steps or --gamma, hold for all arms and stand outside the quotes."""


@checked
def compare(
    arms: Sequence[Any] | Mapping[str, Any],
    config: Config | None = None,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    seeds: int | Sequence[int] = 20,
    against: str = "",
    rates: Rates = (),
    rate_seeds: int = SEEDS_PER_RATE,
    margin: float | None = None,
    out: str | Path = OUT,
    workers: int = 0,
) -> Compared:
    """Train arms over many seeds, and say how each differs from the reference.

    arms: each an `Arm`, `Tricks`, or a text as for `python -m tricks train` ("ppo --no-gae --lr 0.01"); a mapping gives
    them names. config: what they share; its numbers that are not the defaults hold in presets, too, and its seeds do
    not count. env, body: functions, as for `train`; they go to worker processes if they can be pickled. against: the
    reference (default: the first arm). rates: learning rates of which each arm runs at its own best, chosen on tuning
    seeds, `rate_seeds` per rate; or "tune", which looks closer at the best three and past the grid's edges. Without
    rates, each arm runs at its own `lr`. margin: see `compared`; in an environment with a scale it has a default. out:
    where finished jobs and results go.

    Finished jobs are kept, so an interrupted comparison goes on where it was. Raises InputError, before anything is
    trained, for arms that cannot be.
    """
    config = config or Config()
    if env is not None and config.env == Config.env:
        name = getattr(env, "__name__", type(env).__name__)
        config = replace(config, env=name if name.isidentifier() else "own environment")  # not of a lambda
    wanted = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    chosen = checked_rates(rates)
    made = arms_of(arms, config, ["lr"] if chosen != () else [])
    asked = Request(made, config, wanted, against, chosen, rate_seeds, margin)
    return answer(asked, Path(out), workers, env=env, body=body)


def checked_rates(given: Rates) -> tuple[float, ...] | None:
    """The rates of a request. Raises InputError for one that cannot be."""
    if given == TUNE:
        return None
    try:
        text = given.split(",") if isinstance(given, str) else given
        rates = tuple(sorted({float(rate) for rate in text if rate != ""}))
    except (TypeError, ValueError):
        raise InputError(f"rates must be numbers such as 0.001,0.003, or tune, not {given!r}") from None
    if wrong := [rate for rate in rates if not 0 < rate <= 1]:
        raise InputError(f"a learning rate must be more than 0 and at most 1, not {wrong[0]:g}")
    return rates


@dataclass(frozen=True)
class Options:
    """The options of `compare` besides those of `python -m tricks train`."""

    seeds: str = "20"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    against: str = ""
    """The name of the arm that all others are compared to (default: the first)."""
    rates: str = ""
    """Learning rates such as 0.001,0.003,0.01, of which each arm gets its own best, chosen on other seeds; `tune` for
    the whole procedure; by default, every arm runs at the rate given."""
    rate_seeds: int = SEEDS_PER_RATE
    """Seeds on which each of these rates is tried."""
    margin: float | None = None
    """A difference in area that is certainly smaller than this counts as practically nothing (default: a twentieth of
    the environment's scale, if it has one)."""
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    out: Path = OUT
    """Folder for the finished jobs, the tables and the figures."""


class Split(NamedTuple):
    """A command line that has arms in quotes, options of its own, and those of `python -m tricks train` for all."""

    texts: list[str]
    """What stands before the first option."""
    chosen: Any
    """The command's own options."""
    flags: list[str]
    """Switches of tricks, as they were given."""
    config: Config
    given: set[str]
    """The numbers of the config that were given."""


def split(arguments: Sequence[str], own: type, usage: str) -> Split:
    """Split a command line. own: the dataclass of the command's options. Raises InputError."""
    from tricks.cli.parsing import parse
    from tricks.cli.shell import options

    texts, rest = _until_option(arguments)
    mine: list[str] = []
    flags: list[str] = []
    shared: list[str] = []
    names = {field.name for field in fields(own)}
    known = [*names, *NEEDS, *(field.name for field in fields(Config)), "help"]
    for words in _by_option(rest):
        name = option_name(words[0])
        if name not in known:
            switches = [f"--{each.replace('_', '-')}" for each in known]
            raise InputError(f"unknown option {words[0]}{meant(words[0], switches) or '; see --help'}")
        place = mine if name in (*names, "help") else flags if name in NEEDS else shared
        place += words
        if (len(words) > 2 and name != "hidden") or (len(words) > 1 and (name in NEEDS or name in SWITCHES)):
            raise InputError(f"{words[-1]!r} stands after the options; {usage} ... comes first")
    chosen: Any = options(own, mine, f"python -m ablations {usage}", ABOUT)
    _, (config,) = parse(["ppo", *shared], "train", Config)
    return Split(texts, chosen, flags, config, {option_name(words[0]) for words in _by_option(shared)})


def requested(arguments: Sequence[str]) -> tuple[Request, Options]:
    """What a command line asks for. Raises InputError."""
    texts, own, flags, config, given = split(arguments, Options, "compare ARM ARM")
    chosen: Options = own
    rates = checked_rates(chosen.rates)
    chosen_for_it = {"lr"} if rates != () else set()  # a preset's own rate gives way
    arms = [spoken_arm(text, config, given | chosen_for_it, flags) for text in texts]
    faults = {name: [fault for arm in arms if (fault := idle(name, arm.tricks))] for name in given}
    if unused := [name for name, found in faults.items() if arms and len(found) == len(arms)]:
        raise InputError(f"{unused[0]} has no effect in any arm: {faults[unused[0]][0]}")
    if rates != () and "lr" in given:
        raise InputError("--lr and --rates exclude each other")
    seeds = parse_seeds(chosen.seeds)
    return Request(arms, config, seeds, chosen.against, rates, chosen.rate_seeds, chosen.margin), chosen


def _until_option(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    first = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    return list(arguments[:first]), list(arguments[first:])


def _by_option(arguments: Sequence[str]) -> list[list[str]]:
    """Each option with its values."""
    found: list[list[str]] = []
    for word in arguments:
        if word.startswith("--"):
            found.append([word])
        elif found:
            found[-1].append(word)
    return found


def main(arguments: Sequence[str], command: str) -> int:
    """Make a comparison, print its table, and say where the files are. Returns the exit status."""
    asked, chosen = requested(arguments)
    size = f"{len(asked.arms)} arms × {len(asked.seeds)} seeds × {asked.config.steps:,} steps"
    print(f"{asked.config.env}: {size}", flush=True)
    found = answer(asked, chosen.out, chosen.workers, command=command)
    print(f"\n{brief(found)}\n\nwrote {', '.join(str(path) for path in found.files)}")
    return 0

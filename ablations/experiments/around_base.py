"""`python -m ablations run --base ...` and `run --design my.py:name`: around any base, or of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ablations.design.around import AROUND, references_of
from ablations.design.choice import tricks_named
from ablations.design.own_file import function_from
from ablations.design.spoken import spoken_arm
from ablations.design.story import Arm, Design
from ablations.experiments.compare import OUT, checked_rates, split
from ablations.experiments.comparing import Request, answer
from ablations.report.comparison_page import brief
from ablations.training.seed_ranges import parse_seeds
from ablations.training.tuning import SEEDS_PER_RATE
from tricks.errors import InputError, said


@dataclass(frozen=True)
class Options:
    """The options of `run` with a base or a design of one's own, besides those of `python -m tricks train`."""

    design: str = "leave-one-out"
    """leave-one-out, add-one-in, ladder or factorial around the base; or file.py:function, which returns a Design."""
    base: str = ""
    """A rung with flags and numbers, in quotes: `continuous --no-state-norm`."""
    tricks: str = ""
    """The tricks that the design is about, such as clip,gae (default: all that it can be about)."""
    seeds: str = "20"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
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


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Whether a command line of `run` has a base, or a design from a file."""
    design = next(
        (after for before, after in pairwise(" ".join(arguments).replace("=", " ").split()) if before == "--design"), ""
    )
    return ".py:" in design or any(word.split("=")[0] == "--base" for word in arguments)


def requested(arguments: Sequence[str]) -> tuple[Request, Options]:
    """What a command line asks for. Raises InputError."""
    asked = split(arguments, Options, "run")
    chosen: Options = asked.chosen
    if asked.texts or asked.flags:
        raise InputError(f"{[*asked.texts, *asked.flags][0]} belongs into the base: --base 'ppo --no-gae'")
    rates = checked_rates(chosen.rates)
    if rates != () and "lr" in asked.given:
        raise InputError("--lr and --rates exclude each other")
    given = {*asked.given, "lr"} if rates != () else asked.given
    if chosen.base:
        names = tricks_named(chosen.tricks) if chosen.tricks else []
        if chosen.design not in AROUND:
            raise InputError(f"no design {chosen.design!r} around a base; there are {', '.join(AROUND)}")
        design = AROUND[chosen.design](spoken_arm(chosen.base, asked.config, given), names)
    else:
        if chosen.tricks:
            raise InputError("a design from a file has its own arms; leave out --tricks")
        design = design_from(chosen.design)
    seeds = parse_seeds(chosen.seeds)
    request = Request(design.arms, asked.config, seeds, references_of(design), rates, chosen.rate_seeds, chosen.margin)
    return request._replace(design=design), chosen


def design_from(place: str) -> Design:
    """The design that a function in a file returns. Raises InputError if it returns none."""
    make = function_from(place)
    try:
        found = make()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{place} fails: {type(error).__name__}: {said(error)}") from error
    if not isinstance(found, Design):
        raise InputError(f"{place} returns {type(found).__name__}, not a Design")
    if not all(isinstance(arm, Arm) for arm in found.arms):
        raise InputError(f"{place} returns a design whose arms are not all of class Arm")
    return found


def main(arguments: Sequence[str], command: str) -> int:
    """Train the design, print its table, and say where the files are. Returns the exit status."""
    asked, chosen = requested(arguments)
    design = asked.design
    assert design is not None
    size = f"{len(asked.arms)} arms × {len(asked.seeds)} seeds × {asked.config.steps:,} steps"
    print(f"{design.name}, on {asked.config.env}: {size}", flush=True)
    for name, reason in design.dropped:
        print(f"dropped: {name} ({reason})")
    found = answer(asked, chosen.out, chosen.workers, command=command)
    print(f"\n{brief(found)}\n\nwrote {', '.join(str(path) for path in found.files)}")
    return 0

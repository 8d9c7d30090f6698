"""`python -m ablations run --base ...` and `run --design my.py:name`: designs around any base, or of your own."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ablations.design.arm_texts import arm_from, refuse_unfit
from ablations.design.arms import Arm, Design
from ablations.design.around import AROUND, references_of
from ablations.design.choice import tricks_named
from ablations.design.own_file import function_from
from ablations.experiments import quoted
from ablations.experiments.comparing import show
from ablations.experiments.quoted import parsed
from ablations.experiments.requests import Request
from tricks.errors import InputError, in_words


@dataclass(frozen=True)
class Options(quoted.Options):
    """The options of `run` with a base or a design of one's own, besides those of `python -m tricks train`."""

    design: str = "leave-one-out"
    """leave-one-out, add-one-in, ladder or factorial around the base; or file.py:function, which returns a Design."""
    base: str = ""
    """A rung with flags and numbers, in quotes: `continuous --no-state-norm`."""
    tricks: str = ""
    """The tricks that the design is about, such as clip,gae (default: all that it can be about)."""


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Whether a command line of `run` has a base, or a design from a file."""
    words = [part for word in arguments for part in word.split("=", 1)]
    return "--base" in words or any(a == "--design" and ".py:" in b for a, b in pairwise(words))


def requested(arguments: Sequence[str]) -> tuple[Request, Options]:
    """What a command line asks for. Raises InputError."""
    line = parsed(arguments, Options, "run")
    own = line.own
    if astray := [*line.texts, *line.flags]:
        raise InputError(f"{astray[0]} belongs in the base: --base 'ppo --no-gae'")
    if own.base:
        names = tricks_named(own.tricks) if own.tricks else []
        if own.design not in AROUND:
            raise InputError(f"no design {own.design!r} around a base; there are {', '.join(AROUND)}")
        design = AROUND[own.design](arm_from(own.base, line.held), names)
    else:
        if own.tricks:
            raise InputError("a design from a file has its own arms; leave out --tricks")
        design = design_from(own.design)
    refuse_unfit(design.arms, line.given)
    against = references_of(design) or ""
    return Request(design.arms, line.config, line.seeds, against, line.rates, own.rate_seeds, own.margin, design), own


def design_from(place: str) -> Design:
    """The design that a function in a file returns. Raises InputError if it returns none."""
    make = function_from(place)
    try:
        found = make()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{place} fails: {in_words(error)}") from error
    if not isinstance(found, Design):
        raise InputError(f"{place} returns {type(found).__name__}, not a Design")
    if not all(isinstance(arm, Arm) for arm in found.arms):
        raise InputError(f"{place} returns a design whose arms are not all of class Arm")
    return found


def main(arguments: Sequence[str], command: str) -> int:
    """Train the design, print its table, and say where the files are. Returns the exit status."""
    asked, own = requested(arguments)
    show(asked, own.out, own.workers, command)
    return 0

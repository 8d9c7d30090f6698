"""Which seeds: those that a request names, more for shared arms, the blocks in which they train, the tuning seeds."""

from collections.abc import Sequence

from tricks.errors import InputError

FIRST_TUNING_SEED = 1_000_000_000  # all reported seeds are below
MOST_SEEDS = 100_000  # of one request
TEN, THIRTY = 10, 30  # of each thirty seeds, the first ten are one job, and the other twenty another
APART = 60  # between an arm's seeds and those that it has in addition


def parse_seeds(text: str) -> tuple[int, ...]:
    """ "10" is 0 to 9, "10:30" is 10 to 29. Raises InputError for anything else."""
    try:
        first, last = (int(part) for part in (text.split(":") if ":" in text else ("0", text)))
    except ValueError:
        raise InputError(f"--seeds must be a count (10) or a range (10:30), not {text!r}") from None
    if not 0 <= first < last:
        raise InputError(f"--seeds must name at least one seed, not {text!r}")
    if last - first > MOST_SEEDS:
        raise InputError(f"--seeds must name at most {MOST_SEEDS:,} seeds, not {last - first:,}")
    return _reportable(first, last)


def _reportable(first: int, end: int) -> tuple[int, ...]:
    """The seeds before `end`. Raises InputError if some of them are for tuning."""
    if end > FIRST_TUNING_SEED:
        said = f"so seeds {first} to {end - 1} cannot be reported"
        raise InputError(f"seeds from {FIRST_TUNING_SEED} on are for tuning only, {said}")
    return tuple(range(first, end))


def further(seeds: Sequence[int]) -> tuple[int, ...]:
    """As many seeds again, a multiple of 60 later: those in between are for a confirmation."""
    shift = -(-2 * len(seeds) // APART) * APART
    return _reportable(seeds[0] + shift, seeds[-1] + shift + 1)


def following(seeds: Sequence[int]) -> tuple[int, ...]:
    """As many seeds again, right after these."""
    return _reportable(seeds[-1] + 1, seeds[-1] + 1 + len(seeds))


def blocks(seeds: Sequence[int]) -> list[tuple[int, ...]]:
    """The whole blocks that contain the seeds: 0 to 9, 10 to 29, 30 to 39, 40 to 59, ...

    Rounding depends on which seeds share a stack, so a job is a fixed block, whichever seeds were requested. Ten are
    quick to look at, and twenty train a seed in 5/6 of the time.
    """
    firsts = sorted({seed - seed % THIRTY + TEN * (seed % THIRTY >= TEN) for seed in seeds})
    return [tuple(range(first, first + (THIRTY - TEN if first % THIRTY else TEN))) for first in firsts]

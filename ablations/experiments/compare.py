"""`python -m ablations compare`, and `compare` in Python: any arms against a reference, over many seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablations.design.arm_texts import arm_from, arms_of, refuse_unfit
from ablations.experiments import quoted
from ablations.experiments.comparing import answer, show
from ablations.experiments.quoted import OUT, checked_rates, parsed
from ablations.experiments.requests import Request
from ablations.report.comparison_page import Compared
from ablations.training.tuning import SEEDS_PER_RATE
from tricks import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.values import checked


@checked
def compare(
    arms: Sequence[Any] | Mapping[str, Any],
    config: Config | None = None,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    seeds: int | Sequence[int] = 20,
    against: str = "",
    rates: str | Sequence[float] = (),
    rate_seeds: int = SEEDS_PER_RATE,
    margin: float | None = None,
    out: str | Path = OUT,
    workers: int = 0,
) -> Compared:
    """Train arms over many seeds, and say how each differs from the reference.

    arms: each an `Arm`, `Tricks`, or a text as for `python -m tricks train` ("ppo --no-gae --lr 0.01"); a mapping gives
    them names. config: what they share; its numbers that are not the defaults hold in presets, too, and its seeds do
    not count. env, body: functions, as for `train`; they go to worker processes if they can be pickled. against: the
    reference (default: the first arm). rates: learning rates, of which each arm runs at its own best, chosen on
    `rate_seeds` tuning seeds per rate; or "tune", which looks closer at the best three and past the grid's edges.
    Without rates, each arm runs at its own `lr`. margin: see `compared_arms`; an environment with a scale has a
    default. out: where finished jobs and results go.

    Finished jobs are kept, so an interrupted comparison goes on where it stopped. Raises InputError, before anything is
    trained, for arms that cannot be.
    """
    config = config or Config()
    if env is not None and config.env == Config.env:
        name = getattr(env, "__name__", type(env).__name__)
        config = replace(config, env=name if name.isidentifier() else "own environment")  # not of a lambda
    chosen = checked_rates(rates)
    made = arms_of(arms, config, ["lr"] if chosen != () else [])
    wanted = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    return answer(Request(made, config, wanted, against, chosen, rate_seeds, margin), Path(out), workers, env, body)


@dataclass(frozen=True)
class Options(quoted.Options):
    """The options of `compare` besides those of `python -m tricks train`."""

    against: str = ""
    """The name of the arm that all others are compared to (default: the first)."""


def requested(arguments: Sequence[str]) -> tuple[Request, Options]:
    """What a command line asks for. Raises InputError."""
    line = parsed(arguments, Options, "compare ARM ARM ...")
    arms, own = [arm_from(text, line.held, line.flags) for text in line.texts], line.own
    refuse_unfit(arms, line.given)
    return Request(arms, line.config, line.seeds, own.against, line.rates, own.rate_seeds, own.margin), own


def main(arguments: Sequence[str], command: str) -> int:
    """Make a comparison, print its table, and say where the files are. Returns the exit status."""
    asked, own = requested(arguments)
    show(asked, own.out, own.workers, command)
    return 0

"""`python -m ablations judge`, and `judge` in Python: does this trick matter?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablations.analysis.study_files import RESULTS, SUFFIX, load
from ablations.design.arm_texts import arm_from, arms_of, refuse_unfit
from ablations.design.arms import Arm
from ablations.design.around import with_it, without_it
from ablations.design.own_file import function_from, replaced_in_words
from ablations.experiments import quoted
from ablations.experiments.comparing import answer, best, tuned
from ablations.experiments.quoted import OUT, checked_rates, parsed
from ablations.experiments.requests import Request, jobs_of, settings_of
from ablations.report.judged_page import Judged, write_judged
from ablations.report.sentences import spoken
from ablations.training.estimate import estimate
from ablations.training.rate_table import GRID
from ablations.training.store import Store
from ablations.training.tuning import jobs_at
from ablations.training.workers import worker_count
from tricks import Config
from tricks.errors import InputError
from tricks.ladder import NEEDS, check_known
from tricks.replaced import home
from tricks.values import checked

USUAL = (Config("CartPole-v1"), Config("Acrobot-v1"), Config("Pendulum-v1", gamma=0.9))
RATES = GRID[:4]
RATE_SEEDS = 5
WORLDS = RESULTS / f"worlds_from100{SUFFIX}"


@checked
def judge(
    trick: str = "",
    base: Any = "ppo",
    configs: Sequence[Any] = USUAL,
    functions: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 10,
    rates: str | Sequence[float] = RATES,
    rate_seeds: int = RATE_SEEDS,
    margin: float | None = None,
    out: str | Path = OUT,
    workers: int = 0,
) -> Judged:
    """Train a base with and without a trick in several environments, and say where it matters.

    trick: a flag; one that the base has is taken out, with what needs it, and any other is added, to the base with what
    it needs. Or functions that stand in for ours, by name, as for `patched`: then the base is compared to the base with
    them. base: an `Arm`, or a text as for `compare`. configs: the environments, each with its numbers and budget.
    rates, margin: as for `compare`. Each arm runs at its own best rate in each environment. Raises InputError.
    """
    wanted, chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds), checked_rates(rates)
    held = ["lr"] if chosen != () else []
    asked = [
        Request(
            two_arms(trick, arms_of([base], config, held)[0], functions or {}),
            config,
            wanted,
            "",
            chosen,
            rate_seeds,
            margin,
        )
        for config in configs
    ]
    said = base.name if isinstance(base, Arm) else str(base)
    return _judged(trick, functions or {}, said, asked, Path(out), workers)


def _judged(
    trick: str,
    functions: Mapping[str, Callable[..., Any]],
    base: str,
    asked: Sequence[Request],
    out: Path,
    workers: int,
    command: str = "",
) -> Judged:
    """Check everything, say how long it will take, train what is missing, and write the results."""
    if not asked:
        raise InputError("no environment was named")
    for request in asked:
        settings_of(request)
    processes = worker_count(workers, asked[0].config.device)
    left = sum(_seconds(request, out, processes) for request in asked)
    with_them = f" with {processes} worker{'s' * (processes > 1)}"
    print(f"about {spoken(left)}{with_them}" if left else "everything is trained already", flush=True)
    found = [answer(request, out, workers, command=command) for request in asked]
    trials = [load(WORLDS)] if trick in NEEDS and WORLDS.exists() else []
    return write_judged(trick or replaced_in_words(functions), base, found, trials, out, command)


def two_arms(trick: str, arm: Arm, functions: Mapping[str, Callable[..., Any]]) -> list[Arm]:
    """The arm without the trick, and the one with it; the given one is one of them, or lacks what the trick needs."""
    if bool(trick) == bool(functions):
        raise InputError("name one flag, or functions that replace ours; for example: judge kl_stop")
    if functions:
        for name in functions:
            home(name)
        own = dict(arm.functions) | dict(functions)
        return [arm, Arm(f"{arm.name} with {replaced_in_words(functions)}", arm.tricks, arm.numbers, own)]
    check_known([trick])
    if trick in arm.tricks.on:
        pair = without_it(arm.tricks, trick)
        gone = ", ".join([trick, *pair.label.others])
        return [Arm(f"{arm.name} without {gone}", pair.without, arm.numbers, arm.functions), arm]
    pair = with_it(arm.tricks, trick, arm.tricks.on)
    needed = "".join(f" + {name}" for name in pair.label.others)
    names = f"{arm.name}{needed}", f"{arm.name}{needed} + {trick}"
    pairs = zip(names, (pair.without, pair.having), strict=True)
    return [Arm(name, on, arm.numbers, arm.functions) for name, on in pairs]


def _seconds(asked: Request, out: Path, workers: int) -> float:
    """About how long a comparison will take. Until its rates are chosen, the one given stands in for the best."""
    settings, store = settings_of(asked), Store(out / "jobs", look_only=True)
    wanted = dict.fromkeys(asked.rates or (), range(asked.rate_seeds))
    tries = [job for each in settings for job in jobs_at(each, wanted)]
    known = tuned(settings, asked, store, workers) if tries and all(map(store.has, tries)) else []
    rates = [best(each) for each in known] or [each.config.rates[0] for each in settings]
    last = [job for each, lr in zip(settings, rates, strict=True) for job in jobs_of(each, lr, asked.seeds)]
    return estimate([*tries, *last], store, workers)


@dataclass(frozen=True)
class Options(quoted.Options):
    """The options of `judge` besides those of `python -m tricks train`."""

    base: str = "ppo"
    """What the trick is added to or taken out of: a rung with flags and numbers, in quotes, as for `compare`."""
    env: str = ""
    """Environments, separated by commas (default: CartPole-v1, Acrobot-v1, and Pendulum-v1 with γ = 0.9)."""
    seeds: str = "10"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    rates: str = ",".join(f"{lr:g}" for lr in RATES)
    """Learning rates of which each arm gets its own best, chosen on other seeds; `tune` for the whole procedure; empty:
    every arm runs at the rate given."""
    rate_seeds: int = RATE_SEEDS
    """Seeds on which each of these rates is tried."""


def main(arguments: Sequence[str], command: str) -> int:
    """Judge a trick, print the table, and say where the files are. Returns the exit status."""
    line = parsed(arguments, Options, "judge FLAG")
    own = line.own
    if len(line.texts) != 1:
        raise InputError("judge takes one flag, or name=file.py:function; for example: judge kl_stop")
    if line.flags:
        raise InputError(f"{line.flags[0]} belongs in the base: --base 'ppo {line.flags[0]}'")
    name, replaces, place = line.texts[0].partition("=")
    functions = {name: function_from(place)} if replaces else {}
    arms = two_arms("" if replaces else name, arm_from(own.base, line.held), functions)
    refuse_unfit(arms, line.given)
    configs = [replace(config, **{each: getattr(line.config, each) for each in line.given}) for config in USUAL]
    if own.env:
        configs = [replace(line.config, env=env.strip()) for env in own.env.split(",")]
    asked = [Request(arms, config, line.seeds, "", line.rates, own.rate_seeds, own.margin) for config in configs]
    found = _judged("" if replaces else name, functions, own.base, asked, own.out, own.workers, command)
    print(f"\n{found.brief}\n\nwrote {found.files[0]}, and {len(found.files) - 1} other files in its folder")
    return 0

"""`python -m ablations judge`, and `judge` in Python: does this trick matter?"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablations.analysis.study_files import RESULTS, SUFFIX, load
from ablations.design.around_presets import with_it, without_it
from ablations.design.own_file import function_from
from ablations.design.spoken import spoken_arm
from ablations.design.story import Arm
from ablations.experiments.compare import OUT, checked_rates, split
from ablations.experiments.comparing import Request, answer, best, jobs_of, settings_of, tuned
from ablations.report.judged_page import Judged, write_judged
from ablations.report.sentences import spoken
from ablations.training.estimate import estimate
from ablations.training.seed_ranges import parse_seeds
from ablations.training.store import Store
from ablations.training.tuning import jobs_at
from ablations.training.workers import worker_count
from tricks import Config
from tricks.errors import InputError
from tricks.ladder import NEEDS, check_known
from tricks.reading.replaced import home
from tricks.values import checked

USUAL = (Config("CartPole-v1"), Config("Acrobot-v1"), Config("Pendulum-v1", gamma=0.9))
RATES = (0.0003, 0.001, 0.003, 0.01)
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
    out: str | Path = OUT,
    workers: int = 0,
) -> Judged:
    """Train a base with and without a trick in several environments, and say where it matters.

    trick: a flag; one that the base has is taken out, with what needs it, and any other is added, to the base with what
    it needs. Or functions that stand in for ours, by name, as for `patched`: then the base is compared to the base with
    them. base: an `Arm`, or a text as for `compare`. configs: the environments, each with its numbers and budget.
    rates: as for `compare`, so that each arm runs at its own best in each environment. Raises InputError.
    """
    wanted = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    asked = [
        Request(
            _arms(trick, base, config, functions or {}, ["lr"] if checked_rates(rates) != () else []),
            config,
            wanted,
            "",
            checked_rates(rates),
            rate_seeds,
        )
        for config in configs
    ]
    said = base.name if isinstance(base, Arm) else str(base)
    return _judged(trick or ", ".join(functions or {}), said, asked, Path(out), workers)


def _judged(name: str, base: str, asked: Sequence[Request], out: Path, workers: int, command: str = "") -> Judged:
    """Check everything, say how long it will take, train what is missing, and write the results."""
    if not asked:
        raise InputError("no environment was named")
    for request in asked:
        settings_of(request)
    processes = worker_count(workers, asked[0].config.device)
    left = sum(_seconds(request, out, processes) for request in asked)
    print(
        f"about {spoken(left)} with {processes} worker{'s' * (processes > 1)}" if left else "everything is trained",
        flush=True,
    )
    found = [answer(request, out, workers, command=command) for request in asked]
    trials = [load(WORLDS)] if name in NEEDS and WORLDS.exists() else []
    return write_judged(name, base, found, trials, out, command)


def _arms(
    trick: str, base: Any, config: Config, functions: Mapping[str, Callable[..., Any]], given: Collection[str] = ()
) -> list[Arm]:
    """The arm without the trick, and the one with it."""
    if bool(trick) == bool(functions):
        raise InputError("name one flag, or functions that replace ours; for example: judge kl_stop")
    arm = base if isinstance(base, Arm) else spoken_arm(str(base), config, given)
    if functions:
        for name in functions:
            home(name)
        return [arm, Arm(f"{arm.name} with my {', '.join(functions)}", arm.tricks, arm.numbers, functions)]
    check_known([trick])
    if trick in arm.tricks.on:
        pair = without_it(arm.tricks, trick)
        gone = ", ".join([trick, *pair.label.others])
        return [Arm(f"{arm.name} without {gone}", pair.without, arm.numbers), arm]
    pair = with_it(arm.tricks, trick, arm.tricks.on)
    needed = "".join(f" + {name}" for name in pair.label.others)
    names = f"{arm.name}{needed}", f"{arm.name}{needed} + {trick}"
    return [Arm(name, on, arm.numbers) for name, on in zip(names, (pair.without, pair.having), strict=True)]


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
class Options:
    """The options of `judge` besides those of `python -m tricks train`."""

    base: str = "ppo"
    """What the trick is added to or taken out of: a rung with flags and numbers, in quotes, as for `compare`."""
    env: str = ""
    """Environments, separated by commas (default: CartPole-v1, Acrobot-v1, and Pendulum-v1 with γ = 0.9)."""
    seeds: str = "10"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    rates: str = ",".join(f"{lr:g}" for lr in RATES)
    """Learning rates of which each arm gets its own best, chosen on other seeds; or `tune`."""
    rate_seeds: int = RATE_SEEDS
    """Seeds on which each of these rates is tried."""
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    out: Path = OUT
    """Folder for the finished jobs, the tables and the figures."""


def main(arguments: Sequence[str], command: str) -> int:
    """Judge a trick, print the table, and say where the files are. Returns the exit status."""
    asked = split(arguments, Options, "judge FLAG")
    if len(asked.texts) != 1:
        raise InputError(
            f"judge takes one flag, or name=file.py:function; for example: judge kl_stop, not {asked.texts}"
        )
    if asked.flags:
        raise InputError(f"{asked.flags[0]} belongs to the base: --base 'ppo {asked.flags[0]}'")
    chosen: Options = asked.chosen
    name, replaces, place = asked.texts[0].partition("=")
    functions = {name: function_from(place)} if replaces else {}
    own = {each: getattr(asked.config, each) for each in asked.given}
    configs = [replace(config, **own) for config in USUAL]
    if chosen.env:
        configs = [replace(asked.config, env=env.strip()) for env in chosen.env.split(",")]
    rates = checked_rates(chosen.rates)
    if rates != () and "lr" in asked.given:
        raise InputError("--lr and --rates exclude each other; --rates '' leaves them out")
    requests = [
        Request(
            _arms(
                "" if functions else name,
                chosen.base,
                config,
                functions,
                {*asked.given, "lr"} if rates != () else asked.given,
            ),
            config,
            parse_seeds(chosen.seeds),
            "",
            rates,
            chosen.rate_seeds,
        )
        for config in configs
    ]
    found = _judged(name, chosen.base, requests, chosen.out, chosen.workers, command)
    print(f"\n{found.brief}\n\nwrote {', '.join(str(path) for path in found.files)}")
    return 0

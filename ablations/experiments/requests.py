"""A comparison to be made: its arms, checked, and the jobs that train them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ablations.analysis.compared import Against
from ablations.design.arm_texts import idle_switch, refuse_unfit
from ablations.design.arms import Arm, Design
from ablations.design.flag_sets import numbers
from ablations.training.jobs import Job
from ablations.training.own import own_of
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import as_file_name, digest, name_of
from ablations.training.tuning import SEEDS_PER_RATE
from tricks import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.replaced import home
from tricks.runs.learning_curve import read_table

SEEDS_PER_JOB = 10  # about as fast as one alone, and more seeds later leave these as they are


class Request(NamedTuple):
    """A comparison to be made."""

    arms: Sequence[Arm]
    config: Config
    seeds: tuple[int, ...]
    against: Against = ""
    """The reference of all arms (empty: the first), or of each arm that has one."""
    rates: tuple[float, ...] | None = ()
    """Empty: each arm at its own `lr`; None: the whole procedure of tuning."""
    rate_seeds: int = SEEDS_PER_RATE
    margin: float | None = None
    """See `compared_arms`."""
    design: Design | None = None
    """The design that the arms are of, if they are."""


def settings_of(asked: Request, env: MakeEnv | None = None, body: MakeBody | None = None) -> list[Job]:
    """A job for each arm, whose seeds and rate don't matter. Raises InputError for arms that cannot be trained."""
    from tricks.runs.opening import open_env, refuse_endless

    refuse_unfit(asked.arms)
    if max(asked.seeds, default=0) >= FIRST_TUNING_SEED or len(set(asked.seeds)) < max(1, len(asked.seeds)):
        raise InputError(f"seeds must be distinct, at least one, and below {FIRST_TUNING_SEED:,}")
    if asked.rate_seeds < 1:
        raise InputError(f"rate_seeds must be at least 1, not {asked.rate_seeds}")
    if asked.margin is not None and not asked.margin > 0:
        raise InputError(f"the margin must be positive, not {asked.margin}")
    found: list[Job] = []
    for arm in asked.arms:
        if asked.rates != () and "lr" in dict(arm.numbers):
            raise InputError(f"arm {arm.name!r} has its own learning rate: leave that out, or leave out the rates")
        config = arm.config(replace(asked.config, seeds=asked.seeds[:1] or 1))
        own = own_of(config, env=env, body=body, replaced=dict(arm.functions))
        try:
            for name, _ in arm.functions:
                home(name)
            refuse_endless(config, arm.tricks)
            small = replace(config, lanes=1, minibatches=1, device="cpu")
            open_env(small, arm.tricks, env, body).close()
        except InputError as error:
            raise InputError(f"arm {arm.name!r}: {error}") from None
        job = Job(config, arm.tricks, own)
        if job in found:
            twin = asked.arms[found.index(job)].name
            why = idle_switch(arm.name) or idle_switch(twin) or ", with the same flags and numbers"
            raise InputError(f"arms {twin!r} and {arm.name!r} are the same{why}")
        found.append(job)
    return found


def reference_first(arms: Sequence[Arm], against: Against) -> list[Arm]:
    """The arms, the reference of all first. Raises InputError if that is no arm."""
    names = [arm.name for arm in arms]
    if not isinstance(against, str):
        return list(arms)
    if against and against not in names:
        raise InputError(f"the reference {against!r} is no arm; the arms are {', '.join(map(repr, names))}")
    first = names.index(against) if against else 0
    return [arms[first], *arms[:first], *arms[first + 1 :]] if arms else []


def jobs_of(setting: Job, rate: float, seeds: Sequence[int]) -> list[Job]:
    """The jobs that train an arm at its rate on all seeds."""
    return [setting.at(tuple(seeds[k : k + SEEDS_PER_JOB]), rate) for k in range(0, len(seeds), SEEDS_PER_JOB)]


def name_of_request(asked: Request, settings: Sequence[Job], out: Path) -> str:
    """The name of its folder in `out`: `compare_CartPole-v1_ppo_vs_ppo_--no-gae_1a2b3c4d`, with what is no default.

    Another question has another name, since its digest is in it, and one with more seeds has the same. settings: of
    `settings_of`. If the folder has seeds that are not asked for now, these get a folder of their own.
    """
    arms = asked.design.name if asked.design else "_vs_".join(arm.name for arm in asked.arms)
    rates = "tuned" if asked.rates is None else "-".join(f"{lr:g}" for lr in asked.rates)
    steps = f"{asked.config.steps}steps" if asked.config.steps != Config.steps else ""
    parts = (arms, numbers(asked.config), rates and f"rates-{rates}", steps, digest(_question(asked, settings)))
    name = as_file_name(name_of("compare", asked.config.env, *parts, first=min(asked.seeds)))
    if _seeds_in(out / name) <= {*asked.seeds}:
        return name
    return f"{name}_{len(asked.seeds)}seeds-{digest(asked.seeds)}"


def _question(asked: Request, settings: Sequence[Job]) -> dict[str, Any]:
    """All that the answer depends on, but for the seeds, as plain values."""
    each = [(arm.name, job.at((0,), job.config.lr).what) for arm, job in zip(asked.arms, settings, strict=True)]
    about: dict[str, Any] = {"arms": each, "against": asked.against or asked.arms[0].name, "margin": asked.margin}
    if asked.rates != ():
        about |= {"rates": asked.rates, "rate_seeds": asked.rate_seeds}
    return about | ({"design": [asked.design.name, asked.design.dropped]} if asked.design else {})


def _seeds_in(folder: Path) -> set[int]:
    """The seeds of the comparison in this folder; none if there is none, or it is damaged."""
    try:
        return {int(seed) for seed in read_table(folder / "runs.csv").seed}
    except (OSError, ValueError, AttributeError):
        return set()

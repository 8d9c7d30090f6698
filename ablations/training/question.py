"""A question in one place: which arms are trained, on which seeds, at which learning rates, and what is compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ablations.question.arms import Arm, Design, numbers
from ablations.training.jobs import Job, own_of
from ablations.training.rates import FIXED, NOT_TUNED, Rate, best_by_mean, best_rate
from ablations.training.seed_ranges import FIRST_TUNING_SEED, blocks, further
from ablations.training.store import Store, as_file_name, digest, name_of
from ablations.training.tuning import MOST_SEEDS_PER_RATE, SEEDS_PER_RATE, Tried, searched, still_wanted
from ablations.training.workers import run_jobs
from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.replaced import home
from tricks.training import open_env, refuse_endless

TABLE, TUNE = "table", "tune"
Rates = str | tuple[float, ...]
SEEDS_PER_JOB = 10  # of arms at a rate of their own: about as fast as one alone, and more seeds later leave these


@dataclass(frozen=True)
class Question:
    """Designs in one place, over some seeds. Arms that several designs share are trained once."""

    config: Config  # environment, budget and numbers of all arms; its seeds don't count
    designs: tuple[Design, ...]
    seeds: tuple[int, ...]
    rates: Rates = ()
    """How each arm gets its learning rate: TABLE, from the table of rates; TUNE, by the whole procedure; as its best of
    these; or, if empty, as it is given."""
    rate_seeds: int = SEEDS_PER_RATE
    margin: float | None = None  # an area that counts as practically nothing; None: that of the scale, if there is one
    score: Literal["area", "late"] = "area"  # what is compared: the area, or the mean return of the last tenth
    env: MakeEnv | None = None
    body: MakeBody | None = None
    named: bool = False  # whether arms are told apart by their names, because they can differ in more than flags
    parts: tuple[str, ...] = ()  # what else its name says
    left_out: tuple[str, ...] = ()  # environments of the suite that cannot be made here, each with the reason

    @property
    def arms(self) -> list[Arm]:
        return list(dict.fromkeys(arm for design in self.designs for arm in design.arms))

    def job(self, arm: Arm) -> Job:
        """The job of an arm, whose seeds and rate don't matter."""
        config = arm.config(replace(self.config, seeds=self.seeds[:1] or 1))
        own = own_of(config, env=self.env, body=arm.body or self.body, replaced=dict(arm.functions))
        return Job(config, arm.tricks, own)

    def seeds_of(self, arm: Arm) -> tuple[int, ...]:
        """An arm's seeds, twice as many if half of a design's comparisons share it. InputError if any is for tuning."""
        shared = not self.named and any(arm in design.shared for design in self.designs)
        return (*self.seeds, *(further(self.seeds) if shared else ()))

    def jobs(self, rates: Mapping[Arm, Rate]) -> dict[Job, tuple[Arm, Rate]]:
        found: dict[Job, tuple[Arm, Rate]] = {}
        for arm, rate in rates.items():
            seeds, job = sorted(self.seeds_of(arm)), self.job(arm)
            tens = [tuple(seeds[k : k + SEEDS_PER_JOB]) for k in range(0, len(seeds), SEEDS_PER_JOB)]
            found |= {job.at(some, rate.value): (arm, rate) for some in (tens if self.named else blocks(seeds))}
        return found

    @cached_property
    def table_rates(self) -> dict[Arm, Rate]:
        """Each arm's learning rate as the table has it, or as it is given.

        If any has none in the table, all run at the same: else the effect of tuning would show as that of a trick.
        """
        if self.rates != TABLE:
            return {arm: Rate(arm.config(self.config).rates[0], FIXED) for arm in self.arms}
        own = {arm: best_rate(arm.config(self.config), arm.tricks, self.score) for arm in self.arms}
        return {arm: NOT_TUNED if NOT_TUNED in own.values() else own[arm] for arm in self.arms}

    @property
    def name(self) -> str:
        """`ladder+add-one-in_CartPole-v1`, then whatever is not the default; the first seed last."""
        steps = f"{self.config.steps}steps" * (self.config.steps != Config.steps)
        designs, env = "+".join(design.name for design in self.designs), self.config.env.replace("/", "_")
        parts = (designs, env, *self.parts, steps)
        if self.named:
            rates = self.rates if isinstance(self.rates, str) else "-".join(f"{lr:g}" for lr in self.rates)
            said = (numbers(self.config), f"rates-{rates}" * bool(rates), steps, self.digest)
            parts = ("compare", env, designs, *said)
        return as_file_name(name_of(*parts, first=self.seeds[0]))

    @property
    def digest(self) -> str:
        """Eight digits that tell it from any other question, whatever the seeds and the algorithm."""
        arms = [[str(arm.label), self.job(arm).at((0,), 1.0).what | {"algorithm": 0}] for arm in self.arms]
        pairs = [[str(pair.label), pair.without.name, pair.having.name] for d in self.designs for pair in d.comparisons]
        rates = [rate.value for rate in self.table_rates.values()]
        how = [self.rates, rates, self.rate_seeds * (self.rates not in (TABLE, ())), self.margin]
        return digest([arms, pairs, *how] + [self.score] * (self.score != "area"))

    @property
    def rates_in_words(self) -> str:
        if self.rates == TUNE:
            return "each arm at its own tuned learning rate"
        if self.rates and self.rates != TABLE:
            given = ", ".join(f"{lr:g}" for lr in self.rates)
            several = f"each arm at its own best learning rate of {given}"
            return several if len(self.rates) > 1 else f"all arms at learning rate {given}"
        found = {*self.table_rates.values()}
        if NOT_TUNED in found:
            return f"not all arms are tuned here, so all run at {NOT_TUNED.value:g} (`tune` gives each its own rate)"
        if {rate.reservation for rate in found} == {FIXED}:
            several = "each arm at the learning rate that was given"
            return several if len(found) > 1 else f"all arms at learning rate {found.pop().value:g}, as given"
        return ", ".join(["each arm at its own learning rate", *sorted({rate.reservation for rate in found} - {""})])

    @property
    def in_words(self) -> str:
        designs = ", ".join(f"{design.name} ({len(design.arms)} arms)" for design in self.designs)
        size = f"{len(self.arms)} distinct arms × {len(self.seeds)} seeds × {self.config.steps:,} steps"
        return f"{self.config.env}: {designs}; {size}; {self.rates_in_words}"


def refuse_impossible(asked: Question) -> None:
    """Raise InputError for seeds that cannot be reported, and for arms that cannot be trained, or are the same."""
    if asked.score not in ("area", "late"):
        raise InputError(f"score must be area or late, not {asked.score!r}")
    if max(asked.seeds, default=0) >= FIRST_TUNING_SEED or len(set(asked.seeds)) < max(1, len(asked.seeds)):
        raise InputError(f"seeds must be distinct, at least one, and below {FIRST_TUNING_SEED:,}")
    if not 1 <= asked.rate_seeds <= MOST_SEEDS_PER_RATE:
        raise InputError(f"rate_seeds must be 1 to {MOST_SEEDS_PER_RATE:,}, not {asked.rate_seeds}")
    if asked.margin is not None and not asked.margin > 0:
        raise InputError(f"the margin must be positive, not {asked.margin}")
    known = dict[Any, Arm]()
    for arm in (arm for design in asked.designs for arm in design.arms):
        if asked.rates != () and "lr" in dict(arm.numbers):
            raise InputError(f"arm {arm.name!r} has its own learning rate: leave that out, or leave out the rates")
        try:
            for name, _ in arm.functions:
                home(name)
            job = asked.job(arm)
            refuse_endless(job.config, arm.tricks)
            small = replace(job.config, lanes=1, minibatches=1, device="cpu")
            open_env(small, arm.tricks, asked.env, arm.body or asked.body).close()
        except InputError as error:
            raise InputError(f"arm {arm.name!r}: {error}") from None
        twin = known.setdefault((job.config, arm.tricks, arm.functions, arm.body), arm)
        if twin is not arm:
            raise InputError(f"arms {twin.name!r} and {arm.name!r} are the same, with the same flags and numbers")


Tuned = Mapping[Arm, Mapping[float, Tried]]


def chosen_rates(asked: Question, store: Store, workers: int) -> tuple[dict[Arm, Rate], Tuned]:
    """Each arm's learning rate; and what it scored at each rate, if that had to be tried."""
    if asked.rates in (TABLE, ()):
        return asked.table_rates, {}
    jobs = {asked.job(arm): arm for arm in asked.arms}

    def wanted(seen: Mapping[float, Tried]) -> dict[float, range]:
        if asked.rates == TUNE:
            return still_wanted(seen, asked.rate_seeds)
        return {float(rate): range(asked.rate_seeds) for rate in asked.rates if rate not in seen}

    tried = {jobs[job]: seen for job, seen in searched(list(jobs), store, workers, wanted).items()}
    late = asked.score == "late"
    every = {arm: {lr: one[late] for lr, one in sorted(seen.items())} for arm, seen in tried.items()}
    return {arm: Rate(best_by_mean(scores)) for arm, scores in every.items()}, tried


def train(
    asked: Iterable[tuple[Question, Mapping[Arm, Rate]]], store: Store, workers: int, what: str = ""
) -> dict[Job, Rate]:
    """Train what is missing of some questions, with their arms at these rates. Returns all their jobs, and the rates.

    Of a job in two questions, the later rate counts. what, InputError: as for `train_jobs`.
    """
    found, names = dict[Job, Rate](), dict[Job, str]()
    for each, rates in asked:
        for job, (arm, rate) in each.jobs(rates).items():
            found[job], names[job] = rate, arm.name
    train_jobs(names, store, workers, what)
    return found


def train_jobs(names: Mapping[Job, str], store: Store, workers: int, what: str) -> None:
    """Train what is missing of jobs of named arms. what: printed first. Raises InputError, with an arm's name."""
    if what:
        print(f"{what}: {len(names)} jobs, {sum(map(store.has, names))} of them done before", flush=True)
    failed = run_jobs(names, store, workers)
    for job, reason in failed.items():
        raise InputError(f"arm {names[job]!r} failed ({len(failed)} of {len(names)} jobs did): {reason}")

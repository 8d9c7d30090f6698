"""`compare`, `judge`, and `run` around a base or with a design of one's own: questions about arms, and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd

from ablations.analysis.ledger import fresh_seeds, looks, shares
from ablations.analysis.records import RESULTS, SUFFIX, Study, load, save, study_of
from ablations.experiments.options import AT_MOST, OUT, Worded, checked_rates
from ablations.question.arms import Arm, Design, compared
from ablations.question.around import AROUND, arm_by_arm, with_it, without_it
from ablations.question.designs import suite_named
from ablations.question.words import arm_from, arms_of, function_from, refuse_unfit, replaced_in_words, tricks_named
from ablations.report.answer import Answer
from ablations.report.page import write_answer
from ablations.training.question import Question, chosen_rates, refuse_impossible, train
from ablations.training.rates import GRID, Rate
from ablations.training.seed_ranges import parse_seeds
from ablations.training.store import Store
from ablations.training.tuning import SEEDS_PER_RATE
from ablations.training.workers import worker_count
from tricks import Config
from tricks.cli.shell import POSITIONAL
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError, in_words
from tricks.ladder import NEEDS, check_known
from tricks.values import checked

WORLDS = RESULTS / f"worlds_from100{SUFFIX}"
FIRST = 10  # seeds of the first look, where more are added until all is decided
USUAL = (Config("CartPole-v1"), Config("Acrobot-v1"), Config("Pendulum-v1", gamma=0.9))
RATES = GRID[:4]
RATE_SEEDS = 5


@checked
def compare(
    arms: Sequence[Any] | Mapping[str, Any],
    config: Config | Sequence[Config] | None = None,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    seeds: int | Sequence[int] = 20,
    against: str = "",
    rates: str | Sequence[float] = (),
    rate_seeds: int = SEEDS_PER_RATE,
    margin: float | None = None,
    score: Literal["area", "late"] = "area",
    until: str = "",
    at_most: int = AT_MOST,
    out: str | Path = OUT,
    workers: int = 0,
) -> Answer:
    """Train arms over many seeds, and say how each differs from the reference.

    arms: each an `Arm`, `Tricks`, or a text as for `python -m tricks train` ("ppo --no-gae --lr 0.01"); a mapping gives
    them names. config: what they share, or one for each of several environments; its numbers that are not the defaults
    hold in presets, too, and its seeds do not count. env, body: functions, as for `train`; they go to worker processes
    if they can be pickled. seeds: which, or how many, that no other question in the folder has used. against: the
    reference (default: the first arm). rates: learning rates, of which each arm runs at its own best, chosen on
    `rate_seeds` tuning seeds per rate; or "tune", which looks closer at the best three and past the grid's edges.
    Without rates, each arm runs at its own `lr`. margin: a difference that counts as practically nothing; an
    environment with a scale has a default. score: what is compared, the area or the last tenth. until: "decided" adds
    seeds, `at_most` so many, until every comparison is decided. out: where results go, and finished jobs, which are
    kept, so an interrupted comparison goes on where it stopped. Raises InputError for arms that cannot be
    trained, before anything is.
    """
    configs = [config or Config()] if isinstance(config, Config | None) else list(config)
    if env is not None and configs[0].env == Config.env:
        name = getattr(env, "__name__", type(env).__name__)
        configs[0] = replace(configs[0], env=name if name.isidentifier() else "own environment")  # not of a lambda
    chosen = checked_rates(rates)
    designs = [design_of(arms_of(arms, each, ["lr"] * bool(chosen)), against) for each in configs]
    asked = _questions(configs, designs, chosen, rate_seeds, margin, score, env, body)
    return answer(asked, seeds, Worded(workers, out=Path(out), until=until, at_most=at_most))


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
    score: Literal["area", "late"] = "area",
    until: str = "",
    at_most: int = AT_MOST,
    out: str | Path = OUT,
    workers: int = 0,
) -> Answer:
    """Train a base with and without a trick in several environments, and say where it matters.

    trick: a flag; one that the base has is taken out, with what needs it, and any other is added, to the base with what
    it needs. Or functions that stand in for ours, by name, as for `patched`: then the base is compared to the base with
    them. base: an `Arm`, or a text as for `compare`. configs: the environments, each with its numbers and budget. The
    rest is as for `compare`. Each arm runs at its own best rate in each environment. Raises InputError.
    """
    chosen, own = checked_rates(rates), functions or {}
    bases = [arms_of([base], each, ["lr"] * bool(chosen))[0] for each in configs]
    designs = [design_of(two_arms(trick, each, own)) for each in bases]
    asked = _questions(configs, designs, chosen, rate_seeds, margin, score)
    how = Worded(workers, out=Path(out), until=until, at_most=at_most)
    return answer(asked, seeds, how, trick=trick or replaced_in_words(own))


def _questions(configs: Sequence[Config], designs: Sequence[Design], *how: Any) -> list[Question]:
    """One for each environment, whose seeds are still to be chosen."""
    return [replace(Question(each, (own,), (0,), *how), named=True) for each, own in zip(configs, designs, strict=True)]


def design_of(arms: Sequence[Arm], against: str = "") -> Design:
    """Arms that are each compared to one of them, which comes first. Raises InputError if that is none of them."""
    refuse_unfit(arms)
    names = [arm.name for arm in arms]
    if against and against not in names:
        raise InputError(f"no arm is named {against!r}; the arms are {', '.join(map(repr, names))}")
    first, *others = sorted(arms, key=lambda arm: arm.name != (against or names[0]))
    pairs = tuple(compared(arm, first) for arm in others)
    return Design("_vs_".join(arm.name for arm in (first, *others)), (), (first, *others), pairs)


def two_arms(trick: str, arm: Arm, functions: Mapping[str, Callable[..., Any]]) -> list[Arm]:
    """The arm without the trick, and the one with it; the given one is one of them, or lacks what the trick needs."""
    if bool(trick) == bool(functions):
        raise InputError("name one flag, or functions that replace ours; for example: judge kl_stop")
    if functions:
        own = dict(arm.functions) | dict(functions)
        return [arm, Arm(f"{arm.name} with {replaced_in_words(functions)}", arm.tricks, arm.numbers, own, arm.body)]
    check_known([trick])
    if trick in arm.tricks.on:
        pair = without_it(arm, trick)
        gone = ", ".join([trick, *pair.label.others])
        return [pair.without.like(f"{arm.name} without {gone}"), arm]
    pair = with_it(arm, trick, arm.tricks.on)
    needed = "".join(f" + {name}" for name in pair.label.others)
    names = f"{arm.name}{needed}", f"{arm.name}{needed} + {trick}"
    return [each.like(name) for name, each in zip(names, (pair.without, pair.having), strict=True)]


def answer(
    asked: Sequence[Question], seeds: int | Sequence[int], chosen: Worded, command: str = "", trick: str = ""
) -> Answer:
    """Train what is missing for one question in one or several environments, and write the results.

    seeds: as for `compare`. command: of a shell, where tables are printed. trick: what is judged, if it is one thing.
    Raises InputError for arms that cannot be trained.
    """
    first, every = _seeds(asked, seeds, chosen)
    for each in asked:
        refuse_impossible(replace(each, seeds=every))
        if command:
            now = replace(each, seeds=every[:first])
            print("\n".join([now.in_words, *(f"dropped: {arm} ({why})" for arm, why in each.designs[0].dropped)]))
    out, processes, store = chosen.out, worker_count(chosen.workers, asked[0].config.device), Store(chosen.out)
    if isinstance(seeds, int):
        with store.claims() as claims:  # before any training: no other question takes these, and resuming finds them
            every = fresh_seeds(out, [each.digest for each in asked], len(every), claims)
            claims.update((each.digest, every[0], len(every)) for each in asked)
    tuned = [chosen_rates(replace(each, seeds=every[:first]), store, processes) for each in asked]
    counts = looks(first, chosen.at_most) if chosen.until else [first]
    for count, share in zip(counts, shares(counts), strict=True):
        asked = [replace(each, seeds=every[:count]) for each in asked]
        train(zip(asked, (rates for rates, _ in tuned), strict=True), store, processes)
        studies = [study_of(each, *own, store, command) for each, own in zip(asked, tuned, strict=True)]
        if chosen.until:
            for study in studies:
                study.about["level"] = share
            undecided = Answer(tuple(studies)).effects.verdict.isin(["", "unknown"])
            decided = f"{(~undecided).sum()} of {len(undecided)} comparisons decided"
            print(f"{count} seeds per arm: {decided}", flush=True)
            if not undecided.any():
                break
    for study in studies:
        study.about["answer"] = studies[0].name
    saved = tuple(load(save(study, out)[1]) for study in studies)  # a file with more seeds is kept
    parts = zip(asked, tuned, saved, strict=True)
    curves = pd.concat([_curves(each, rates, study, store) for each, (rates, _), study in parts])
    worlds = (load(WORLDS),) if trick in NEEDS and WORLDS.exists() else ()
    found = Answer(saved, curves, trick, worlds, asked[0].config.record)
    if found.runs.area.isna().all():
        raise InputError(f"no arm has a score: no episode ended in {asked[0].config.steps:,} steps; raise the budget")
    found.files.extend(out / f"{study.name}{SUFFIX}" for study in saved)
    write_answer(found, out)
    if command:
        print(f"\n{unescape(found.brief)}\n\nwrote {found.files[0]}, and {len(found.files) - 1} other files")
    return found


def _seeds(asked: Sequence[Question], seeds: int | Sequence[int], chosen: Worded) -> tuple[int, tuple[int, ...]]:
    """How many seeds the first look takes, and all that may be needed: those that were named and more, or any."""
    if not asked:
        raise InputError("no environment was named")
    if len({each.config.env for each in asked}) < len(asked):
        raise InputError("an environment was named twice")
    if chosen.until not in ("", "decided"):
        raise InputError(f"until must be 'decided', not {chosen.until!r}")
    named = () if isinstance(seeds, int) else seeds
    if not all(isinstance(seed, Integral) for seed in named):
        raise InputError(f"seeds must be whole numbers, not {seeds!r}")
    if chosen.until and chosen.at_most < (fewest := max(1, len(named))):
        raise InputError(f"at_most must be at least {fewest}, not {chosen.at_most}")
    first = (min(seeds, FIRST, chosen.at_most) if chosen.until else seeds) if isinstance(seeds, int) else len(named)
    if first < 1:
        raise InputError("seeds must be distinct, and at least one")
    most = chosen.at_most if chosen.until else first
    later = max(named, default=-1) + 1
    return first, (*named, *range(later, later + most - len(named)))


def _curves(asked: Question, rates: Mapping[Arm, Rate], study: Study, store: Store) -> pd.DataFrame:
    asked, named = replace(asked, seeds=tuple(sorted({*study.runs.seed}))), ["study", "env", "arm"]
    found = [(arm.name, result) for job, (arm, _) in asked.jobs(rates).items() if (result := store.read(job))]
    parts = [result.curve.assign(study=study.name, env=study.env, arm=name) for name, result in found]
    curves = pd.concat(parts, ignore_index=True).dropna(axis=1, how="all")
    return curves[[*named, *curves.columns.drop(named)]]


@dataclass(frozen=True)
class CompareOptions(Worded):
    arms: Annotated[tuple[str, ...], POSITIONAL] = ()
    """The arms, each in quotes."""
    against: str = ""
    """The name of the arm that all others are compared to (default: the first)."""


@dataclass(frozen=True)
class JudgeOptions(Worded):
    usual = Config(",".join(config.env for config in USUAL))

    trick: Annotated[tuple[str, ...], POSITIONAL] = ()
    """A flag; or name=file.py:function, which stands in for a function of ours."""
    base: str = "ppo"
    """What the trick is added to or taken out of: a rung with flags and numbers, in quotes, as for `compare`."""
    seeds: str = "10"
    rates: str = ",".join(f"{lr:g}" for lr in RATES)
    rate_seeds: int = RATE_SEEDS


@dataclass(frozen=True)
class BaseOptions(Worded):
    design: str = "leave-one-out"
    """leave-one-out, add-one-in, ladder or factorial around the base; or file.py:function, which returns a Design."""
    base: str = ""
    """A rung with flags and numbers, in quotes: `continuous --no-state-norm`."""
    tricks: str = ""
    """The tricks that the design is about, such as clip,gae (default: all that it can be about). A factorial also takes
    numbers with two values: clip,epochs=1/10."""


def main(chosen: CompareOptions, command: str) -> int:
    arms = [arm_from(text, chosen.held, chosen.flags) for text in chosen.arms]
    return _shown(chosen, design_of(arms, chosen.against), places(chosen), command)


def main_judge(chosen: JudgeOptions, command: str) -> int:
    if len(chosen.trick) != 1:
        raise InputError("judge takes one flag, or name=file.py:function; for example: judge kl_stop")
    name, replaces, place = chosen.trick[0].partition("=")
    functions = {name: function_from(place)} if replaces else {}
    design = design_of(two_arms("" if replaces else name, _base(chosen), functions))
    return _shown(chosen, design, places(chosen, USUAL), command, replaced_in_words(functions) or name)


def main_around(chosen: BaseOptions, command: str) -> int:
    if chosen.base:
        asked = [name.strip() for name in chosen.tricks.split(",")] if chosen.tricks else []
        flags, varied = ([name for name in asked if ("=" in name) == number] for number in (False, True))
        if varied and chosen.design != "factorial":
            raise InputError(f"only a factorial crosses numbers, such as {varied[0]}")
        if chosen.design not in AROUND:
            raise InputError(f"no design {chosen.design!r} around a base; there are {', '.join(AROUND)}")
        names = [*(tricks_named(",".join(flags)) if flags else ()), *varied]
        design = AROUND[chosen.design](_base(chosen), names)
    elif chosen.tricks:
        raise InputError("a design from a file has its own arms; leave out --tricks")
    else:
        make, place = function_from(chosen.design), chosen.design
        try:
            design = make()
        except Exception as error:
            raise InputError(f"{place} fails: {in_words(error)}") from error
        if not isinstance(design, Design):
            raise InputError(f"{place} returns {type(design).__name__}, not a Design")
        if not all(isinstance(arm, Arm) for arm in design.arms):
            raise InputError(f"{place} returns a design whose arms are not all of class Arm")
    refuse_unfit(design.arms)
    return _shown(chosen, arm_by_arm(design), places(chosen), command)


def _base(chosen: JudgeOptions | BaseOptions) -> Arm:
    if chosen.flags:
        raise InputError(f"{chosen.flags[0]} belongs in the base: --base 'ppo {chosen.flags[0]}'")
    return arm_from(chosen.base, chosen.held)


def places(chosen: Worded, usual: Sequence[Config] = ()) -> list[Config]:
    """The environments of a command line, each with its numbers: of a suite, as named with --env, or the usual ones."""
    given = chosen.given | {"device": chosen.device}
    if chosen.suite:
        usual = [setting.config for setting in suite_named(chosen.suite).settings]
        if "env" in given:
            raise InputError("--suite names the environments; leave out --env")
    if usual and "env" not in given:
        return [replace(config, **given) for config in usual]
    return [replace(chosen.config, env=env.strip()) for env in chosen.config.env.split(",")]


def _shown(chosen: Worded, design: Design, where: Sequence[Config], command: str, trick: str = "") -> int:
    refuse_unfit(design.arms, chosen.given)
    how, seeds = (chosen.tried, chosen.rate_seeds, chosen.margin, chosen.score), parse_seeds(chosen.seeds)
    asked = _questions(where, [design] * len(where), *how)
    answer(asked, seeds if ":" in chosen.seeds else len(seeds), chosen, command, trick)
    return 0

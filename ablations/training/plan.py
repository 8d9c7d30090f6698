"""What to train: in each environment the arms of its designs, at their own learning rates, in fixed blocks of seeds."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ablations.design.arm_texts import refuse_idle
from ablations.design.arms import Design
from ablations.design.choice import tricks_named, usable, usable_beyond
from ablations.design.designs import DESIGNS
from ablations.design.registry import SUITES
from ablations.design.suites import Setting, Suite
from ablations.training.jobs import Job, job_of
from ablations.training.rates import FIXED, NOT_TUNED, Rate, best_rate, refuse_tuned_on
from ablations.training.seed_ranges import blocks, further, parse_seeds
from ablations.training.store import as_file_name, name_of
from ablations.training.what import What
from tricks.config import Config
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import LADDER, Tricks


@dataclass(frozen=True)
class Plan:
    """Designs in one setting, over some seeds. Arms that several designs share are trained once."""

    config: Config
    designs: tuple[Design, ...]
    seeds: Sequence[int]
    fixed: bool
    """Whether all arms run at the config's learning rate."""
    all_tricks: bool
    """Whether the designs are about every trick that can have an effect."""
    left_out: tuple[str, ...] = ()
    """Environments of the suite that cannot be made here, each with the reason."""
    only: frozenset[Tricks] | None = None
    """The arms to train; None: all of the designs'."""
    given: tuple[str, ...] = ()
    """Numbers that were asked for, as `gamma=0.9`."""

    @property
    def arms(self) -> list[Tricks]:
        every = dict.fromkeys(arm.tricks for design in self.designs for arm in design.arms)
        return [arm for arm in every if self.only is None or arm in self.only]

    @cached_property
    def jobs(self) -> dict[Job, Rate]:
        """The jobs, each with its learning rate."""
        return {
            job_of(replace(self.config, seeds=block, lr=rate.value), tricks): rate
            for tricks, rate in self.rates.items()
            for block in blocks(self.seeds_of(tricks))
        }

    def seeds_of(self, tricks: Tricks) -> tuple[int, ...]:
        """An arm's seeds, twice as many if half of a design's comparisons share it. InputError if any tuned a rate."""
        shared = any(tricks in design.shared for design in self.designs)
        seeds = (*self.seeds, *(further(self.seeds) if shared else ()))
        if not self.fixed:
            refuse_tuned_on(self.config, tricks, seeds)
        return seeds

    @cached_property
    def rates(self) -> dict[Tricks, Rate]:
        """Each arm's learning rate.

        Comparing tuned arms to untuned ones would show the effect of tuning as that of a trick. So if any arm has no
        rate of its own, all arms run at the same rate.
        """
        if self.fixed:
            return dict.fromkeys(self.arms, Rate(self.config.rates[0], FIXED))
        own = {tricks: best_rate(self.config, tricks) for tricks in replace(self, only=None).arms}
        return {tricks: NOT_TUNED if NOT_TUNED in own.values() else own[tricks] for tricks in self.arms}

    @property
    def name(self) -> str:
        """`ladder+add-one-in_CartPole-v1`, then whatever is not the default: tricks, steps, numbers, first seed."""
        steps = f"{self.config.steps}steps" if self.config.steps != Config.steps else ""
        chosen = "" if self.all_tricks else "-".join(self.designs[0].names)
        designs = "+".join(design.name for design in self.designs)
        numbers = as_file_name(" ".join(self.given))
        return name_of(designs, self.config.env.replace("/", "_"), chosen, steps, numbers, first=self.seeds[0])

    @property
    def in_words(self) -> str:
        """What is trained, and where, in one line."""
        designs = ", ".join(f"{design.name} ({len(design.arms)} arms)" for design in self.designs)
        size = f"{len(self.arms)} distinct arms × {len(self.seeds)} seeds × {self.config.steps:,} steps"
        said = {rate.reservation for rate in self.rates.values()} - {""}
        untuned = f"; learning rates {', '.join(sorted(said))}" if said else ""
        if NOT_TUNED in self.rates.values():
            untuned = (
                f"; not all arms are tuned here, so all run at {NOT_TUNED.value:g} (`tune` gives each its own rate)"
            )
        return f"{self.config.env}: {designs}; {size}{untuned}"


def plans(chosen: What, seeds: str = "") -> list[Plan]:
    """One plan per environment. Raises InputError for unknown or impossible requests before anything is trained."""
    suite, found, left_out = _suite(chosen), [], []
    for setting in suite.settings:
        try:
            found.append(_plan(setting, suite, chosen, seeds))
        except ImpossibleEnvironment as error:
            if len(suite.settings) == 1:
                raise
            left_out.append(f"{setting.config.env} ({error})")
            print(f"left out: {left_out[-1]}", file=sys.stderr)
    distinct = {(plan.config, plan.designs): plan for plan in found}  # with --steps, two budgets can become one
    return [replace(plan, left_out=tuple(left_out)) for plan in distinct.values()]


def _suite(chosen: What) -> Suite:
    """The requested suite, or a suite of a single environment."""
    if not chosen.suite:
        return Suite((Setting(Config(chosen.env or "CartPole-v1", chosen.backend)),))
    if chosen.suite not in SUITES:
        raise InputError(f"unknown suite {chosen.suite!r}; the suites are {', '.join([*SUITES, 'worlds'])}")
    if chosen.backend != "auto":
        raise InputError("a suite has its own backends; leave out --backend")
    suite = SUITES[chosen.suite]
    settings = tuple(setting for setting in suite.settings if chosen.env in ("", setting.config.env))
    if not settings:
        known = ", ".join(dict.fromkeys(setting.config.env for setting in suite.settings))
        raise InputError(f"the suite {chosen.suite} has no {chosen.env!r}; it has {known}")
    meant = tuple(setting for setting in settings if set(chosen.designs) & set(_usual(setting, suite)))
    return replace(suite, settings=meant or settings)


def _usual(setting: Setting, suite: Suite) -> tuple[str, ...]:
    """The designs that are trained in a setting unless others are asked for."""
    return (*(setting.designs or suite.designs), *setting.more)


class ImpossibleEnvironment(InputError):
    """An environment that cannot be made here, for example because its extra is not installed."""


def _plan(setting: Setting, suite: Suite, chosen: What, seeds: str) -> Plan:
    config = replace(setting.config, steps=chosen.steps or setting.config.steps, device=chosen.device)
    try:
        make_env(replace(config.only(0), lanes=1, device="cpu")).close()  # the device may be on a cluster
    except InputError as error:
        raise ImpossibleEnvironment(str(error)) from error
    able = list(usable(config))
    names = _chosen_tricks(chosen, config, able) if chosen.tricks else able
    asked = chosen.designs or _usual(setting, suite)
    if unknown := [name for name in asked if name not in DESIGNS]:
        raise InputError(f"unknown design {', '.join(unknown)!r}; the designs are {', '.join(DESIGNS)}")
    designs = tuple(DESIGNS[name](names) for name in dict.fromkeys(asked))
    if any(design.beyond for design in designs):
        others = suite.beyond or usable_beyond(config)
        designs = tuple(DESIGNS[made.name](others) if made.beyond else made for made in designs)
    if chosen.tricks and (whole := [design.name for design in designs if design.own_arms]):
        raise InputError(f"the design {whole[0]} has its own arms; leave out --tricks")
    own = dict(chosen.numbers) if chosen.suite else _numbers(designs) | dict(chosen.numbers)
    refuse_idle([arm for design in designs for arm in design.arms], dict(chosen.numbers))
    fixed, given = setting.fixed or "lr" in own, tuple(f"{number}={value}" for number, value in chosen.numbers)
    return Plan(replace(config, **own), designs, parse_seeds(seeds or setting.seeds), fixed, names == able, given=given)


def _numbers(designs: Sequence[Design]) -> dict[str, Any]:
    """The numbers that all arms of these designs have. Raises InputError if some have others."""
    every = {arm.numbers for design in designs for arm in design.arms}
    if len(every) > 1:
        raise InputError("the arms of these designs have different numbers; train one design at a time, or `compare`")
    return dict(*every)


def _chosen_tricks(chosen: What, config: Config, able: Sequence[str]) -> list[str]:
    """The requested tricks. Raises InputError, with the reason, for those that a design cannot be about here."""
    names = tricks_named(chosen.tricks)
    if further := [name for name in names if name not in LADDER]:
        raise InputError(
            f"{', '.join(further)} {'is' if len(further) == 1 else 'are'} beyond the ladder: "
            "leave out --tricks, and use --design beyond to try all such tricks on top of ppo"
        )
    if idle := [name for name in names if name not in able]:
        raise InputError(f"{config.env} gives no action mask, so {', '.join(idle)} has no effect there")
    return names

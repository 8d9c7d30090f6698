"""What is known by name: designs, suites and trials. The findings add theirs, and anybody may add their own."""

from collections.abc import Callable, Sequence

from ablations.design.arms import Design
from ablations.design.labels import Label
from ablations.design.suites import Suite
from ablations.design.trial import Trial
from tricks.errors import InputError
from tricks.ladder import closed

Maker = Callable[[Sequence[str]], Design]
DESIGNS: dict[str, Maker] = {}
SUITES: dict[str, Suite] = {}
TRIALS: list[Trial] = []


def registered(make: Maker) -> Maker:
    """Register a design under its function's name, with - for _."""
    DESIGNS[make.__name__.replace("_", "-")] = make
    return make


def what_is_needed(names: Sequence[str]) -> list[str]:
    """Tricks that the chosen ones need but that are not chosen. Raises InputError if one of them needs a chosen one."""
    base = [need for need in closed(names) if need not in names]
    for need in base:
        if between := [name for name in names if name in closed([need])]:
            raise InputError(f"{need} is needed, and itself needs {', '.join(between)}: add {need} to --tricks")
    return base


def start(base: Sequence[str]) -> Label:
    """The label of the first arm, which has only what the chosen tricks need."""
    return Label(", ".join(base), note="what the chosen tricks need") if base else Label("reinforce")


def position(env: str) -> int:
    """Where the suites first name the environment; what they don't name comes last."""
    envs = list(dict.fromkeys(setting.config.env for suite in SUITES.values() for setting in suite.settings))
    return envs.index(env) if env in envs else len(envs)

"""The commands of `python -m tricks train|list|listing|diff`."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tricks.config import Config
from tricks.core.errors import InputError
from tricks.ladder import NEEDS, PPO, PRESETS, Tricks, described, named, switched, table
from tricks.listing import diff, listing
from tricks.shell import guarded, options

if TYPE_CHECKING:
    from tricks.core.run import Run

USAGE = """usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents; print a summary; --out keeps the run
  list                                          the ladder: every flag, what it adds and what it needs
  listing [RUNG] [--FLAG | --no-FLAG]           the training loop with these flags decided
  diff RUNG RUNG                                what changes in the loop from one to the other

RUNG is a preset ({presets}), or a flag, which stands for the ladder up to it.
`python -m tricks train --help` shows all options."""


@dataclass(frozen=True)
class Output:
    """Where the run goes."""

    out: Path | None = None
    """Folder to write curve.csv, run.json and agent.pt into."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for a request that cannot be met, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    commands = {"train": _train, "list": _list, "listing": _listing, "diff": _diff}
    usage = USAGE.format(presets=", ".join(PRESETS))
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage)
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in commands:
        raise InputError(f"unknown command {name!r}; the commands are {', '.join(commands)}")
    commands[name](rest)
    return 0


def parse(arguments: list[str], what: str, *groups: type) -> tuple[Tricks, list[Any]]:
    """The flags and the other groups of options that `arguments` ask for, starting from the rung named first.

    Raises InputError for an unknown rung or option, a value of the wrong type, or an unmet need.
    """
    start = PPO
    if arguments and not arguments[0].startswith("-"):
        start = named(arguments.pop(0))
    help = {name: Annotated[bool, tyro.conf.arg(help=text)] for name, text in described().items()}
    switches = make_dataclass(  # not Tricks itself, which checks its needs before all switches are known
        "Tricks", [(name, kind, getattr(start, name)) for name, kind in help.items()]
    )
    parts = {"tricks": switches} | {group.__name__.lower(): group for group in groups}
    together = make_dataclass("Options", [(name, part, field(default_factory=part)) for name, part in parts.items()])
    about = f"RUNG is one of {', '.join(PRESETS)}, or a flag: the ladder up to it. Default: ppo."
    parsed: Any = options(together, arguments, f"python -m tricks {what} [RUNG]", about)
    on = [name for name in NEEDS if getattr(parsed.tricks, name)]
    return switched(on), [getattr(parsed, name) for name in list(parts)[1:]]


def _train(arguments: list[str]) -> None:
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    from tricks.core.run import make_folder  # these need torch, which takes seconds to import
    from tricks.core.train import train

    warnings.filterwarnings("ignore", module="gymnasium")
    if output.out is not None:  # a folder that cannot be written should fail now, not after the training
        make_folder(output.out)
    run = train(config, tricks)
    print(summary(run))
    if output.out is not None:
        run.save(output.out)
        print(f"wrote {output.out}")
    if len(run.diverged) == len(config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def summary(run: "Run") -> str:
    """A line per seed, and their mean: the return over the last 10% of the budget."""
    late = run.late().dropna()
    lines = []
    for seed in run.config.seed_list:
        if seed in run.diverged:
            said = f"diverged at step {run.diverged[seed]}: the loss or its gradient is not finite"
        elif seed not in late:
            said = "no episode ended in the last 10% of the budget"
        else:
            said = f"return {late[seed]:.1f}"
        lines.append(f"seed {seed}: {said}")
    mean = f"mean return over the last 10% of {run.config.steps} steps of {run.config.env}: {late.mean():.1f}"
    return "\n".join([*lines, *([mean] if len(late) else [])])


def _list(arguments: list[str]) -> None:
    if arguments:
        raise InputError(f"list takes no arguments, not {' '.join(arguments)}")
    print(table())


def _listing(arguments: list[str]) -> None:
    tricks, _ = parse(arguments, "listing")
    print(listing(tricks), end="")


def _diff(arguments: list[str]) -> None:
    if len(arguments) != 2:
        raise InputError("diff takes two rungs, for example: python -m tricks diff reinforce ppo")
    print(diff(*(named(argument) for argument in arguments)), end="")

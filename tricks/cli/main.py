"""The commands of `python -m tricks train|play|list|listing|diff|export`."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import field, make_dataclass
from typing import Annotated, Any

import tyro

from tricks.cli.running import Output, Playing, play_saved, refuse_others, resumed, summary, trained
from tricks.cli.shell import guarded, options
from tricks.config import ATARI_CONFIG, Config
from tricks.errors import InputError
from tricks.ladder import NEEDS, PPO, PRESETS, Tricks, described, named, switched, table
from tricks.reading.export import export
from tricks.reading.listing import diff, listing

USAGE = """usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents; print a summary; --out keeps the run
  train --resume DIR                            go on with a run that kept checkpoints (--checkpoint-every)
  play DIR [options]                            what a saved agent earns, and an animated picture of it
  list                                          the ladder: every flag, what it adds and what it needs
  listing [RUNG] [--FLAG | --no-FLAG]           the training loop with these flags decided
  diff RUNG RUNG                                what changes in the loop from one to the other
  export [RUNG] [--FLAG | --no-FLAG]            one self-contained file that trains with these flags

RUNG is a preset ({presets}), or a flag, which stands for the ladder up to it.
`python -m tricks train --help` and `play --help` show all options."""


NUMBERS = {"atari": ATARI_CONFIG}  # of the presets that bring their own


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for a request that cannot be met, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    commands = {"train": _train, "play": _play, "list": _list, "listing": _listing, "diff": _diff, "export": _export}
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
    start, numbers = PPO, Config()
    if arguments and not arguments[0].startswith("-"):
        start, numbers = named(arguments[0]), NUMBERS.get(arguments[0], numbers)
        arguments.pop(0)
    help = {name: Annotated[bool, tyro.conf.arg(help=text)] for name, text in described().items()}
    switches = make_dataclass(  # not Tricks itself, which checks its needs before all switches are known
        "Tricks", [(name, kind, getattr(start, name)) for name, kind in help.items()]
    )
    parts = {"tricks": switches} | {group.__name__.lower(): group for group in groups}
    defaults: dict[type, Any] = {Config: lambda: numbers}
    together = make_dataclass(
        "Options", [(name, part, field(default_factory=defaults.get(part, part))) for name, part in parts.items()]
    )
    about = f"RUNG is one of {', '.join(PRESETS)}, or a flag: the ladder up to it. Default: ppo."
    parsed: Any = options(together, arguments, f"python -m tricks {what} [RUNG]", about)
    on = [name for name in NEEDS if getattr(parsed.tricks, name)]
    return switched(on), [getattr(parsed, name) for name in list(parts)[1:]]


def _train(arguments: list[str]) -> None:
    given = list(arguments)
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    warnings.filterwarnings("ignore", module="gymnasium")
    if output.resume is not None:
        refuse_others(given)
        out, run = output.resume, resumed(output.resume)
    else:
        out, run = output.out, trained(config, tricks, output)
    print(summary(run))
    if out is not None:
        run.save(out)
        print(f"wrote {out}")
    if len(run.diverged) == len(run.config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def _play(arguments: list[str]) -> None:
    play_saved(options(Playing, arguments, "python -m tricks play DIR"))


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


def _export(arguments: list[str]) -> None:
    tricks, _ = parse(arguments, "export")
    print(export(tricks), end="")

"""The commands of `python -m tricks`."""

import sys
from collections.abc import Sequence

from tricks.cli.play import check, play, save_policy
from tricks.cli.shell import answered, chosen, guarded, parse
from tricks.cli.train import train
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import PRESETS, named
from tricks.reading.ladder_table import table

USAGE = f"""usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents and print a summary; --out saves the run
  train --resume DIR                            resume a run that wrote checkpoints (--checkpoint-every)
  check ENV [options]                           look at an environment for a few seconds, without training
  play DIR [options]                            evaluate a saved agent and film one episode
  save-policy DIR --out FILE [options]          write one agent as a plain torch module or as ONNX
  list                                          print the ladder: what each flag adds and needs
  listing [RUNG] [--FLAG | --no-FLAG]           print the training loop with these flags resolved
  diff RUNG RUNG                                print what changes in the loop from one rung to the other
  export [RUNG] [--FLAG | --no-FLAG]            print tricks/one_agent.py, the ladder for one agent in one file of
                                                plain PyTorch, with these flags and numbers decided

RUNG is a preset ({", ".join(PRESETS)}) or a flag, which means the ladder up to it,
or ppo with it if it is beyond the ladder. The default is ppo; flags add to it or
remove from it. (In Python, Tricks() is reinforce.)
`python -m tricks train --help` and `play --help` show all options; `--version` shows what is installed,
and `--print-completion SHELL` a script with which bash or zsh completes all of this."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for invalid input, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    if not arguments or (arguments[0] in ("list", "diff") and arguments[-1] in ("-h", "--help")):
        print(USAGE)
        return 0 if arguments else 2
    if not answered(arguments, USAGE, "tricks", COMMANDS):
        chosen(arguments[0], COMMANDS)(arguments[1:])
    return 0


# What needs torch or libcst imports them on use, so that `list` does not wait for them.


def _list(arguments: list[str]) -> None:
    if arguments:
        raise InputError(f"list takes no arguments, not {' '.join(arguments)}")
    print(table())


def _listing(arguments: list[str]) -> None:
    from tricks.reading.listing import listing

    print(listing(parse(arguments, "listing")[0]), end="")


def _diff(arguments: list[str]) -> None:
    from tricks.reading.listing import diff

    if len(arguments) != 2:
        raise InputError("diff takes two rungs, for example: python -m tricks diff reinforce ppo")
    print(diff(*map(named, arguments)), end="")


def _export(arguments: list[str]) -> None:
    from tricks.reading.export import export

    tricks, (config,) = parse(arguments, "export", Config)
    print(export(tricks, config), end="")


COMMANDS = {"train": train, "play": play, "save-policy": save_policy, "list": _list, "listing": _listing}
COMMANDS |= {"diff": _diff, "export": _export, "check": check}

"""The commands of `python -m tricks train|check|play|save-policy|list|listing|diff|export`."""

import sys
from collections.abc import Sequence

from tricks.cli.answers import answered
from tricks.cli.shell import chosen, guarded
from tricks.errors import InputError
from tricks.ladder import PRESETS, named
from tricks.reading.ladder_table import table

USAGE = """usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents and print a summary; --out saves the run
  train --resume DIR                            resume a run that wrote checkpoints (--checkpoint-every)
  check ENV [options]                           look at an environment for a few seconds, without training
  play DIR [options]                            evaluate a saved agent and film one episode
  save-policy DIR --out FILE [options]          write one agent as a plain torch module or as ONNX
  list                                          print the ladder: what each flag adds and needs
  listing [RUNG] [--FLAG | --no-FLAG]           print the training loop with these flags resolved
  diff RUNG RUNG                                print what changes in the loop from one rung to the other
  export [RUNG] [--FLAG | --no-FLAG]            print one short file of plain PyTorch that trains with these
                                                flags of the ladder

RUNG is a preset ({presets}) or a flag, which means the ladder up to it,
or ppo with it if it is beyond the ladder. The default is ppo; flags add to it or
remove from it. (In Python, Tricks() is reinforce.)
`python -m tricks train --help` and `play --help` show all options; `--version` shows what is installed,
and `--print-completion SHELL` a script with which bash or zsh completes all of this."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for invalid input, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    usage = USAGE.format(presets=", ".join(PRESETS))
    if not arguments or (arguments[0] in ("list", "diff") and arguments[-1] in ("-h", "--help")):
        print(usage)
        return 0 if arguments else 2
    if answered(arguments, usage, "tricks", COMMANDS):
        return 0
    name, *rest = arguments
    chosen(name, COMMANDS)(rest)
    return 0


# Each command imports what it needs, so that `list` does not wait for torch, tyro or libcst.


def _train(arguments: list[str]) -> None:
    from tricks.cli.train_command import train

    train(arguments)


def _check(arguments: list[str]) -> None:
    from tricks.cli.check_command import check

    check(arguments)


def _play(arguments: list[str]) -> None:
    from tricks.cli.play_command import play_saved

    play_saved(arguments)


def _save_policy(arguments: list[str]) -> None:
    from tricks.cli.save_policy_command import save

    save(arguments)


def _list(arguments: list[str]) -> None:
    if arguments:
        raise InputError(f"list takes no arguments, not {' '.join(arguments)}")
    print(table())


def _listing(arguments: list[str]) -> None:
    from tricks.cli.parsing import parse
    from tricks.reading.listing import listing

    tricks, _ = parse(arguments, "listing")
    print(listing(tricks), end="")


def _diff(arguments: list[str]) -> None:
    from tricks.reading.listing import diff

    if len(arguments) != 2:
        raise InputError("diff takes two rungs, for example: python -m tricks diff reinforce ppo")
    print(diff(*(named(argument) for argument in arguments)), end="")


def _export(arguments: list[str]) -> None:
    from tricks.cli.export_command import export

    export(arguments)


COMMANDS = {
    "train": _train,
    "play": _play,
    "save-policy": _save_policy,
    "list": _list,
    "listing": _listing,
    "diff": _diff,
    "export": _export,
    "check": _check,
}

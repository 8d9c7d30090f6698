"""Which tricks, and which numbers, a command line asks for."""

from dataclasses import field, make_dataclass
from typing import Annotated, Any

import tyro

from tricks.cli.shell import options
from tricks.config import ATARI_CONFIG, Config
from tricks.ladder import NEEDS, PPO, PRESETS, Tricks, named, switched
from tricks.reading.ladder_table import described

NUMBERS = {"atari": ATARI_CONFIG}  # of the presets that bring their own
ABOUT = f"""RUNG is where the flags start from: {", ".join(PRESETS)}, or a flag, which
stands for the ladder up to it. Without it they start from ppo. (In Python, Tricks() has every
flag off: reinforce.) The defaults shown are those of ppo, or of the RUNG before --help; atari
has numbers of its own, too."""
NOTES = {"export": "\nThe file that is printed trains on vectors; it refuses images, with the flags of atari, too."}
GROUPS = {
    "tricks": "What is on and what is off.",
    "config": "Environment, seeds, budget and the other numbers. One that belongs to a trick, named in parentheses, is "
    "read only when that trick is on.",
    "output": "What is kept of the run, and what is measured on the way.",
}


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
        "Options",
        [
            (name, Annotated[part, tyro.conf.arg(help=GROUPS[name])], field(default_factory=defaults.get(part, part)))
            for name, part in parts.items()
        ],
    )
    parsed: Any = options(together, arguments, f"python -m tricks {what} [RUNG]", ABOUT + NOTES.get(what, ""))
    on = [name for name in NEEDS if getattr(parsed.tricks, name)]
    return switched(on), [getattr(parsed, name) for name in list(parts)[1:]]

"""Parse tricks and hyperparameters from the command line."""

from dataclasses import field, make_dataclass
from typing import Annotated, Any

import tyro

from tricks.cli.shell import options
from tricks.config import ATARI_CONFIG, CONTINUOUS_CONFIG, Config
from tricks.ladder import NEEDS, PPO, PRESETS, Tricks, named, switched
from tricks.reading.ladder_table import described

PRESET_CONFIGS = {"atari": ATARI_CONFIG, "continuous": CONTINUOUS_CONFIG}  # presets with their own numbers
ABOUT = f"""RUNG sets the starting flags: {", ".join(PRESETS)}, or a flag, which means the
ladder up to it. The default is ppo. (In Python, Tricks() has every flag off: reinforce.) The
defaults shown are those of ppo, or of the RUNG given before --help. The presets atari and
continuous also change the numbers."""
NOTES = {"export": "\nThe numbers become the defaults of the file's own options."}
GROUPS = {
    "tricks": "Which tricks are on.",
    "config": "Environment, seeds, budget and hyperparameters. A number that belongs to a trick, named in parentheses, "
    "has no effect when that trick is off.",
    "output": "What to save, and what to measure during training.",
}


def parse(arguments: list[str], what: str, *groups: type) -> tuple[Tricks, list[Any]]:
    """Parse the flags, which start from the rung named first, and the other groups of options.

    Raises InputError for an unknown rung or option, a value of the wrong type, or an unmet need.
    """
    start, numbers = PPO, Config()
    if arguments and not arguments[0].startswith("-"):
        start, numbers = named(arguments[0]), PRESET_CONFIGS.get(arguments[0].split("+")[0], numbers)
        arguments.pop(0)
    help = {name: Annotated[bool, tyro.conf.arg(help=text)] for name, text in described().items()}
    switches = make_dataclass(  # not Tricks itself, which would check needs before all switches are parsed
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

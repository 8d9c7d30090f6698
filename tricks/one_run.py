"""What surrounds `tricks.one_agent`: its checks, its command line, and the figure of its curve."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pandas as pd
import torch
from matplotlib.figure import Figure

from tricks.config import Config
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import LADDER, Tricks, named
from tricks.training import open_env

FLAGS = (*LADDER, "shared_trunk")  # that the one agent has


def check(numbers: Mapping[str, Any], tricks: Tricks) -> None:
    """Raise InputError for a trick or a space that the one agent lacks, and for whatever `tricks.train` refuses."""
    if beyond := [name for name in tricks.on if name not in FLAGS]:
        raise InputError(f"one_agent has no {', '.join(beyond)}", "python -m tricks train has every trick")
    same = {name: x for name, x in numbers.items() if name not in ("seed", "hidden")}
    config = Config(**same, seeds=(numbers["seed"],), hidden=(numbers["hidden"],) * 2, backend="gymnasium")
    with closing(open_env(config, tricks)) as env:
        observation, action = env.spaces.observation, env.spaces.action
    flat = isinstance(observation, gym.spaces.Box) and len(observation.shape) == 1
    plain = isinstance(action, gym.spaces.Discrete) or (isinstance(action, gym.spaces.Box) and len(action.shape) == 1)
    if not (flat and plain):
        raise InputError(
            f"one_agent sees vectors, and takes one discrete or several continuous actions, but {config.env} has "
            f"{observation} and {action}",
            "python -m tricks train takes any space",
        )


def main(train: Callable[[Any, Tricks], tuple[Any, list[dict[str, float]]]], numbers: type[Any], about: str) -> None:
    """Train one agent as the command line says, and draw its curve into one_agent.png."""
    parser = argparse.ArgumentParser(
        prog="python -m tricks.one_agent",
        usage="%(prog)s [ppo | TRICK] [--no-TRICK ...] [--env ENV] [--NUMBER ...]",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("rung", nargs="?", default="reinforce", help="reinforce, ppo, or the ladder up to this trick")
    for name in FLAGS:
        parser.add_argument(switch(name), action=argparse.BooleanOptionalAction)
    for name, default in vars(numbers()).items():
        parser.add_argument(switch(name), type=type(default), default=default, help=f"{default} unless given")
    given = vars(parser.parse_args())
    torch.set_num_threads(1)  # tensors this small gain nothing from more
    switches = {name: given.pop(name) for name in FLAGS}
    try:
        rung = named(given.pop("rung"))
        tricks = replace(rung, **{name: on for name, on in switches.items() if on is not None})
        _, curve = train(numbers(**given), tricks)
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "interrupted; one_agent saves nothing, and python -m tricks train --out DIR does\n")
    figure = Figure(layout="constrained")
    axes = pd.DataFrame(curve).plot(x="step", y="return", style=".-", legend=False, ax=figure.subplots())
    axes.set(title=given["env"], xlabel="environment steps", ylabel="mean return of the episodes that ended")
    figure.savefig("one_agent.png")
    print("one_agent.png shows the learning curve")

"""The command line."""

from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction, RawTextHelpFormatter
from collections.abc import Callable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from tricks.reading.skeleton.settings import Config


def main(train: Callable[[Config], SimpleNamespace]) -> None:
    """Train as the command line asks, and print what each seed earned at the end: nan if no episode ended there."""
    parser = ArgumentParser(usage=SUPPRESS, description=__doc__, formatter_class=RawTextHelpFormatter)
    for f in fields(Config):
        some: Any = {bool: {"action": BooleanOptionalAction}, tuple: {"type": int, "nargs": "+"}}.get(type(f.default))
        parser.add_argument(f"--{f.name.replace('_', '-')}", default=f.default, **(some or {"type": type(f.default)}))
    for name, x in vars(asked := parser.parse_args()).items():
        option, least = f"--{name.replace('_', '-')}", int(isinstance(x, int | list | tuple) and name != "aux_epochs")
        least = -99 if name == "log_std_init" else least
        most = 1 if name in ("gamma", "gae_lambda", "return_beta", "obs_decay") else 2**53
        if not isinstance(x, str | bool) and not least <= np.min(x) <= np.max(x) <= most:
            parser.error(f"{option} must be between {least} and {most}, not {x}")
        if name == "activation" and x not in ("tanh", "relu"):
            parser.error(f"{option} must be tanh or relu, not {x}")
    torch.set_num_threads(1)  # tensors this small gain nothing from more
    try:
        run = train(Config(**vars(asked)))
    except (gym.error.Error, ImportError) as error:
        parser.exit(2, f"error: {' '.join(str(error).split())}\n")
    for seed in range(run.config.seeds):
        late = [x for x in run.curve if x["seed"] == seed and x["episodes"] and x["step"] > 0.9 * run.config.steps]
        mean = np.average([x["return"] for x in late], weights=[x["episodes"] for x in late]) if late else np.nan
        outcome = f"return {mean:.1f} over the last 10% of training"
        print(f"seed {seed}: {f'diverged at step {run.diverged[seed]}' if seed in run.diverged else outcome}")

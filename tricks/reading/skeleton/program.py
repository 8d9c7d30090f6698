"""The command line."""

import argparse
from collections.abc import Callable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from tricks.reading.skeleton.settings import Config


def main(train: Callable[[Config], SimpleNamespace]) -> None:
    """Train as the command line asks, and print what each seed earned at the end: nan if it diverged before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Config):
        name, default, many = f"--{field.name}", field.default, "+" if field.name == "hidden" else None
        kind: Any = {bool: "True".__eq__, tuple: int}.get(type(default), type(default))
        parser.add_argument(name, type=kind, nargs=many, default=default)
    torch.set_num_threads(1)  # tensors this small gain nothing from more
    try:
        run = train(Config(**vars(parser.parse_args())))
    except (gym.error.Error, ImportError) as error:
        parser.exit(2, f"error: {' '.join(str(error).split())}\n")
    for seed in range(run.config.seeds):
        late = [x for x in run.curve if x["seed"] == seed and x["episodes"] and x["step"] > 0.9 * run.config.steps]
        mean = np.average([x["return"] for x in late], weights=[x["episodes"] for x in late]) if late else np.nan
        print(f"seed {seed}: return {mean:.1f} over the last 10% of training")

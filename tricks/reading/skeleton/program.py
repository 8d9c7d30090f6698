"""The command line."""

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import gymnasium as gym
import torch

from tricks.reading.skeleton.curve import Run
from tricks.reading.skeleton.settings import Config


def main(train: Callable[[Config], Run]) -> None:
    """Train as the command line asks, and print what each seed earned at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Config):
        default: Any = field.default
        kind, count = type(default), "+" if isinstance(default, tuple) else None
        kind = int if isinstance(default, bool | tuple) else kind
        parser.add_argument(f"--{field.name}", type=kind, nargs=count, default=default)
    torch.set_num_threads(1)  # tensors this small gain nothing from more
    try:
        run = train(Config(**vars(parser.parse_args())))
    except (gym.error.Error, ImportError) as error:
        parser.exit(2, f"error: {' '.join(str(error).split())}\n")
    for seed in range(run.config.seeds):
        rows = [row for row in run.curve if row["seed"] == seed and row["step"] > 0.9 * run.config.steps]
        earned = sum(row["return"] * row["episodes"] for row in rows if row["episodes"])
        late = earned / (sum(row["episodes"] for row in rows) or float("nan"))
        end = f"diverged at step {run.diverged[seed]}" if seed in run.diverged else f"return {late:.1f}"
        print(f"seed {seed}: {end} (mean over the last 10% of the budget)")

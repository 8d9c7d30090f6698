"""The command line."""

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch

from tricks.config import Config
from tricks.reading.skeleton.curve import Run, mean_return


def main(train: Callable[[Config], Run]) -> None:
    """Train as the command line asks, and print what each seed earned at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Config):
        default: Any = field.default
        kind, count = (type(default[0]), "+") if isinstance(default, tuple) else (type(default), None)
        parser.add_argument(f"--{field.name}", type=kind, nargs=count, default=default)
    given: dict[str, Any] = vars(parser.parse_args())
    config = Config(**given | {name: tuple(value) for name, value in given.items() if isinstance(value, list)})
    torch.set_num_threads(1)  # tensors this small gain nothing from more
    run = train(config)
    for seed in config.seed_list:
        rows = [row for row in run.curve if row["seed"] == seed]
        late = mean_return([row for row in rows if row["step"] > 0.9 * config.steps])
        end = f"diverged at step {run.diverged[seed]}" if seed in run.diverged else f"return {late:.1f}"
        print(f"seed {seed}: {len(rows)} updates, {end} (mean over the last 10% of the budget)")

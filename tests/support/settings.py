"""The sets of flags that most laws are tried with, and legal sets at random, with numbers that matter."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tricks import Config, InputError
from tricks.config import CHOICES
from tricks.ladder import NEEDS, PRESETS, REINFORCE, Tricks, closed, switched


def alone(name: str) -> Tricks:
    return switched(closed([name]))


SETTINGS = {"reinforce": REINFORCE} | {name: alone(name) for name in NEEDS} | PRESETS
SMALL = Config(seeds=(3, 8), steps=90, lanes=2, horizon=8, hidden=(5, 4), epochs=2, minibatches=2, aux_every=2)
SMALL = replace(SMALL, group=2)
COUNTS = {
    "lanes": (2, 3), "horizon": (7, 12), "epochs": (1, 3), "value_epochs": (1, 3), "minibatches": (1, 4),
    "aux_every": (1, 3), "aux_epochs": (1, 2), "policy_rollouts": (1, 2), "policy_uses": (1, 3),
    "value_rollouts": (1, 3), "value_uses": (1, 4),
}  # fmt: skip
RANGES = {  # ranges in which each matters: ratios leave the clip range, gradients are too long, the KL is too large
    "lr": (1e-3, 1e-2), "adam_eps": (1e-2, 1e-1), "gamma": (0.7, 1.0), "gae_lambda": (0.5, 1.0),
    "log_std_init": (-1.0, 0.5), "value_coef": (0.2, 1.0), "clip_range": (0.001, 0.05), "max_grad_norm": (0.05, 1.0),
    "entropy_coef": (0.01, 0.3), "obs_decay": (0.0, 0.5), "return_beta": (0.1, 0.9), "value_clip_range": (0.01, 0.3),
    "clone_coef": (0.1, 2.0), "target_kl": (1e-6, 1e-3), "value_lr_factor": (0.3, 3.0),
    "max_value_grad_norm": (0.05, 1.0), "dual_clip_limit": (1.001, 1.05), "huber_delta": (0.1, 2.0),
    "clip_high": (0.001, 0.05), "kl_coef": (0.01, 1.0), "reply_divisor": (1.0, 9.0),
}  # fmt: skip


def drawn_from(number: int, envs: Sequence[str], flags: Callable[[str], Iterable[str]]) -> tuple[Config, Tricks]:
    """The set with this number: an environment, the numbers of two seeds, and some of the flags there are for it."""
    rng = random.Random(number)
    drawn: dict[str, Any] = {name: rng.randint(*bounds) for name, bounds in COUNTS.items()}
    drawn |= {name: (rng.uniform(*bounds), rng.uniform(*bounds)) for name, bounds in RANGES.items()}
    drawn |= {"activation": rng.choice(["tanh", "relu"]), "env": rng.choice(envs)}
    drawn["recurrent_cell"] = rng.choice(["lstm", "gru"])
    drawn |= {name: rng.random() < 0.5 for name in ("value_clip_anneals", "aux_value_clip", "return_first_batch")}
    config = replace(SMALL, **drawn, steps=5 * drawn["lanes"] * drawn["horizon"])
    drawn = {name: rng.choice(CHOICES[name]) for name in ("kl_in", "kl_estimator")}
    drawn |= {"group": rng.randint(2, 3), "reply_divisor": rng.choice([config.reply_divisor, (0.0, 3.0)])}
    config = replace(config, **drawn)
    while True:
        share, without = rng.uniform(0, 0.5), "baseline" if rng.random() < 0.25 else "group_baseline"
        try:
            some = [name for name in flags(config.env) if rng.random() < share and without not in closed([name])]
            tricks = switched(closed(some))
        except InputError:  # two flags that exclude each other
            continue
        whole = tricks.recurrent or tricks.group_baseline  # lanes are dealt whole
        lanes = max(config.lanes, config.minibatches) if whole else config.lanes
        if tricks.group_baseline:
            lanes = config.group * -(-lanes // config.group)
        return replace(config, lanes=lanes), tricks

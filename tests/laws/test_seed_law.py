"""A seed's numbers are its own, to the last bit: alone or in a stack, from one number for all or from one for each."""

from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any

import pandas as pd
import pytest
import torch
from support.training import UNMASKED

from tricks import PPO, REINFORCE, Config, Evaluation, Run, Tricks, train
from tricks.config import PerSeed
from tricks.fast.dispatch import plain
from tricks.ladder import named

SMALL = Config(seeds=2, lanes=2, horizon=25, steps=220, hidden=(5,), epochs=2, minibatches=2, aux_every=2, aux_epochs=1)
NUMBERS = {"clip_range": 0.13, "adam_eps": 3e-4, "obs_decay": 0.3, "target_kl": 0.0123, "dual_clip_limit": 1.07}
NUMBERS |= {"max_grad_norm": 0.037, "max_value_grad_norm": 0.21, "huber_delta": 0.11, "lr": 3e-3}
PER_SEED = [field.name for field in fields(Config) if field.type == PerSeed]
STOPPING = named("ppg+separate_optimizers+kl_stop+state_norm+dual_clip+huber")
OF_STOPPING = ("max_value_grad_norm", "value_lr_factor", "target_kl", "clone_coef")
WHOLE = replace(PPO, huber=True, dual_clip=True, state_norm=True, value_clip=True, return_norm=True, kl_stop=True)

FORMS = [
    pytest.param(name, tricks, form, id=f"{name}-{kind}-{form}", marks=[] if usual else [pytest.mark.slow])
    for kind, tricks in (("every", UNMASKED), ("whole", WHOLE), ("stopping", STOPPING))
    for name in PER_SEED
    for usual in [kind == "every" or (kind == "stopping" and name in OF_STOPPING)]
    for form in ("compiled", "plain")
]


def identical(one: Run, other: Run) -> None:
    """The same curve and the same tensors, to the bit, of the seeds that `one` has."""
    for seed in one.config.seed_list:
        mine, theirs = (run.curve[run.curve.seed == seed].reset_index(drop=True) for run in (one, other))
        pd.testing.assert_frame_equal(mine, theirs, check_exact=True)
        a, b = (run.only(seed).agent.state_dict() for run in (one, other))
        assert all(torch.equal(x, b[name]) for name, x in a.items())


@pytest.mark.parametrize(("name", "tricks", "form"), FORMS)
def test_one_number_for_all_seeds_is_the_same_number_for_each(name: str, tricks: Tricks, form: str) -> None:
    number: Any = NUMBERS.get(name, 0.3)
    with plain() if form == "plain" else nullcontext():
        runs = [train(Config(**vars(SMALL) | {name: given}), tricks) for given in (number, (number, number))]
    identical(*runs)


SIZES = (1, 3, 5, 7, 17)
KINDS: dict[str, tuple[str, Tricks]] = {
    "discrete": ("CartPole-v1", PPO),
    "box": ("Pendulum-v1", PPO),
    "squash": ("Pendulum-v1", named("squash")),
    "reinforce": ("CartPole-v1", REINFORCE),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_of_any_size_of_net_is_the_same_alone_and_evaluated(kind: str, size: int) -> None:
    env, tricks = KINDS[kind]
    numbers: dict[str, Any] = {"env": env, "hidden": (size, size), "seeds": (8, 3, 5)}
    config = replace(SMALL, **numbers, log_std_init=(-0.3, 0.0, 0.4), value_coef=(0.3, 0.7, 0.1), obs_decay=0.3)
    evaluation = Evaluation(100, 3)
    stacked = train(config, tricks, evaluation=evaluation)
    identical(train(config.only(1), tricks, evaluation=evaluation), stacked)

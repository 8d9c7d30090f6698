"""What users give is plain values, or is refused in one line that names the field, what it got and what is right."""

import math
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tricks
from ablations.training.jobs import Job
from tricks import (
    PPO,
    Checkpoints,
    Config,
    Evaluation,
    InputError,
    Run,
    Tricks,
    diff,
    export,
    listing,
    load,
    resume,
    source,
    train,
)

TINY = Config(seeds=1, steps=64, lanes=2, horizon=16, hidden=(8,))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": "3"}, "seeds must be a whole number or a list of whole numbers such as (1, 2), not '3'"),
        ({"seeds": True}, "not True"),
        ({"seeds": None}, "seeds must be"),
        ({"seeds": {1, 2}}, "seeds must be"),
        ({"seeds": [[1]]}, "seeds must be"),
        ({"seeds": range(10**30)}, "seeds must be at most 1,000,000 numbers, not range(0, 1000"),
        ({"seeds": 10**9}, "seeds must be at most 1,000,000, not 1000000000"),
        ({"seeds": (2**60,)}, "seeds must be within ±2^53"),
        ({"steps": 10**20}, "steps must be within ±2^53, not 100000000000000000000"),
        ({"lanes": 2.5}, "lanes must be a whole number, not 2.5"),
        ({"steps": 2.5}, "steps must be a whole number, not 2.5"),
        ({"steps": float("inf")}, "steps must be a whole number, not inf"),
        ({"env": None}, "env must be a string, not None"),
        ({"hidden": 64}, "hidden must be a list of whole numbers such as (1, 2), not 64"),
        ({"hidden": "64"}, "not '64'"),
        ({"hidden": (2.5,)}, "hidden must be"),
        ({"compile": "x"}, "compile must be True or False, not 'x'"),
        ({"compile": 1}, "compile must be True or False, not 1"),
        ({"lr": "a"}, "lr must be a number or a list of numbers such as (0.1, 0.2), not 'a'"),
        ({"lr": 10**400}, "lr must be within"),
        ({"gamma": None}, "gamma must be a number or a list of numbers such as (0.1, 0.2), not None"),
        ({"lrr": 1}, "Config has no 'lrr' (did you mean lr?)"),
        ({"zzz": 1}, "Config has no 'zzz'; it has env, backend"),
        ({"activation": "gelu"}, "unknown activation 'gelu'; there are tanh, relu"),
        ({"log_std_init": math.inf}, "log_std_init must be finite, not inf"),
        ({"obs_decay": 1.1}, "obs_decay must be in [0, 1], not 1.1"),
        ({"max_value_grad_norm": math.inf}, "max_value_grad_norm must be positive and finite, not inf"),
        ({"steps": 0}, "steps"),
        ({"lr": -1.0}, "lr"),
        ({"lr": math.inf}, "lr"),
        ({"entropy_coef": math.nan}, "entropy_coef"),
        ({"gamma": 1.1}, "gamma"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"hidden": (0,)}, "hidden"),
        ({"minibatches": 0}, "minibatches"),
        ({"baseline": "x"}, "baseline must be True or False, not 'x'"),
        ({"baseline": "no"}, "baseline must be True or False, not 'no'"),
        ({"baseline": 1}, "baseline must be True or False, not 1"),
        ({"bassline": True}, "Tricks has no 'bassline' (did you mean baseline?)"),
    ],
)
def test_configs_and_tricks_refuse_in_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        (Tricks if "Tricks" in said or "baseline" in given else Config)(**given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_numpy_and_torch_values_become_plain_ones() -> None:
    given = Config(
        seeds=torch.tensor([1, 2]),  # type: ignore[arg-type]
        lr=np.array([0.5, 0.25]),  # type: ignore[arg-type]
        hidden=[np.int64(8), np.array(4)],  # type: ignore[arg-type]
        lanes=np.array(3),  # type: ignore[arg-type]
        steps=1e6,  # type: ignore[arg-type]
        gamma=1,
        compile=np.bool_(True),  # type: ignore[arg-type]
        device=torch.device("cuda:1"),  # type: ignore[arg-type]
        env=np.str_("CartPole-v1"),
    )
    plain = Config(
        seeds=(1, 2), lr=(0.5, 0.25), hidden=(8, 4), lanes=3, steps=1_000_000, gamma=1.0, compile=True, device="cuda:1"
    )
    assert given == plain
    assert hash(given) == hash(plain)
    assert Job(given, PPO).key == Job(plain, PPO).key
    for f in fields(Config):
        assert type(getattr(given, f.name)) is type(getattr(plain, f.name)), f.name
    assert [type(x) for x in (*given.seed_list, *given.rates, *given.hidden)] == [int] * 2 + [float] * 2 + [int] * 2
    assert Config(seeds=range(3)).seeds == (0, 1, 2)  # type: ignore[arg-type]
    assert Tricks(np.bool_(True)) == Tricks(baseline=True)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(given)) == replace(given, lanes=3) == given


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, PPO)


MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {  # what is called with the run and a folder
    "swapped": (lambda run, at: train(PPO, TINY), "config must be a Config, not Tricks(baseline=True"),  # type: ignore[arg-type]
    "a name": (lambda run, at: train(TINY, "ppo"), "tricks must be a Tricks, not 'ppo'"),  # type: ignore[arg-type]
    "one argument": (lambda run, at: train("CartPole-v1"), "train: missing a required argument: 'tricks'"),  # type: ignore
    "unknown": (lambda run, at: train(TINY, PPO, evn=3), "train: got an unexpected keyword argument 'evn'"),  # type: ignore
    "listener": (lambda run, at: train(TINY, PPO, on_update=3), "on_update must be a function or None, not 3"),  # type: ignore
    "checkpoints": (lambda run, at: train(TINY, PPO, checkpoints="x"), "checkpoints must be a Checkpoints"),  # type: ignore
    "evaluation": (lambda run, at: train(TINY, PPO, evaluation=3), "evaluation must be an Evaluation or None"),  # type: ignore
    "diff": (lambda run, at: diff("baseline", "reuse"), "before must be a Tricks, not 'baseline'"),  # type: ignore
    "listing": (lambda run, at: listing("ppo"), "tricks must be a Tricks, not 'ppo'"),  # type: ignore[arg-type]
    "export": (lambda run, at: export("ppo"), "tricks must be a Tricks, not 'ppo'"),  # type: ignore[arg-type]
    "source": (lambda run, at: source(3), "source shows functions, classes and modules"),
    "load": (lambda run, at: load(3), "path must be a string or a path, not 3"),  # type: ignore[arg-type]
    "resume": (lambda run, at: resume(3), "folder must be a string or a path, not 3"),  # type: ignore[arg-type]
    "save": (lambda run, at: run.save(None), "path must be a string or a path, not None"),
    "episodes": (lambda run, at: run.evaluate(2.5), "episodes must be a whole number, not 2.5"),
    "greedy": (lambda run, at: run.evaluate(2, "yes"), "greedy must be True or False, not 'yes'"),
    "only": (lambda run, at: run.only("a"), "seed must be a whole number or None, not 'a'"),
    "every": (lambda run, at: Checkpoints(at, 2.5), "every must be a whole number or None, not 2.5"),  # type: ignore[arg-type]
    "evaluations": (lambda run, at: Evaluation("x"), "every must be a whole number, not 'x'"),  # type: ignore[arg-type]
    "of what": (lambda run, at: Evaluation(5, episode=3), "Evaluation has no 'episode' (did you mean episodes?)"),  # type: ignore
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_call_is_one_line(name: str, run: Run, tmp_path: Path) -> None:
    call, said = MISTAKES[name]
    with pytest.raises(InputError) as caught:
        call(run, tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_public_function_checks_its_arguments() -> None:
    functions = [getattr(tricks, name) for name in tricks.__all__ if name.islower()]
    assert [f.__name__ for f in functions if f is not source and not hasattr(f, "__wrapped__")] == []

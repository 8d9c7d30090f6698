"""Calls from Python with arguments of any type."""
# ruff: noqa: F401 - texts of CASES are evaluated here

import contextlib
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from support.attack.law import refused

from tricks import PPO, Checkpoints, Config, Evaluation, Run, Tricks, diff, export, listing, load, resume, train
from tricks.ladder import NEEDS

TINY: dict[str, Any] = {"seeds": 1, "steps": 16, "lanes": 2, "horizon": 8, "hidden": (4,)}
ANYTHING = (
    "None", "True", "False", "0", "1", "-1", "2.5", "2.0", "10**20", "10**9", "np.nan", "np.inf", "1j", "''", "'x'",
    "'3'", "'no'", "'γ\\n'", "b'x'", "[]", "()", "[1]", "(1, 2)", "(1, 1)", "('a',)", "[[4]]", "{}", "{1}", "range(2)",
    "object()", "int", "np.int64(2)", "np.float32(0.5)", "np.bool_(True)", "np.array(1)", "np.array([1, 2])",
    "np.zeros(4)", "[np.nan] * 4", "np.zeros((3, 4))", "np.array(['a'])", "[False, False]", "torch.tensor(2)",
    "torch.tensor(0.5)", "torch.zeros(4)", "torch.device('cpu')", "np.random.default_rng(0)", "Path('nowhere')",
    "Config(**TINY)", "PPO", "print", "lambda: None",
)  # fmt: skip
CALLS = (
    "Tricks(x).on", "Config(x)", "train(x, y)", "train(tiny, x)", "train(tiny, PPO, env=x)", "train(tiny, PPO, body=x)",
    "train(tiny, PPO, on_update=x)", "train(tiny, PPO, checkpoints=x)", "train(tiny, PPO, evaluation=x)",
    "Checkpoints(folder, x)", "Checkpoints(x, 10)", "Evaluation(x, y)", "load(x)", "resume(x)", "listing(x)",
    "export(x)", "diff(x, y)", "run.only(x)", "run.save(x)", "run.evaluate(x, y)", "run.agent[0].act(x)",
    "run.agent[0].act(np.zeros(4), x)", "run.agent[0].act(np.zeros(4), None, x)", "run.agent[x]",
)  # fmt: skip
FIELDS = [f"Tricks({name}=x).on" for name in NEEDS]
for field in fields(Config):
    made = f"Config(**TINY | {{'{field.name}': x}})"
    FIELDS += [f"trained({made})", f"saved(replace(run, config={made}), folder)"]
# One of these calls, and two of ANYTHING.
CASES = st.tuples(*map(st.sampled_from, ([*FIELDS, *CALLS * 6], ANYTHING, ANYTHING)))


def trained(config: Config) -> object:
    """A Config that could be made must be of use; one for more than a second is as legal, but no case to run here."""
    return train(config, PPO) if config.steps <= 64 and config.epochs <= 4 and not config.compile else None


def saved(run: Run, folder: Path) -> object:
    run.save(folder / "x")
    return load(folder / "x")


def attack(case: tuple[str, ...], run: Run) -> str:
    what, x, y = case
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        given = {"run": run, "folder": Path(name), "tiny": Config(**TINY), "x": eval(x), "y": eval(y)}
        _, broken = refused(lambda: eval(what, globals(), given))
    return broken and f"{what}: {broken}"

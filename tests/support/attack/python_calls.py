"""Calls from Python with arguments of any type."""

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from support.attack.law import refused

import tricks
from tricks import PPO, Checkpoints, Config, Evaluation, Run, Tricks
from tricks.ladder import NEEDS

TINY: dict[str, Any] = {"seeds": 1, "steps": 16, "lanes": 2, "horizon": 8, "hidden": (4,)}
ANYTHING: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "1": 1,
    "-1": -1,
    "2.5": 2.5,
    "2.0": 2.0,
    "10**20": 10**20,
    "10**9": 10**9,
    "nan": float("nan"),
    "inf": float("inf"),
    "1j": 1j,
    "''": "",
    "'x'": "x",
    "'3'": "3",
    "'no'": "no",
    "'γ\\n'": "γ\n",
    "b'x'": b"x",
    "[]": [],
    "()": (),
    "[1]": [1],
    "(1, 2)": (1, 2),
    "(1, 1)": (1, 1),
    "('a',)": ("a",),
    "[[4]]": [[4]],
    "{}": {},
    "{1}": {1},
    "range(2)": range(2),
    "object()": object(),
    "int": int,
    "np.int64(2)": np.int64(2),
    "np.float32(0.5)": np.float32(0.5),
    "np.bool_(True)": np.bool_(True),
    "np.array(1)": np.array(1),
    "np.array([1, 2])": np.array([1, 2]),
    "np.zeros(4)": np.zeros(4),
    "[nan] * 4": [float("nan")] * 4,
    "np.zeros((3, 4))": np.zeros((3, 4)),
    "np.array(['a'])": np.array(["a"]),
    "[False, False]": [False, False],
    "torch.tensor(2)": torch.tensor(2),
    "torch.tensor(0.5)": torch.tensor(0.5),
    "torch.zeros(4)": torch.zeros(4),
    "torch.device('cpu')": torch.device("cpu"),
    "np.random.default_rng(0)": np.random.default_rng(0),
    "Path('nowhere')": Path("nowhere"),
    "Config()": Config(**TINY),
    "PPO": PPO,
    "print": print,
    "lambda: None": lambda: None,
}
FIELDS = [field.name for field in fields(Config)]


@dataclass(frozen=True)
class Call:
    """A call by name, with arguments by their names in ANYTHING. field: what a Config or Tricks gets them for."""

    what: str
    given: tuple[str, ...]
    field: str = ""

    @property
    def values(self) -> list[Any]:
        return [ANYTHING[name] for name in self.given]


def _config(run: Run, call: Call, folder: Path) -> object:
    config = Config(**TINY | {call.field: call.values[0]})
    if not _affordable(config):
        return None
    return tricks.train(config, PPO)  # a Config that could be made must be of use


def _affordable(config: Config) -> bool:
    """Whether the config asks for a training of a second; a larger one is as legal, but no case to run here."""
    return config.steps <= 64 and config.epochs <= 4 and not config.compile


def _saved(run: Run, call: Call, folder: Path) -> object:
    changed = replace(run, config=Config(**TINY | {call.field: call.values[0]}))
    changed.save(folder / "x")
    return tricks.load(folder / "x")


CALLS: dict[str, Callable[[Run, Call, Path], object]] = {
    "train(Config(field=x), PPO)": _config,
    "Run(config=Config(field=x)).save, load": _saved,
    "Tricks(flag=x)": lambda run, call, folder: Tricks(**{call.field: call.values[0]}).on,
    "Tricks(x)": lambda run, call, folder: Tricks(*call.values[:1]).on,
    "Config(x)": lambda run, call, folder: Config(*call.values[:1]),
    "train(x, y)": lambda run, call, folder: tricks.train(*call.values[:2]),
    "train(config, x)": lambda run, call, folder: tricks.train(Config(**TINY), call.values[0]),
    "train(env=x)": lambda run, call, folder: tricks.train(Config(**TINY), PPO, env=call.values[0]),
    "train(body=x)": lambda run, call, folder: tricks.train(Config(**TINY), PPO, body=call.values[0]),
    "train(on_update=x)": lambda run, call, folder: tricks.train(Config(**TINY), PPO, on_update=call.values[0]),
    "train(checkpoints=x)": lambda run, call, folder: tricks.train(Config(**TINY), PPO, checkpoints=call.values[0]),
    "train(evaluation=x)": lambda run, call, folder: tricks.train(Config(**TINY), PPO, evaluation=call.values[0]),
    "Checkpoints(folder, x)": lambda run, call, folder: Checkpoints(folder, call.values[0]),
    "Checkpoints(x, 10)": lambda run, call, folder: Checkpoints(call.values[0], 10),
    "Evaluation(x, y)": lambda run, call, folder: Evaluation(*call.values[:2]),
    "load(x)": lambda run, call, folder: tricks.load(call.values[0]),
    "resume(x)": lambda run, call, folder: tricks.resume(call.values[0]),
    "listing(x)": lambda run, call, folder: tricks.listing(call.values[0]),
    "export(x)": lambda run, call, folder: tricks.export(call.values[0]),
    "diff(x, y)": lambda run, call, folder: tricks.diff(*call.values[:2]),
    "run.only(x)": lambda run, call, folder: run.only(call.values[0]),
    "run.save(x)": lambda run, call, folder: run.save(call.values[0]),
    "run.evaluate(x, y)": lambda run, call, folder: run.evaluate(*call.values[:2]),
    "agent[0].act(x)": lambda run, call, folder: run.agent[0].act(call.values[0]),
    "agent[0].act(obs, x)": lambda run, call, folder: run.agent[0].act(np.zeros(4), call.values[0]),
    "agent[0].act(obs, None, x)": lambda run, call, folder: run.agent[0].act(np.zeros(4), None, call.values[0]),
    "agent[x]": lambda run, call, folder: run.agent[call.values[0]],
}
PAIRS = st.tuples(st.sampled_from(list(ANYTHING)), st.sampled_from(list(ANYTHING)))


@st.composite
def calls(draw: Any) -> Call:
    """One call; those with a Config's or a Tricks' field more often, since there are many fields."""
    often = [name for name in CALLS if "field" in name or "flag" in name] * 4
    what = draw(st.sampled_from([*often, *CALLS]))
    known = FIELDS if "field" in what else list(NEEDS) if "flag" in what else [""]
    return Call(what, draw(PAIRS), draw(st.sampled_from(known)))


def attack(call: Call, run: Run) -> str:
    """Make the call, which must work or be refused in one line."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        _, broken = refused(lambda: CALLS[call.what](run, call, Path(name)))
    return broken and f"{call.what}: {broken}"

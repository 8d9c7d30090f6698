"""Whatever is wrong with a saved run's files is one line, and the run is not loaded."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tricks import PPO, Checkpoints, Config, InputError, Run, load, resume, train
from tricks.runs import checkpoint
from tricks.runs.about import digest, write_about
from tricks.runs.files import CHECKPOINT
from tricks.runs.files import RUN as FILES

TINY = Config("ShortCartPole-v0", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))
ONE: dict[str, Any] = {"action": {"kind": "Discrete", "n": 2, "start": 0}, "tasks": 1}
ABOUT, CURVE = Path("run.json"), Path("curve.csv")


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, PPO)


@pytest.fixture(autouse=True)
def _saved(run: Run, _own_folder: None) -> None:
    run.save(".")


def about(change: Callable[[dict[str, Any]], object]) -> None:
    """Change run.json, with the right checksum."""
    told = json.loads(ABOUT.read_text())
    change(told)
    del told["checksum"]
    ABOUT.write_bytes(write_about(told))


def refused(said: str, read: Callable[[str], object] = load) -> None:
    with pytest.raises(InputError, match=r"^(the run in )?[^\n]* is damaged[^\n]*$") as caught:
        read(".")
    assert said in str(caught.value)


def test_any_flipped_byte_is_damage(run: Run) -> None:
    train(TINY, PPO, checkpoints=Checkpoints("cut", 20))
    cut, rng = Path("cut", CHECKPOINT), np.random.default_rng(0)
    for path in (*map(Path, FILES), cut):
        whole, read = path.read_bytes(), (lambda _: resume("cut")) if path == cut else load
        for place in {0, len(whole) - 1, len(whole) - 70, *rng.integers(len(whole), size=60).tolist()}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
            refused("checksum" if path == cut else "", read)
        path.write_bytes(whole)
    assert load(".").curve.equals(run.curve)
    assert checkpoint.read(Path("cut")).step >= 20


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"lanes": "8"}}, "Expected `int`, got `str`"),
        ({"config": {"lines": 8}}, "Config has no field lines"),
        ({"config": {"gamma": 3}}, "gamma"),
        ({"config": {"hidden": [10**9, 10**9]}}, "too small for the agents"),
        ({"config": []}, "Expected `object`, got `array`"),
        ({"tricks": ["magic"]}, "unknown trick magic"),
        ({"diverged": 3}, "Expected `array`, got `int`"),
        ({"seconds": "long"}, "Expected `float | null`, got `str`"),
        ({"seconds": -1}, "Expected `float` >= 0"),
        ({"rows": None}, "Expected `int`, got `null`"),
        ({"rows": 1}, "rows, not 1"),
        ({"spaces": ONE | {"observation": {"kind": "Text"}}}, "unknown space 'Text'"),
        ({"spaces": ONE | {"observation": {"kind": "Discrete", "n": 10**12, "start": 0}}}, "000 numbers is too large"),
        ({"spaces": {"observation": ONE["action"]}}, "missing required field `action`"),
        ({"own": ["agent"]}, "Invalid enum value 'agent'"),
        ({"checksums": None}, "Expected `object`, got `null`"),
        ({"version": 2}, "unknown field `version`"),
    ],
)
def test_a_description_that_cannot_be_is_damage(changes: dict[str, Any], said: str) -> None:
    ((name, change),) = changes.items()
    about(
        lambda told: told.update(
            {name: told[name] | change if isinstance(change, dict) and name == "config" else change}
        )
    )
    refused(said)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("return", "returns", "has no column return"),
        ("entropy", "mystery", "has an unknown column mystery"),
        ("\n3,1,", "\n3,0,", "out of order in the column update"),
        ("\n3,1,", "\n4,1,", "has other seeds"),
        ("\n3,1,", "\nx,1,", "impossible value in the column seed"),
        ("\n3,1,", "\n3,inf,", "impossible value in the column update"),
        ("\n3,1,", "\n3,-1,", "impossible value in the column update"),
    ],
)
def test_a_curve_that_cannot_be_is_damage(before: str, after: str, said: str) -> None:
    curve = CURVE.read_text()
    assert before in curve
    CURVE.write_text(curve.replace(before, after, 1))
    about(lambda told: told["checksums"].update({"curve.csv": digest(CURVE.read_bytes())}))
    refused(said)


def test_a_return_is_infinite_only_where_a_seed_diverged(run: Run) -> None:
    curve = run.curve.assign(**{"return": np.inf})
    replace(run, curve=curve, diverged={3: 60, 1: 60}).save("diverged")
    assert np.isinf(load("diverged").curve["return"]).all()
    replace(run, curve=curve).save(".", overwrite=True)
    refused("damaged: curve.csv: it has an impossible value in the column return")


def test_json_of_any_kind_is_one_line() -> None:
    for content in ("[" * 100_000, "{}", "null", '{"config": ' * 5000, "\ud800"):
        ABOUT.write_bytes(content.encode("utf-8", "surrogatepass"))
        refused("")

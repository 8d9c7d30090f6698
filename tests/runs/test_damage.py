"""Whatever is wrong with a saved run's files is one line, and the run is not loaded."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tricks import PPO, Config, InputError, Run, load, train
from tricks.runs.about import digest, write_about
from tricks.runs.folder import RUN as FILES

TINY = Config("ShortCartPole-v0", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, PPO)


def test_any_flipped_byte_is_damage(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    rng = np.random.default_rng(0)
    for name in FILES:
        path = tmp_path / name
        whole = path.read_bytes()
        for place in {0, len(whole) - 1, *rng.integers(len(whole), size=60).tolist()}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
            with pytest.raises(InputError, match="damaged") as refused:
                load(tmp_path)
            assert "\n" not in str(refused.value)
        path.write_bytes(whole)
    assert load(tmp_path).curve.equals(run.curve)


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
        ({"spaces": {"observation": {"kind": "Text"}, "action": {}}}, "Invalid value 'Text'"),
        ({"spaces": {"observation": {"kind": "Discrete", "n": 10**12, "start": 0}}}, "Expected `int` <="),
        ({"own": ["agent"]}, "Invalid enum value 'agent'"),
        ({"checksums": None}, "Expected `object`, got `null`"),
        ({"version": 2}, "unknown field `version`"),
    ],
)
def test_a_description_that_cannot_be_is_damage(run: Run, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    run.save(tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    for name, change in changes.items():
        about[name] = about[name] | change if name == "config" and isinstance(change, dict) else change
    (tmp_path / "run.json").write_bytes(write_about({name: x for name, x in about.items() if name != "checksum"}))
    with pytest.raises(InputError, match=r"^the run in [^\n]* is damaged: [^\n]*$") as refused:
        load(tmp_path)
    assert said in str(refused.value)


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
def test_a_curve_that_cannot_be_is_damage(run: Run, before: str, after: str, said: str, tmp_path: Path) -> None:
    run.save(tmp_path)
    curve = (tmp_path / "curve.csv").read_text()
    assert before in curve
    save_curve(tmp_path, curve.replace(before, after, 1))
    with pytest.raises(InputError, match=f"damaged: curve.csv: it .*{said}"):
        load(tmp_path)


def test_a_return_is_infinite_only_where_a_seed_diverged(run: Run, tmp_path: Path) -> None:
    curve = run.curve.assign(**{"return": np.inf})
    replace(run, curve=curve, diverged={3: 60, 1: 60}).save(tmp_path / "diverged")
    assert np.isinf(load(tmp_path / "diverged").curve["return"]).all()
    replace(run, curve=curve).save(tmp_path / "healthy")
    with pytest.raises(InputError, match=r"damaged: curve\.csv: it has an impossible value in the column return$"):
        load(tmp_path / "healthy")


def save_curve(folder: Path, curve: str) -> None:
    """Another curve.csv, with the right checksums."""
    (folder / "curve.csv").write_text(curve)
    about = json.loads((folder / "run.json").read_text())
    about["checksums"]["curve.csv"] = digest(curve.encode())
    del about["checksum"]
    (folder / "run.json").write_bytes(write_about(about))


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "{}", "null", '{"config": ' * 5000, "\ud800".encode("utf-8", "surrogatepass")]
)
def test_json_of_any_kind_is_one_line(run: Run, content: str | bytes, tmp_path: Path) -> None:
    run.save(tmp_path)
    (tmp_path / "run.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=r"^the run in [^\n]* is damaged: [^\n]*$"):
        load(tmp_path)

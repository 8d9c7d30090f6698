"""Whatever is wrong with a saved run's files is one line: it is damaged, or of another version, which is named."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.fixtures import refusal
from support.training import reseal, rewrite

from tricks import PPO, Checkpoints, Config, further, load, resume, train
from tricks.runs import checkpoint
from tricks.runs.files import CHECKPOINT, LAST
from tricks.runs.files import RUN as FILES
from tricks.version import ALGORITHM

TINY = Config("ShortCartPole-v0", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))
SPACE: dict[str, Any] = {"kind": "Discrete", "shape": [], "dtype": "int64", "n": [2], "start": [0]}
ONE: dict[str, Any] = {"action": SPACE, "tasks": 1}
CUT = Path("cut", CHECKPOINT)
OLD = {"tricks": "0.1.0", "algorithm": 4, "commit": None}
NEW = {"tricks": "9.9.9", "algorithm": ALGORITHM + 1, "commit": None}
About = dict[str, Any]
Change = Callable[[About], object]
UNREADABLE: dict[str, Change] = {
    "an unknown field": lambda about: about.update(version=2),
    "a field that is missing": lambda about: about.pop("spaces"),
    "a number of another kind": lambda about: about["config"].update(hidden="4"),
    "a number that today is out of range": lambda about: about["config"].update(gamma=3),
    "flags in another form": lambda about: about.update(tricks={"gae": True}),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run, and in it one with a checkpoint."""
    folder = tmp_path_factory.mktemp("stored")
    train(TINY, PPO, checkpoints=Checkpoints(folder / "cut", 1)).save(folder)
    return folder


@pytest.fixture(autouse=True)
def _copied(stored: Path, tmp_path: Path, _own_folder: None) -> None:
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)


def damaged(said: str, read: Callable[[str], object] = load) -> None:
    assert said in refusal("^(the run in )?.* is damaged.*$", read, ".")


def test_any_flipped_byte_is_damage() -> None:
    run, rng = load("."), np.random.default_rng(0)
    for path in (*map(Path, FILES), CUT):
        whole, read = path.read_bytes(), (lambda _: resume("cut")) if path == CUT else load
        for place in {0, len(whole) - 1, len(whole) - 70, *rng.integers(len(whole), size=60).tolist()}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
            damaged("checksum" if path == CUT else "", read)
        path.write_bytes(whole)
    assert load(".").curve.equals(run.curve)
    assert checkpoint.read(Path("cut")).step >= 20


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"lanes": "8"}}, "lanes must be a whole number, not '8'"),
        ({"config": {"gamma": 3}}, "gamma"),
        ({"config": {"hidden": [10**9, 10**9]}}, "too small for the agents"),
        ({"spaces": ONE | {"observation": SPACE | {"n": [10**12]}}}, "too small for the agents"),
        ({"spaces": ONE | {"observation": {"kind": "Text"}}}, "unknown space 'Text'"),
        ({"own": ["agent"]}, "Invalid enum value 'agent'"),
        ({"checksums": None}, "Expected `object`, got `null`"),
    ],
)
def test_a_description_that_cannot_be_is_damage(changes: dict[str, Any], said: str) -> None:
    ((name, change),) = changes.items()
    rewrite(".", lambda told: told.update({name: told[name] | change if name == "config" else change}))
    damaged(said)


def made_by(made: About | None, change: Change) -> Change:
    """The same change, of what that version might have written."""

    def changed(about: About) -> None:
        about.pop("made_with") if made is None else about["made_with"].update(made)
        change(about)

    return changed


def refused(said: str, *doors: Callable[[], object]) -> None:
    assert all("damaged" not in refusal(said, door) for door in doors)


@pytest.mark.parametrize("made", [OLD, NEW, None], ids=["older", "newer", "first"])
@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_what_another_version_computes_otherwise_is_refused(made: About | None, change: Change, told: Any) -> None:
    rewrite(".", made_by(made, change))
    reseal(CUT, lambda about, _: made_by(made, change)(about))
    CUT.with_name(LAST).write_bytes(CUT.read_bytes())  # which is a checkpoint, too
    who = f"ppo-tricks {made['tricks']} \\(ALGORITHM {made['algorithm']}\\)" if made else "another version"
    doors = (lambda: load("."), lambda: load("cut"), lambda: resume("cut"))
    refused(f"was saved by {who}.*; this is ppo-tricks .* train it anew", *doors)
    CUT.unlink()
    refused(f"was saved by {who}", lambda: further("cut", 100))
    told("play . --no-gif", 2)


def test_a_file_of_the_same_algorithm_with_fewer_numbers_is_opened() -> None:
    def fewer(about: About) -> None:  # numbers that a later version brought
        del about["config"]["huber_delta"], about["config"]["recurrent_size"]

    rewrite(".", made_by({"tricks": "0.2.9"}, fewer))
    assert load(".").evaluate(1).shape == (2, 1)


def test_parts_that_only_one_version_knows_are_named() -> None:
    for change, said in (
        (lambda parts: parts.pop("player"), "has no part 'player'"),
        (lambda parts: parts.update(oracle={}), "has an unknown part 'oracle'"),
        (lambda parts: parts["optimizer"].pop("v"), "its part 'optimizer' does not fit"),
        (lambda parts: parts["optimizer"].update(m=torch.zeros(3, 3)), "its part 'optimizer' does not fit"),
        (lambda parts: parts["log"].update(rows=torch.zeros(2, 3)), "its part 'log' does not fit"),
    ):
        whole = CUT.read_bytes()
        reseal(CUT, lambda _, found: change(found["parts"]))  # noqa: B023 - at once
        refused(rf"is of another version, or of other nets than body= makes: .*{said}", lambda: resume("cut"))
        CUT.write_bytes(whole)

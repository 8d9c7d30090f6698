"""A run of another version opens, or is refused by the name of that version; it is never called damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tricks import PPO, Checkpoints, Config, InputError, further, load, resume, train
from tricks.runs.about import digest, sealed, tensor_bytes, write_about
from tricks.runs.files import CHECKPOINT, LAST
from tricks.version import ALGORITHM

TINY = Config("CartPole-v1", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))
OLD = {"tricks": "0.1.0", "algorithm": 4, "commit": None}
NEW = {"tricks": "9.9.9", "algorithm": ALGORITHM, "commit": None}
About = dict[str, Any]
Change = Callable[[About], object]
UNREADABLE: dict[str, Change] = {
    "an unknown field": lambda about: about.update(version=2),
    "a field that is missing": lambda about: about.pop("spaces"),
    "an unknown number": lambda about: about["config"].update(lines=8),
    "a number of another kind": lambda about: about["config"].update(hidden="4"),
    "a number that today is out of range": lambda about: about["config"].update(gamma=3),
    "a flag of another name": lambda about: about["tricks"].append("normalize"),
    "flags in another form": lambda about: about.update(tricks={"gae": True}),
    "another space": lambda about: about["spaces"]["action"].update(kind="Text"),
}


ABOUT, CUT = Path("run/run.json"), Path("cut", CHECKPOINT)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, and one with a checkpoint."""
    folder = tmp_path_factory.mktemp("stored")
    train(TINY, PPO, checkpoints=Checkpoints(folder / "cut", 1)).save(folder / "run")
    return folder


@pytest.fixture(autouse=True)
def _copied(stored: Path, tmp_path: Path, _own_folder: None) -> None:
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)


def changed(about: About, made: About | None, change: Change) -> About:
    about.pop("made_with") if made is None else about["made_with"].update(made)
    change(about)
    return about


def run_of(made: About | None, change: Change) -> None:
    """Make the finished run one that that version might have written."""
    about = json.loads(ABOUT.read_text())
    about.pop("checksum")
    ABOUT.write_bytes(write_about(changed(about, made, change)))


def checkpoint_of(made: About | None, change: Change = lambda about: None) -> None:
    """Make the checkpoint, as which also last.pt is written, one that that version might have written."""
    found = torch.load(CUT, weights_only=True)
    about = changed(json.loads(found["about"]), made, change)
    CUT.write_bytes(sealed(tensor_bytes(found | {"about": json.dumps(about)})))
    CUT.with_name(LAST).write_bytes(CUT.read_bytes())


def refused(said: str, *doors: Callable[[], object]) -> None:
    for door in doors:
        with pytest.raises(InputError, match=said) as caught:
            door()
        assert "damaged" not in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("made", [OLD, NEW, None], ids=["older", "newer", "first"])
@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_what_this_version_cannot_read_is_refused_by_the_name_of_the_other(
    made: About | None, change: Change, told: Callable[..., str]
) -> None:
    run_of(made, change)
    checkpoint_of(made, change)
    who = f"ppo-tricks {made['tricks']} \\(ALGORITHM {made['algorithm']}\\)" if made else "an early version"
    doors = (lambda: load("run"), lambda: load("cut"), lambda: resume("cut"))
    refused(f"was saved by {who}.*; this is ppo-tricks .* train it anew", *doors)
    CUT.unlink()
    refused(f"was saved by {who}", lambda: further("cut", 100))
    told("play run --no-gif", 2)


@pytest.mark.parametrize("made", [OLD, NEW, None], ids=["older", "newer", "first"])
def test_what_this_version_can_read_is_opened(made: About | None) -> None:
    def fewer(about: About) -> None:  # numbers that a later version brought
        del about["config"]["huber_delta"], about["config"]["recurrent_size"]

    run_of(made, fewer)
    assert load("run").evaluate(1).shape == (2, 1)


@pytest.mark.parametrize("name", ["curve.csv", "agent.pt"])
def test_a_curve_or_tensors_of_another_version_are_not_called_damaged(name: str) -> None:
    content = tensor_bytes({"weights": torch.zeros(500)})
    if name == "curve.csv":
        content = Path("run", name).read_bytes().replace(b"entropy", b"surprise")
    Path("run", name).write_bytes(content)
    run_of(OLD, lambda about: about["checksums"].update({name: digest(content)}))
    refused(f"was saved by ppo-tricks 0.1.0.*{name}", lambda: load("run"))


def test_a_checkpoint_from_before_checksums_is_of_an_early_version() -> None:
    CUT.write_bytes(tensor_bytes(torch.load(CUT, weights_only=True)))
    refused("was saved by an early version of ppo-tricks", lambda: load("cut"), lambda: resume("cut"))


def test_parts_that_only_one_version_knows_name_it() -> None:
    for change, said in (
        (lambda parts: parts.pop("player"), "has no part 'player'"),
        (lambda parts: parts.update(oracle={}), "has an unknown part 'oracle'"),
        (lambda parts: parts["optimizer"].pop("v"), "has a part 'optimizer' that does not fit"),
        (lambda parts: parts["optimizer"].update(m=torch.zeros(3, 3)), "has a part 'optimizer' that does not fit"),
        (lambda parts: parts["log"].update(rows=torch.zeros(2, 3)), "'log' that does not fit"),
    ):
        whole = CUT.read_bytes()
        found = torch.load(CUT, weights_only=True)
        found["parts"]["log"]["active"] = torch.tensor([True, True])
        change(found["parts"])
        CUT.write_bytes(sealed(tensor_bytes(found)))
        checkpoint_of({"tricks": "0.2.9"})
        refused(rf"{said}: ppo-tricks 0\.2\.9 .*wrote it; this is ppo-tricks", lambda: resume("cut"))
        CUT.write_bytes(whole)


def test_a_training_that_another_version_would_compute_otherwise_does_not_go_on() -> None:
    checkpoint_of({"algorithm": ALGORITHM - 1})
    assert load("cut").config == TINY
    refused(rf"was begun by .*ALGORITHM {ALGORITHM - 1}.* computes other numbers", lambda: resume("cut"))

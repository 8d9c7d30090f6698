"""A run of another version opens, or is refused by the name of that version; it is never called damaged."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tricks import PPO, Checkpoints, Config, InputError, further, load, resume, train
from tricks.cli.main import main
from tricks.continuing import StartFrom
from tricks.runs.about import digest, write_about
from tricks.runs.folder import CHECKPOINT, LAST
from tricks.runs.tensor_files import sealed, tensor_bytes
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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, and one with a checkpoint."""
    folder = tmp_path_factory.mktemp("stored")
    train(TINY, PPO, checkpoints=Checkpoints(folder / "cut", 1)).save(folder / "run")
    return folder


def run_of(made: About | None, change: Change, source: Path, folder: Path) -> Path:
    """The finished run as that version might have written it."""
    folder.mkdir()
    for path in (source / "run").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    about = json.loads((folder / "run.json").read_text())
    about.pop("checksum")
    about.pop("made_with") if made is None else about["made_with"].update(made)
    change(about)
    (folder / "run.json").write_bytes(write_about(about))
    return folder


def checkpoint_of(made: About | None, change: Change, path: Path) -> None:
    """Make the file one that that version might have written; change: what its JSON says."""
    found = torch.load(path, weights_only=True)
    about = json.loads(found["about"])
    about.pop("made_with") if made is None else about["made_with"].update(made)
    change(about)
    path.write_bytes(sealed(tensor_bytes(found | {"about": json.dumps(about)})))


@pytest.mark.parametrize("made", [OLD, NEW, None], ids=["older", "newer", "first"])
@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_what_this_version_cannot_read_is_refused_by_the_name_of_the_other(
    made: About | None, change: Change, stored: Path, tmp_path: Path
) -> None:
    folder = run_of(made, change, stored, tmp_path / "run")
    (tmp_path / "cut").mkdir()
    for name in (CHECKPOINT, LAST):
        (tmp_path / "cut" / name).write_bytes((stored / "cut" / CHECKPOINT).read_bytes())
        checkpoint_of(made, change, tmp_path / "cut" / name)
    who = f"ppo-tricks {made['tricks']} \\(ALGORITHM {made['algorithm']}\\)" if made else "an early version"
    doors: list[Callable[[], object]] = [lambda: load(folder), lambda: StartFrom(folder)]
    doors += [lambda: load(tmp_path / "cut"), lambda: resume(tmp_path / "cut")]
    for door in doors:
        with pytest.raises(InputError, match=f"was saved by {who}.*; this is ppo-tricks .* train it anew") as refused:
            door()
        assert "damaged" not in str(refused.value)
        assert "\n" not in str(refused.value)
    (tmp_path / "cut" / CHECKPOINT).unlink()
    with pytest.raises(InputError, match=f"was saved by {who}"):
        further(tmp_path / "cut", 100)
    assert main(["play", str(folder), "--no-gif"]) == 2


def test_what_this_version_can_read_is_opened(stored: Path, tmp_path: Path) -> None:
    def fewer(about: About) -> None:  # numbers that a later version brought
        del about["config"]["huber_delta"], about["config"]["rnn" if "rnn" in about["config"] else "recurrent_size"]

    for k, made in enumerate((OLD, NEW, None)):
        folder = run_of(made, fewer, stored, tmp_path / str(k))
        assert load(folder).evaluate(1).shape == (2, 1)


def test_a_curve_or_tensors_of_another_version_are_not_called_damaged(stored: Path, tmp_path: Path) -> None:
    folder = run_of(OLD, lambda about: None, stored, tmp_path / "run")
    for name, content in {
        "curve.csv": (folder / "curve.csv").read_bytes().replace(b"entropy", b"surprise"),
        "agent.pt": tensor_bytes({"weights": torch.zeros(500)}),
    }.items():
        before = {each: (folder / each).read_bytes() for each in (name, "run.json")}
        about = json.loads((folder / "run.json").read_text())
        about["checksums"][name] = digest(content)
        del about["checksum"]
        (folder / name).write_bytes(content)
        (folder / "run.json").write_bytes(write_about(about))
        with pytest.raises(InputError, match=f"was saved by ppo-tricks 0.1.0.*{name}"):
            load(folder)
        for each, was in before.items():
            (folder / each).write_bytes(was)


def test_a_checkpoint_from_before_checksums_is_of_an_early_version(stored: Path, tmp_path: Path) -> None:
    found = torch.load(stored / "cut" / CHECKPOINT, weights_only=True)
    (tmp_path / CHECKPOINT).write_bytes(tensor_bytes(found))
    for door in (load, resume):
        with pytest.raises(InputError, match="was saved by an early version of ppo-tricks"):
            door(tmp_path)


def test_parts_that_only_one_version_knows_name_it(stored: Path, tmp_path: Path) -> None:
    for change, said in (
        (lambda parts: parts.pop("player"), "has no part 'player'"),
        (lambda parts: parts.update(oracle={}), "has an unknown part 'oracle'"),
        (lambda parts: parts["optimizer"].pop("v"), "has a part 'optimizer' that does not fit"),
        (lambda parts: parts["log"].update(rows=torch.zeros(2, 3)), "'log' that does not fit"),
    ):
        path = tmp_path / CHECKPOINT
        found = torch.load(stored / "cut" / CHECKPOINT, weights_only=True)
        found["parts"]["log"]["active"] = torch.tensor([True, True])
        change(found["parts"])
        path.write_bytes(sealed(tensor_bytes(found)))
        checkpoint_of({"tricks": "0.2.9"}, lambda about: None, path)
        with pytest.raises(InputError, match=rf"{said}: ppo-tricks 0\.2\.9 .*wrote it; this is ppo-tricks"):
            resume(tmp_path)


def test_a_training_that_another_version_would_compute_otherwise_does_not_go_on(stored: Path, tmp_path: Path) -> None:
    for name in (CHECKPOINT, LAST):
        (tmp_path / name).write_bytes((stored / "cut" / CHECKPOINT).read_bytes())
        checkpoint_of({"algorithm": ALGORITHM - 1}, lambda about: None, tmp_path / name)
    assert load(tmp_path).config == replace(TINY)
    with pytest.raises(InputError, match=rf"was begun by .*ALGORITHM {ALGORITHM - 1}.* computes other numbers"):
        resume(tmp_path)

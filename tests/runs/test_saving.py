"""A run is saved whole or not at all, wherever the save stops, and what is damaged afterwards is not loaded."""

import itertools
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.training import Power, fail

from tricks import PPO, Config, InputError, Run, load, train
from tricks.runs import folder as folders
from tricks.runs.about import digest, write_about
from tricks.runs.files import HOST

TINY = Config("ShortCartPole-v0", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))
FILES = ["agent.pt", "curve.csv", "run.json"]


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, PPO)


@pytest.fixture(scope="module")
def other() -> Run:
    return train(replace(TINY, lr=0.01), PPO)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def step_by_step(patch: pytest.MonkeyPatch, last: int) -> None:
    """The power goes off at the `last`-th change of a name on the disk."""
    count = itertools.count(1)

    def until(plain: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **options: Any) -> Any:
            if next(count) == last:
                fail()
            return plain(*arguments, **options)

        return change

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
        patch.setattr(os, name, until(getattr(os, name)))
    patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process cleans up nothing


def test_wherever_a_save_stops_one_of_the_two_runs_is_there_whole(
    run: Run, other: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for last in itertools.count(1):
        folder = tmp_path / str(last)
        run.save(folder)
        (folder / "notes.txt").write_text("mine")
        (folder / folders.CHECKPOINT).write_text("of the other run")
        stopped = False
        with monkeypatch.context() as patch:
            step_by_step(patch, last)
            try:
                other.save(folder, overwrite=True)
            except Power:
                stopped = True
        found = load(folder)
        new = found.config == other.config
        assert found.curve.equals(other.curve if new else run.curve)
        folders.tidy(folder)  # what any next command does
        assert load(folder).config == found.config
        assert names(folder) == sorted([*FILES, "notes.txt", *([] if new else [folders.CHECKPOINT])])
        outcomes.append(new)
        if not stopped:
            break
    assert outcomes == sorted(outcomes)  # from some point on it is the new one
    assert outcomes.count(False) > 5 < outcomes.count(True)


def test_a_finished_run_is_replaced_only_if_asked_and_the_new_one_is_kept_elsewhere(
    run: Run, other: Run, tmp_path: Path
) -> None:
    run.save(tmp_path)
    run.save(tmp_path)  # the same run again
    with pytest.raises(InputError, match=r"holds a finished run; add --overwrite .*; the run is saved in ") as refused:
        other.save(tmp_path)
    assert load(tmp_path).config == run.config
    elsewhere = Path(str(refused.value).rsplit(" ", 1)[1])
    assert load(elsewhere).config == other.config
    shutil.rmtree(elsewhere)
    other.save(tmp_path, overwrite=True)
    assert load(tmp_path).config == other.config


def test_a_run_that_cannot_be_written_is_saved_in_a_temporary_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run" / "agent.pt").mkdir(parents=True)  # which PyTorch answers with a RuntimeError
    with pytest.raises(InputError, match=r"agent\.pt: Is a directory; the run is saved in ") as refused:
        run.save(tmp_path / "run")
    elsewhere = Path(str(refused.value).rsplit(" ", 1)[1])
    assert load(elsewhere).curve.equals(run.curve)
    shutil.rmtree(elsewhere)


def test_the_home_directory_is_expanded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run.save("~/saved")
    assert names(tmp_path) == ["saved"]
    assert load("~/saved").config == run.config


def test_numbers_of_other_libraries_are_saved_as_plain_ones(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"steps": np.int64(60), "gamma": np.float32(0.5), "device": torch.device("cpu")}
    run = train(Config(**vars(TINY) | numbers | {"seeds": range(2)}), PPO)
    run.save(tmp_path)
    found = load(tmp_path).config
    assert (found.steps, found.gamma, found.device, found.seed_list) == (60, 0.5, "cpu", (0, 1))


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
        ({"checksums": None}, "some of its checksums are missing"),
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
    with pytest.raises(InputError, match=f"damaged: curve.csv .*{said}"):
        load(tmp_path)


def test_a_return_is_infinite_only_where_a_seed_diverged(run: Run, tmp_path: Path) -> None:
    curve = run.curve.assign(**{"return": np.inf})
    replace(run, curve=curve, diverged={3: 60, 1: 60}).save(tmp_path / "diverged")
    assert np.isinf(load(tmp_path / "diverged").curve["return"]).all()
    replace(run, curve=curve).save(tmp_path / "healthy")
    with pytest.raises(InputError, match=r"damaged: curve\.csv has an impossible value in the column return$"):
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


def test_what_a_kill_left_behind_is_swept_up_and_nothing_else(run: Run, tmp_path: Path) -> None:
    dead, mine = 2**22 + 1, [".hidden", ".env.local.5", "notes"]  # no process of Linux has so high an id
    for name in (f".run.json.{HOST}.{dead}", f".curve.png.{HOST}.{dead}", ".lock", *mine):
        (tmp_path / name).write_text("")
    (tmp_path / f".saved.{HOST}.{dead}").mkdir()
    (tmp_path / f".saved.{HOST}.{dead}" / "agent.pt").write_text("half")
    (tmp_path / f".checkpoint.pt.{HOST}.1").write_text("")  # of a process that runs
    run.save(tmp_path)
    assert names(tmp_path) == sorted([*FILES, *mine, f".checkpoint.pt.{HOST}.1"])


def test_a_link_in_a_strangers_folder_is_not_written_through(run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    run.save(tmp_path / "run")
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    folders.tidy(tmp_path / "run")
    assert (tmp_path / "precious").read_text() == "mine"

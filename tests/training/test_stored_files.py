"""What is read back is what was written: a flipped bit, a wrong type or an impossible row never passes."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.damage import flips
from support.jobs import JOB, SMALL
from support.studies import study

from ablations.analysis.study_files import load, save
from ablations.design.designs import ladder
from ablations.training.jobs import compute, parse_result
from ablations.training.store import Store, prepare
from ablations.training.tagged_csv import tagged, untagged
from tricks import InputError, train
from tricks.runs.files import HOST

DEAD = 999_999_999  # no process has this number


@pytest.fixture(scope="module")
def text() -> str:
    return compute(JOB).text


def test_one_flipped_bit_anywhere_in_a_job_is_noticed() -> None:
    whole = compute(SMALL).text.encode()
    parse_result(SMALL, whole.decode())
    for flipped in flips(whole):
        with pytest.raises(ValueError, match=r"\w"):
            parse_result(SMALL, flipped.decode())


def test_a_study_with_a_flipped_bit_is_refused_or_the_same(tmp_path: Path) -> None:
    saved, path = save(study(ladder(["baseline"]), lambda on: 0, seeds=1), tmp_path)
    whole, refused = path.read_bytes(), 0
    for flipped in flips(whole):
        path.write_bytes(flipped)
        try:
            pd.testing.assert_frame_equal(load(path).runs, saved.runs)
        except InputError:
            refused += 1
    assert refused > 0.9 * len(whole)  # of gzip's own header, some bytes mean nothing
    unpacked = gzip.decompress(whole)
    for flipped in list(flips(unpacked))[::7]:
        path.write_bytes(gzip.compress(flipped))
        with pytest.raises(InputError, match="is damaged or not a run file"):
            load(path)


def header(**changed: Any) -> Callable[[dict[str, Any], pd.DataFrame], tuple[dict[str, Any], pd.DataFrame]]:
    return lambda about, curve: (about | changed, curve)


def rows(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[..., tuple[dict[str, Any], pd.DataFrame]]:
    def changed(about: dict[str, Any], curve: pd.DataFrame) -> tuple[dict[str, Any], pd.DataFrame]:
        curve = change(curve)
        return about | {"rows": len(curve)}, curve

    return changed


IMPOSSIBLE = {
    "seconds": header(seconds="long"),
    "no seconds": header(seconds=None),
    "infinite seconds": header(seconds=float("inf")),
    "negative seconds": header(seconds=-1.0),
    "steps": header(steps="many"),
    "other steps": header(steps=7),
    "diverged": header(diverged=[5]),
    "diverged twice": header(diverged=[[0, 5], [0, 6]]),
    "diverged elsewhere": header(diverged=[[99, 5]]),
    "diverged when": header(diverged=[[0, "later"]]),
    "torch": header(torch=2),
    "rows": header(rows=1.5),
    "unknown": header(mood="good"),
    "twice": rows(lambda curve: pd.concat([curve, curve.tail(1)])),
    "backwards": rows(lambda curve: curve[::-1]),
    "a gap": rows(lambda curve: curve.drop(index=1)),
    "step falls": rows(lambda curve: curve.assign(step=curve.step[::-1].to_numpy())),
    "infinite": rows(lambda curve: curve.assign(**{"return": np.inf})),
    "endless": rows(lambda curve: curve.assign(length=np.inf)),
    "negative": rows(lambda curve: curve.assign(episodes=-1)),
    "a part": rows(lambda curve: curve.assign(episodes=0.5)),
    "words": rows(lambda curve: curve.assign(entropy="high")),
    "renamed": rows(lambda curve: curve.rename(columns={"return": "reward"})),
    "another seed": rows(lambda curve: curve.assign(seed=curve.seed + 1)),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_job_that_cannot_be_is_set_aside_in_one_line(
    what: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    store.put(JOB, tagged(*IMPOSSIBLE[what](*untagged(text)), digits=6))
    assert not store.has(JOB)
    said = capsys.readouterr().err
    assert "is damaged and will be recomputed (" in said
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"{JOB.key}.damaged"]


def test_a_job_without_a_checksum_is_damaged(text: str) -> None:
    first, _, rest = text.partition("\n")
    about = json.loads(first[2:])
    del about["sha256"]
    with pytest.raises(ValueError, match="missing required field `sha256`"):
        parse_result(JOB, f"# {json.dumps(about)}\n{rest}")


def test_what_could_not_be_read_back_is_a_failure_and_not_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(SMALL.config, SMALL.tricks)
    run.curve["return"] = np.inf
    monkeypatch.setattr("tricks.train", lambda *_: run)
    found = compute(SMALL)
    assert "a return or a length is infinite" in found.error
    assert found.text == ""


BAD_STUDIES: dict[str, dict[str, Any]] = {
    "made with": {"made with": ["torch"]},
    "games": {"games": {"trained": 5}, "run": "x", "greedy": False},
    "ragged": {"games": {"trained": [[1.0], [1.0, 2.0]], "random": [[1.0]]}, "run": "x", "greedy": False},
    "no run": {"games": {"trained": [[1.0]], "random": [[1.0]]}},
    "seeds": {"seeds": [0]},
    "others": {"seeds": [5, 9]},
    "seconds": {"seconds": "1"},
    "unknown": {"mood": 1},
}


@pytest.mark.parametrize("what", BAD_STUDIES)
def test_a_study_that_cannot_be_is_refused_in_one_line_with_its_path(what: str, tmp_path: Path) -> None:
    made = study(ladder(["baseline"]), lambda on: 0)
    _, path = save(made, tmp_path)
    about: Any = {**made.about, "designs": [["ladder", ["baseline"]]], **BAD_STUDIES[what]}
    path.write_bytes(gzip.compress(tagged(about, made.runs, digits=5).encode()))
    with pytest.raises(InputError, match=rf"^{path} is damaged or not a run file: .+$"):
        load(path)
    path.write_bytes(gzip.compress(("# " + "[" * 100_000).encode()))
    with pytest.raises(InputError, match="nested too deep"):
        load(path)


def test_what_a_killed_writer_left_anywhere_below_the_folder_is_swept_and_nothing_else(tmp_path: Path) -> None:
    out, ours, kept = tmp_path / "out", [], []
    for place in (out, out / "jobs", out / "ladder_CartPole-v1"):
        place.mkdir()
        ours += [place / f".{name}.{HOST}.{DEAD}" for name in ("report.md", "x.csv", "y.runs.csv.gz", "z.png", "z.svg")]
        names = (
            "report.md",
            ".hidden",
            f".x.csv.elsewhere.{DEAD}",
            f".x.csv.{HOST}.{os.getpid()}",
            f".x.{HOST}.{DEAD}",
        )
        kept += [place / name for name in (*names, f"x.csv.{HOST}.{DEAD}")]
    for path in ours + kept:
        path.write_text("half")
    (folder := out / f".x.csv.{HOST}.{DEAD}1").mkdir()
    prepare(out)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in [*kept, folder])

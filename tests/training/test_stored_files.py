"""What is read back is what was written: a flipped bit, a wrong type or an impossible row never passes."""

import gzip
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.jobs import JOB
from support.studies import study

from ablations.analysis.studies import Done, about_runs
from ablations.analysis.study_files import load, save
from ablations.design.designs import ladder
from ablations.training import provenance, rate_table
from ablations.training.jobs import Job, compute, parse_result
from ablations.training.rate_table import COLUMNS, GRID, store_table, table
from ablations.training.store import HOST, Store, prepare
from ablations.training.tagged_csv import tagged, untagged
from tricks import REINFORCE, Config, InputError, train

SMALL = Job(Config(seeds=1, steps=20, lanes=1, horizon=16), REINFORCE)
DEAD = 999_999_999  # no process has this number


@pytest.fixture(scope="module")
def text() -> str:
    return compute(JOB).text


def flips(whole: bytes) -> Iterator[bytes]:
    """The bytes with one bit flipped, one for every byte, the bits in turn."""
    for i, byte in enumerate(whole):
        yield whole[:i] + bytes([byte ^ 1 << i % 8]) + whole[i + 1 :]


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
@pytest.mark.parametrize("sealed", [True, False], ids=["checksum", "older"])
def test_a_job_that_cannot_be_is_set_aside_in_one_line(
    what: str, sealed: bool, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tagged(*IMPOSSIBLE[what](*untagged(text)), digits=6)
    first, _, rest = made.partition("\n")
    if not sealed:
        about = json.loads(first[2:])
        del about["sha256"]
        made = f"# {json.dumps(about)}\n{rest}"
    store = Store(tmp_path)
    store.put(JOB, made)
    assert not store.has(JOB)
    said = capsys.readouterr().err
    assert "is damaged and will be recomputed (" in said
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"{JOB.key}.damaged"]


def test_a_job_of_before_has_no_checksum_and_counts(text: str) -> None:
    first, _, rest = text.partition("\n")
    about = json.loads(first[2:])
    del about["sha256"]
    assert parse_result(JOB, f"# {json.dumps(about)}\n{rest}").steps == about["steps"]


def test_what_could_not_be_read_back_is_a_failure_and_not_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(SMALL.config, SMALL.tricks)
    run.curve["return"] = np.inf
    monkeypatch.setattr("tricks.train", lambda *_: run)
    found = compute(SMALL)
    assert "a return or a length is infinite" in found.error
    assert found.text == ""


BAD_STUDIES = {
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
    about: Any = made.about | {"designs": [["ladder", ["baseline"]]]} | BAD_STUDIES[what]
    path.write_bytes(gzip.compress(tagged(about, made.runs, digits=5).encode()))
    with pytest.raises(InputError, match=rf"^{path} is damaged or not a run file: .+$"):
        load(path)
    path.write_bytes(gzip.compress(("# " + "[" * 100_000).encode()))
    with pytest.raises(InputError, match="nested too deep"):
        load(path)


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shipped = rate_table.TABLE.read_text()
    path = tmp_path / "learning_rates.csv"
    path.write_text(shipped)
    monkeypatch.setattr(rate_table, "TABLE", path)
    table.cache_clear()
    yield path
    table.cache_clear()


def test_a_table_of_learning_rates_that_is_not_whole_is_refused_in_one_line(rates: Path) -> None:
    whole = rates.read_text()
    lines = whole.splitlines(keepends=True)
    head, row = lines[0], "x,9,,,{},1.0,1.0,5\n"
    damaged = ["", head, "a,b\n1,2\n", whole[: len(whole) // 2], "".join(lines[: len(lines) // 2]), whole + lines[-1]]
    damaged += [head + row.format(rate) for rate in ("-1", "0", "inf", "1e9", "nan", "fast")]
    damaged += [whole.replace(",5\n", ",-5\n", 1), whole.replace("100000", "1e5x", 1), "# [1]\n" + whole]
    for text in damaged:
        rates.write_text(text)
        table.cache_clear()
        with pytest.raises(InputError, match=rf"^{rates} is damaged or not a table of learning rates: .+$"):
            table()
    rates.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is damaged or not a table"):
        table()


def test_a_table_that_was_tuned_has_a_checksum_and_loses_no_row(rates: Path) -> None:
    scores = pd.DataFrame([("x", 9, "", arm, lr, 0.1, None, 5) for arm in ("", "gae") for lr in GRID], columns=COLUMNS)
    store_table(scores)
    assert len(table()) == 8
    whole = rates.read_bytes()
    for damaged in [*flips(whole), whole[: whole.index(b"x,9,,gae")]]:
        rates.write_bytes(damaged)
        table.cache_clear()
        with pytest.raises(InputError, match="is damaged or not a table"):
            table()


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


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    provenance.provenance.cache_clear()
    yield monkeypatch
    provenance.provenance.cache_clear()


def test_without_git_and_without_an_installation_a_job_is_trained_and_stored(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere.setenv("PATH", str(tmp_path))  # no git

    def unknown(name: str) -> str:
        raise provenance.PackageNotFoundError(name)

    nowhere.setattr(provenance, "version", unknown)
    done = compute(SMALL)
    assert done.error == ""
    result = parse_result(SMALL, done.text)
    assert {name for name, said in result.made_with.items() if said is None} == {*provenance.PACKAGES, "commit"}
    assert '"commit": null' in done.text


def test_the_commit_of_another_repository_around_this_one_is_not_ours(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = tmp_path / "site-packages" / "ablations" / "training" / "provenance.py"
    inside.parent.mkdir(parents=True)
    inside.touch()
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    nowhere.setattr(provenance, "__file__", str(inside))
    nowhere.setattr(provenance, "ROOT", inside.parents[2])
    assert provenance.provenance()["commit"] is None
    nowhere.setattr(provenance, "ROOT", tmp_path)
    provenance.provenance.cache_clear()
    assert len(provenance.provenance()["commit"] or "") == 40


def test_what_is_not_known_is_left_out_of_what_a_study_was_made_with(text: str) -> None:
    result = parse_result(JOB, text)
    unknown = replace(result, made_with=dict.fromkeys(result.made_with))
    about = about_runs("x", [Done(JOB, "", result), Done(JOB, "", unknown)], (0, 1))
    assert about["made with"]["torch"] == [result.made_with["torch"]]
    assert about_runs("x", [Done(JOB, "", unknown)], (0, 1))["made with"]["commit"] == []

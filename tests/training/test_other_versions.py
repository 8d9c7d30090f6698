"""A job or a study of another version is named as that version's; only what is damaged is called damaged."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.jobs import SMALL
from support.studies import study

from ablations.analysis.study_files import SUFFIX, load, save
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.training.jobs import compute
from ablations.training.store import Store
from ablations.training.tagged_csv import tagged, untagged
from ablations.training.workers import run_jobs
from tricks import InputError
from tricks.version import ALGORITHM

Change = Callable[[dict[str, Any], pd.DataFrame], Any]
THEIRS = {"tricks": "9.8.7", "commit": None}
JOBS: dict[str, Change] = {
    "an unknown field": lambda about, rows: about.update(mood="good"),
    "a missing field": lambda about, rows: about.pop("steps"),
    "no version": lambda about, rows: (about.pop("tricks"), about.pop("seconds")),
    "what it is": lambda about, rows: about.update(what="training"),
    "a field of another kind": lambda about, rows: about.update(diverged={"0": 5}),
    "another number": lambda about, rows: about["what"]["config"].update(lines=8),
    "a column less": lambda about, rows: rows.pop("length"),
    "a column more": lambda about, rows: rows.insert(0, "surprise", 1.0),
}
STUDIES: dict[str, Change] = {
    "an unknown field": lambda about, rows: about.update(mood="good"),
    "a missing field": lambda about, rows: about.pop("command"),
    "a field of another kind": lambda about, rows: about.update(seeds="0 to 7"),
    "versions of another kind": lambda about, rows: about["made with"].update(THEIRS),
    "a design of another kind": lambda about, rows: about.update(designs=[{"name": "ladder"}]),
    "a design that is gone": lambda about, rows: about.update(designs=[["pyramid", ["baseline"]]]),
    "a trick that is gone": lambda about, rows: about.update(designs=[["ladder", ["magic"]]]),
    "a column less": lambda about, rows: rows.pop("tuned"),
    "a column more": lambda about, rows: rows.insert(0, "surprise", 1.0),
}


@pytest.fixture(scope="module")
def text() -> str:
    return compute(SMALL).text


def job_of(made: dict[str, Any], change: Change, text: str) -> str:
    about, rows = untagged(text)
    about.update(made)
    change(about, rows)
    return tagged(about | {"rows": len(rows)}, rows, digits=6)


@pytest.mark.parametrize("change", JOBS.values(), ids=JOBS)
def test_a_job_of_another_version_is_trained_anew_and_one_line_names_that_version(
    change: Change, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, path = Store(tmp_path), tmp_path / f"{SMALL.key}.csv"
    path.write_text(job_of(THEIRS, change, text))
    assert not Store(tmp_path, look_only=True).has(SMALL)
    assert run_jobs([SMALL], store, 1) == {}
    (said,) = [line for line in capsys.readouterr().err.splitlines() if str(path) in line]
    assert said.startswith(f"{path} was saved by ")
    assert "ppo-tricks 9.8.7" in said or "an early version of ppo-tricks" in said
    assert "which can't read it, so it will be recomputed (" in said
    assert said.endswith(f"kept as {SMALL.key}.other-version")
    assert "is damaged" not in said
    assert store.has(SMALL)


def test_a_job_of_another_version_that_this_one_can_read_counts(text: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / f"{SMALL.key}.csv").write_text(job_of(THEIRS, lambda about, rows: rows.pop("entropy"), text))
    assert store.has(SMALL)


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-9], lambda text: text.replace("9.8.7", "9.8.6"), lambda _: "# {}"]
)
def test_what_another_version_wrote_and_something_damaged_is_damaged(
    spoil: Callable[[str], str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{SMALL.key}.csv").write_text(spoil(job_of(THEIRS, JOBS["an unknown field"], text)))
    assert not Store(tmp_path).has(SMALL)
    assert "is damaged and will be recomputed (" in capsys.readouterr().err
    path = study_by(THEIRS, STUDIES["an unknown field"], tmp_path)
    path.write_bytes(gzip.compress(spoil(gzip.decompress(path.read_bytes()).decode()).encode()))
    with pytest.raises(InputError, match="is damaged or not a run file"):
        load(path)


def study_by(made: dict[str, Any], change: Change, folder: Path, sealed: bool = True) -> Path:
    """The file of a study as that version might have written it."""
    some, path = study(ladder(["baseline"]), lambda on: 0), folder / f"made_CartPole-v1{SUFFIX}"
    listed = {name: [str(value)] for name, value in made.items() if value is not None}
    about: dict[str, Any] = {**some.about, "made with": listed, "designs": [["ladder", ["baseline"]]]}
    rows = some.runs.copy()
    change(about, rows)
    text = tagged(about, rows, digits=5)
    if not sealed:
        start = text.index(', "sha256"')
        text = text[:start] + text[text.index("}\n", start) :]
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("sealed", [True, False], ids=["", "from before checksums"])
@pytest.mark.parametrize("change", STUDIES.values(), ids=STUDIES)
def test_a_study_of_another_version_is_refused_by_its_name(
    change: Change, sealed: bool, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    path = study_by(THEIRS | {"algorithm": ALGORITHM + 1}, change, tmp_path, sealed)
    with pytest.raises(InputError, match=r"was saved by ppo-tricks 9\.8\.7.*; this is ppo-tricks ") as refused:
        load(path)
    said = str(refused.value)
    assert said.startswith(str(path))
    assert "install ppo-tricks 9.8.7 to open it, or run the command that made it again (" in said
    assert "damaged" not in said
    assert "\n" not in said
    refuses(main, ["report", "--out", str(tmp_path)], "was saved by ppo-tricks 9.8.7")


def test_a_study_that_cannot_be_read_is_kept_beside_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study_by(THEIRS, STUDIES["a column less"], tmp_path)
    before = path.read_bytes()
    save(study(ladder(["baseline"]), lambda on: 0), tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which cannot be read, as {kept.name}" in capsys.readouterr().out
    assert kept.read_bytes() == before
    assert len(load(path).runs) == 16

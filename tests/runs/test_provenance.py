"""What a result was made with is a courtesy: without git or an installation, training goes on."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest
from support.jobs import JOB, SMALL
from support.training import SMALL as RUN

from ablations.analysis.studies import Done, about_runs
from ablations.training.jobs import compute, parse_result
from ablations.training.scores import scored
from tricks import PPO, load, train, version
from tricks.fast.dispatch import plain
from tricks.runs import provenance
from tricks.runs.about import write_about


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    provenance.provenance.cache_clear()
    yield monkeypatch
    provenance.provenance.cache_clear()


def test_without_git_and_without_an_installation_a_job_is_trained_and_stored(nowhere: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    nowhere.setenv("PATH", "here")  # no git
    nowhere.setattr(metadata, "version", unknown)
    done = compute(SMALL)
    assert done.error == ""
    result = parse_result(SMALL, done.text)
    assert {name for name, said in result.made_with.items() if said is None} == {*version.BENEATH, "commit"}
    assert '"commit": null' in done.text


def repository(folder: Path) -> str:
    """Make the folder a repository, with all its files in one commit, whose name is returned."""
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", folder.name, "--allow-empty"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def at(folder: Path, patch: pytest.MonkeyPatch, file: Path | None = None) -> None:
    """Let the package be in this folder, its file `provenance.py` there or elsewhere."""
    provenance.provenance.cache_clear()
    patch.setattr(provenance, "__file__", str(file or folder / "provenance.py"))
    patch.setattr(provenance, "ROOT", folder)


def test_the_commit_of_another_repository_is_not_ours(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    inside = ours / "site-packages" / "tricks" / "runs" / "provenance.py"
    inside.parent.mkdir(parents=True)
    theirs.mkdir()
    for path in (inside, ours / "provenance.py"):
        path.touch()
    commit = repository(ours)
    repository(theirs)
    at(inside.parents[2], nowhere, inside)
    assert provenance.provenance()["commit"] is None
    at(ours, nowhere, inside)
    assert provenance.provenance()["commit"] == commit
    nowhere.setenv("GIT_DIR", str(theirs / ".git"))  # git sets it in a hook
    nowhere.setenv("GIT_WORK_TREE", str(theirs))
    at(ours, nowhere)
    assert provenance.provenance()["commit"] == commit


def test_what_is_not_known_is_left_out_of_what_a_study_was_made_with() -> None:
    result = scored(parse_result(JOB, compute(JOB).text), JOB.config.steps)
    unknown = replace(result, made_with=dict.fromkeys(result.made_with))
    about = about_runs("x", [Done(JOB, "", result), Done(JOB, "", unknown)], (0, 1))
    assert about["made with"]["torch"] == [result.made_with["torch"]]
    assert about_runs("x", [Done(JOB, "", unknown)], (0, 1))["made with"]["commit"] == []


def test_a_saved_run_says_what_it_was_made_with_and_keeps_it(nowhere: pytest.MonkeyPatch) -> None:
    train(RUN, PPO).save("run")
    made = load("run").made_with or {}
    assert {name: made[name] for name in provenance.VERSIONS} == provenance.provenance()
    assert made["device"] == "cpu"
    assert datetime.now(UTC) - datetime.fromisoformat(str(made["date"])) < timedelta(hours=1)
    nowhere.setattr(version, "__version__", "99")
    load("run").only(1).save("one")
    assert load("one").made_with == made
    said = provenance.in_one_line(made)
    assert said.startswith(f"{str(made['date'])[:10]}, tricks {made['tricks']}")
    assert said.endswith(f"python {made['python']}, on cpu")
    about = json.loads(Path("run/run.json").read_text())
    older = {name: x for name, x in about.items() if name not in ("made_with", "checksum")}
    Path("run/run.json").write_bytes(write_about(older))
    load("run").save("again")
    assert load("run").made_with == load("again").made_with == {}  # one of an older version says nothing


def test_a_run_in_which_nothing_was_compiled_names_no_numba() -> None:
    assert provenance.provenance_of_a_run("cpu")["numba"] == provenance.provenance()["numba"]
    assert provenance.provenance_of_a_run("cuda")["numba"] is None
    with plain():
        assert provenance.provenance_of_a_run("cpu")["numba"] is None


def test_a_checkout_with_changes_is_called_so(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "provenance.py"
    file.touch()
    repository(tmp_path)
    at(tmp_path, nowhere)
    clean = provenance.provenance_of_a_run("cpu")
    assert clean["dirty"] is False
    (tmp_path / "notes.txt").touch()  # git does not know it
    assert provenance.provenance_of_a_run("cpu")["dirty"] is False
    file.write_text("changed")
    made = provenance.provenance_of_a_run("cpu")
    assert made["dirty"] is True
    assert f"{str(clean['commit'])[:7]}, with changes" in provenance.in_one_line(made)
    at(tmp_path / "elsewhere", nowhere)
    assert provenance.provenance_of_a_run("cpu")["dirty"] is None

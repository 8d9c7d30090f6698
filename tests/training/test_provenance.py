"""What a result was made with is a courtesy: without git or an installation, training goes on."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from support.jobs import JOB, SMALL

from ablations.analysis.studies import Done, about_runs
from ablations.training import provenance
from ablations.training.jobs import compute, parse_result
from ablations.training.scores import scored
from tricks import version


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
        raise PackageNotFoundError(name)

    nowhere.setattr(version, "version", unknown)
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


def test_the_commit_of_another_repository_around_this_one_is_not_ours(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = tmp_path / "site-packages" / "ablations" / "training" / "provenance.py"
    inside.parent.mkdir(parents=True)
    inside.touch()
    repository(tmp_path)
    nowhere.setattr(provenance, "__file__", str(inside))
    nowhere.setattr(provenance, "ROOT", inside.parents[2])
    assert provenance.provenance()["commit"] is None
    nowhere.setattr(provenance, "ROOT", tmp_path)
    provenance.provenance.cache_clear()
    assert len(provenance.provenance()["commit"] or "") == 40


def test_inside_a_hook_of_another_repository_the_commit_is_still_ours(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    (ours / "provenance.py").touch()
    commit = repository(ours)
    repository(theirs)
    nowhere.setattr(provenance, "__file__", str(ours / "provenance.py"))
    nowhere.setattr(provenance, "ROOT", ours)
    nowhere.setenv("GIT_DIR", str(theirs / ".git"))  # git sets it there
    nowhere.setenv("GIT_WORK_TREE", str(theirs))
    assert provenance.provenance()["commit"] == commit


def test_what_is_not_known_is_left_out_of_what_a_study_was_made_with() -> None:
    result = scored(parse_result(JOB, compute(JOB).text), JOB.config.steps)
    unknown = replace(result, made_with=dict.fromkeys(result.made_with))
    about = about_runs("x", [Done(JOB, "", result), Done(JOB, "", unknown)], (0, 1))
    assert about["made with"]["torch"] == [result.made_with["torch"]]
    assert about_runs("x", [Done(JOB, "", unknown)], (0, 1))["made with"]["commit"] == []

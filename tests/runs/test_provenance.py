"""What a result was made with is a courtesy: without git or an installation, training goes on."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.studies import SMALL, result
from support.training import SMALL as RUN

from tricks import PPO, load, train, version
from tricks.fast.dispatch import plain
from tricks.runs import provenance


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    provenance.provenance.cache_clear()
    yield monkeypatch
    provenance.provenance.cache_clear()
    provenance.changed.cache_clear()


def test_without_git_and_without_an_installation_a_job_is_trained_and_stored(nowhere: pytest.MonkeyPatch) -> None:
    nowhere.setenv("PATH", "here")  # no git
    nowhere.setattr(metadata, "version", Mock(side_effect=metadata.PackageNotFoundError("any")))
    made = result(SMALL)
    assert {name for name, said in made.made_with.items() if said is None} == {*version.BENEATH, "commit", "dirty"}


def repository(folder: Path) -> str:
    """Make the folder a repository, with all its files in one commit, whose name is returned."""
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", folder.name, "--allow-empty"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def at(folder: Path, patch: pytest.MonkeyPatch, file: Path | None = None) -> None:
    """Let the package be in this folder, its file `provenance.py` there or elsewhere."""
    provenance.provenance.cache_clear()
    provenance.changed.cache_clear()
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


def test_a_saved_run_says_what_it_was_made_with_and_keeps_it(nowhere: pytest.MonkeyPatch) -> None:
    train(RUN, PPO).save("run")
    made = load("run").made_with or {}
    assert {name: made[name] for name in provenance.VERSIONS} == provenance.provenance()
    assert made["device"] == "cpu"
    assert datetime.now(UTC) - datetime.fromisoformat(str(made["date"])) < timedelta(hours=1)
    nowhere.setattr(version, "__version__", "99")
    load("run").only(1).save("one")
    assert load("one").made_with == made


def test_a_run_in_which_nothing_was_compiled_names_no_numba() -> None:
    assert provenance.provenance_of_a_run("cpu")["numba"] == provenance.provenance()["numba"]
    assert provenance.provenance_of_a_run("cuda")["numba"] is None
    with plain():
        assert provenance.provenance_of_a_run("cpu")["numba"] is None


def test_a_package_with_changes_is_called_so(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, page = tmp_path / "tricks" / "provenance.py", tmp_path / "README.md"
    file.parent.mkdir()
    file.touch()
    page.touch()
    repository(tmp_path)
    at(tmp_path, nowhere, file)
    clean = provenance.provenance_of_a_run("cpu")
    assert clean["dirty"] is False
    (file.parent / "notes.txt").touch()  # git does not know it
    page.write_text("changed")  # no part of the package
    assert provenance.provenance_of_a_run("cpu")["dirty"] is False and provenance.changed() == ""
    hashes = set()
    for text in ("changed", "changed again"):
        file.write_text(text)
        made = provenance.provenance_of_a_run("cpu")
        provenance.changed.cache_clear()
        hashes.add(provenance.changed())
        assert made["dirty"] is True
    assert len(hashes) == 2 and "" not in hashes
    assert f"{str(clean['commit'])[:7]}, with changes" in provenance.in_one_line(made)
    at(tmp_path / "elsewhere", nowhere)
    assert provenance.provenance_of_a_run("cpu")["dirty"] is None

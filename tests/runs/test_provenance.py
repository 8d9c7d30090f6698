"""What a result was made with is a courtesy: without git or an installation, training goes on."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError
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
    inside = tmp_path / "site-packages" / "tricks" / "runs" / "provenance.py"
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


def test_a_saved_run_says_what_it_was_made_with_and_keeps_it(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = train(RUN, PPO)
    run.save(tmp_path / "run")
    made = load(tmp_path / "run").made_with or {}
    assert {name: made[name] for name in provenance.VERSIONS} == provenance.provenance()
    assert made["device"] == "cpu"
    assert datetime.now(UTC) - datetime.fromisoformat(str(made["date"])) < timedelta(hours=1)
    nowhere.setattr(version, "__version__", "99")
    load(tmp_path / "run").only(1).save(tmp_path / "one")
    assert load(tmp_path / "one").made_with == made
    said = provenance.in_one_line(made)
    assert said.startswith(f"{str(made['date'])[:10]}, tricks {made['tricks']}")
    assert said.endswith(f"python {made['python']}, on cpu")


def test_a_run_in_which_nothing_was_compiled_names_no_numba() -> None:
    assert provenance.provenance_of_a_run("cpu")["numba"] == provenance.provenance()["numba"]
    assert provenance.provenance_of_a_run("cuda")["numba"] is None
    with plain():
        assert provenance.provenance_of_a_run("cpu")["numba"] is None


def test_a_run_of_an_older_version_says_nothing(tmp_path: Path) -> None:
    train(RUN, PPO).save(tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    older = {name: x for name, x in about.items() if name not in ("made_with", "checksum")}
    (tmp_path / "run.json").write_bytes(write_about(older))
    run = load(tmp_path)
    assert run.made_with == {}
    run.save(tmp_path / "again")
    assert load(tmp_path / "again").made_with == {}


def test_a_checkout_with_changes_is_called_so(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "provenance.py"
    file.touch()
    repository(tmp_path)
    nowhere.setattr(provenance, "__file__", str(file))
    nowhere.setattr(provenance, "ROOT", tmp_path)
    clean = provenance.provenance_of_a_run("cpu")
    assert clean["dirty"] is False
    (tmp_path / "notes.txt").touch()  # git does not know it
    assert provenance.provenance_of_a_run("cpu")["dirty"] is False
    file.write_text("changed")
    assert provenance.provenance_of_a_run("cpu")["dirty"] is True
    assert f"{str(clean['commit'])[:7]}, with changes" in provenance.in_one_line(provenance.provenance_of_a_run("cpu"))
    nowhere.setattr(provenance, "ROOT", tmp_path / "elsewhere")
    provenance.provenance.cache_clear()
    assert provenance.provenance_of_a_run("cpu")["dirty"] is None

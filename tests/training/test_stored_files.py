"""Jobs and studies in files: what is read is what was written, whoever is killed or writes at the same time; what is
damaged is noticed, and that alone trains anew; and what another algorithm or tree made is never mixed with ours."""

import gzip
import multiprocessing
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Capture, Patch, Refuses, refusal
from support.studies import FILE, JOB, JOBS, SMALL, content, finished, flips, in_turn, made_up, result, study
from support.training import spied

from ablations import compare, read
from ablations.analysis.records import SHARES, SUFFIX, Study, load, load_all, save, save_again, seeds_in, study_of
from ablations.cli import main
from ablations.findings.our_designs import scales
from ablations.question.designs import ladder
from ablations.training import jobs, store, workers
from ablations.training import rates as rate_table
from ablations.training.jobs import Job, Result, compute
from ablations.training.question import Question
from ablations.training.rates import COLUMNS, read_table, store_table
from ablations.training.scores import area, late, on_grid, scored
from ablations.training.store import Store, prepare
from ablations.training.tagged import tagged, untagged
from ablations.training.workers import run_jobs
from tricks import PPO, REINFORCE, Config, train
from tricks.ladder import OWN
from tricks.runs import provenance
from tricks.runs.files import HOST
from tricks.runs.learning_curve import late_return
from tricks.version import ALGORITHM

DEAD = 999_999_999  # no process has this number
OTHER = Job(replace(SMALL.config, lr=0.5), REINFORCE)
Made = dict[Job, Result]


@pytest.fixture(scope="module")
def made() -> dict[Job, Result]:
    return {job: result(job) for job in (JOB, SMALL, OTHER)}


@pytest.fixture
def here(monkeypatch: Patch) -> list[Job]:
    """Jobs train in this process; the value is those that do."""
    monkeypatch.setattr(workers, "in_pool", in_turn)
    return spied(monkeypatch, workers, "compute", lambda job: job)


def test_a_result_is_read_back_with_the_scores_of_its_curve(made: Made, tmp_path: Path, monkeypatch: Patch) -> None:
    disk, run = Store(tmp_path), train(JOB.config, JOB.tricks)
    assert (disk.read(JOB), disk.scored(JOB), disk.has(JOB)) == (None, None, False)
    disk.put(JOB, made[JOB])
    found = Store(tmp_path).read(JOB)
    assert found is not None and Store(tmp_path).has(JOB)
    pd.testing.assert_frame_equal(found.curve, run.curve, rtol=1e-5)
    assert (found.diverged, found.steps) == ({}, sum(run.curve.groupby("seed").step.max()))
    assert (found.seconds, found.made_with) == (made[JOB].seconds, made[JOB].made_with)
    assert found.made_with["algorithm"] == ALGORITHM
    expected = scored(found, JOB.config.steps)
    monkeypatch.setattr(store, "scored", lambda *given: replace(own := scored(*given), late=own.late + 1))
    for scoring, more in ((store.SCORING, 0), ("code of tomorrow", 1)):  # which makes them of the curve
        monkeypatch.setattr(store, "SCORING", scoring)
        scores = Store(tmp_path).scored(JOB)
        assert scores is not None and (scores.grid == expected.grid).all()
        assert (scores.late == expected.late + more).all()
        assert replace(scores, grid=expected.grid, late=expected.late) == expected


def test_a_rewards_sign_is_a_number_of_an_arm_that_stands_among_its_flags(tmp_path: Path) -> None:
    config = Config("tricks/CartPoleReward100-v0", steps=400, lanes=2, horizon=16)
    asked, disk = Question(config, (scales([]),), (0,)), Store(tmp_path)
    for job in (jobs := asked.jobs(asked.table_rates)):
        disk.put(job, result(job))
    study, _ = save(study_of(asked, asked.table_rates, {}, disk, "x"), tmp_path)
    raw, sign, *_ = study.designs[0].arms
    assert len(jobs) == 4 and not study.missing(study.designs[0])
    assert study.of(sign).tricks.item() == f"{study.of(raw).tricks.item()} reward_sign"
    scored, other = (study.of(arm)[SHARES].to_numpy() for arm in (sign, raw))
    assert (scored != other).any() and scored.max() >= 500  # the score still is 100 a step


def test_a_job_is_named_by_what_it_computes_and_stays_finished_when_the_numbers_become_more() -> None:
    assert Job(replace(JOB.config, seeds=2), REINFORCE).key == JOB.key  # a count is the same as the seeds themselves
    assert Job(replace(JOB.config, seeds=(1, 0)), REINFORCE).key != JOB.key
    assert Job(JOB.config, PPO).key != JOB.key
    other: dict[str, Any] = {"env": "Acrobot-v1", "backend": "gymnasium", "device": "cuda", "seeds": 3, "hidden": (4,)}
    other |= {"activation": "relu", "obs_decay": 0.1, "log_std_init": -1.0}
    other |= {"env_args": {"a": 1}, "wrap": "a:B", "stack": 4, "recurrent_cell": "gru", "record": "cost"}
    other |= {"kl_in": "reward", "kl_estimator": "k1", "reply_divisor": 1.0, "imitate_steps": 9}
    for f in fields(Config):
        x = getattr(JOB.config, f.name)
        changed: Any = {f.name: other[f.name] if f.name in other else not x if isinstance(x, bool) else x / 2}
        assert Job(replace(JOB.config, **changed), REINFORCE).key != JOB.key, f.name
    assert set(JOB.what["config"]) == {"env", "seeds", "steps", "lanes", "horizon"}  # what JOB does not leave as it is
    younger: Any = make_dataclass("Younger", [("mood", float, field(default=0.5))], bases=(Config,), frozen=True)
    config = younger(**{f.name: getattr(JOB.config, f.name) for f in fields(Config)})
    assert Job(config, REINFORCE).key == JOB.key != Job(replace(config, mood=0.6), REINFORCE).key


def test_a_trick_s_own_file_counts_in_the_jobs_that_have_it(monkeypatch: Patch) -> None:
    """After a change of the file, no finished job stands for it."""
    bare, keys = JOB.key, [Job(JOB.config, PPO).key]
    for text in ("before", "after"):
        monkeypatch.setitem(OWN, "gae", (Path("mine.py"), text))
        keys.append(Job(JOB.config, PPO).key)
        assert Job(JOB.config, REINFORCE).key == bare
    assert len({*keys}) == 3


def test_a_row_under_the_key_of_another_job_is_damage(made: Made, tmp_path: Path, capsys: Capture) -> None:
    disk = Store(tmp_path)
    disk.put(SMALL, made[SMALL])
    changed(tmp_path, "key", OTHER.key)
    assert disk.read(OTHER) is None and "is damaged" in capsys.readouterr().err


def changed(folder: Path, column: str, value: bytes | str) -> None:
    """Another value in SMALL's row, of the column's type, whether or not it is text."""
    kind = "TEXT" if column in ("key", "what", "about", "scoring") else "BLOB"
    with closing(sqlite3.connect(folder / FILE)) as disk, disk:
        disk.execute(f"UPDATE jobs SET {column} = CAST(? AS {kind}) WHERE key = ?", (value, SMALL.key))


@pytest.mark.parametrize("column", ["what", "about", "curve", "scoring", "scores", "checksum"])
def test_one_flipped_bit_in_a_stored_row_is_noticed_and_that_job_alone_trains_anew(
    column: str, made: Made, tmp_path: Path, here: list[Job], capsys: Capture
) -> None:
    disk = Store(tmp_path)
    for job in (SMALL, OTHER):
        disk.put(job, made[job])
    whole = disk._disk.execute(f"SELECT CAST({column} AS BLOB) FROM jobs WHERE key = ?", (SMALL.key,)).fetchone()[0]
    every = list(flips(whole))
    for flipped in every[:: len(every) // 24 | 1]:  # an odd step, so every bit of a byte has its turn
        changed(tmp_path, column, flipped)
        looking = Store(tmp_path, look_only=True)
        assert not looking.has(SMALL) and looking.has(OTHER) and capsys.readouterr().err == ""
        assert disk.read(SMALL) is None and disk.scored(OTHER) is not None
        assert capsys.readouterr().err == f"a job in {disk.path} is damaged, so it will be retrained: {SMALL.key}\n"
        disk.put(SMALL, made[SMALL])
    changed(tmp_path, column, every[0])
    assert run_jobs([SMALL, OTHER], Store(tmp_path), 1) == {}
    assert here == [SMALL] and content(disk, SMALL) == content(disk, SMALL) and disk.has(SMALL)


@pytest.mark.parametrize("look_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(look_only: bool, tmp_path: Path) -> None:
    path = tmp_path / FILE
    for text in (b"not a database" * 100, b"\x00" * 99, gzip.compress(b"x" * 999)):
        path.write_bytes(text)
        said = f"^cannot read {path}: .*; if this persists, move the file away and its jobs will be retrained$"
        refusal(said, Store(tmp_path, look_only).has, SMALL)
        assert path.read_bytes() == text


EVERY = [replace(JOBS[0], config=replace(JOBS[0].config, seeds=(k,))) for k in range(60)]


def writes(folder: Path, some: slice, ready: Any) -> None:
    ready.wait(60)  # until both processes are there: neither makes the file before that
    disk = Store(folder)
    for job in EVERY[some]:
        disk.put(job, made_up(job, 200.0, np.random.default_rng(0)))


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    context: Any = multiprocessing.get_context(workers.METHOD)
    ready = context.Barrier(2)
    both = [context.Process(target=writes, args=(tmp_path, some, ready)) for some in (slice(30), slice(30, 60))]
    for each in both:
        each.start()
    for each in both:
        each.join(120)
        assert each.exitcode == 0
    disk = Store(tmp_path)
    assert all(disk.has(job) for job in EVERY) and len(finished(tmp_path)) == 60


def test_anothers_endless_writing_is_one_line_and_loses_nothing(made: Made, tmp_path: Path, monkeypatch: Patch) -> None:
    disk = Store(tmp_path)
    disk.put(SMALL, made[SMALL])
    monkeypatch.setattr(store, "PATIENCE", 0.0)
    other = Store(tmp_path)
    with closing(sqlite3.connect(disk.path)) as endless:
        endless.execute("BEGIN IMMEDIATE")
        refusal(r"^cannot write .*: database is locked$", other.put, JOB, made[JOB])
        assert other.has(SMALL)  # reading goes on
    other.put(JOB, made[JOB])
    assert [Store(tmp_path).has(job) for job in (SMALL, JOB)] == [True, True]


def test_what_cannot_be_a_store_is_one_line_and_looking_makes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "x", Path("/dev/null/x")):
        refusal(f"^cannot (make the folder|write results to) {folder}: ", Store, folder)
    (tmp_path / "x" / FILE).mkdir(parents=True)
    line = f"^cannot read {tmp_path / 'x' / FILE}: (unable to open database file|disk I/O error); "
    for look_only in (False, True):
        refusal(line, Store(tmp_path / "x", look_only).has, JOB)
    assert not Store(tmp_path / "nowhere", look_only=True).has(JOB) and not (tmp_path / "nowhere").exists()
    (tmp_path / FILE).touch()
    refusal("no such table", Store(tmp_path, look_only=True).has, SMALL)
    assert (tmp_path / FILE).stat().st_size == 0


def test_an_infinite_return_is_a_failure(monkeypatch: Patch) -> None:
    run = train(SMALL.config, SMALL.tricks)
    run.curve["return"] = np.inf
    monkeypatch.setattr("tricks.train", lambda *_: run)
    assert compute(SMALL) == "a return or a length is infinite"


def test_what_a_killed_writer_left_anywhere_below_the_folder_is_swept_and_nothing_else(tmp_path: Path) -> None:
    out, ours, kept = tmp_path / "out", [], []
    for place in (out, out / "jobs", out / "ladder_CartPole-v1"):
        place.mkdir()
        ours += [place / f".{name}.{HOST}.{DEAD}" for name in ("report.md", "x.csv", "y.runs.csv.gz", "z.png", "z.svg")]
        names = "report.md", ".hidden", f".x.csv.elsewhere.{DEAD}", f".x.csv.{HOST}.{os.getpid()}", f".x.{HOST}.{DEAD}"
        kept += [place / name for name in (*names, f"x.csv.{HOST}.{DEAD}")]
    for path in ours + kept:
        path.write_text("half")
    (folder := out / f".x.csv.{HOST}.{DEAD}1").mkdir()
    prepare(out)
    assert not any(path.exists() for path in ours) and all(path.exists() for path in [*kept, folder])


def test_a_study_is_read_back_as_it_was_saved_whenever_that_was_whatever_its_arms_are_called(tmp_path: Path) -> None:
    design = ladder(["baseline", "entropy"])
    made = study(design, lambda on: 1 / 3)
    saved, path = save(replace(made, runs=made.runs.assign(arm="try#" + made.runs.tricks)), tmp_path)
    assert path.read_bytes()[4:8] == bytes(4)  # where gzip keeps the time
    assert saved.designs == (design,) and saved.runs.late[0] == 100.33
    assert saved.runs.tricks[0] == "" and saved.runs.algorithm[0] == str(ALGORITHM)
    again, _ = save(saved, tmp_path)
    pd.testing.assert_frame_equal(again.runs, saved.runs)
    plain = pd.read_csv(path, skiprows=1)  # without this package: REINFORCE's flags are no empty cell
    assert plain.tricks[0] == "reinforce" and plain["100%"].notna().all() and seeds_in(path) == {*range(8)}
    refusal("nothing", load, tmp_path / "nothing")


def test_a_study_that_is_torn_or_has_a_flipped_bit_is_refused_by_its_path(tmp_path: Path) -> None:
    _, path = save(study(ladder(["baseline"]), lambda on: 0, seeds=1), tmp_path)
    whole = path.read_bytes()
    unpacked = gzip.decompress(whole)
    about, rows = untagged(unpacked.decode(), dtype=str, keep_default_na=False)
    other = tagged({**about, "designs": [["pyramid", ["baseline"]]]}, rows, None), tagged(about, rows.iloc[:, 1:], None)
    nested = ("# " + "[" * 100_000).encode()
    torn = (whole[: len(whole) // 2], whole[:90] + bytes(20) + whole[110:], b"", b"x")
    sealed = (text.replace(about["sha256"], "", 1).encode() for text in other)
    for damage in (*torn, *map(gzip.compress, (nested, *sealed, *list(flips(unpacked))[::31]))):
        path.write_bytes(damage)
        refusal(rf"^{re.escape(str(path))} is damaged, of another version, or not a run ", load, path)
    path.write_bytes(gzip.compress(tagged({**about, "games": {}}, rows, None).encode()))
    refusal(rf"^{re.escape(str(path))} has scores of whole games, which are no longer a study: move it", load, path)


def asking(question: str, seeds: int = 5) -> Study:
    made = study(ladder(["baseline"]), lambda on: len(question), seeds=seeds)
    return replace(made, about=made.about | {"question": question})


def test_what_is_stored_gives_way_to_more_seeds_of_its_question_alone(tmp_path: Path, capsys: Capture) -> None:
    _, path = save(asking("a"), tmp_path)
    save(asking("a", seeds=8), tmp_path)
    assert capsys.readouterr().out == ""
    asked, _ = save(asking("a"), tmp_path)
    assert capsys.readouterr().out == f"kept {path}, which has seeds 0 to 7\n"
    assert (len(asked.runs), len(load(path).runs)) == (10, 16)
    before = path.read_bytes()
    for _ in range(2):
        other, beside = save(asking("bc"), tmp_path)
        assert (beside.name, other.name) == (f"{other.name}{SUFFIX}", "made_CartPole-v1_bc")
    assert path.read_bytes() == before and len([*tmp_path.iterdir()]) == 2
    assert [(each.name, len(each.runs)) for each in load_all(tmp_path)] == [("made_CartPole-v1", 16), (other.name, 10)]
    path.write_bytes(b"x")
    save(asking("a"), tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which cannot be read, as {kept.name}" in capsys.readouterr().out
    assert (kept.read_bytes(), len(load(path).runs)) == (b"x", 10)


def test_a_second_try_has_one_file_whichever_arms_it_tries(tmp_path: Path) -> None:
    first, _ = save(asking("a"), tmp_path)
    for question, start in (("few arms", 5), ("others", 8)):
        tried = asking(question)
        about = tried.about | {"seeds": [start, start + 5]}
        save_again(replace(tried, runs=tried.runs.assign(seed=tried.runs.seed + start), about=about), first, tmp_path)
    assert len([*tmp_path.iterdir()]) == 2
    (found,) = load_all(tmp_path)
    assert found.again is not None and set(found.again.runs.seed) == {*range(8, 13)}


NOW = ALGORITHM


def by(algorithm: int, monkeypatch: Patch) -> None:
    """From here on, this is the library's algorithm."""
    for module in (jobs, provenance, rate_table, store):
        monkeypatch.setattr(module, "ALGORITHM", algorithm)


def made_by(env: str = "CartPole-v1", first: int = 0, **origin: Any) -> Study:
    made = study(ladder(["baseline"]), lambda _: 0, env=env)
    runs = made.runs.assign(seed=made.runs.seed + first, **origin)
    about = made.about | {"seeds": [first, first + 8]}
    return replace(made, name=f"ladder_{env}" + f"_from{first}" * bool(first), runs=runs, about=about)


def test_another_algorithm_s_job_is_not_used_and_said_and_its_study_kept_beside(
    tmp_path: Path, here: list[Job], monkeypatch: Patch, capsys: Capture
) -> None:
    disk = Store(tmp_path)
    for now in (NOW, NOW + 1, NOW - 1, NOW - 1):
        by(now, monkeypatch)
        known = disk.has(SMALL)
        assert not run_jobs([SMALL], disk, 1)
        said = f" of the jobs in {disk.path} were trained under another ALGORITHM"
        assert (said in capsys.readouterr().out) == (now != NOW and not known)
        assert disk.has(SMALL)
    assert len(here) == len(finished(tmp_path)) == 3
    _, path = save(made_by(algorithm=str(NOW - 1)), tmp_path)
    save(made_by(), tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which is by ALGORITHM {NOW - 1}, as {kept.name}" in capsys.readouterr().out
    assert load(kept).algorithm == str(NOW - 1) and [each.algorithm for each in load_all(tmp_path)] == [str(NOW)]


CHANGED = {"commit": "1a2b3c4d", "clean": "False"}
WITH_CHANGES = f"ALGORITHM {NOW}, commit 1a2b3c4 with changes"
ORIGINS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    *(({"algorithm": str(k)}, {}, f"ALGORITHM {k}") for k in (NOW - 1, NOW + 1)),
    ({"algorithm": "", "version": "0.1.0"}, {}, "version 0.1.0"),
    ({"algorithm": "", "version": "0.1.0"}, {"algorithm": "", "version": "0.2.0"}, "version 0.1.0"),
    (CHANGED, CHANGED | {"clean": "True"}, WITH_CHANGES),
    (CHANGED, CHANGED | {"commit": "5e6f"}, WITH_CHANGES),
]


@pytest.mark.parametrize(("theirs", "ours", "said"), ORIGINS)
def test_studies_of_two_origins_never_join(
    theirs: dict[str, Any], ours: dict[str, Any], said: str, tmp_path: Path, refuses: Refuses, capsys: Capture
) -> None:
    one, two = made_by(**ours), made_by(first=8, **theirs)
    paths, named = [save(each, tmp_path)[1] for each in (one, two)], f"{two.name} is by {said}"
    for gives in (load_all, read):
        refusal(rf"{named}.*can't be combined", gives, tmp_path)
    if one.origins == [f"ALGORITHM {NOW}"]:  # a report takes this version's and says what it leaves out
        assert main(["report", "--out", str(tmp_path)]) == 0
        assert f"left out: {two.name} ({said})" in capsys.readouterr().err
    else:
        refuses(main, ["report", "--out", str(tmp_path)], named)
    refuses(main, ["plot", *map(str, paths), "--out", str(tmp_path / "plot")], named)
    assert [len(read(path).runs) for path in paths] == [16, 16]
    (tmp_path / "two").mkdir()
    save(made_by(env="Acrobot-v1", **theirs), tmp_path / "two")  # nor those of two environments
    save(one, tmp_path / "two")
    refusal(said, load_all, tmp_path / "two")


@pytest.mark.usefixtures("here")
def test_only_a_tree_without_changes_shares_jobs_and_origin(tmp_path: Path, monkeypatch: Patch) -> None:
    config, real = Config("tricks/Corridor-v0", steps=64, lanes=2, horizon=16), provenance.provenance_of_a_run
    for dirty in (True, False):
        noted = {"commit": "1a2b3c4d", "dirty": dirty}
        monkeypatch.setattr(jobs, "provenance_of_a_run", lambda device, noted=noted: {**real(device), **noted})
        monkeypatch.setattr(jobs, "changed", lambda dirty=dirty: "5e6f7a8b" * dirty)
        found = compare(["ppo", "reinforce"], config, seeds=10 + 5 * (not dirty), out=tmp_path, workers=1)
        assert len(found.studies[0].origins) == 1
    one, two = made_by(commit="1a2b", clean="True"), made_by(first=8, commit="3c4d", clean="True")
    assert one.origins == two.origins


def test_comparisons_and_rates_are_of_one_algorithm(tmp_path: Path, here: list[Job], monkeypatch: Patch) -> None:
    config = Config("tricks/Corridor-v0", steps=64, lanes=2, horizon=16)
    for now in (NOW, NOW + 1):
        by(now, monkeypatch)
        found = compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
        assert set(read(found.files[0].parent).runs.algorithm) == {str(now)}
    (kept,) = tmp_path.glob("*-kept")
    assert (set(read(tmp_path).runs.algorithm), load(kept).algorithm) == ({str(NOW + 1)}, str(NOW))
    by(NOW, monkeypatch)
    path = tmp_path / "rates.csv"
    rows = pd.DataFrame([("CartPole-v1", 100, "", "", 0.01, 1.0, 1.0, 1, "1")], columns=COLUMNS)
    monkeypatch.setattr(rate_table, "user_table", [path])
    store_table(rows)
    assert len(read_table(path)) == 1
    by(NOW + 1, monkeypatch)
    refusal(f"ALGORITHM {NOW} chose, and this version's is {NOW + 1}", rate_table.table)
    for others in (rows.assign(surprise=1.0), rows.drop(columns="areas")):  # columns that this version doesn't have
        path.write_text(tagged({"rows": 1, "algorithm": NOW, "mood": "good"}, others, digits=None))
        refusal(f"ALGORITHM {NOW} chose", read_table, path)
    assert len(read_table(rate_table.TABLE))  # the package's own, of several algorithms, is used as ever


def test_curves_meet_a_common_grid_and_the_last_tenth_counts_episodes() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200, 300, 400], "return": [10.0, np.nan, 30.0, 50.0]})
    grid = on_grid(curve, 400, {})
    assert grid.columns[[0, -1]].tolist() == [4, 400]
    assert (grid[200.0].tolist(), grid[4.0].tolist()) == ([20], [10])  # linear across the update without an episode
    # 25 points at 10, then up by 20 over 50 points, then by 20 over 25
    rising = 10 + 20 * np.arange(1, 51) / 50
    assert area(grid)[0] == pytest.approx(np.mean([*[10] * 25, *rising, *(30 + 20 * np.arange(1, 26) / 25)]))
    grid = on_grid(pd.DataFrame({"seed": 0, "step": [100, 200], "return": [10.0, 90.0]}), 400, {0: 200})
    assert (grid.loc[0, 200.0:] == 10).all() and grid[196.0].min() > 80
    grid = on_grid(pd.DataFrame({"seed": [0, 1], "step": [50, 50], "return": [1.0, np.nan]}), 100, {})
    assert grid.index.tolist() == [0, 1]  # a seed without an episode is not left out
    assert np.isnan(grid.loc[1]).all()
    curve = pd.DataFrame({"seed": 0, "step": [90, 95, 100], "return": [7.0, 10.0, 40.0], "episodes": [9, 2, 1]})
    silent = pd.DataFrame({"seed": 1, "step": [95], "return": [np.nan], "episodes": [0]})
    found = late(pd.concat([curve, silent]), 100, {})
    assert found[0] == (2 * 10 + 40) / 3 and np.isnan(found[1])
    assert late(curve, 100, {0: 95})[0] == 7  # diverged: as the untrained agent
    curve = pd.DataFrame({"seed": 0, "step": [100, 500], "return": [10.0, 0.0], "episodes": [20, 1]})
    assert area(on_grid(curve, 500, {}))[0] == pytest.approx(np.mean([*[10] * 20, *np.linspace(9.875, 0, 80)]))
    assert late_return(curve, 500, share=1.0)[0] == pytest.approx(200 / 21)

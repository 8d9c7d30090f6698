"""Jobs, studies, scores in files: what is read is what was written, what is damaged is named, an index is as good."""

import contextlib
import gzip
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import field, fields, make_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.jobs import JOB, SMALL, flips
from support.many_jobs import fill_random
from support.probes import Probe
from support.studies import study

from ablations import compare, read
from ablations.analysis.joining import merged
from ablations.analysis.studies import Study
from ablations.analysis.study_files import SUFFIX, load, load_all, refuse_another, save
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.design.flag_sets import signed
from ablations.training import jobs, rate_table, score_index, seed_ranges, workers
from ablations.training.jobs import Job, compute, parse_result
from ablations.training.rate_table import COLUMNS, read_table, store_table, use
from ablations.training.scores import area, late, on_grid
from ablations.training.store import Store, prepare
from ablations.training.tagged_csv import tagged, untagged
from ablations.training.workers import in_one_pool, in_pool, run_jobs
from tricks import PPO, REINFORCE, Config, InputError, train
from tricks.ladder import switched
from tricks.runs import learning_curve
from tricks.runs.files import HOST
from tricks.runs.learning_curve import late_return
from tricks.version import ALGORITHM

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Refuses = Callable[..., None]
Change = Callable[[dict[str, Any], pd.DataFrame], Any]
RowChange = Callable[[pd.DataFrame], pd.DataFrame]
DEAD = 999_999_999  # no process has this number
MADE = study(ladder(["baseline"]), lambda on: 0, seeds=5)
FACTS: dict[str, Any] = {**MADE.about, "designs": [["ladder", ["baseline"]]]}
DAMAGED = "is damaged or not a run file"


@pytest.fixture(scope="module")
def text() -> str:
    return compute(JOB).text


def test_a_result_is_read_back_typed_even_without_a_diagnostic_that_is_younger(text: str, tmp_path: Path) -> None:
    store, run = Store(tmp_path), train(JOB.config, JOB.tricks)
    assert store.read(JOB) is None
    store.put(JOB, jobs.result_text(JOB, run, 1.0))
    result = store.read(JOB)
    assert result is not None
    pd.testing.assert_frame_equal(result.curve, run.curve, rtol=1e-5)
    result = parse_result(JOB, text)
    assert (result.diverged, result.steps) == ({}, sum(result.curve.groupby("seed").step.max()))
    assert result.seconds > 0
    assert set(result.made_with) == {"tricks", "torch", "numpy", "numba", "gymnasium", "python", "machine", "commit"}
    about, curve = untagged(text)
    whole = parse_result(JOB, tagged(about, curve, digits=6)).curve
    young = ["policy_age", "entropy"]
    older = parse_result(JOB, tagged(about, curve.drop(columns=young), digits=6)).curve
    assert tuple(older) == learning_curve.COLUMNS and older[young].isna().all(axis=None)
    pd.testing.assert_frame_equal(older.drop(columns=young), whole.drop(columns=young))
    for strange in (curve.drop(columns=["return"]), curve.assign(mood=1.0)):
        with pytest.raises(ValueError, match="it is not the result of a job"):
            parse_result(JOB, tagged(about, strange, digits=6))


def test_a_tagged_csv_is_read_back_and_a_rewards_sign_is_trained_as_the_switch_would() -> None:
    config = Config("tricks/CartPoleReward100-v0", seeds=1, steps=400, lanes=2, horizon=16)
    arm, plain, switch = Job(config, signed(PPO.on)), Job(config, PPO), Job(replace(config, reward_sign=True), PPO)
    assert arm.what == switch.what != plain.what
    curves = [parse_result(job, compute(job).text).curve for job in (arm, switch, plain)]
    pd.testing.assert_frame_equal(curves[0], curves[1])
    assert not curves[0].equals(curves[2])
    assert curves[0]["return"].max() >= 500  # the score still is 100 a step
    text = tagged({"made with": ["x"]}, pd.DataFrame({"a": [1, 2], "b": [0.123456789, 2.0]}), digits=3)
    blank = '# {"made with": ["x"], "sha256": ""}\na,b\n1,0.123\n2,2\n'
    checksum = hashlib.sha256(blank.encode()).hexdigest()
    assert text == blank.replace('""', f'"{checksum}"')
    about, again = untagged(text, dtype={"a": str})
    assert (about, again.a.tolist()) == ({"made with": ["x"], "sha256": checksum}, ["1", "2"])


def test_a_job_is_named_by_what_it_computes_and_stays_finished_when_the_numbers_become_more() -> None:
    assert Job(replace(JOB.config, seeds=2), REINFORCE).key == JOB.key  # a count is the same as the seeds themselves
    assert Job(replace(JOB.config, seeds=(1, 0)), REINFORCE).key != JOB.key
    assert Job(JOB.config, PPO).key != JOB.key
    other: dict[str, Any] = {"env": "Acrobot-v1", "backend": "gymnasium", "device": "cuda", "seeds": 3, "hidden": (4,)}
    other |= {"activation": "relu", "obs_decay": 0.1, "log_std_init": -1.0}
    other |= {"env_args": {"a": 1}, "wrap": "a:B", "stack": 4, "recurrent_cell": "gru", "record": "cost"}
    for f in fields(Config):
        x = getattr(JOB.config, f.name)
        changed: Any = {f.name: other[f.name] if f.name in other else not x if isinstance(x, bool) else x / 2}
        assert Job(replace(JOB.config, **changed), REINFORCE).key != JOB.key, f.name
    assert set(JOB.what["config"]) == {"env", "seeds", "steps", "lanes", "horizon"}  # what JOB does not leave as it is
    younger: Any = make_dataclass("Younger", [("mood", float, field(default=0.5))], bases=(Config,), frozen=True)
    config = younger(**{f.name: getattr(JOB.config, f.name) for f in fields(Config)})
    assert Job(config, REINFORCE).key == JOB.key != Job(replace(config, mood=0.6), REINFORCE).key


def test_one_flipped_bit_anywhere_in_a_job_is_noticed_and_so_is_a_lost_checksum(text: str) -> None:
    whole = compute(SMALL).text.encode()
    parse_result(SMALL, whole.decode())
    for flipped in flips(whole):
        with pytest.raises(ValueError, match=r"\w"):
            parse_result(SMALL, flipped.decode())
    first, _, rest = text.partition("\n")
    about = json.loads(first[2:])
    del about["sha256"]
    with pytest.raises(ValueError, match="missing required field `sha256`"):
        parse_result(JOB, f"# {json.dumps(about)}\n{rest}")


IMPOSSIBLE: list[dict[str, Any] | RowChange] = [
    *({"seconds": x} for x in ("long", None, float("inf"), -1.0)),
    *({"steps": x} for x in ("many", 7)),
    *({"diverged": x} for x in ([5], [[0, 5], [0, 6]], [[99, 5]], [[0, "later"]])),
    *({name: x} for name, x in (("torch", 2), ("rows", 1.5), ("mood", "good"))),
    lambda curve: pd.concat([curve, curve.tail(1)]),
    lambda curve: curve[::-1],
    lambda curve: curve.drop(index=1),
    lambda curve: curve.assign(step=curve.step[::-1].to_numpy()),
    lambda curve: curve.assign(**{"return": np.inf}),
    lambda curve: curve.assign(length=np.inf),
    lambda curve: curve.assign(episodes=-1),
    lambda curve: curve.assign(episodes=0.5),
    lambda curve: curve.assign(entropy="high"),
    lambda curve: curve.rename(columns={"return": "reward"}),
    lambda curve: curve.assign(seed=curve.seed + 1),
]


@pytest.mark.parametrize("change", IMPOSSIBLE)
def test_no_impossible_job(change: dict[str, Any] | RowChange, text: str, tmp_path: Path, capsys: Capture) -> None:
    store, (about, curve) = Store(tmp_path), untagged(text)
    curve = change(curve) if callable(change) else curve
    about |= {"rows": len(curve)} if callable(change) else change
    store.put(JOB, tagged(about, curve, digits=6))
    assert not store.has(JOB)
    said = capsys.readouterr().err
    assert "is damaged and will be recomputed (" in said
    assert (said.count("\n"), [path.name for path in tmp_path.iterdir()]) == (1, [f"{JOB.key}.damaged"])


def test_unreadable_results_are_failures_and_studies_kept(monkeypatch: Patch, tmp_path: Path, capsys: Capture) -> None:
    run = train(SMALL.config, SMALL.tricks)
    run.curve["return"] = np.inf
    monkeypatch.setattr("tricks.train", lambda *_: run)
    found = compute(SMALL)
    assert "a return or a length is infinite" in found.error and found.text == ""
    path = study_by(THEIRS, lambda about, rows: rows.pop("tuned"), tmp_path)
    before = path.read_bytes()
    save(MADE, tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which cannot be read, as {kept.name}" in capsys.readouterr().out
    assert (kept.read_bytes(), len(load(path).runs)) == (before, 10)


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


THEIRS = {"tricks": "9.8.7", "commit": None}
UNKNOWN: Change = lambda about, rows: about.update(mood="good")  # noqa: E731
OTHER_JOBS: list[Change] = [
    UNKNOWN,
    lambda about, rows: about.pop("steps"),
    lambda about, rows: (about.pop("tricks"), about.pop("seconds")),  # from before versions were noted
    lambda about, rows: about.update(what="training"),
    lambda about, rows: about.update(diverged={"0": 5}),
    lambda about, rows: about["what"]["config"].update(lines=8),
    lambda about, rows: rows.pop("length"),
    lambda about, rows: rows.insert(0, "surprise", 1.0),
]
OTHER_STUDIES: list[Change] = [
    UNKNOWN,
    lambda about, rows: about.pop("command"),
    lambda about, rows: about.update(seeds="0 to 7"),
    lambda about, rows: about["made with"].update(THEIRS),  # versions of another kind
    *(
        lambda about, rows, designs=designs: about.update(designs=designs)
        for designs in ([{"name": "ladder"}], [["pyramid", ["baseline"]]], [["ladder", ["magic"]]])
    ),
    lambda about, rows: rows.pop("tuned"),
    lambda about, rows: rows.insert(0, "surprise", 1.0),
]


def job_of(change: Change) -> str:
    """The text of a job as that version might have written it."""
    about, rows = untagged(compute(SMALL).text)
    about.update(THEIRS)
    change(about, rows)
    return tagged(about | {"rows": len(rows)}, rows, digits=6)


def study_by(made: dict[str, Any], change: Change, folder: Path, sealed: bool = True) -> Path:
    """The file of a study as that version might have written it."""
    path, rows = folder / f"made_CartPole-v1{SUFFIX}", MADE.runs.copy()
    listed = {name: [str(value)] for name, value in made.items() if value is not None}
    about: dict[str, Any] = {**FACTS, "made with": listed}
    change(about, rows)
    text = tagged(about, rows, digits=5)
    path.write_bytes(gzip.compress((text if sealed else re.sub(', "sha256".*?}\n', "}\n", text, count=1)).encode()))
    return path


@pytest.mark.parametrize("change", OTHER_JOBS)
def test_other_versions_jobs_train_anew(change: Change, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(workers, "in_pool", lambda some, *_: ((job, compute(job)) for job in some))
    store, path = Store(tmp_path), tmp_path / f"{SMALL.key}.csv"
    path.write_text(job_of(change))
    assert not Store(tmp_path, look_only=True).has(SMALL) and workers.run_jobs([SMALL], store, 1) == {}
    (said,) = [line for line in capsys.readouterr().err.splitlines() if str(path) in line]
    assert said.startswith(f"{path} was saved by ")
    assert "ppo-tricks 9.8.7" in said or "an early version of ppo-tricks" in said
    assert "which can't read it, so it will be recomputed (" in said
    assert said.endswith(f"kept as {SMALL.key}.other-version") and "is damaged" not in said and store.has(SMALL)
    path.write_text(job_of(lambda about, rows: rows.pop("entropy")))
    assert Store(tmp_path).has(SMALL)  # of another version, and this one can read it


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-9], lambda text: text.replace("9.8.7", "9.8.6"), lambda _: "# {}"]
)
def test_another_version_s_damaged_one_is_damaged(spoil: Callable[[str], str], tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / f"{SMALL.key}.csv").write_text(spoil(job_of(UNKNOWN)))
    assert not Store(tmp_path).has(SMALL)
    assert "is damaged and will be recomputed (" in capsys.readouterr().err
    path = study_by(THEIRS, UNKNOWN, tmp_path)
    path.write_bytes(gzip.compress(spoil(gzip.decompress(path.read_bytes()).decode()).encode()))
    with pytest.raises(InputError, match=DAMAGED):
        load(path)


@pytest.mark.parametrize("sealed", [True, False], ids=["", "from before checksums"])
@pytest.mark.parametrize("change", OTHER_STUDIES)
def test_another_version_s_study_is_refused(change: Change, sealed: bool, tmp_path: Path, refuses: Refuses) -> None:
    path = study_by(THEIRS | {"algorithm": ALGORITHM + 1}, change, tmp_path, sealed)
    with pytest.raises(InputError, match=r"was saved by ppo-tricks 9\.8\.7.*; this is ppo-tricks ") as refused:
        load(path)
    said = str(refused.value)
    assert said.startswith(str(path))
    assert "install ppo-tricks 9.8.7 to open it, or run the command that made it again (" in said
    assert "damaged" not in said and "\n" not in said
    refuses(main, ["report", "--out", str(tmp_path)], "was saved by ppo-tricks 9.8.7")


def test_a_study_is_read_back_as_it_was_saved_whenever_that_was(tmp_path: Path) -> None:
    design = ladder(["baseline", "entropy"])
    saved, path = save(study(design, lambda on: 1 / 3), tmp_path)
    assert path.read_bytes()[4:8] == bytes(4)  # where gzip keeps the time
    assert saved.designs == (design,) and saved.runs.late[0] == 100.33
    assert saved.runs.tricks[0] == ""  # not NaN
    again, _ = save(saved, tmp_path)
    pd.testing.assert_frame_equal(again.runs, saved.runs)
    with pytest.raises(InputError, match="nothing"):
        load(tmp_path / "nothing")


def test_a_study_that_is_torn_or_has_a_flipped_bit_is_refused_by_its_path_or_the_same(tmp_path: Path) -> None:
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
    nested, told = ("# " + "[" * 100_000).encode(), unpacked.replace(b'"command"', b'"comment"')
    torn = (whole[: len(whole) // 2], whole[:90] + bytes(20) + whole[110:], b"", b"x")
    for damage in (*torn, *map(gzip.compress, (told, nested, *list(flips(unpacked))[::7]))):
        path.write_bytes(damage)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))} {DAMAGED}: .*{'nested' * (b'[[[' in damage)}"):
            load(path)


def test_what_is_stored_gives_way_to_more_seeds_and_to_nothing_else(tmp_path: Path, capsys: Capture) -> None:
    (design,) = MADE.designs
    many = study(design, lambda on: 0, seeds=8)
    _, path = save(MADE, tmp_path)
    save(many, tmp_path)
    assert capsys.readouterr().out == ""
    asked, _ = save(MADE, tmp_path)
    assert capsys.readouterr().out == f"kept {path}, which has seeds 0 to 7\n"
    assert (len(asked.runs), len(load(path).runs)) == (10, 16)
    arms = [arm.tricks for arm in design.arms]
    refuse_another(path, Config())
    refuse_another(tmp_path / "nothing", Config(gamma=0.9))
    refuse_another(path, Config(), arms)
    for config, some, said in (
        (Config(), arms[:-1], "with arms that this one lacks; choose another --out"),
        (Config(gamma=0.9), None, "with the usual numbers, backend auto; choose another --out"),
    ):
        with pytest.raises(InputError, match=f"holds another study, {said}"):
            refuse_another(path, config, some)
    path.write_bytes(b"x")
    refuse_another(path, Config(gamma=0.9))  # what is damaged is no loss
    save(MADE, tmp_path)
    assert len(load(path).runs) == 10


def read_back(folder: Path, runs: pd.DataFrame = MADE.runs, **facts: Any) -> Study:
    """The study of these runs, as a file says it whose first line has these facts."""
    path = folder / f"x{SUFFIX}"
    path.write_bytes(gzip.compress(tagged({**FACTS, **facts}, runs, digits=5).encode()))
    return load(path)


def first(**values: Any) -> RowChange:
    """Other values in the first row alone."""
    return lambda runs: pd.concat([runs.head(1).assign(**values), runs[1:]])


LACKS, NO_NUMBER, INFINITE = "columns or rows are missing", "a number is missing", "a return is infinite, or a step neg"
NOT_POSITIVE, MIXED = "a learning rate or a budget is not positive", "not of one environment, budget and set of numbers"
SEEDS, TWICE = "the seeds are not those of its first line", "a run is there twice"
BAD_RUNS: list[tuple[RowChange, str]] = [
    (lambda runs: runs.drop(columns="tuned"), LACKS),
    (lambda runs: runs[:0], LACKS),
    *((first(**{name: x}), NO_NUMBER) for name, x in (("seed", 0.5), ("steps", 0.5), ("lr", "small"))),
    *((first(**{name: x}), INFINITE) for name, x in (("late", np.inf), ("diverged", -1))),
    *((first(**{name: 0}), NOT_POSITIVE) for name in ("lr", "steps")),
    (first(seed=-1), SEEDS),
    (lambda runs: runs.assign(seed=runs.seed + 5), SEEDS),
    *((first(seed=1, **more), TWICE) for more in ({}, {"lr": 0.1}, {"tuned": "fixed"})),
    *((first(**{name: x}), MIXED) for name, x in (("env", "Acrobot-v1"), ("steps", 7))),
]


@pytest.mark.parametrize(("change", "reason"), BAD_RUNS)
def test_runs_that_cannot_be_are_refused_with_the_reason(change: RowChange, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        read_back(tmp_path, change(MADE.runs))


PLAYED: dict[str, Any] = {"run": "x", "greedy": False}
BAD_FACTS: list[tuple[dict[str, Any], str]] = [
    *(({name: x}, "its time or its steps cannot be") for name in ("steps", "seconds") for x in (np.inf, -1.0)),
    ({"designs": [["lader", ["baseline"]]]}, "there is no design 'lader' of 'baseline'"),
    ({"designs": [["ladder", ["base"]]]}, "there is no design 'ladder' of 'base'"),
    ({"designs": [["ladder", ["separate_optimizers", "shared_trunk"]]]}, ""),  # the two exclude each other
    *(({"seeds": seeds}, "seeds") for seeds in ([0], [0, 5, 9], [5, 9])),
    ({"made with": ["torch"]}, ""),
    ({"seconds": "1"}, ""),
    ({"mood": 1}, ""),
    ({"games": {"trained": [[1.0]], "random": [[1.0]]}}, ""),  # of no run
    ({"games": {"trained": 5}, **PLAYED}, ""),
    ({"games": {"trained": [[1.0], [1.0, 2.0]], "random": [[1.0]]}, **PLAYED}, ""),
    ({"games": {"trained": [], "random": [[1.0]]}, **PLAYED}, "length >= 1"),
    ({"games": {"trained": [[]], "random": [[]]}, **PLAYED}, "length >= 1"),
    ({"games": {"trained": [[1.0, np.inf]], "random": [[1.0, 2.0]]}, **PLAYED}, "a score of a game is not finite"),
]


@pytest.mark.parametrize(("facts", "reason"), BAD_FACTS)
def test_facts_that_cannot_be_are_refused_with_the_reason(facts: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path / 'x'}{SUFFIX} {DAMAGED}: .*{reason}.*$"):
        read_back(tmp_path, **facts)


def test_what_is_unusual_but_can_be_is_read_and_another_device_refused_by_its_name(tmp_path: Path) -> None:
    """Nothing counted, no time known, an agent that diverged at once, one step, and one game of each agent."""
    assert read_back(tmp_path, steps=0, seconds=0).about["seconds"] == 0
    assert np.isnan(read_back(tmp_path, seconds=np.nan).about["seconds"])
    found = read_back(tmp_path, MADE.runs.assign(diverged=0, steps=1, tuned="007"))
    assert (found.runs.diverged.tolist(), found.steps) == ([0] * 10, 1)
    assert found.runs.tuned.tolist() == ["007"] * 10  # what looks like a number stays the text that it is
    games = {"trained": [[1.0]], "random": [[2.0]]}
    assert read_back(tmp_path, games=games, **PLAYED).about["games"] == games
    again = pd.concat([MADE.runs, MADE.runs.assign(lr=0.1, tuned="fixed", env="tricks/Corridor-v0")])
    assert len(read_back(tmp_path, again, designs=[]).runs) == 20  # trials may have an arm at two rates
    with pytest.raises(InputError, match=TWICE):
        read_back(tmp_path, pd.concat([MADE.runs, MADE.runs.assign(tuned="fixed")]), designs=[])
    alone = read_back(tmp_path, MADE.runs[:1])
    assert (alone.env, alone.steps, len(alone.runs)) == ("CartPole-v1", 100_000, 1)
    refuse_another(tmp_path / f"x{SUFFIX}", Config())
    read_back(tmp_path, MADE.runs, **{"made with": {"backend": ["auto"], "device": ["cuda"]}})
    with pytest.raises(InputError, match="the usual numbers, backend auto, device cuda; choose another --out"):
        refuse_another(tmp_path / f"x{SUFFIX}", Config())
    refuse_another(tmp_path / f"x{SUFFIX}", Config(device="cuda:1"))
    read_back(tmp_path, MADE.runs, **{"made with": {"backend": ["gymnasium"]}})
    with pytest.raises(InputError, match="with the usual numbers, backend gymnasium; choose another --out"):
        refuse_another(tmp_path / f"x{SUFFIX}", Config())  # and no word of a device


NOW = jobs.ALGORITHM


@pytest.fixture
def by(monkeypatch: Patch) -> Callable[[int], None]:
    """Sets the library's algorithm; jobs train in this process, since workers would have the real one."""
    monkeypatch.setattr(workers, "in_pool", lambda some, *_: ((job, jobs.compute(job)) for job in some))
    return lambda now: monkeypatch.setattr(jobs, "ALGORITHM", now)


def made_by(algorithm: int | None, env: str = "CartPole-v1", first: int = 0) -> Study:
    made = study(ladder(["baseline"]), lambda _: 0, env=env)
    by = {} if algorithm is None else {"algorithm": [str(algorithm)]}
    about = made.about | {"made with": made.about["made with"] | by, "seeds": [first, first + 8]}
    runs = made.runs.assign(seed=made.runs.seed + first)
    return replace(made, name=f"ladder_{env}" + f"_from{first}" * bool(first), runs=runs, about=about)


def test_another_algorithm_s_job_is_trained_anew_and_its_study_kept_beside(
    tmp_path: Path, by: Callable[[int], None], capsys: Capture
) -> None:
    store = Store(tmp_path)
    for now in (NOW, NOW + 1, NOW - 1, NOW - 1):
        by(now)
        known = store.has(SMALL)
        assert not run_jobs([SMALL], store, 1)
        said = f"results are by ALGORITHM {NOW}, and this version's is {now}: 1 of 1 jobs"
        assert (said in capsys.readouterr().out) == (now != NOW and not known)
        assert store.has(SMALL)
    assert len(list(tmp_path.glob("*.csv"))) == 3
    _, path = save(made_by(NOW - 1), tmp_path)
    save(made_by(NOW), tmp_path)
    (kept,) = tmp_path.glob("*-kept")
    assert f"kept {path}, which is of another ALGORITHM, as {kept.name}" in capsys.readouterr().out
    assert load(kept).algorithm == str(NOW - 1) and [each.algorithm for each in load_all(tmp_path)] == [str(NOW)]


@pytest.mark.parametrize("other", [NOW - 1, NOW + 1, None])
def test_studies_of_two_algorithms_stay_apart(other: int | None, tmp_path: Path, refuses: Refuses) -> None:
    one, two = made_by(NOW), made_by(other, first=8)
    assert (len(merged([one, made_by(NOW, first=8)])), len(merged([one, two]))) == (1, 2)
    paths = [save(each, tmp_path)[1] for each in (one, two)]
    named = f"{two.name} is by {f'ALGORITHM {other}' if other else 'an older ALGORITHM'}"
    with pytest.raises(InputError, match=named):
        load_all(tmp_path)
    refuses(main, ["report", "--out", str(tmp_path)], f"{one.name} is by ALGORITHM {NOW}")
    refuses(main, ["plot", *map(str, paths), "--out", str(tmp_path / "plot")], named)
    with pytest.raises(InputError, match="they are never put together"):
        read(tmp_path)
    assert [len(read(path).runs) for path in paths] == [16, 16]
    (tmp_path / "two").mkdir()
    save(made_by(other, env="Acrobot-v1"), tmp_path / "two")  # nor those of two environments
    save(one, tmp_path / "two")
    with pytest.raises(InputError, match=f"ALGORITHM {other}" if other else "an older ALGORITHM"):
        load_all(tmp_path / "two")


def test_comparisons_say_their_algorithm_and_other_rates_are_refused(tmp_path: Path, by: Callable[[int], None]) -> None:
    config = Config("tricks/Corridor-v0", steps=64, lanes=2, horizon=16)
    for now in (NOW, NOW + 1):
        by(now)
        found = compare(["ppo", "reinforce"], config, seeds=1, out=tmp_path, workers=1)
        assert set(read(found.files[0].parent).runs.algorithm) == {str(now)}
    with pytest.raises(InputError, match=r"is by ALGORITHM \d+ and .* is by ALGORITHM \d+"):
        read(tmp_path)
    by(NOW)
    path = tmp_path / "rates.csv"
    rows = pd.DataFrame([("CartPole-v1", 100, "", "", 0.01, 1.0, 1.0, 1, "1")], columns=COLUMNS)
    use(path)
    try:
        store_table(rows)
        assert len(read_table(path)) == 1
        by(NOW + 1)
        with pytest.raises(InputError, match=f"ALGORITHM {NOW} chose, and this version's is {NOW + 1}"):
            rate_table.table()
        for others in (rows.assign(surprise=1.0), rows.drop(columns="areas")):  # columns that this version doesn't have
            path.write_text(tagged({"rows": 1, "algorithm": NOW, "mood": "good"}, others, digits=None))
            with pytest.raises(InputError, match=f"ALGORITHM {NOW} chose"):
                read_table(path)
        assert len(read_table(rate_table.TABLE))  # the package's own, of several algorithms, is used as ever
    finally:
        use(None)


Filled = tuple[Path, list[Job]]
FEW = 4  # results in memory, here
AGENTS = 60  # in six jobs


class Counting(Store):
    """A store that counts the results it reads."""

    count = 0

    def read(self, job: Job) -> Any:
        Counting.count += 1
        return super().read(job)


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: Patch) -> Filled:
    monkeypatch.setattr(score_index, "LATEST", FEW)
    monkeypatch.setattr(Counting, "count", 0)
    return tmp_path / "jobs", fill_random(tmp_path, AGENTS, updates=5)


def reads(folder: Path, jobs: Sequence[Job], look_only: bool = False) -> int:
    """How many results a command reads that asks twice for each, first whether it is there, and then for its scores."""
    before, store = Counting.count, Counting(folder, look_only)
    assert all(store.has(job) for job in jobs)
    assert look_only or all(store.scored(job) for job in jobs)
    return Counting.count - before


def test_many_results_are_read_once_and_not_by_every_command_and_looking_changes_nothing(filled: Filled) -> None:
    folder, jobs = filled
    index, many, rest = folder / "scores.sqlite", len(jobs), len(jobs) - FEW  # those that were still in memory
    reads(folder, jobs[: FEW - 1])  # few results leave no second file
    assert reads(folder, jobs, look_only=True) == many == 6
    assert not index.exists()
    assert reads(folder, jobs) == many  # once per job
    before = index.read_bytes()
    assert (reads(folder, jobs, look_only=True), index.read_bytes()) == (rest, before)
    assert reads(folder, jobs) == rest
    for content in (b"", b"not a database" * 100):  # a damaged one is made again
        for path in folder.glob("scores.sqlite*"):
            path.unlink()
        index.write_bytes(content)
        assert [reads(folder, jobs), reads(folder, jobs)] == [many, rest]


def test_scores_from_the_index_are_those_of_the_results_to_the_last_bit(filled: Filled) -> None:
    folder, jobs = filled
    first = [Store(folder).scored(job) for job in jobs]
    reads(folder, jobs)
    for job, expected in zip(jobs, first, strict=True):
        found, seeds = Store(folder).scored(job), job.config.seed_list
        assert found is not None and expected is not None and (found.grid == expected.grid).all()
        pd.testing.assert_frame_equal(found.table(seeds), expected.table(seeds), check_exact=True)
        assert replace(found, grid=expected.grid, late=expected.late) == expected
    path, expected = folder / "scores.sqlite", first[0]
    assert expected is not None
    whole = path.read_bytes()
    pieces = [expected.grid[0, k : k + 8].tobytes() for k in (0, 8)]  # of one job; all have the same curves
    place = max(map(whole.find, pieces))  # a piece may be cut where a page of the file ends
    assert place > 0
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    Counting.count, store = 0, Counting(folder)
    for job in jobs:
        found = store.scored(job)
        assert found is not None and (found.grid == expected.grid).all()
    assert Counting.count == len(jobs) - FEW + 1  # that one was read again


def test_changed_results_and_codes_do_not_count(
    filled: Filled, capsys: pytest.CaptureFixture[str], monkeypatch: Patch
) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    with monkeypatch.context() as patched:
        patched.setattr(score_index, "TABLE", "scores_of_tomorrow")
        assert reads(folder, jobs) == len(jobs)
    (folder / f"{jobs[0].key}.csv").write_text("damaged")
    (folder / f"{jobs[1].key}.csv").unlink()
    store = Store(folder)
    assert [store.has(job) for job in jobs[:3]] == [False, False, True]
    assert "is damaged and will be recomputed" in capsys.readouterr().err


def test_scores_that_cannot_be_written_stay_in_memory(filled: Filled, monkeypatch: Patch) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    for job in jobs:
        (folder / f"{job.key}.csv").touch()  # with another time, they are read again, and would be written
    with contextlib.closing(sqlite3.connect(folder / "scores.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute(f"SELECT * FROM {score_index.TABLE}").fetchone()  # which keeps the others from a commit
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
        store = Counting(folder)
        for _ in range(2):
            assert all(store.scored(job) for job in jobs)
    assert Counting.count == 2 * len(jobs)


def _number(job: Job) -> int:
    return job.config.seed_list[0]


def test_a_pool_holds_few_jobs_and_blocks_look_at_each_seed_a_fixed_number_of_times(filled: Filled) -> None:
    drawn: list[int] = []

    class Watched(list[Job]):
        def __iter__(self) -> Any:
            for number, job in enumerate(super().__iter__()):
                drawn.append(number)
                yield job

    outcomes = in_one_pool(Watched(filled[1]), 1, _number)
    next(outcomes)
    assert len(drawn) <= 2
    outcomes.close()
    assert sorted(number for _, number in in_pool(filled[1], 2, _number)) == [_number(job) for job in filled[1]]

    class Seeds(tuple[int, ...]):
        looks = 0

        def __iter__(self) -> Any:
            for seed in super().__iter__():
                Seeds.looks += 1
                yield seed

    for count in (300, 3000):
        Seeds.looks = 0
        assert len(seed_ranges.blocks(Seeds(range(count)))) == count / 15 and Seeds.looks <= 2 * count


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


class ShortPays(Probe):
    """Half of the episodes take 5 steps and pay 10, the other half 400 and nothing, whatever the actions."""

    def first(self) -> float:
        self.length = int(self.np_random.choice([5, 400]))
        return 0.0

    def pay(self, action: int) -> float:
        return 10.0 * (self.length == 5 and self.t == 4)


@pytest.mark.parametrize(("tricks", "expected"), [((), 5), (("baseline", "segments"), 10)])
def test_with_segments_the_first_points_are_of_short_episodes(tricks: tuple[str, ...], expected: float) -> None:
    """The agents don't learn: their mean return is 5 from the first step to the last."""
    config = Config(seeds=4, steps=400, lanes=8, horizon=16, hidden=(4,), lr=1e-12)
    first = on_grid(train(config, switched(tricks), ShortPays).curve, 400, {}).iloc[:, 0]
    assert (first.mean(), (first == 10).all()) == (pytest.approx(expected, abs=0.75), expected == 10)

"""Stored results as tidy tables, from finished jobs to studies, which are ordered, joined, and confirmed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.fixtures import Patch, refusal
from support.studies import TINY, study

from ablations import RESULTS, cli, compare, effects, figure, interval, read
from ablations.analysis import records
from ablations.analysis.reading import Columns, curves_of, short_name
from ablations.analysis.records import SHARES, Done, Study, gather, load, load_all, origin, save, save_again
from ablations.question.designs import DESIGNS, ladder
from ablations.training.jobs import Job
from ablations.training.question import Question
from ablations.training.scores import POINTS, Scored
from ablations.training.store import Store
from tricks import PPO, REINFORCE, Config, switched, train
from tricks.runs.provenance import VERSIONS

SMALL = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
STORED, OTHER = (RESULTS / f"published_{env}-v1_500000steps.runs.csv.gz" for env in ("CartPole", "Acrobot"))


def test_a_study_is_two_tidy_tables_with_its_own_scores_and_arms_named_after_the_nearest_preset(tmp_path: Path) -> None:
    kept, (runs, curves) = load(STORED), read(STORED)
    assert np.allclose(runs.area, kept.runs[SHARES].mean(axis=1))
    assert len(curves) == 100 * len(runs) == 100 * len(kept.runs)
    means = curves.groupby(["arm", "seed"])["return"].mean()
    assert np.allclose(means.loc[list(zip(runs.arm, runs.seed, strict=True))], runs.area)
    assert set(curves.step) == {5_000 * k for k in range(1, 101)}
    for _, own in runs.groupby("arm"):
        areas = own.area.to_numpy()
        within = stats.bootstrap((areas,), np.mean, method="percentile", random_state=0).confidence_interval
        low, high = interval(areas)  # the expanded interval: wider, the more so the fewer the seeds
        assert 1 < (high - low) / (within.high - within.low) < 1.5
    _, path = save(study(ladder(["baseline"]), lambda on: 0), tmp_path)
    assert set(read(path).runs.arm) == {"reinforce", "baseline"}
    on = " ".join(name for name in (*PPO.on, "lr_anneal") if name != "gae")
    assert (short_name(on), short_name(" ".join(PPO.on))) == ("ppo − gae + lr_anneal", "ppo")
    assert [short_name(name) for name in ("baseline gae", "reinforce")] == ["baseline gae", "reinforce"]


def test_comparisons_runs_and_folders_of_them_are_read_alike_unless_damaged(tmp_path: Path) -> None:
    found = compare(["ppo", "reinforce"], SMALL, seeds=2, out=tmp_path, workers=1)
    train(replace(SMALL, seeds=2), PPO).save(tmp_path / "run")
    runs, curves = read(tmp_path)
    assert set(runs.study) == {found.files[0].parent.name, "run"}
    ours, alone = (runs[runs.study.eq("run") == one].reset_index(drop=True) for one in (False, True))
    for score in ("area", "late"):
        assert alone[score].to_numpy() == pytest.approx(ours[ours.arm == "ppo"][score].to_numpy(), rel=1e-5)
    assert {"entropy", "approx_kl"} <= {*curves}
    (tmp_path / "run" / "run.json").write_text('{"config": {}}')
    refusal(r"is damaged: run.json: it does not match its checksum", read, tmp_path / "run")


def monitor(path: Path, returns: list[float], start: float = 0.0) -> None:
    """A file as stable-baselines3's Monitor writes it, of episodes of ten steps."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{value},10,{start + k}" for k, value in enumerate(returns)]
    path.write_text("\n".join(['#{"t_start": 1.0, "env_id": "CartPole-v1"}', "r,l,t", *rows]) + "\n")


def test_a_monitor_file_counts_its_episodes_steps_also_if_continued_and_tables_are_long_or_wide(tmp_path: Path) -> None:
    monitor(tmp_path / "a" / "monitor.csv", [1.0, 2.0, 3.0])
    curve = curves_of(tmp_path / "a", Columns())
    assert curve[["step", "return"]].to_numpy().tolist() == [[10, 1], [20, 2], [30, 3]]
    monitor(tmp_path / "b" / "0.monitor.csv", [1.0, 3.0])
    monitor(tmp_path / "b" / "1.monitor.csv", [2.0, 4.0], start=0.5)  # another environment of the same run
    assert curves_of(tmp_path / "b", Columns())["return"].tolist() == [1, 2, 3, 4]
    monitor(tmp_path / "c" / "monitor.csv", [1.0, 3.0] * POINTS)  # about two episodes in each point
    assert curves_of(tmp_path / "c", Columns()).episodes.agg(["median", "sum"]).tolist() == [2, 2 * POINTS]
    assert sorted(set(curves_of(tmp_path, Columns()).seed)) == [0, 1, 2]
    with (tmp_path / "b" / "0.monitor.csv").open("a") as file:
        file.write("5,10,0.2\n7,10,1.2\n")  # training went on, and t began again
    assert curves_of(tmp_path / "b", Columns())["return"].tolist() == [1, 2, 3, 5, 4, 7]
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    table = pd.DataFrame({"name": list("xxyy"), "t": [1, 2, 1, 2], "score": [1.0, 2.0, 3.0, 4.0], "kind": list("ppqq")})
    table.to_csv(long, index=False)
    curve = curves_of(long, Columns("name", "t", "score", "kind"))
    assert curve.groupby(["group", "seed"])["return"].sum().to_dict() == {("p", 0): 3, ("q", 1): 7}
    table.assign(name="x").to_csv(long, index=False)  # each group numbers its own runs
    assert curves_of(long, Columns("name", "t", "score", "kind")).seed.nunique() == 2
    names = ["a - charts/return", "a - charts/return__MIN", "b - charts/return", "b - loss", "_runtime"]
    pd.DataFrame({"global_step": [5, 10], **{name: [1.0, 2.0] for name in names}}).to_csv(wide, index=False)
    assert set(curves_of(wide, Columns(value="charts/return")).seed) == {0, 1}
    said = r"Name one with --value: a - charts/return, b - charts/return, b - loss$"
    refusal(said, curves_of, wide, Columns())  # neither bounds nor times are runs


def test_runs_of_cleanrl_are_grouped_evaluations_averaged_and_our_own_table_reads_back(tmp_path: Path) -> None:
    for k, name in enumerate(("CartPole-v1__ppo__1__170", "CartPole-v1__ppo__2__171", "CartPole-v1__dqn__1__172")):
        monitor(tmp_path / "runs" / name / "monitor.csv", [k, k])
    curves = curves_of(tmp_path / "runs", Columns())
    found = curves.groupby(["env", "group"]).seed.nunique()
    assert found.to_dict() == {("CartPole-v1", "ppo"): 2, ("CartPole-v1", "dqn"): 1}
    (tmp_path / "eval").mkdir()
    np.savez(tmp_path / "eval" / "evaluations.npz", timesteps=[5, 10], results=[[1.0, 3.0], [5.0, 7.0]])
    assert curves_of(tmp_path / "eval", Columns())[["step", "return"]].to_numpy().tolist() == [[5, 2], [10, 6]]
    history = pd.DataFrame({"_step": [1, 2], "_runtime": [0.1, 0.2], "episodic_return": [3.0, 4.0], "loss": [1.0, 2.0]})
    history.to_csv(tmp_path / "history.csv", index=False)
    assert curves_of(tmp_path / "history.csv", Columns())["return"].tolist() == [3, 4]
    for names in (["seed 0", "seed 1"], ["a - score", "b - score"], ["alone"]):  # a run may lack a step
        columns = dict(zip(names, ([1.0, 2.0, 3.0], [4.0, np.nan, 5.0]), strict=False))
        wide = pd.DataFrame({"step": [1, 2, 3]} | columns)
        wide.to_csv(tmp_path / "n.csv", index=False)
        of_runs = curves_of(tmp_path / "n.csv", Columns()).groupby("seed")["return"].agg(["size", "sum"])
        assert of_runs.to_numpy().tolist() == [[3, 6], [2, 9]][: len(names)]
    rows = [(arm, seed, step, step * 1.0) for arm in "ab" for seed in (0, 1) for step in (1, 2)]
    pd.DataFrame(rows, columns=["arm", "seed", "step", "return"]).to_csv(tmp_path / "tidy.csv", index=False)
    assert curves_of(tmp_path / "tidy.csv", Columns()).groupby("group").seed.nunique().to_dict() == {"a": 2, "b": 2}


def test_event_files_are_read_by_tensorboard_s_own_reader(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "run")) as writer:
        for step in (10, 20):
            writer.add_scalar("charts/episodic_return", step / 10, step)
            writer.add_scalar("losses/value", 0.0, step)
    assert curves_of(tmp_path, Columns())["return"].tolist() == [1.0, 2.0]
    said = "has no scalar 'reward'; its scalars are charts/episodic_return, losses/value"
    refusal(said, curves_of, tmp_path, Columns(value="reward"))


def test_ours_and_theirs_stand_in_one_figure_and_one_table(tmp_path: Path, told: Callable[..., str]) -> None:
    for seed in range(5):
        monitor(tmp_path / "logs" / f"PPO_{seed}" / "monitor.csv", [100.0 + seed + k for k in range(500)])
    said = told(["plot", f"theirs={tmp_path / 'logs'}", str(STORED), f"--out={tmp_path / 'shown'}"], main=cli.main)
    assert "| theirs " in said and said.count("hurts") == 3  # over the steps that all have
    assert {path.name for path in tmp_path.glob("shown*")} == {f"shown.{kind}" for kind in ("png", "svg", "csv", "md")}
    assert pd.read_csv(tmp_path / "shown.csv").step.max() == 5_000  # as far as all groups go
    arm = read(STORED).runs.arm.iloc[0]  # one arm of a study stands under the name of its source
    sources = [f"stored={STORED}", f"twice={STORED}", "--arms", arm]
    assert cli.main(["plot", *sources, "--out", str(tmp_path / "arm")]) == 0
    assert set(pd.read_csv(tmp_path / "arm.csv").arm) == {"stored", "twice"}


SEVERAL = "the sources are of several environments; choose one with --env: CartPole-v1, Acrobot-v1"
BROKEN = [
    ("", "cannot be read"),
    ("run,t,score\na,1,2\n", "has no column step or global_step or Step or timesteps or _step; name one with --step"),
    ("step,return\n1,1\n3,2\n2,3\n", "steps go back, at step 2"),
    ("step,return\n1,1\n", "has a run of one point; a curve needs two"),
    ("step,return\n1,x\n2,y\n", "has no column of numbers besides 'step'"),
    ('a,b\n1,"2\n', "cannot be read"),
    ("step,return\n1,1\ninf,2\n", "not all finite numbers"),
    ("r,l,t\n1,10,1\nr,l,t\n2,10,1\n", "r, l and t are not all numbers"),
]


def test_what_is_no_curve_is_refused_by_name_and_tables_are_drawn(tmp_path: Path, refuses: Callable[..., None]) -> None:
    path = tmp_path / "theirs.csv"
    for text, said in BROKEN:
        path.write_text(text)
        refuses(cli.main, ["plot", str(path), "--out", str(tmp_path / "shown")], said)
        refuses(cli.main, ["plot", str(path), "--out", str(tmp_path / "shown")], str(path))
    path.unlink()
    for arguments, said in (
        (["nowhere"], "there is no nowhere"),
        ([], "plot needs at least one source"),
        ([str(STORED), "--against", "nobody"], "--against 'nobody' is no group"),
        ([str(STORED), "--arms", "nobody"], "--arms has 'nobody', which no source has; the arms are"),
        ([str(STORED), "--run", "name"], "--run names a column, and no source is a table"),
        ([str(STORED), "--env", "Taxi-v4"], "--env 'Taxi-v4' is in no source of ours; they have CartPole-v1"),
        ([str(STORED), str(OTHER)], SEVERAL),
        ([str(tmp_path)], "holds no runs: no monitor file, event file, evaluations.npz, or table"),
    ):
        refuses(cli.main, ["plot", *arguments], said)
    table = pd.DataFrame({"arm": ["a"] * 4, "seed": [0, 0, 1, 1], "step": [1, 2, 1, 2], "return": [1.0, 2.0, 3.0, 4.0]})
    (line,) = figure(table).axes[0].lines
    assert np.asarray(line.get_ydata())[-1] == 3.0
    refusal("the table has no column 'arm'; it has seed, step, return", figure, table.drop(columns="arm"))
    refusal("steps go back in a, seed 0, at step 1", figure, table.assign(step=[2, 1, 1, 2]))
    refusal("unknown statistic 'mode'", figure, table, statistic="mode")


ONE = ladder(["baseline"])


def done(seeds: tuple[int, ...], diverged: Mapping[int, int], **made: Any) -> Done:
    """A finished job: seed k has returns of k, and 10 k at the end."""
    values = np.array(seeds, dtype=float)
    config = replace(TINY, seeds=seeds, lr=tuple(0.01 * (seed + 1) for seed in seeds))
    known, grid = dict.fromkeys(VERSIONS) | made, np.repeat(values[:, None], POINTS, axis=1)
    return Done(Job(config, REINFORCE), "x", Scored(seeds, grid, 10 * values, diverged, 0.63, 200, known))


def test_each_seed_has_its_own_facts_and_what_is_said_of_runs_is_that_of_all_their_jobs() -> None:
    changed = {"algorithm": 3, "tricks": "1.0", "commit": "cafe", "dirty": True, "numba": "0.6", "machine": "arm"}
    runs = gather([done((3, 4, 5), {4: 150}, **changed), done((6,), {}, tricks="0.9", dirty=False)], {4, 5, 6})
    assert (runs.seed.tolist(), runs.lr.tolist()) == ([4, 5, 6], pytest.approx([0.05, 0.06, 0.07]))
    assert (runs.diverged.fillna(-1).tolist(), runs.late.tolist()) == ([150, -1, -1], [40, 50, 60])
    assert runs[SHARES].to_numpy().tolist() == [[seed] * POINTS for seed in (4, 5, 6)]
    assert runs[records.MADE].to_numpy().tolist()[0] == ["3", "1.0", "cafe", "False", "True", "arm"]
    origins = [origin(row) for row in runs[1:].to_dict("records")]
    assert origins == ["ALGORITHM 3, commit cafe with changes", "version 0.9"]
    refusal("there are no results", gather, [], {4})
    old = {"torch": "2", "device": "cpu", "date": "2026-01-01"}
    jobs = [done((0, 1), {}, **old), done((2,), {}, torch="1", commit="c", device="cuda (H)", date="2026-01-02")]
    about = records.about_runs("x", jobs, (5, 3, 4))
    assert (about["command"], about["seconds"], about["steps"], about["seeds"]) == ("x", 1.3, 400, [3, 6])
    versions = {"torch": ["1", "2"], "commit": ["c"], "backend": ["auto"], "device": ["cpu", "cuda (H)"]}
    assert about["made with"] == versions | {"date": ["2026-01-02"]}  # of the last; what is not known is left out


def test_the_study_of_a_question_is_of_what_is_finished_and_not_whole(tmp_path: Path, monkeypatch: Patch) -> None:
    asked = Question(replace(TINY, seeds=1), (ONE,), (3, 4), left_out=("Atari: not installed",), margin=7.0)
    first, *_ = asked.jobs(asked.table_rates)
    monkeypatch.setattr(Store, "scored", lambda _, job: done((3, 4), {}).result if job == first else None)
    found = records.study_of(asked, asked.table_rates, {}, Store(tmp_path), "run")
    assert (found.name, found.designs, found.about["command"]) == (asked.name, (ONE,), "run")
    assert (found.about["left out"], found.about["seeds"]) == (asked.left_out, [3, 5])
    assert (found.about["question"], found.about["rates"]) == (asked.digest, asked.rates_in_words)
    assert found.margin * found.unit == pytest.approx(7)
    assert found.runs[["tricks", "seed", "tuned"]].to_numpy().tolist() == [["", 3, "fixed"], ["", 4, "fixed"]]
    assert found.missing(ONE) == ["+ baseline"]
    made = study(ONE, lambda on: 0)
    assert made.subject == replace(made, designs=()).subject == "ladder"
    assert replace(made, designs=(ONE, DESIGNS["beyond"](["huber", "dual_clip"]))).subject == "beyond"
    late = replace(made, runs=made.runs.assign(seed=made.runs.seed + made.runs.tricks.eq("baseline")))
    assert (made.missing(ONE), made.is_whole) == ([], True)
    assert (late.missing(ONE), late.is_whole) == (["+ baseline"], False)
    assert late.of(switched(["baseline"])).seed.tolist() == [*range(1, 9)]


def trials(name: str, first: int, **facts: str | float) -> Study:
    """Trials on four seeds, in which an arm may have other facts, such as its rate."""
    made = study(ONE, lambda on: 0, seeds=4)
    return part(replace(made, name=name, designs=()), lambda seed: seed >= 0, [first, first + 4], by=first, **facts)


def part(whole: Study, keep: Callable[[Any], Any], seeds: list[int], by: int = 0, **facts: str | float) -> Study:
    """The runs of a study on these seeds, moved `by`; one that does not begin with 0 is named for its first."""
    runs = whole.runs[keep(whole.runs.seed)]
    return replace(whole, runs=runs.assign(seed=runs.seed + by, **facts), about=whole.about | {"seeds": seeds})


def tried_again(first: Study, runs: pd.DataFrame, folder: Path) -> Study:
    save(first, folder)
    last = int(runs.seed.max()) + 1
    save_again(replace(first, runs=runs, about=first.about | {"seeds": [first.seeds, last]}), first, folder)
    return load_all(folder)[0]


def test_studies_come_in_the_order_of_the_suites_environments_worlds_last(tmp_path: Path) -> None:
    envs = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Taxi-v4", "LunarLander-v3", "Hopper-v5", "A-v0"]
    for env in envs[::-1]:
        save(replace(study(ONE, lambda on: 0, env), name=f"ladder_{env}"), tmp_path)
    save(trials("worlds_from10", 10), tmp_path)
    assert [found.env for found in load_all(tmp_path)] == [*envs, "CartPole-v1"]


def test_a_second_try_is_of_some_arms_at_the_same_rates_on_seeds_that_have_not_joined_the_first(tmp_path: Path) -> None:
    first = study(ONE, lambda on: 90 * ("baseline" in on), seeds=10)
    runs = first.runs.assign(seed=first.runs.seed + 10)
    assert tried_again(first, runs.assign(lr=first.runs.lr * 3), tmp_path).again is None  # a rate chosen anew
    some = tried_again(first, runs[runs.tricks.ne("")], tmp_path).again
    assert some is not None and set(some.runs.tricks) == {"baseline"}
    assert effects(tried_again(first, runs, tmp_path), ONE).confirmed.tolist() == [1]
    more = runs[runs.tricks.eq("")].assign(tricks="baseline gae")  # an arm of its own, as of what several do together
    assert effects(tried_again(first, pd.concat([runs, more]), tmp_path), ONE).confirmed.tolist() == [1]
    every = pd.concat([first.runs, runs], ignore_index=True)
    save(replace(first, runs=every, about=first.about | {"seeds": [0, 20]}), tmp_path)  # the same seeds are reported
    (longer,) = load_all(tmp_path)
    assert (longer.seeds, longer.again) == (20, None)

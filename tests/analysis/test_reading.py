"""Stored results as tidy tables: nothing is lost, rliable and scipy take them, and other people's runs join them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.studies import study

from ablations import RESULTS, cli, compare, figure, iqm, read, unpaired
from ablations.analysis.foreign import Columns, curves_of
from ablations.analysis.reading import short_name
from ablations.analysis.stats import interval
from ablations.analysis.studies import SHARES
from ablations.analysis.study_files import load, save
from ablations.design.designs import ladder
from tricks import PPO, Config, InputError, train

SMALL = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
STORED, OTHER = (RESULTS / f"ppo_{env}-v1_500000steps.runs.csv.gz" for env in ("CartPole", "Acrobot"))


def test_a_study_is_two_tidy_tables_whose_scores_are_its_own() -> None:
    """rliable's IQM is scipy's trimmed mean (its metrics.py); its stratified bootstrap of one task is a plain one."""
    kept, (runs, curves) = load(STORED), read(STORED)
    assert np.allclose(runs.area, kept.runs[SHARES].mean(axis=1))
    assert len(curves) == 100 * len(runs) == 100 * len(kept.runs)
    means = curves.groupby(["arm", "seed"])["return"].mean()
    assert np.allclose(means.loc[list(zip(runs.arm, runs.seed, strict=True))], runs.area)
    assert set(curves.step) == {5_000 * k for k in range(1, 101)}
    arms = {str(arm): own.area.to_numpy() for arm, own in runs.groupby("arm")}
    for areas in arms.values():
        assert iqm(areas) == pytest.approx(stats.trim_mean(areas, 0.25))
        within = stats.bootstrap((areas,), np.mean, method="percentile", random_state=0).confidence_interval
        low, high = interval(areas)  # the expanded interval: wider, the more so the fewer the seeds
        assert 1 < (high - low) / (within.high - within.low) < 1.5
    first, second = arms.values()
    assert unpaired(first, second).p == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue)


def test_in_files_reinforce_has_a_name_and_other_arms_that_of_the_nearest_preset(tmp_path: Path) -> None:
    made = study(ladder(["baseline"]), lambda on: 0)
    back, path = save(made, tmp_path)
    assert set(pd.read_csv(path, comment="#").tricks) == {"reinforce", "baseline"}  # so that pandas loses nothing
    assert list(back.runs.tricks) == list(made.runs.tricks)
    assert set(read(path).runs.arm) == {"reinforce", "baseline"}
    on = " ".join(name for name in (*PPO.on, "bootstrap") if name != "gae")
    assert (short_name(on), short_name(" ".join(PPO.on))) == ("ppo − gae + bootstrap", "ppo")
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
    with pytest.raises(InputError, match=r"is damaged: run.json: Object missing required field"):
        read(tmp_path / "run")


def monitor(path: Path, returns: list[float], start: float = 0.0) -> None:
    """A file as stable-baselines3's Monitor writes it, of episodes of ten steps."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{value},10,{start + k}" for k, value in enumerate(returns)]
    path.write_text("\n".join(['#{"t_start": 1.0, "env_id": "CartPole-v1"}', "r,l,t", *rows]) + "\n")


def test_a_monitor_file_counts_the_steps_of_all_its_episodes(tmp_path: Path) -> None:
    monitor(tmp_path / "a" / "monitor.csv", [1.0, 2.0, 3.0])
    curve = curves_of(tmp_path / "a", Columns())
    assert curve[["step", "return"]].to_numpy().tolist() == [[10, 1], [20, 2], [30, 3]]
    monitor(tmp_path / "b" / "0.monitor.csv", [1.0, 3.0])
    monitor(tmp_path / "b" / "1.monitor.csv", [2.0, 4.0], start=0.5)  # another environment of the same run
    assert curves_of(tmp_path / "b", Columns())["return"].tolist() == [1, 2, 3, 4]
    assert sorted(set(curves_of(tmp_path, Columns()).seed)) == [0, 1]


def test_tables_in_long_and_in_wide_form_are_read(tmp_path: Path) -> None:
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    table = pd.DataFrame({"name": list("xxyy"), "t": [1, 2, 1, 2], "score": [1.0, 2.0, 3.0, 4.0], "kind": list("ppqq")})
    table.to_csv(long, index=False)
    curve = curves_of(long, Columns("name", "t", "score", "kind"))
    assert curve.groupby(["group", "seed"])["return"].sum().to_dict() == {("p", 0): 3, ("q", 1): 7}
    table.assign(name="x").to_csv(long, index=False)  # each group numbers its own runs
    assert curves_of(long, Columns("name", "t", "score", "kind")).seed.nunique() == 2
    names = ["a - charts/return", "a - charts/return__MIN", "b - charts/return", "b - loss"]
    pd.DataFrame({"global_step": [5, 10], **{name: [1.0, 2.0] for name in names}}).to_csv(wide, index=False)
    assert set(curves_of(wide, Columns(value="charts/return")).seed) == {0, 1}
    assert set(curves_of(wide, Columns()).seed) == {0, 1, 2}  # without the bounds


def test_event_files_are_read_by_tensorboard_s_own_reader(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "run")) as writer:
        for step in (10, 20):
            writer.add_scalar("charts/episodic_return", step / 10, step)
            writer.add_scalar("losses/value", 0.0, step)
    assert curves_of(tmp_path, Columns())["return"].tolist() == [1.0, 2.0]
    said = "has no scalar 'reward'; its scalars are charts/episodic_return, losses/value"
    with pytest.raises(InputError, match=said):
        curves_of(tmp_path, Columns(value="reward"))


def test_ours_and_theirs_stand_in_one_figure_and_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(5):
        monitor(tmp_path / "logs" / f"PPO_{seed}" / "monitor.csv", [100.0 + seed + k for k in range(500)])
    assert cli.main(["plot", f"theirs={tmp_path / 'logs'}", str(STORED), "--out", str(tmp_path / "shown")]) == 0
    said = capsys.readouterr().out
    assert "| theirs " in said
    assert "helps" in said
    assert {path.name for path in tmp_path.glob("shown*")} == {f"shown.{kind}" for kind in ("png", "svg", "csv", "md")}
    assert pd.read_csv(tmp_path / "shown.csv").step.max() == 5_000  # as far as all groups go
    arm = read(STORED).runs.arm.iloc[0]  # one arm of a study stands under the name of its source
    sources = [f"stored={STORED}", f"twice={STORED}", "--arms", arm]
    assert cli.main(["plot", *sources, "--out", str(tmp_path / "arm")]) == 0
    assert set(pd.read_csv(tmp_path / "arm.csv").arm) == {"stored", "twice"}


STEPS = "has no column step or global_step or Step or timesteps or _step; name one with --step"
SEVERAL = "the sources are of several environments; choose one with --env: CartPole-v1, Acrobot-v1"
BROKEN = [
    ("", "is empty"),
    ("run,t,score\na,1,2\n", STEPS),
    ("step,return\n1,1\n3,2\n2,3\n", "steps go back, at step 2"),
    ("step,return\n1,1\n", "has a run of one point; a curve needs two"),
    ("step,return\n1,x\n2,y\n", "has no column of numbers besides 'step'"),
    ('a,b\n1,"2\n', "is no CSV"),
]


def test_what_is_no_curve_or_not_there_is_refused_by_its_name_and_figure_takes_any_table(
    tmp_path: Path, refuses: Callable[..., None]
) -> None:
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
        ([str(STORED), "--run", "name"], "--run names a column of a CSV, and no source is one"),
        ([str(STORED), "--env", "Taxi-v4"], "--env 'Taxi-v4' is in no source of ours; they have CartPole-v1"),
        ([str(STORED), str(OTHER)], SEVERAL),
        ([str(STORED), "--statistic", "median"], "--statistic must be mean or iqm, not 'median'"),
        ([str(tmp_path)], "holds no monitor file, no event file and no CSV"),
    ):
        refuses(cli.main, ["plot", *arguments], said)
    table = pd.DataFrame({"kind": ["a"] * 4, "seed": [0, 0, 1, 1], "step": [1, 2, 1, 2], "loss": [1.0, 2.0, 3.0, 4.0]})
    (line,) = figure(table, by="kind", y="loss").axes[0].lines
    assert np.asarray(line.get_ydata())[-1] == 3.0
    with pytest.raises(InputError, match="the table has no column 'arm'; it has kind, seed, step, loss"):
        figure(table, y="loss")
    with pytest.raises(InputError, match="steps go back in a, seed 0, at step 1"):
        figure(table.assign(step=[2, 1, 1, 2]), by="kind", y="loss")
    with pytest.raises(InputError, match="unknown statistic 'mode'"):
        figure(table, by="kind", y="loss", statistic="mode")

"""`compare`, `run --base` and `run --design file.py:function`: from arms in words, or functions and designs of one's
own, to a table, curves and a page, with the user's own numbers from infos; and what they refuse."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.any_space import AnySpace

from ablations import Arm, cli, compare, judge, read
from ablations.analysis.compared import moved
from ablations.experiments.compare import requested
from ablations.report import judged_page
from ablations.training import workers
from ablations.training.jobs import Finished
from ablations.training.own import own_of
from ablations.training.workers import in_pool
from tricks import PPO, REINFORCE, Config, InputError, train
from tricks.clip import clipped_surrogate

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Refuses = Callable[..., None]
TINY = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
SHARED = [f"--{name}={getattr(TINY, name)}" for name in ("env", "steps", "lanes", "horizon", "minibatches")]
BOTH = ["ppo", "reinforce"]
RECORDED = replace(TINY, env="own", steps=64, hidden=(4,), record=("level", "cost:sum", "never"))
MINE = """
from ablations import Arm, Comparison, Design
from tricks import PPO, REINFORCE

def arms():
    first, second, third = Arm("ppo", PPO), Arm("slow", PPO, {"lr": 1e-4}), Arm("bare", REINFORCE)
    return Design("mine", (), (first, second, third), (Comparison.of(second, first), Comparison.of(third, second)))

def nothing():
    return 3

def broken():
    return 1 / 0
"""


class Costly(AnySpace):
    """Episodes of five steps. A step costs 1 if its action is 1; the level is 5 at the end."""

    def step(self, action: Any) -> Any:
        self.taken = int(action)
        return super().step(action)

    def info(self) -> dict[str, Any]:
        return {"level": self.t, "cost": self.taken, "study": "text"} if self.t else {}


def test_the_shell_prints_a_table_and_leaves_a_folder_with_everything(tmp_path: Path, capsys: Capture) -> None:
    arms = ["ppo", "bare=reinforce --lr 0.01"]
    assert cli.main(["compare", *arms, *SHARED, "--workers", "1", "--seeds", "5", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "tricks/Corridor-v0: 2 arms × 5 seeds × 320 steps" in said
    assert re.search(r"\| ppo  +\| 0\.001 \|.*\n\| bare +\| 0\.01 [\s\S]*/report\.html, and 7 other files", said)
    (folder,) = tmp_path.glob("compare_*")
    names = {"table.csv", "runs.csv", "curves.csv.gz", "curves.png", "curves.svg", "curves.csv", "report.html"}
    assert {path.name for path in folder.iterdir()} == {*names, "comparison.md"}
    curves, alone = pd.read_csv(folder / "curves.csv.gz"), train(replace(TINY, seeds=5), PPO).curve
    mine = curves[curves.arm == "ppo"]["return"].to_numpy()
    np.testing.assert_allclose(mine, alone["return"].to_numpy(), rtol=1e-5)
    assert {"entropy", "approx_kl"} <= {*curves}
    assert set(pd.read_csv(folder / "runs.csv").tricks) == {" ".join(PPO.on), "reinforce"}
    page = (folder / "report.html").read_text()
    assert "data:image/png" in page
    assert "python -m ablations compare ppo" in page


def test_asked_again_it_trains_nothing_and_more_seeds_train_only_those(tmp_path: Path, monkeypatch: Patch) -> None:
    first, trained, real = compare(BOTH, TINY, seeds=10, out=tmp_path, workers=1), list[Any](), workers.in_pool

    def noting(jobs: Any, *rest: Any) -> Any:
        trained.extend(jobs)
        return real(jobs, *rest)

    monkeypatch.setattr(workers, "in_pool", noting)
    again = compare({"ppo": PPO, "reinforce": REINFORCE}, TINY, seeds=10, out=tmp_path, workers=1)
    assert not trained
    pd.testing.assert_frame_equal(first.table, again.table)
    compare(BOTH, TINY, seeds=12, out=tmp_path, workers=1)
    assert [job.config.seeds for job in trained] == [(10, 11)] * 2
    monkeypatch.setattr(workers, "in_pool", lambda jobs, *_: ((job, Finished(error="no luck")) for job in jobs))
    with pytest.raises(InputError, match="arm 'ppo' failed"):
        compare(BOTH, TINY, seeds=13, out=tmp_path, workers=1)


def test_rates_are_chosen_on_other_seeds_and_their_noise_is_in_the_interval(tmp_path: Path) -> None:
    found = compare(BOTH, TINY, seeds=5, rates=[0.003, 0.001], rate_seeds=5, out=tmp_path, workers=1)
    assert found.by_rate is not None
    best = found.by_rate.sort_values("area").groupby("arm").lr.last()
    assert dict(zip(found.table.arm, found.table.lr, strict=True)) == best.to_dict()
    arms = [Arm(name, tricks, {"lr": best[name]}) for name, tricks in (("ppo", PPO), ("reinforce", REINFORCE))]
    plain = compare(arms, TINY, seeds=5, out=tmp_path, workers=1)
    assert found.table.difference[1] == plain.table.difference[1]
    assert found.table.high[1] - found.table.low[1] > plain.table.high[1] - plain.table.low[1]
    assert "each arm at its own best learning rate of 0.001, 0.003" in found.rates
    assert len(list(tmp_path.glob("compare_*"))) == 2  # neither replaced the other


def test_an_environment_and_a_function_of_one_s_own_go_to_worker_processes_and_what_cannot_trains_here(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(workers, "in_pool", in_pool)

    def halved(*given: Any) -> Any:
        return clipped_surrogate(*given) / 2

    config = replace(RECORDED, env=Config.env, record=())
    arms = [Arm("ppo", PPO), Arm("halved", PPO, functions={"clipped_surrogate": halved})]
    found = compare(arms, config, env=lambda: Costly(), seeds=2, out=tmp_path, workers=1)
    assert found.env == "own environment"
    first = found.curves[found.curves["update"] == 0].groupby("arm").policy_loss.mean()
    assert first["halved"] != first["ppo"]
    assert list((tmp_path / "jobs").glob("*.csv"))
    lock = threading.Lock()  # cannot be pickled
    here = compare(arms, config, env=lambda: lock and Costly(), seeds=2, out=tmp_path / "b", workers=1)
    assert "everything trains in this process, and no finished job is kept" in capsys.readouterr().out
    assert not list((tmp_path / "b" / "jobs").glob("*.csv"))
    pd.testing.assert_frame_equal(found.table, here.table)
    codes = [own_of(Config("x"), env=env) for env in (lambda: lock and Costly(), lambda: lock or Costly())]
    assert codes[0] != codes[1]  # by what they are
    with pytest.raises(InputError, match="arm 'x': there is no function 'clip_surrogate' to replace"):
        compare([arms[0], Arm("x", PPO, functions={"clip_surrogate": halved})], TINY, out=tmp_path)


def test_a_changed_environment_is_trained_again(tmp_path: Path, monkeypatch: Patch) -> None:
    """Finished jobs belong to the code of the user's module, which gets another line between two comparisons."""
    home = tmp_path / "mine_for_this_test.py"
    home.write_text("import gymnasium\ngymnasium.register('Mine-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = Config("mine_for_this_test:Mine-v0", steps=64, lanes=2, horizon=16)
    for line, count in (("", 2), ("", 2), ("# changed\n", 4)):
        home.write_text(home.read_text() + line)
        compare(BOTH, config, seeds=1, out=tmp_path, workers=1)
        assert len(list((tmp_path / "jobs").glob("*.csv"))) == count


@pytest.mark.parametrize("how", [["mine.py"], ["-m", "mine"]], ids=["script", "module"])
def test_a_script_needs_no_guard_against_being_imported_by_workers(how: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ablations import compare\nfrom tricks import Config\n"
        "config = Config('tricks/Corridor-v0', steps=32, lanes=2, horizon=16)\n"
        "print(len(compare(['ppo', 'reinforce'], config, seeds=1, workers=1).runs))\n"
    )
    done = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


def test_options_outside_the_quotes_hold_for_all_arms() -> None:
    given = ["--gamma", "0.9", "--no-gae", "--lr=0.001", "--hidden", "8", "8", "--seeds", "3:5"]
    request, chosen = requested(["ppo", "continuous --epochs 3", *given])
    assert (request.config.gamma, request.config.hidden, request.seeds) == (0.9, (8, 8), (3, 4))
    first, second = (arm.config(request.config) for arm in request.arms)
    assert (first.gamma, second.gamma, second.lr, second.epochs, second.lanes) == (0.9, 0.9, 0.001, 3, 1)
    assert not any(arm.tricks.gae for arm in request.arms)
    assert chosen.rates == ""
    request, _ = requested(["ppo", "continuous", "--rates", "0.1,0.01"])
    assert request.rates == (0.01, 0.1)
    assert "lr" not in dict(request.arms[1].numbers)  # the preset's own rate gives way


def test_a_design_from_a_file_trains_its_arms_and_makes_its_comparisons(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    given = ["--design", f"{tmp_path}/mine.py:arms", *SHARED, "--seeds=5", "--workers=1", f"--out={tmp_path}"]
    assert cli.main(["run", *given]) == 0
    assert "mine, on tricks/Corridor-v0: 3 arms × 5 seeds × 320 steps" in capsys.readouterr().out
    (table,) = tmp_path.glob("compare_*/table.csv")
    found = pd.read_csv(table, keep_default_na=False).set_index("arm")
    assert found.against.to_dict() == {"ppo": "", "slow": "ppo", "bare": "slow"}
    assert found.lr.to_dict() == {"ppo": 0.001, "slow": 1e-4, "bare": 0.001}
    assert cli.main(["report", f"--out={tmp_path}"]) == 0  # without a registry
    assert "tricks/Corridor-v0: mine" in (tmp_path / "report.md").read_text()


def test_a_factorial_around_a_base_says_what_each_trick_does(tmp_path: Path, capsys: Capture) -> None:
    base = ["--base", "ppo --epochs 2", "--design", "factorial", "--tricks", "clip,entropy"]
    assert cli.main(["run", *base, *SHARED, "--seeds=5", "--workers=1", f"--out={tmp_path}"]) == 0
    assert "| trick " in capsys.readouterr().out
    (page,) = tmp_path.glob("compare_*/comparison.md")
    assert "### Main effects" in page.read_text()
    assert pd.read_csv(page.with_name("runs.csv")).numbers.str.contains("epochs=2").all()


HELD, ITS_OWN = "--lr and --rates exclude each other", "arm 'x' has its own learning rate"
REFUSED = [
    (["compare", "ppo"], "a comparison needs at least two arms, such as 'ppo' 'ppo --no-gae', not 1"),
    (["compare", "ppo", "ppg", "--against", "every"], "the reference 'every' is no arm; the arms are 'ppo', 'ppg'"),
    (["compare", "ppo", "ppg", "--env", "Nowhere-v0"], "Nowhere-v0"),
    (["compare", "ppo", "x=ppo --action-mask"], "arm 'x': action_mask"),
    (["compare", "ppo", "x=ppo --minibatches 5000"], "arm 'x': 5000 minibatches are more than the 1024 rows"),
    (["compare", "ppo", "--env", "CartPole-v1", "ppg"], "'ppg' comes after the options; put it first: compare ARM ARM"),
    (["compare", "ppo", "x=ppo --lr 0.1", "--rates", "0.1,0.2"], ITS_OWN),
    (["compare", "ppg", "x=ppo --lr 0.001", "--rates", "0.1"], ITS_OWN),  # the default, given
    (["compare", "ppo", "ppg", "--lr", "0.1", "--rates", "tune"], HELD),
    (["compare", "ppo", "ppg", "--rates", "fast"], "rates must be numbers such as 0.001,0.003, or tune, not 'fast'"),
    (["compare", "ppo", "ppg", "--seeds", "0"], "--seeds must name at least one seed, not '0'"),
    (["compare", "ppo", "ppg", "--target-kl", "0.1"], "target_kl has no effect in any arm"),
    (["compare", "ppo", "x=ppo"], "arms 'ppo' and 'x' are the same, with the same flags and numbers"),
    (["compare", "ppo", "ppg", "--agianst", "ppg"], "unknown option --agianst (did you mean --against?)"),
    (["run", "--design", "{}/mine.py:nothing"], "returns int, not a Design"),
    (["run", "--design", "{}/mine.py:broken"], "fails: ZeroDivisionError: division by zero"),
    (["run", "--design", "{}/mine.py:other"], "has no function 'other'"),
    (["run", "--design", "{}/gone.py:arms"], "there is no file"),
    (["run", "--design", "{}/mine.py:arms", "--tricks", "clip"], "a design from a file has its own arms"),
    (["run", "--base", "ppo", "--design", "scales"], "no design 'scales' around a base; there are leave-one-out"),
    (["run", "--base", "ppo", "--no-gae"], "--no-gae belongs in the base"),
    (["run", "--base", "ppo", "--target-kl", "0.1"], "target_kl has no effect in any arm"),
    (["run", "--base", "poo"], "arm 'poo': unknown rung 'poo'"),
    (["judge"], "judge takes one flag, or name=file.py:function"),
    (["judge", "klip"], "unknown trick klip (did you mean clip?)"),
    (["judge", "clip", "--base", "reinforce --lr x"], "arm 'reinforce --lr x'"),
    (["judge", "clip", "--no-gae"], "--no-gae belongs in the base: --base 'ppo --no-gae'"),
    (["judge", "clip", "--env", "Nowhere-v0"], "Nowhere-v0"),
    (["judge", "shared_trunk", "--base", "ppg"], "ppg cannot be combined with shared_trunk"),
    (["judge", "gae=nowhere.py:mine"], "there is no file nowhere.py"),
    (["judge", "gae=nowhere"], "'nowhere' names no function in a file; for example: my.py:three_arms"),
    (["judge", "clip", "--target-kl", "0.1"], "in any arm: target_kl has no effect without kl_stop"),
    (["judge", "clip", "--lr", "0.1"], HELD),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_makes_no_sense_is_refused_in_one_line_before_anything_trains(
    arguments: list[str], said: str, tmp_path: Path, refuses: Refuses
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    refuses(cli.main, [*(each.format(tmp_path) for each in arguments), f"--out={tmp_path}"], said)
    assert not list(tmp_path.glob("jobs/*"))


def test_the_recorded_columns_of_a_comparison_are_those_of_its_runs(tmp_path: Path) -> None:
    arms = {"one": REINFORCE, "other": PPO}
    found = compare(arms, RECORDED, env=Costly, seeds=(0, 3), out=tmp_path, workers=1)
    again = compare(arms, RECORDED, env=Costly, seeds=(0, 3), out=tmp_path, workers=1)  # from the stored jobs
    for curves in (found.curves, again.curves, read(found.files[0].parent).curves):
        assert set(curves.level.dropna()) == {5}
        assert "never" not in curves  # as any column without a number
        for name, tricks in arms.items():
            alone = train(replace(RECORDED, seeds=(0, 3)), tricks, env=Costly).curve
            mine = curves[curves.arm == name].reset_index()
            pd.testing.assert_series_equal(mine["cost"], alone["cost"], check_exact=False, rtol=1e-4)


def test_other_records_are_another_comparison(tmp_path: Path) -> None:
    folders = set()
    for record in ((), ("level",), ("cost",), ("cost:sum",)):
        config = replace(RECORDED, record=record)
        found = compare(BOTH, config, env=Costly, seeds=1, out=tmp_path, workers=1)
        folders.add(found.files[0].parent)
        assert list(found.curves.columns[-len(record) :]) == [name.split(":")[0] for name in record] or not record
    assert len(folders) == 4


def test_a_verdict_names_the_records_that_a_trick_moves(tmp_path: Path, monkeypatch: Patch) -> None:
    seen: list[list[str]] = []

    def listening(curves: pd.DataFrame, without: str, having: str, recorded: Any = ()) -> pd.DataFrame:
        seen.append([each for each in recorded if each in curves])
        return moved(curves, without, having, recorded)

    monkeypatch.setattr(judged_page, "moved", listening)
    wrap = "gymnasium.wrappers:RecordEpisodeStatistics"
    config = Config(**{**vars(RECORDED), "env": "CartPole-v1", "wrap": wrap, "record": "episode.r"})
    judge("gae", configs=[config], out=tmp_path, seeds=2, rates=(0.01,), rate_seeds=2, workers=1)
    assert seen == [["episode.r"]]


@pytest.mark.parametrize("name", ["arm", "study", "env"])
def test_a_record_cannot_have_the_name_of_a_column_that_tables_have(
    name: str, tmp_path: Path, refuses: Refuses
) -> None:
    said = f"record: tables of several runs have a column '{name}', so info's '{name}' cannot"
    with pytest.raises(InputError, match=said):
        train(Config(**{**vars(RECORDED), "record": (name,)}), PPO, env=Costly)
    few = ["--env", "CartPole-v1", "--steps", "50", "--workers", "1", "--seeds", "1", "--out", str(tmp_path)]
    refuses(cli.main, ["compare", *BOTH, "--record", name, *few], f"'{name}'")

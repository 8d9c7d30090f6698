"""`compare`, `judge`, `run --base` and `run --design file.py:function`: from arms in words, or functions and designs of
one's own, to a table, a verdict and a page, with the user's own numbers from infos; what they refuse; and folders."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.any_space import AnySpace
from support.studies import study

from ablations import Arm, cli, compare, holm, judge, read
from ablations.analysis.compared import moved
from ablations.analysis.effects import AT_CEILING, HELPS, HURTS, NOT_LEARNED, NOTHING, UNKNOWN
from ablations.analysis.study_files import load, refuse_another, refuse_others, save
from ablations.design.arm_texts import arm_from
from ablations.design.arms import Design
from ablations.design.designs import ladder
from ablations.design.own_file import function_from
from ablations.experiments import judge as module
from ablations.experiments.compare import requested
from ablations.experiments.requests import Request, name_of_request, settings_of
from ablations.figures.judged import Effects, judged_figure
from ablations.report import judged_page
from ablations.report.judged_page import Judged
from ablations.training import jobs, workers
from ablations.training.jobs import Finished
from ablations.training.own import own_of
from ablations.training.plan import plans
from ablations.training.questions import asked_of, refuse_other_answer
from ablations.training.rates import FIXED, Rate
from ablations.training.what import What
from ablations.training.workers import in_pool
from tricks import PPO, REINFORCE, Config, InputError, train
from tricks.clip import clipped_surrogate
from tricks.gae import gae
from tricks.ladder import Tricks

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
    assert "data:image/png" in page and "python -m ablations compare ppo" in page


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


@pytest.mark.parametrize("how", [["mine.py"], ["-m", "mine"]], ids=["script", "module"])
def test_a_script_needs_no_guard_against_being_imported_by_workers(how: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ablations import compare\nfrom tricks import Config\n"
        "config = Config('tricks/Corridor-v0', steps=32, lanes=2, horizon=16)\n"
        "print(len(compare(['ppo', 'reinforce'], config, seeds=1, workers=1).runs))\n"
    )
    done = subprocess.run([sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


def test_the_recorded_columns_are_those_of_the_runs_and_options_outside_the_quotes_hold_for_all(tmp_path: Path) -> None:
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


def test_designs_from_a_file_and_around_a_base_train_their_arms(tmp_path: Path, capsys: Capture) -> None:
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
    base = ["--base", "ppo --epochs 2", "--design", "factorial", "--tricks", "clip,entropy"]
    assert cli.main(["run", *base, *SHARED, "--seeds=5", "--workers=1", f"--out={tmp_path / 'b'}"]) == 0
    assert "| trick " in capsys.readouterr().out
    (page,) = tmp_path.glob("b/compare_*/comparison.md")
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
def test_nonsense_is_one_line(arguments: list[str], said: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    refuses(cli.main, [*(each.format(tmp_path) for each in arguments), f"--out={tmp_path}"], said)
    assert not list(tmp_path.glob("jobs/*"))


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
def test_a_record_is_not_named_like_a_column_of_tables(name: str, tmp_path: Path, refuses: Refuses) -> None:
    said = f"record: tables of several runs have a column '{name}', so info's '{name}' cannot"
    with pytest.raises(InputError, match=said):
        train(Config(**{**vars(RECORDED), "record": (name,)}), PPO, env=Costly)
    few = ["--env", "CartPole-v1", "--steps", "50", "--workers", "1", "--seeds", "1", "--out", str(tmp_path)]
    refuses(cli.main, ["compare", *BOTH, "--record", name, *few], f"'{name}'")


OTHER = replace(TINY, env="tricks/NoisyChain-v0")
QUICK: Any = {"seeds": 5, "rate_seeds": 5, "workers": 1}


def slow(*given: Any) -> Any:
    return gae(*given)


def test_a_flag_of_the_base_is_taken_out_and_another_one_added_with_what_it_needs() -> None:
    def arms(trick: str, base: str = "ppo") -> list[tuple[str, set[str]]]:
        return [(arm.name, {*arm.tricks.on}) for arm in module.two_arms(trick, arm_from(base), {})]

    for trick, names in (("clip", ("ppo without clip", "ppo")), ("popart", ("ppo + return_norm", "+ popart"))):
        (without, off), (having, on) = arms(trick)
        assert (without, having.removeprefix("ppo + return_norm ")) == names
        assert on - off == {trick}
    (without, off), _ = arms("gae", "reinforce")
    assert (without, off) == ("reinforce + baseline", {"baseline"})
    base = Arm("mine", PPO, functions={"gae": slow})  # keeps the functions that it has
    for pair in (module.two_arms(trick, base, {} if trick else {"Adam": slow}) for trick in ("clip", "popart", "")):
        assert all(dict(arm.functions)["gae"] is slow for arm in pair)
    with pytest.raises(InputError, match="name one flag, or functions that replace ours"):
        judge("clip", functions={"gae": print})


def test_each_environment_has_a_row_and_the_page_everything(tmp_path: Path, capsys: Capture) -> None:
    asked: Any = {"configs": [TINY, OTHER], "rates": (0.001, 0.003), "out": tmp_path, **QUICK}
    found = judge("gae", **asked)
    assert re.match(r"about [\w ]+ with 1 worker\n", capsys.readouterr().out)
    assert list(found.table.env) == list(found.comparisons) == [TINY.env, OTHER.env]
    assert found.table.p_holm.to_numpy() == pytest.approx(holm(found.table.p.to_numpy()))
    assert found.trials is not None and set(found.trials.trick) == {"gae"}
    page = found.files[0].read_text()
    for said in ("Does gae matter in ppo?", "In the worlds made for it", "data:image/png"):
        assert said in page
    again = judge("gae", **asked)
    assert capsys.readouterr().out.startswith("everything is trained already")
    pd.testing.assert_frame_equal(found.table, again.table)


def test_a_function_is_judged_from_a_file_or_python_and_not_taken_for_a_trick(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def nothing(ratio, advantage, clip_range):\n    return ratio * 0\n")
    options = [f"--{name}={getattr(TINY, name)}" for name in ("env", "steps", "lanes", "horizon", "minibatches")]
    given = [f"clipped_surrogate={file}:nothing", *options, "--seeds=5", "--rates=", "--workers=1", f"--out={tmp_path}"]
    assert cli.main(["judge", *given]) == 0
    said = capsys.readouterr().out
    assert "| tricks/Corridor-v0 |" in said
    (page,), (table,) = (list(tmp_path.glob(f"judge_*/{name}")) for name in ("verdict.md", "table.csv"))
    title, text = page.read_text().split("\n", 1)
    judged = "clipped_surrogate replaced by mine.py:nothing"
    assert title == f"# Does {judged} matter in ppo?"
    assert "A difference is replaced minus ours" in text
    assert pd.read_csv(table).judged.tolist() == [judged]
    for told in (said, text):
        assert re.search(r"\| environment +\| ours +\| replaced +\|", told)
        assert judged in told.split("tricks/Corridor-v0: ")[1].split("\n")[0]
        assert not re.search(r"clipped_surrogate (helps|hurts|does|matters)", told)
    found = judge(functions={"gae": slow}, configs=[TINY], out=tmp_path, rates=(), **QUICK)
    assert found.trick == "gae replaced by test_compare.py:slow" and found.trials is None
    arms = found.comparisons[TINY.env].table.arm.tolist()
    assert arms == ["ppo", "ppo with gae replaced by test_compare.py:slow"]
    assert found.files[0].parent.name.startswith("judge_gae_replaced_by_test_compare.py_slow_ppo_")
    assert "gae replaced by test_compare.py:slow" in found.sentences[0]


@pytest.mark.parametrize("verdict", [HELPS, HURTS, NOTHING, UNKNOWN, "", NOT_LEARNED, AT_CEILING])
def test_every_sentence_names_the_replacement_and_which_arm_has_it(verdict: str) -> None:
    row = {"env": "E", "difference": -27.8, "p_holm": 0.01, "verdict": verdict, "seeds": 5}
    compared: Any = SimpleNamespace(table=pd.DataFrame({"would_do": [9.0]}))
    name = "Adam replaced by mine.py:sgd"
    said, flag = (Judged(x, pd.DataFrame([row]), pd.DataFrame(), {"E": compared}).sentences[0] for x in (name, "gae"))
    assert name in said or said.startswith("E: 27.8 less area with the replacement")
    assert not re.search(r"area with it|Adam (helps|hurts|does|matters)", said)
    assert said.startswith(f"E: {name} hurts: 27.8 less area with the replacement") == (verdict == HURTS)
    assert "replace" not in flag


def test_the_figure_says_which_side_is_which_and_a_diagnostic_that_differs_is_found() -> None:
    best = {"difference": 1.0, "low": 0.0, "high": 2.0}
    rates = pd.DataFrame(columns=["lr", "difference", "low", "high"])
    figure = judged_figure({"E": Effects(best, rates)}, "What a does in b", "#000000", ("ours", "replaced"))
    assert figure.axes[0].get_ylabel().endswith("replaced − ours")
    rng = np.random.default_rng(0)
    rows = [
        (arm, seed, k, k, 1.0, rng.normal(shift), rng.normal())
        for arm, shift in (("a", 0.0), ("b", 3.0))
        for seed in range(10)
        for k in range(5)
    ]
    curves = pd.DataFrame(rows, columns=["arm", "seed", "update", "step", "return", "entropy", "approx_kl"])
    found = moved(curves, "a", "b")
    assert (list(found.diagnostic), found.difference[0]) == (["entropy"], pytest.approx(3, abs=0.5))
    own = curves.rename(columns={"entropy": "is_success"})
    assert list(moved(own, "a", "b").diagnostic) == []
    assert list(moved(own, "a", "b", ["is_success", "cost"]).diagnostic) == ["is_success"]


CARTPOLE = replace(TINY, env="CartPole-v1")
PAIR = (Arm("ppo", PPO), Arm("other", REINFORCE))
PLAIN = Request(PAIR, TINY, (0, 1))


def halved(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage / 2


def doubled(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage * 2


def other_arm(tricks: Tricks, numbers: Any = (), **functions: Any) -> Request:
    return PLAIN._replace(arms=(PAIR[0], Arm("other", tricks, dict(numbers), functions)))


OTHERS = [
    PLAIN,
    *(
        PLAIN._replace(config=Config(**{**vars(config), name: x}))
        for config, name, x in (
            (TINY, "env", "tricks/NoisyChain-v0"),
            (CARTPOLE, "env_args", ("sutton_barto_reward=True",)),
            (CARTPOLE, "env", "CartPole-v1"),  # its plain form
            (CARTPOLE, "wrap", ("gymnasium.wrappers:FlattenObservation",)),
            *((TINY, name, x) for name, x in (("steps", 640), ("lanes", 4), ("backend", "tensor"), ("lr", 0.5))),
            *((TINY, "record", (name,)) for name in ("level", "cost", "cost:sum")),
        )
    ),
    PLAIN._replace(rates=(0.001, 0.003)),
    PLAIN._replace(rates=(0.001, 0.003), rate_seeds=3),
    PLAIN._replace(rates=None),  # tuned
    other_arm(replace(PPO, gae=False)),
    other_arm(REINFORCE, {"lr": 0.7}),
    other_arm(PPO, clipped_surrogate=halved),
    other_arm(PPO, clipped_surrogate=doubled),
    PLAIN._replace(against="other"),
    PLAIN._replace(margin=0.5),
    PLAIN._replace(seeds=(1, 2)),
    PLAIN._replace(design=Design("ppo_vs_other", (), PAIR)),
]


def name_of(asked: Request, out: Path) -> str:
    return name_of_request(asked, settings_of(asked), out)


def test_every_question_has_a_folder_of_its_own_and_more_seeds_the_same(tmp_path: Path, monkeypatch: Patch) -> None:
    names = [name_of(asked, tmp_path) for asked in OTHERS]
    file = tmp_path / "mine.py"
    for factor in (2, 3, 2):  # a function whose file changed is another one
        file.write_text(f"def mine(ratio, advantage, clip_range):\n    return ratio * {factor}\n")
        names.append(name_of(other_arm(PPO, clipped_surrogate=function_from(f"{file}:mine")), tmp_path))
    assert names.pop() == names[-2]
    monkeypatch.setattr(jobs, "ALGORITHM", jobs.ALGORITHM + 1)
    names.append(name_of(PLAIN, tmp_path))
    assert len(set(names)) == len(names)
    name = name_of(PLAIN, tmp_path)
    assert name_of(PLAIN._replace(against="ppo"), tmp_path) == name
    (tmp_path / name).mkdir()
    (tmp_path / name / "runs.csv").write_text("arm,seed\nppo,0\nppo,1\n")
    assert name_of(PLAIN, tmp_path) == name_of(PLAIN._replace(seeds=(0, 1, 2)), tmp_path) == name
    fewer, with_a_gap = (name_of(PLAIN._replace(seeds=seeds), tmp_path) for seeds in ((0,), (0, 2)))
    assert len({name, fewer, with_a_gap}) == 3
    (tmp_path / name / "runs.csv").write_bytes(b"\xff\x00")  # damaged: it can be made again
    assert name_of(PLAIN._replace(seeds=(0,)), tmp_path) == name


USUAL = "with the usual numbers"
CHANGED: list[tuple[dict[str, Any], str]] = [
    *(({name: x}, "on CartPole-v1 with 100,000 steps") for name, x in (("env", "Acrobot-v1"), ("steps", 7))),
    *(({name: x}, USUAL) for name, x in (("gamma", 0.5), ("env_args", {"x": 1}))),
    ({"wrap": ("gymnasium.wrappers:FlattenObservation",)}, USUAL),
    ({"device": "cuda"}, "device cpu"),
]


def test_a_study_of_one_name_and_another_question_rate_or_code_is_not_replaced(tmp_path: Path) -> None:
    _, path = save(study(ladder(["baseline"]), lambda _: 0, seeds=8), tmp_path)  # at a rate of 0.02
    refuse_another(path, Config())
    for changed, said in CHANGED:
        with pytest.raises(InputError, match=f"holds another study, .*{said}"):
            refuse_another(path, replace(Config(), **changed))
    job, tuned, fixed = jobs.Job(Config(), REINFORCE), Rate(0.02), Rate(0.5, FIXED)
    refuse_others(path, {job: tuned})
    refuse_others(path, {job: fixed})  # which the study's name says
    refuse_others(tmp_path / "nothing", {job: Rate(0.03)})
    with pytest.raises(InputError, match=r"reinforce on CartPole-v1 at learning rate 0\.02, which is 0\.03 now"):
        refuse_others(path, {job: Rate(0.03)})
    made = load(path)
    noted = made.about["made with"] | {"own code": ["1a2b"]}
    save(replace(made, about=made.about | {"made with": noted}), tmp_path)
    with pytest.raises(InputError, match="made with another version of your module"):
        refuse_others(path, {job: tuned})


def test_a_module_of_one_s_own_counts_in_every_command(tmp_path: Path, monkeypatch: Patch) -> None:
    """After a change of its file, no finished job and no stored study stands for it."""
    home = tmp_path / "mine_of_folders.py"
    home.write_text("import gymnasium as gym\ngym.register('Mine-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config, keys = Config("mine_of_folders:Mine-v0"), []
    for line in ("", "# changed\n"):
        home.write_text(home.read_text() + line)
        (plan,) = plans(What(env=config.env, tricks="baseline", steps=64), "1")
        asked = asked_of(config, REINFORCE, [jobs.job_of(config, REINFORCE)])
        keys.append((next(iter(plan.jobs)).key, jobs.job_of(config, REINFORCE).key, asked["own_code"]))
    assert all(before != after for before, after in zip(*keys, strict=True))
    assert jobs.job_of(Config(), REINFORCE).own is None


def test_a_table_of_agents_gives_way_to_the_same_question_only(tmp_path: Path) -> None:
    path, config = tmp_path / "x.sweep.csv", replace(TINY, steps=64)
    asked = asked_of(config, PPO, [jobs.Job(config, PPO)])
    refuse_other_answer(path, asked)
    pd.DataFrame([{"score": 1.0, **asked}]).to_csv(path, index=False)
    refuse_other_answer(path, asked)
    for name, other in {
        "env": asked_of(replace(config, env="tricks_Corridor-v0"), PPO, []),
        "steps": asked_of(replace(config, steps=65), PPO, []),
        "flags": asked_of(config, REINFORCE, []),
        "numbers": asked_of(replace(config, gamma=0.5), PPO, []),
        "device": asked_of(replace(config, device="cuda:1"), PPO, []),
        "algorithm": asked | {"algorithm": jobs.ALGORITHM + 1},
        "own code": asked | {"own_code": "1a2b"},
    }.items():
        with pytest.raises(InputError, match=f"holds other results, with {name} .*, where this one has .*; choose"):
            refuse_other_answer(path, other)
    pd.DataFrame([{"score": 1.0, "env": config.env}]).to_csv(path, index=False)
    refuse_other_answer(path, asked)  # an older table, which does not say more
    path.write_bytes(b"\xff\xfe")
    refuse_other_answer(path, asked)

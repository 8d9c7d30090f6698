"""`compare`, `judge`, `run --base` and `run --design file.py:function`: from arms in words, or functions and designs of
one's own, to a table, a verdict and a page, with the user's own numbers from infos; on fresh seeds, or until all is
decided; and what they refuse."""

import itertools
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Patch, Refuses, Told, refusal
from support.probes import AnySpace
from support.studies import finished, made_up
from support.training import spied

from ablations import Arm, cli, compare, holm, judge, load_all, read
from ablations.analysis.effects import moved
from ablations.analysis.ledger import fresh_seeds
from ablations.experiments import compare as module
from ablations.experiments.compare import CompareOptions
from ablations.experiments.options import parsed
from ablations.question.words import arm_from
from ablations.training import question, store, workers
from ablations.training.jobs import Job, Result
from ablations.training.store import Store
from ablations.training.tuning import Tried
from ablations.training.workers import in_pool
from tricks import PPO, REINFORCE, Config, train
from tricks.clip import clipped_surrogate
from tricks.gae import gae

TINY = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
SHARED = [f"--{name}={getattr(TINY, name)}" for name in ("env", "steps", "lanes", "horizon", "minibatches")]
BOTH = ["ppo", "reinforce"]
RECORDED = replace(TINY, env="own", steps=64, hidden=(4,), record=("level", "cost:sum", "never"))
MINE = """
from ablations import Arm, Comparison, Design
from tricks import PPO, REINFORCE

def arms():
    first, second, third = Arm("ppo", PPO), Arm("slow", PPO, {"lr": 1e-4}), Arm("bare", REINFORCE)
    pairs = Comparison(second.label, first, second), Comparison(third.label, second, third)
    return Design("mine", (), (first, second, third), pairs)

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


def test_the_shell_prints_a_table_and_leaves_a_folder_with_everything(tmp_path: Path, told: Told) -> None:
    arms = ["ppo", "bare=reinforce --lr 0.01"]
    said = told(["compare", *arms, *SHARED, "--workers=1", "--seeds=5", f"--out={tmp_path}"], main=cli.main)
    assert "tricks/Corridor-v0: ppo_vs_bare (2 arms); 2 distinct arms × 5 seeds × 320 steps; each arm at the" in said
    assert re.search(r"\| ppo  +\| 0\.001 .*\n\| bare +\| 0\.01 [\s\S]*/report\.html, and \d other files", said)
    (folder,), (runs,) = tmp_path.glob("compare_*/"), tmp_path.glob("compare_*.runs.csv.gz")
    names = {"table.csv", "effects.csv", "curves.csv.gz", "curves.png", "curves.csv", "report.html"}
    assert {path.name for path in folder.iterdir()} >= {*names, "answer.md"} and runs.name.startswith(folder.name)
    curves, alone = pd.read_csv(folder / "curves.csv.gz"), train(replace(TINY, seeds=5), PPO).curve
    mine = curves[curves.arm == "ppo"]["return"].to_numpy()
    np.testing.assert_allclose(mine, alone["return"].to_numpy(), rtol=1e-5)
    assert {"entropy", "approx_kl"} <= {*curves}
    assert set(read(folder).runs.tricks) == {" ".join(PPO.on), "reinforce"}
    page = (folder / "report.html").read_text()
    assert "data:image/png" in page and "python -m ablations compare ppo" in page


def test_asked_again_it_trains_nothing_and_more_seeds_train_only_those(tmp_path: Path, monkeypatch: Patch) -> None:
    first = compare(BOTH, TINY, seeds=10, out=tmp_path, workers=1)
    trained = spied(monkeypatch, workers, "compute", lambda job: job.config.seeds)
    again = compare({"ppo": PPO, "reinforce": REINFORCE}, TINY, seeds=10, out=tmp_path, workers=1)
    assert not trained
    pd.testing.assert_frame_equal(first.table, again.table)
    compare(BOTH, TINY, seeds=12, out=tmp_path, workers=1)
    fewer = compare(BOTH, TINY, seeds=10, out=tmp_path, workers=1)  # the file with more is kept, so they are shown
    assert {*fewer.runs.seed} == {*fewer.curves.seed} == {*read(fewer.files[0].parent).runs.seed} == {*range(12)}
    assert trained == [(10, 11)] * 2
    monkeypatch.setattr(workers, "in_pool", lambda jobs, *_: ((job, "no luck") for job in jobs))
    refusal("arm 'ppo' failed", compare, BOTH, TINY, seeds=13, out=tmp_path, workers=1)


def test_rates_are_chosen_on_other_seeds_and_their_noise_is_in_the_interval(tmp_path: Path) -> None:
    rates: Any = np.array([0.003, 0.001])
    found = compare(BOTH, TINY, seeds=5, rates=rates, rate_seeds=5, out=tmp_path, workers=1)
    (study,) = found.studies
    tried = {arm.name: {lr: each.mean() for lr, each in study.tuning(arm).items()} for arm in found.arms}
    best = pd.Series({name: max(means, key=means.__getitem__) for name, means in tried.items()})
    by_rate = pd.read_csv(found.files[0].parent / "effects_by_rate.csv")
    assert {*by_rate["at"]} == {"0.001", "0.003", "over all", "own best"}
    assert dict(zip(found.table.arm, found.table.lr, strict=True)) == best.to_dict()
    arms = [Arm(name, tricks, {"lr": best[name]}) for name, tricks in (("ppo", PPO), ("reinforce", REINFORCE))]
    plain = compare(arms, TINY, seeds=range(5), out=tmp_path, workers=1)
    assert found.table.difference[1] == plain.table.difference[1]
    assert found.table.high[1] - found.table.low[1] > plain.table.high[1] - plain.table.low[1]
    assert "each arm at its own best learning rate of 0.001, 0.003" in study.about["rates"]
    assert len(list(tmp_path.glob("compare_*/"))) == 2  # neither replaced the other


def test_what_is_one_s_own_goes_to_worker_processes_or_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(workers, "in_pool", in_pool)

    def halved(*given: Any) -> Any:
        return clipped_surrogate(*given) / 2

    config = replace(RECORDED, env=Config.env, record=())
    arms = [Arm("ppo", PPO), Arm("halved", PPO, functions={"clipped_surrogate": halved})]
    found = compare(arms, config, env=lambda: Costly(), seeds=2, out=tmp_path, workers=1)
    assert found.studies[0].env == "own environment" and found.studies[0].scale is None
    first = found.curves[found.curves["update"] == 0].groupby("arm").policy_loss.mean()
    assert first["halved"] != first["ppo"]
    assert len(finished(tmp_path)) == 2
    lock = threading.Lock()  # cannot be pickled
    stuck = Arm("halved", PPO, functions={"clipped_surrogate": lambda *given: lock and clipped_surrogate(*given)})
    for mine, own in ((arms, lambda: lock and Costly()), ([arms[0], stuck], None)):
        said = r"^arm '\w+': \w+ cannot be sent to worker processes: .*cannot pickle '_thread.lock'"
        refusal(said, compare, mine, config, env=own, seeds=2, out=tmp_path / "b", workers=1)
    arms[1] = Arm("x", PPO, functions={"clip_surrogate": halved})
    refusal("arm 'x': there is no function 'clip_surrogate' to replace", compare, arms, TINY, out=tmp_path)


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

    def line(*words: str) -> Any:
        return parsed(CompareOptions, words, "compare")

    found = line("ppo", "continuous --epochs 3", *given)
    assert (found.config.gamma, found.config.hidden, found.tried) == (0.9, (8, 8), ())
    every = [arm_from(text, found.held, found.flags) for text in found.arms]
    first, second = (arm.config(found.config) for arm in every)
    assert (first.gamma, second.gamma, second.lr, second.epochs, second.lanes) == (0.9, 0.9, 0.001, 3, 1)
    assert not any(arm.tricks.gae for arm in every)
    found = line("ppo", "continuous", "--rates", "0.1,0.01")
    assert found.tried == (0.01, 0.1)
    assert "lr" not in dict(arm_from("continuous", found.held).numbers)  # the preset's own rate gives way
    arms = {"one": REINFORCE, "other": PPO}
    one, again = (compare(arms, RECORDED, env=Costly, seeds=(0, 3), out=tmp_path, workers=1) for _ in range(2))
    for curves in (one.curves, again.curves, read(one.files[0].parent).curves):
        assert set(curves.level.dropna()) == {5}
        assert "never" not in curves  # as any column without a number
        for name, tricks in arms.items():
            alone = train(replace(RECORDED, seeds=(0, 3)), tricks, env=Costly).curve
            mine = curves[curves.arm == name].reset_index()
            pd.testing.assert_series_equal(mine["cost"], alone["cost"], check_exact=False, rtol=1e-4)


def test_designs_from_a_file_and_around_a_base_train_their_arms(tmp_path: Path, told: Told) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    given = ["--design", f"{tmp_path}/mine.py:arms", *SHARED, "--seeds=5", "--workers=1", f"--out={tmp_path}"]
    asked = "tricks/Corridor-v0: mine (3 arms); 3 distinct arms × 5 seeds × 320 steps"
    assert asked in told(["run", *given], main=cli.main)
    (table,) = tmp_path.glob("compare_*/table.csv")
    found = pd.read_csv(table, keep_default_na=False).set_index("arm")
    assert found.against.to_dict() == {"ppo": "", "slow": "ppo", "bare": "slow"}
    assert found.lr.to_dict() == {"ppo": 0.001, "slow": 1e-4, "bare": 0.001}
    assert cli.main(["report", f"--out={tmp_path}"]) == 0  # without a registry
    assert "tricks/Corridor-v0: mine" in (tmp_path / "report.md").read_text()
    base = ["--base", "ppo --epochs 2", "--design", "factorial", "--tricks", "clip,entropy"]
    given = ["run", *base, *SHARED, "--seeds=5", "--workers=1", f"--out={tmp_path / 'b'}"]
    assert "| trick " in told(given, main=cli.main)
    (page,) = tmp_path.glob("b/compare_*/answer.md")
    assert "| main effect" in page.read_text()
    assert read(page.parent).runs.numbers.str.contains("epochs=2").all()


HELD, ITS_OWN = "--lr and --rates exclude each other", "arm 'x' has its own learning rate"
REFUSED = [
    (["compare", "ppo", "ppg", "--against", "every"], "no arm is named 'every'; the arms are 'ppo', 'ppg'"),
    (["compare", "ppo", "x=ppo --minibatches 5000"], "arm 'x': 5000 minibatches are more than the 1024 rows"),
    (["compare", "ppo", "x=ppo --lr 0.1", "--rates", "0.1,0.2"], ITS_OWN),
    (["compare", "ppg", "x=ppo --lr 0.001", "--rates", "0.1"], ITS_OWN),  # the default, given
    (["compare", "ppo", "ppg", "--lr", "0.1", "--rates", "tune"], HELD),
    (["compare", "ppo", "ppg", "--rates", "fast"], "rates must be numbers such as 0.001,0.003, or tune, not 'fast'"),
    (["compare", "ppo", "ppg", "--target-kl", "0.1"], "target_kl has no effect in any arm"),
    (["compare", *BOTH, "--until", "decided", "--at-most", "-5"], "at_most must be at least 1, not -5"),
    (["compare", *BOTH, "--until", "bored"], "until must be 'decided', not 'bored'"),
    (["compare", *BOTH, "--env", "CartPole-v1,CartPole-v1"], "an environment was named twice"),
    (["compare", *BOTH, "--suite", "classical"], "unknown suite 'classical' (did you mean classic?)"),
    (["compare", *BOTH, "--suite", "classic", "--env", "CartPole-v1"], "--suite names the environments; leave out"),
    (["compare", *BOTH, "--rates", "0.1", "--rate-seeds", "0"], "rate_seeds must be 1 to 10,000, not 0"),
    (["run", "--design", "{}/mine.py:nothing"], "returns int, not a Design"),
    (["run", "--design", "{}/mine.py:broken"], "fails: ZeroDivisionError: division by zero"),
    (["run", "--design", "{}/mine.py:other"], "has no function 'other'"),
    (["run", "--design", "{}/mine.py:arms", "--tricks", "clip"], "a design from a file has its own arms"),
    (["run", "--base", "ppo", "--design", "scales"], "no design 'scales' around a base; there are leave-one-out"),
    (["judge"], "judge takes one flag, or name=file.py:function"),
    (["judge", "klip"], "unknown trick klip (did you mean clip?)"),
    (["judge", "clip", "--no-gae"], "--no-gae belongs in the base: --base 'ppo --no-gae'"),
    (["judge", "gae=nowhere.py:mine"], "there is no file nowhere.py"),
    (["judge", "gae=nowhere"], "'nowhere' names no function in a file; for example: my.py:three_arms"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_nonsense_is_one_line(arguments: list[str], said: str, tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    refuses(cli.main, [*(each.format(tmp_path) for each in arguments), f"--out={tmp_path}"], said)
    assert not finished(tmp_path)


@pytest.mark.parametrize("name", ["arm", "study", "env"])
def test_a_record_is_not_named_like_a_column_of_tables(name: str, tmp_path: Path, refuses: Refuses) -> None:
    said = f"record: tables of several runs have a column '{name}', so info's '{name}' cannot"
    refusal(said, lambda: train(Config(**{**vars(RECORDED), "record": (name,)}), PPO, env=Costly))
    few = ["--env", "CartPole-v1", "--steps", "50", "--workers", "1", "--seeds", "1", "--out", str(tmp_path)]
    refuses(cli.main, ["compare", *BOTH, "--record", name, *few], f"'{name}'")


OTHER = replace(TINY, env="tricks/NoisyChain-v0")
QUICK: Any = {"seeds": 5, "rate_seeds": 5, "workers": 1}


def slow(*given: Any) -> Any:
    return gae(*given)


def test_a_flag_of_the_base_is_taken_out_and_another_one_added_with_what_it_needs() -> None:
    def arms(trick: str, base: str = "ppo") -> list[tuple[str, set[str]]]:
        return [(arm.name, {*arm.tricks.on}) for arm in module.two_arms(trick, arm_from(base), {})]

    normed = "cleanrl + return_norm"
    both = ("clip", "ppo", ("ppo without clip", "ppo")), ("popart", "cleanrl", (normed, "+ popart"))
    for trick, base, names in both:
        (without, off), (having, on) = arms(trick, base)
        assert (without, having.removeprefix(f"{normed} ")) == names
        assert on - off == {trick}
    (without, off), _ = arms("gae", "reinforce")
    assert (without, off) == ("reinforce + baseline", {"baseline"})
    mine = Arm("mine", PPO, functions={"gae": slow})  # keeps the functions that it has
    for pair in (module.two_arms(trick, mine, {} if trick else {"Adam": slow}) for trick in ("clip", "popart", "")):
        assert all(dict(arm.functions)["gae"] is slow for arm in pair)
    refusal("name one flag, or functions that replace ours", judge, "clip", functions={"gae": print})


def test_each_environment_has_a_row_and_the_page_everything_also_where_no_episode_ended(tmp_path: Path) -> None:
    silent = replace(TINY, env="Acrobot-v1")
    asked: Any = {"configs": [TINY, OTHER, silent], "rates": (0.001, 0.003), "out": tmp_path, **QUICK}
    found = judge("gae", **asked)
    assert list(found.effects.env) == [TINY.env, OTHER.env, silent.env]
    assert found.sentences[2] == "Acrobot-v1: gae can't be judged: at least one seed finished no episode."
    assert found.effects.p_holm.to_numpy() == pytest.approx(holm(found.effects.p.to_numpy()), nan_ok=True)
    assert set(found.trials.trick) == {"gae"}
    page = found.files[0].read_text()
    for said in ("Does gae matter?", "In the worlds made for it", "data:image/png"):
        assert said in page
    again = judge("gae", **asked)
    pd.testing.assert_frame_equal(found.effects, again.effects)


def test_a_function_is_judged_from_a_file_or_python_and_not_taken_for_a_trick(tmp_path: Path, told: Told) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def nothing(ratio, advantage, clip_range):\n    return ratio * 0\n")
    given = [f"clipped_surrogate={file}:nothing", *SHARED, "--seeds=5", "--rates=", "--workers=1", f"--out={tmp_path}"]
    said, judged = told(["judge", *given], main=cli.main), "clipped_surrogate replaced by mine.py:nothing"
    (page,) = tmp_path.glob("compare_*/answer.md")
    assert page.read_text().startswith(f"## Does {judged} matter?\n")
    for text in (said, page.read_text()):
        assert f"ppo with {judged}" in text and not re.search(r"clipped_surrogate (helps|hurts|does|matters)", text)
    found = judge(functions={"gae": slow}, configs=[TINY], out=tmp_path, rates=(), **QUICK)
    assert found.trick == "gae replaced by test_compare.py:slow" and found.trials.empty
    assert [arm.name for arm in found.arms] == ["ppo", "ppo with gae replaced by test_compare.py:slow"]
    assert "gae replaced by test_compare.py:slow" in found.sentences[0]


def test_a_diagnostic_that_differs_is_found() -> None:
    rng = np.random.default_rng(0)
    keys = itertools.product((("a", 0.0), ("b", 3.0)), range(10), range(5))
    rows = [(arm, seed, k, k, 1.0, rng.normal(shift), rng.normal()) for (arm, shift), seed, k in keys]
    curves = pd.DataFrame(rows, columns=["arm", "seed", "update", "step", "return", "entropy", "approx_kl"])
    found = moved(curves, "a", "b")
    assert (list(found.diagnostic), found.difference[0]) == (["entropy"], pytest.approx(3, abs=0.5))
    own = curves.rename(columns={"entropy": "is_success"})
    assert list(moved(own, "a", "b").diagnostic) == []
    assert list(moved(own, "a", "b", ["is_success", "cost"]).diagnostic) == ["is_success"]


@pytest.fixture
def faked(monkeypatch: Patch) -> Callable[[float], list[tuple[int, ...]]]:
    """Lets jobs return made-up results: PPO's are this much better than REINFORCE's. The value: each job's seeds."""

    def set_to(better: float) -> list[tuple[int, ...]]:
        asked: list[tuple[int, ...]] = []

        def compute(job: Job) -> Result:
            asked.append(tuple(job.config.seed_list))
            rng = np.random.default_rng([asked[-1][0], len(job.tricks.on)])
            return made_up(job, 200 + better * (job.tricks == PPO), rng)

        monkeypatch.setattr(workers, "compute", compute)
        return asked

    return set_to


def test_a_second_question_of_a_folder_has_other_seeds(tmp_path: Path, faked: Any) -> None:
    asked = faked(50)

    def seeds(arms: list[str], config: Config, seeds: Any) -> set[int]:
        return {*compare(arms, config, seeds=seeds, out=tmp_path, workers=1).runs.seed}

    assert seeds(BOTH, TINY, seeds=4) == {*range(4)}
    other = ["ppo", "ppo --no-gae"]
    assert seeds(other, TINY, seeds=3) == {*range(4, 7)}
    assert seeds(other, TINY, seeds=range(3)) == {*range(3)}  # those that are named are those
    count = len(asked)
    assert seeds(BOTH, TINY, seeds=4) == {*range(4)} and len(asked) == count
    for _ in range(2):  # 4 to 6 are the other's
        assert seeds(BOTH, TINY, seeds=6) == {*range(7, 13)}
    both = judge("gae", configs=[TINY, OTHER], out=tmp_path, seeds=2, rates=(), workers=1).runs
    assert [{*own.seed} for _, own in both.groupby("env")] == [{13, 14}] * 2  # the same in all environments
    studies = load_all(tmp_path)
    for each in {study.about["question"] for study in studies}:
        own = [study.runs.seed.min() for study in studies if study.about["question"] == each]
        assert fresh_seeds(tmp_path, [each], 1) == (min(own),)
    assert fresh_seeds(tmp_path, ["another"], 2) == (15, 16)


def test_a_question_resumed_or_decided_keeps_its_seeds(tmp_path: Path, faked: Any, monkeypatch: Patch) -> None:
    asked, puts, ask = faked(400.0), list[int](), partial(compare, BOTH, TINY, out=tmp_path, workers=1)
    other = partial(compare, ["ppo", "gae"], TINY, out=tmp_path, workers=1)
    spied(monkeypatch, Store, "put", lambda *_: 1 / puts.pop() if puts else 0)
    assert {*ask(seeds=2).runs.seed} | {*other(seeds=2).runs.seed} == {*range(4)}
    for _ in range(2):  # the looks that it may yet take are no other question's, either
        assert {*ask(seeds=5, until="decided", at_most=9).runs.seed} == {*range(4, 9)}
        other(seeds=range(13, 15))  # just after them
    puts += 0, 1  # the second fails
    with pytest.raises(ZeroDivisionError):
        ask(seeds=30)
    assert {*other(seeds=5).runs.seed} == {*range(45, 50)}
    asked.clear()
    assert {*ask(seeds=30).runs.seed} == {*range(15, 45)} and len(asked) == 5  # one of the six was done
    monkeypatch.setattr(store, "PATIENCE", 0.0)
    with Store(tmp_path).claims():  # two at once can't take the same
        refusal("database is locked", other, seeds=1)


@pytest.mark.parametrize(("better", "most"), [(400.0, 10), (0.0, 25)])
def test_until_decided_stops_when_all_is_decided_and_its_looks_share_the_five_percent(
    better: float, most: int, tmp_path: Path, faked: Any, told: Told
) -> None:
    asked = faked(better)
    given = ["compare", *BOTH, *SHARED, "--until", "decided", "--at-most", "25", f"--out={tmp_path}", "--workers=1"]
    said = told(given, main=cli.main)
    assert {seed for seeds in asked for seed in seeds} == {*range(most)}
    counts = [int(count) for count in re.findall(r"^(\d+) seeds per arm: \d of 1 comparisons decided$", said, re.M)]
    assert counts == [count for count in (10, 20, 25) if count <= most]
    (study,) = load_all(tmp_path)
    assert study.level == pytest.approx(0.05 * (10 if most == 10 else 5) / 25)
    assert ("helps" in said or "hurts" in said) == (better > 0)


@pytest.mark.parametrize("score", ["area", "late"])
@pytest.mark.parametrize("ask", [partial(compare, BOTH, TINY), partial(judge, "gae", configs=[TINY])])
def test_the_score_that_is_asked_for_is_compared_and_chooses_the_rate(
    ask: Any, score: str, tmp_path: Path, faked: Any, monkeypatch: Patch
) -> None:
    faked(50)
    found = ask(score=score, seeds=5, rates=(), out=tmp_path, workers=1)
    mean = found.runs.groupby("arm")[score].mean()
    for row, said in zip(found.effects.to_dict("records"), found.sentences, strict=True):
        assert row["difference"] == pytest.approx(mean[row["arm"]] - mean[row["against"]], rel=1e-4)
        assert ("late return" in said) == (score == "late") != ("area" in said)
    tried = {0.01: Tried((5.0, 3.0), (1.0, 1.0)), 0.03: Tried((3.0, 4.0), (1.0, 2.0))}
    monkeypatch.setattr(question, "searched", lambda jobs, *_: dict.fromkeys(jobs, tried))
    best = ask(score=score, seeds=1, rates=(0.01, 0.03), rate_seeds=2, out=tmp_path, workers=1).runs.lr
    assert {*best} == {0.01 if score == "area" else 0.03}


def test_seeds_named_in_any_order_stay_those_and_more_come_after_them(tmp_path: Path, faked: Any) -> None:
    found = compare(BOTH, TINY, seeds=(11, 7), out=tmp_path, workers=1)
    assert ({*found.curves.seed}, found.studies[0].is_whole) == ({7, 11}, True)
    asked = faked(0.0)
    compare(BOTH, TINY, seeds=(3, 5, 8, 13, 21), until="decided", at_most=8, out=tmp_path, workers=1)
    assert {seed for seeds in asked for seed in seeds} == {3, 5, 8, 13, 21, 22, 23, 24}
    ask = partial(compare, BOTH, TINY, until="decided", out=tmp_path, workers=1)
    refusal("below 1,000,000,000", ask, seeds=(3, 999_999_998), at_most=4)
    for none in (0, ()):  # to which no look could add any
        refusal("seeds must be distinct, and at least one", ask, seeds=none)
    refusal("at_most must be at least 2, not 1", ask, seeds=(3, 5), at_most=1)
    refusal(r"seeds must be whole numbers, not \['0', 0.5\]", ask, seeds=["0", 0.5])


def test_given_numbers_hold_in_every_environment_of_a_suite() -> None:
    line = parsed(CompareOptions, [*BOTH, "--suite", "classic", "--steps", "640", "--gamma", "0.5"], "compare")
    assert {(config.steps, config.gamma) for config in module.places(line)} == {(640, 0.5)}

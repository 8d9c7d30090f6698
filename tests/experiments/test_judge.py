"""`judge`: a verdict per environment, effects at each rate, moved diagnostics, for a flag or one's own function."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ablations import Arm, cli, holm, judge
from ablations.analysis.compared import moved
from ablations.analysis.effects import AT_CEILING, HELPS, HURTS, NOT_LEARNED, NOTHING, UNKNOWN
from ablations.design.arm_texts import arm_from
from ablations.experiments import judge as module
from ablations.figures.judged import Effects, judged_figure
from ablations.report.judged_page import Judged
from tricks import PPO, Config, InputError
from tricks.gae import gae

Capture = pytest.CaptureFixture[str]
SMALL = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
OTHER = replace(SMALL, env="tricks/NoisyChain-v0")
QUICK: Any = {"seeds": 5, "rate_seeds": 5, "workers": 1}


def slow(*given: Any) -> Any:
    return gae(*given)


def test_a_flag_of_the_base_is_taken_out_and_another_one_added_with_what_it_needs() -> None:
    def arms(trick: str, base: str = "ppo") -> list[tuple[str, set[str]]]:
        return [(arm.name, {*arm.tricks.on}) for arm in module._arms(trick, arm_from(base), {})]

    for trick, names in (("clip", ("ppo without clip", "ppo")), ("popart", ("ppo + return_norm", "+ popart"))):
        (without, off), (having, on) = arms(trick)
        assert (without, having.removeprefix("ppo + return_norm ")) == names
        assert on - off == {trick}
    (without, off), _ = arms("gae", "reinforce")
    assert (without, off) == ("reinforce + baseline", {"baseline"})
    base = Arm("mine", PPO, functions={"gae": slow})  # keeps the functions that it has
    for pair in (module._arms(trick, base, {} if trick else {"Adam": slow}) for trick in ("clip", "popart", "")):
        assert all(dict(arm.functions)["gae"] is slow for arm in pair)
    with pytest.raises(InputError, match="name one flag, or functions that replace ours"):
        judge("clip", functions={"gae": print})


def test_each_environment_has_a_row_and_the_page_everything(tmp_path: Path, capsys: Capture) -> None:
    asked: Any = {"configs": [SMALL, OTHER], "rates": (0.001, 0.003), "out": tmp_path, **QUICK}
    found = judge("gae", **asked)
    assert re.match(r"about [\w ]+ with 1 worker\n", capsys.readouterr().out)
    assert list(found.table.env) == list(found.comparisons) == [SMALL.env, OTHER.env]
    assert found.table.p_holm.to_numpy() == pytest.approx(holm(found.table.p.to_numpy()))
    assert found.trials is not None
    assert set(found.trials.trick) == {"gae"}
    page = found.files[0].read_text()
    for said in ("Does gae matter in ppo?", "In the worlds made for it", "data:image/png"):
        assert said in page
    again = judge("gae", **asked)
    assert capsys.readouterr().out.startswith("everything is trained already")
    pd.testing.assert_frame_equal(found.table, again.table)


def test_the_shell_judges_a_function_from_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def nothing(ratio, advantage, clip_range):\n    return ratio * 0\n")
    options = [f"--{name}={getattr(SMALL, name)}" for name in ("env", "steps", "lanes", "horizon", "minibatches")]
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


def test_a_function_named_like_a_trick_is_not_taken_for_it(tmp_path: Path) -> None:
    found = judge(functions={"gae": slow}, configs=[SMALL], out=tmp_path, rates=(), **QUICK)
    assert found.trick == "gae replaced by test_judge.py:slow"
    assert found.trials is None
    arms = found.comparisons[SMALL.env].table.arm.tolist()
    assert arms == ["ppo", "ppo with gae replaced by test_judge.py:slow"]
    assert found.files[0].parent.name.startswith("judge_gae_replaced_by_test_judge.py_slow_ppo_")
    assert "gae replaced by test_judge.py:slow" in found.sentences[0]


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


def test_the_figure_says_which_side_is_which() -> None:
    best = {"difference": 1.0, "low": 0.0, "high": 2.0}
    rates = pd.DataFrame(columns=["lr", "difference", "low", "high"])
    figure = judged_figure({"E": Effects(best, rates)}, "What a does in b", "#000000", ("ours", "replaced"))
    assert figure.axes[0].get_ylabel().endswith("replaced − ours")


def test_a_diagnostic_that_differs_is_found_and_one_that_does_not_is_not() -> None:
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

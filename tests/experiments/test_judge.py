"""`judge`: a verdict per environment, effects at each rate, moved diagnostics, for a flag or one's own function."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ablations import cli, holm, judge
from ablations.analysis.compared import moved
from ablations.design.arm_texts import arm_from
from ablations.experiments import judge as module
from tricks import Config, InputError

SMALL = Config("tricks/Corridor-v0", steps=320, lanes=2, horizon=16, minibatches=2)
OTHER = replace(SMALL, env="tricks/NoisyChain-v0")
QUICK: Any = {"seeds": 5, "rates": (0.001, 0.003), "rate_seeds": 5, "workers": 1}


def test_a_flag_of_the_base_is_taken_out_and_another_one_added_with_what_it_needs() -> None:
    def arms(trick: str, base: str = "ppo") -> list[tuple[str, set[str]]]:
        return [(arm.name, {*arm.tricks.on}) for arm in module._arms(trick, arm_from(base), {})]

    (without, off), (having, on) = arms("clip")
    assert (without, having) == ("ppo without clip", "ppo")
    assert on - off == {"clip"}
    (without, off), (having, on) = arms("popart")
    assert (without, having) == ("ppo + return_norm", "ppo + return_norm + popart")
    assert on - off == {"popart"}
    (without, off), _ = arms("gae", "reinforce")
    assert (without, off) == ("reinforce + baseline", {"baseline"})


def test_each_environment_has_a_row_and_the_page_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = judge("gae", configs=[SMALL, OTHER], out=tmp_path, **QUICK)
    assert re.match(r"about [\w ]+ with 1 worker\n", capsys.readouterr().out)
    assert list(found.table.env) == [SMALL.env, OTHER.env]
    assert list(found.comparisons) == [SMALL.env, OTHER.env]
    assert found.table.p_holm.to_numpy() == pytest.approx(holm(found.table.p.to_numpy()))
    assert found.trials is not None
    assert set(found.trials.trick) == {"gae"}
    page = found.files[0].read_text()
    assert "Does gae matter in ppo?" in page
    assert "In the worlds made for it" in page
    assert "data:image/png" in page
    again = judge("gae", configs=[SMALL, OTHER], out=tmp_path, **QUICK)
    assert capsys.readouterr().out.startswith("everything is trained already")
    pd.testing.assert_frame_equal(found.table, again.table)


def test_the_shell_judges_a_function_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def nothing(ratio, advantage, clip_range):\n    return ratio * 0\n")
    options = [f"--{name}={getattr(SMALL, name)}" for name in ("env", "steps", "lanes", "horizon", "minibatches")]
    given = [f"clipped_surrogate={file}:nothing", *options, "--seeds=5", "--rates=", "--workers=1", f"--out={tmp_path}"]
    assert cli.main(["judge", *given]) == 0
    said = capsys.readouterr().out
    assert "| tricks/Corridor-v0 |" in said
    (page,) = tmp_path.glob("judge_*/verdict.md")
    assert page.read_text().startswith("# Does clipped_surrogate matter in ppo?\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "judge takes one flag, or name=file.py:function"),
        (["klip"], "unknown trick klip (did you mean clip?)"),
        (["clip", "--base", "reinforce --lr x"], "arm 'reinforce --lr x'"),
        (["clip", "--no-gae"], "--no-gae belongs in the base: --base 'ppo --no-gae'"),
        (["clip", "--env", "Nowhere-v0"], "Nowhere-v0"),
        (["shared_trunk", "--base", "ppg"], "ppg cannot be combined with shared_trunk"),
        (["gae=nowhere.py:mine"], "there is no file nowhere.py"),
        (["gae=nowhere"], "'nowhere' names no function in a file; for example: my.py:three_arms"),
        (["clip", "--target-kl", "0.1"], "target_kl has no effect in any arm: target_kl has no effect without kl_stop"),
        (["clip", "--lr", "0.1"], "--lr and --rates exclude each other"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["judge", *arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_from_python_a_flag_or_functions_not_both() -> None:
    with pytest.raises(InputError, match="name one flag, or functions that replace ours"):
        judge("clip", functions={"gae": print})


def test_a_diagnostic_that_differs_is_found_and_one_that_does_not_is_not() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "arm": arm,
            "seed": seed,
            "update": k,
            "step": k,
            "return": 1.0,
            "entropy": rng.normal(shift),
            "approx_kl": rng.normal(),
        }
        for arm, shift in (("a", 0.0), ("b", 3.0))
        for seed in range(10)
        for k in range(5)
    ]
    found = moved(pd.DataFrame(rows), "a", "b")
    assert list(found.diagnostic) == ["entropy"]
    assert found.difference[0] == pytest.approx(3, abs=0.5)

"""Sweeps: the best of each value, the range that is nearly as good, and the command from its options to its files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ablations.analysis import sweeps
from ablations.analysis.scales import SCALES
from ablations.analysis.sweeps import best_of_each, fixed, share_lost, varied
from ablations.cli import main
from ablations.report.sweep_words import in_words, ranges


def runs() -> pd.DataFrame:
    """Two numbers, of which a = 2 needs another b than a = 1; five seeds, which differ by 0, 1, ... 4."""
    means = {(1, 10): 5.0, (1, 20): 3.0, (2, 10): 4.0, (2, 20): 8.0}
    cells = [{"a": a, "b": b, "seed": k, "score": mean + k - 2} for (a, b), mean in means.items() for k in range(5)]
    return pd.DataFrame(cells).assign(env="tricks/Corridor-v0", rung="ppo")


def test_each_value_stands_at_the_best_of_the_others_which_has_no_failed_seed() -> None:
    found = best_of_each(runs(), "a")
    assert [(best.value, best.mean, best.others) for best in found] == [(1, 5, {"b": 10}), (2, 8, {"b": 20})]
    half = 2.776445 * 2.5**0.5 / 5**0.5  # t₀.₉₇₅ with 4 degrees of freedom, s² = 2.5
    np.testing.assert_allclose([found[0].low, found[0].high], [5 - half, 5 + half], rtol=1e-6)
    for failed, best, mean in ((10, 20, 8), (20, 10, 4)):
        broken = runs()
        broken.loc[(broken.a == 2) & (broken.b == failed), "score"] = [100.0, 100, 100, 100, np.nan]
        assert best_of_each(broken, "a")[1].others == {"b": best}
        assert sweeps.means(broken, ["a", "b"]).round(6).fillna(-1)[2].to_dict() == {failed: -1, best: mean}


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ((1, 96, 100, 95, 94), [(2, 8)]),
        ((100, 10, 100, 97), [(1, 1), (4, 8)]),
        ((99, 98, 97), [(1, 4)]),
        ((np.nan, 50, np.nan), [(2, 2)]),
        ((-2, -1), [(2, 2)]),  # both are below the floor
        ((50,), [(1, 1)]),
    ],
)
def test_a_value_is_nearly_as_good_if_it_loses_at_most_a_twentieth_of_the_way(
    means: tuple[float, ...], expected: list[tuple[int, int]]
) -> None:
    assert sweeps.good_spans(pd.Series(means, index=[2.0**k for k in range(len(means))]), floor=0) == expected


def test_what_is_lost_is_a_share_of_the_way_from_the_floor_to_the_best() -> None:
    assert sweeps.floor_score(runs()) == 3  # the worst mean
    assert sweeps.floor_score(runs().head(1)) == 3  # a single run is its own mean
    assert sweeps.floor_score(runs().assign(env="CartPole-v1")) == SCALES["CartPole-v1"].random
    scores = pd.Series([-100.0, -60, -20])
    assert share_lost(scores, floor=-100).tolist() == [1, 0.5, 0]
    for floor in (0, -20):  # none is above it
        assert share_lost(scores, floor=floor).tolist() == [1, 1, 0]
    assert share_lost(pd.Series([0.0, 0.25, 0.5]), floor=0).tolist() == [1, 0.5, 0]
    assert sweeps.nearly_as_good(pd.Series([94.0, 95, 100], index=[1, 2, 4]), floor=0) == [2, 4]


def test_the_command_trains_every_combination_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]
) -> None:
    arguments = ["sweep", "--vary", "gamma=0.9,0.99", "--vary", "lr=0.01", "--vary", "epochs=1,2", "--seeds", "5"]
    arguments += ["--steps", "1500", "--workers", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "4 combinations × 5 seeds × 1,500 steps, in 2 jobs" in said
    (path,) = tmp_path.glob("*.sweep.csv")
    assert path.name.startswith("sweep_ppo_CartPole-v1_gamma-epochs-lr")
    frame, first = pd.read_csv(path), path.read_text()
    assert frame.groupby(["gamma", "epochs", "lr"]).size().tolist() == [5] * 4
    assert frame.score.notna().all()
    best = frame.groupby(["gamma", "epochs"]).score.mean().groupby("gamma").max().idxmax()
    assert f"`gamma` is best at {best:g} (the {'smallest' if best == 0.9 else 'largest'}), and " in said
    assert (tmp_path / f"{path.name.removesuffix('.sweep.csv')}.png").stat().st_size > 10_000
    assert main(arguments) == 0
    assert path.read_text() == first
    capsys.readouterr()
    for fewer in ({"gamma=0.9,0.99": "gamma=0.9"}, {"5": "4"}):
        asked = [fewer.get(argument, argument) for argument in arguments]
        refuses(main, asked, "holds another sweep, `python -m ablations sweep --vary gamma=0.9,0.99")
    assert path.read_text() == first
    few = ["sweep", "--vary", "gamma=0.9", "--vary", "lr=0.01", "--seeds", "2", "--env", "Pendulum-v1", "--steps", "8"]
    refuses(main, [*few, "--out", str(tmp_path)], "some agent ended no episode in 8 steps")


def test_a_stored_sweep_is_told_in_one_line() -> None:
    assert ranges(runs()) == (
        "`ppo` on tricks/Corridor-v0, 5 seeds a combination: "
        "`a` is best at 2 (the largest), and nothing else is nearly as good; "
        "`b` is best at 20 (the largest), and nothing else is nearly as good."
    )
    best = runs().query("a == 2")
    more = pd.concat([runs(), best.assign(a=3, score=best.score - 0.1)])  # a = 2 has values on both sides now
    apart = pd.concat([more, best.assign(a=1.5, score=0)])
    for found in (more, apart):
        assert "`a` is best at 2, and nearly as good from 2 to 3; `b`" in ranges(found)
    apart = pd.concat([apart, best.assign(a=1.2, score=best.score - 0.1)]).query("a != 3")
    assert "`a` is best at 2 (the largest), and nearly as good at 1.2; `b`" in ranges(apart)


def test_the_best_value_is_named_with_those_that_it_cannot_be_told_from() -> None:
    near = runs().query("a == 2").assign(a=3).assign(score=lambda rows: rows.score - 1)
    found = pd.concat([runs(), near]).assign(diverged=None)
    # 8 against 7, s = 1.58: t = 1; 8 against 5: t = 3, p = 0.017, times 2 by Holm's correction
    assert sweeps.told_from_best(found, "a") == {1: True, 3: False}
    said = in_words(found)
    assert "`a` is best at 2, and nothing else is nearly as good. These seeds cannot tell it from 3." in said
    assert "`b` is best at 20 (the largest), and nothing else is nearly as good. All others are told" in said
    assert "told apart by Welch's t" in said
    few = in_words(found[found.seed < 3])
    assert "With 3 seeds a combination there is no interval, and no value can be told from another." in few
    assert "interval (Student" not in few
    assert "cannot tell" not in in_words(found[(found.a == 2) & (found.b == 20)])
    found.loc[found.a == 1, "score"] = np.nan
    assert "| 1 | – " in in_words(found)  # a value without a score has no best of the others


def test_a_number_with_one_value_is_a_condition_and_no_axis() -> None:
    assert fixed(runs()) == ""
    found = runs().assign(diverged=None)
    found.insert(1, "c", 0.9)
    assert (varied(found), fixed(found)) == (["a", "b"], " with c=0.9")
    assert ranges(found).startswith("`ppo` with c=0.9 on tricks/Corridor-v0, 5 seeds a combination: `a` is best at 2")
    assert "All with c=0.9." in in_words(found)
    one = found[(found.a == 2) & (found.b == 20)]
    assert varied(one) == ["a", "c", "b"]  # nothing varies: then all of them are shown
    assert "`a` is best at 2, and nothing else" in ranges(one)  # and there is no edge

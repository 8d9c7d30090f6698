"""What a random design says: shares of variance with known answers, and the command from its options to its files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ablations.analysis import choices as module
from ablations.analysis.choices import by_chance, choices, clear_of_zero, explained, levels, matters
from ablations.cli import main


def test_a_choice_that_decides_everything_explains_everything_and_one_that_is_noise_nothing() -> None:
    level = np.repeat([0, 1], 500)
    assert explained(level * 10.0, level) == pytest.approx(1.0)
    noise = [explained(np.random.default_rng(k).normal(size=1000), level) for k in range(50)]
    assert abs(np.mean(noise)) < 0.001  # without the correction it would be 0.001
    assert explained(np.ones(1000), level) == 0
    # by hand: between 2·3² + 6² = 54 of 56, and the error is 2 of one degree of freedom: (54 − 1·2)/(56 + 2)
    assert explained(np.array([0.0, 2.0, 10.0]), np.array([0, 0, 1])) == pytest.approx(52 / 58)


def test_what_is_explained_does_not_depend_on_the_unit_or_the_zero_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    level, sets = rng.integers(0, 3, 60), np.arange(60) // 6
    scores = level + rng.normal(size=60)
    for other in (scores * 1e-3, scores * 1e3, scores + 50):
        assert explained(other, level) == pytest.approx(explained(scores, level))
        assert by_chance(other, level, sets) == by_chance(scores, level, sets)


def test_a_choice_is_clear_if_both_its_interval_and_its_shuffles_say_so() -> None:
    rows = pd.DataFrame({"explained_low": [0.1, 0.1, -0.1, 0.0, 0.1], "chance": [0.01, 0.2, 0.01, 0.01, 0.025]})
    assert clear_of_zero(rows).tolist() == [True, False, False, False, False]


def test_what_a_set_shares_is_clear_of_zero_as_rarely_as_chance_allows() -> None:
    """Scores that are alike within sets, and labels of sets that mean nothing; 4 levels, 25 sets of 10."""
    sets, clear = np.arange(250) // 10, list[bool]()
    for k in range(20):
        rng = np.random.default_rng(k)
        runs = pd.DataFrame({"set": sets, "label": rng.integers(0, 4, 25)[sets].astype(float)})
        runs["score"] = rng.normal(size=25)[sets] + rng.normal(size=250)
        clear += [bool(x) for x in clear_of_zero(choices(runs, ["label"]).iloc[:1])]
    assert sum(clear) <= 2
    assert by_chance(np.repeat([0.0, 1.0], 125), np.repeat([0, 1], 125), sets) < 0.01


def test_a_shuffle_that_explains_exactly_as_much_counts_against_the_choice() -> None:
    """Of two sets, any shuffle splits the scores the same way, so chance alone explains all that is explained."""
    two = np.repeat([0, 1], 10)
    assert by_chance(two * 10.0 + np.tile([0.1, 0.3], 10), two, two) == 1
    four, odd = np.repeat(np.arange(4), 10), np.repeat([0, 1, 1, 0], 10)  # one in three of the splits of four sets
    assert by_chance(odd * 10.0, odd, four) == pytest.approx(1 / 3, abs=0.05)
    own = np.array([0, 1, 0, 1])  # not shared by the two sets, so shuffled over agents: two in six of their splits
    assert by_chance(own * 10.0, own, np.array([0, 0, 1, 1])) == pytest.approx(1 / 3, abs=0.05)


def test_numbers_from_a_range_come_in_ranges_with_equally_many_draws() -> None:
    found = levels(pd.Series(np.linspace(0, 1, 101), index=range(7, 108)))
    assert found.index.tolist() == [*range(7, 108)]
    assert found.nunique() == 5
    assert found.value_counts().between(20, 21).all()
    assert found.iloc[0] == "0 to 0.2"
    assert levels(pd.Series([True, False, True])).tolist() == ["on", "off", "on"]
    assert levels(pd.Series([1.0, 4.0, 1.0])).tolist() == ["1", "4", "1"]
    assert levels(pd.Series([16, 4, 8, 1, 2])).tolist() == ["16", "4", "8", "1", "2"]  # as many values as ranges


def test_a_choice_is_judged_where_it_matters() -> None:
    runs = pd.DataFrame({"baseline": [False, True, True, True], "gae": [False, False, True, True]})
    assert matters(runs, "gae").tolist() == [False, True, True, True]
    assert matters(runs, "gae_lambda").tolist() == [False, False, True, True]
    assert matters(runs, "lr").all()
    assert matters(runs, "baseline").all()
    either = pd.DataFrame({"value_clip": [False, True, False], "clip_anneal": [False, False, True]})
    assert matters(either, "value_clip_anneals").tolist() == [False, True, True]  # any trick that reads it


def test_quantiles_are_of_the_agents_with_the_level() -> None:
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"set": np.arange(400) // 10, "flag": np.arange(400) // 10 % 2 == 1})
    runs["score"] = rng.normal(size=400) + 10 * runs.flag
    on = choices(runs, ["flag"]).set_index("level").loc["on"]
    assert on.agents == 200
    assert on["q0.5_low"] < 10 < on["q0.5_high"]
    assert on["q0.5"] == pytest.approx(np.quantile(runs.score[runs.flag], 0.5))
    assert on["q0.95"] == pytest.approx(10 + 1.64, abs=0.4)
    assert on.explained_low < on.explained < on.explained_high
    for size in (1, 2, 30):  # those of repeated values are those of the longer list
        ordered, times = np.sort(rng.normal(size=size)), rng.integers(0, 4, size)
        times[-1] += 1
        expected = np.quantile(np.repeat(ordered, times), module.QUANTILES)
        np.testing.assert_allclose(module.repeated_quantiles(ordered, times), expected, rtol=1e-12)


def test_the_interval_is_what_drawing_whole_sets_again_gives() -> None:
    rng = np.random.default_rng(0)
    sets, flag = np.arange(120) // 10, np.arange(120) // 10 % 2
    score = rng.normal(size=12)[sets] + flag + rng.normal(size=120)
    row = choices(pd.DataFrame({"set": sets, "flag": flag == 1, "score": score}), ["flag"]).iloc[0]
    rng, found = np.random.default_rng(0), list[float]()
    for _ in range(1000):
        drawn = np.concatenate([np.flatnonzero(sets == each) for each in rng.integers(0, 12, 12)])
        found.append(explained(score[drawn], flag[drawn]))
    assert [row.explained_low, row.explained_high] == pytest.approx(np.quantile(found, (0.025, 0.975)), rel=1e-9)
    assert row.chance == by_chance(score, flag, sets)


def test_the_order_of_the_agents_changes_no_interval_and_a_choice_without_alternatives_has_none() -> None:
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"set": np.arange(80) // 10, "flag": np.arange(80) // 10 % 2 == 1, "lr": 0.1})
    runs["score"] = rng.normal(size=80) + runs.flag
    found, other = choices(runs, ["flag", "lr"]), choices(runs[::-1], ["flag", "lr"])
    assert found.choice.tolist() == ["flag", "flag"]
    pd.testing.assert_frame_equal(found.drop(columns="chance"), other.drop(columns="chance"))


def test_the_command_trains_what_is_drawn_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random", "--draws", "20", "--tricks", "baseline,reuse,clip", "--steps", "600", "--workers", "1"]
    arguments += ["--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "20 agents in 2 jobs, 0 of them done before" in capsys.readouterr().out
    (path,) = tmp_path.glob("random_*.csv.gz")
    frame, name = pd.read_csv(path), path.name.removesuffix(".csv.gz")
    assert len(frame) == 20
    assert frame.groupby("set").baseline.nunique().eq(1).all()
    assert frame.lr.nunique() > 15
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    stored = pd.read_csv(tmp_path / f"{name}.choices.csv")
    assert stored[stored.choice == "lr"].agents.sum() == 20
    first = (tmp_path / f"{name}.md").read_text().splitlines()[2]
    assert f"`{stored.sort_values('explained').choice.iloc[-1]}`" in first  # what explains most
    before = path.read_bytes()
    assert main(arguments) == 0
    assert "2 of them done before" in capsys.readouterr().out
    assert path.read_bytes() == before

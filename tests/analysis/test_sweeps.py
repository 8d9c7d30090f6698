"""Sweeps and random designs: what is drawn and trained, what is best or explains most, and how far that is certain."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Patch, Refuses, Told

from ablations.analysis import agents as sweeps
from ablations.analysis.agents import by_chance, choices, clear_of_zero, explained, fixed, levels, matters, varied
from ablations.analysis.scales import SCALES
from ablations.cli import main
from ablations.question import grids
from ablations.question.grids import PER_SET, RANGES, SIDE_BY_SIDE, VALUES, WHOLE, combinations, drawn, parse, stacks
from ablations.report.agents_in_words import ranges, ranges_in_words
from tricks import Config
from tricks.ladder import LADDER, NEEDS

NAMES = [name for name in LADDER if name != "action_mask"]


def test_sets_differ_in_every_number_and_the_first_are_the_same_however_many_are_drawn() -> None:
    few, many = list(drawn(Config(), NAMES, 3)), list(drawn(Config(), NAMES, 20))
    assert many[:3] == few and len({tricks for tricks, _ in many}) > 15
    assert [seed for _, config in many for seed in config.seed_list] == list(range(20 * PER_SET))
    for _, config in many:
        for name, (low, high) in RANGES.items():
            values = config.each(name)
            assert all(0.99 * low <= value <= 1.01 * high for value in values)
            assert len(set(values)) > PER_SET // 2  # they differ within a stack
        assert all(set(config.each(name)) <= set(values) for name, values in VALUES.items())
        assert all(getattr(config, name) in values for name, values in WHOLE.items())
    made = [config for _, config in drawn(Config(), NAMES, 60)]
    for name, values in WHOLE.items():
        counts = [sum(getattr(config, name) == value for config in made) for value in values]
        assert min(counts) > 60 / len(values) / 3, name
    for name, floats in VALUES.items():
        assert {value for config in made for value in config.each(name)} == set(floats)


def test_a_flag_whose_needs_are_on_is_on_in_two_of_three_sets_and_what_the_named_flags_need_always() -> None:
    sets = [grids.legal(np.random.default_rng(k), NAMES) for k in range(1000)]
    for name in NAMES:
        able = [tricks for tricks in sets if all(getattr(tricks, need) for need in NEEDS[name])]
        assert len(able) > 250 and 0.58 < sum(getattr(tricks, name) for tricks in able) / len(able) < 0.75
    sets = [tricks for tricks, _ in drawn(Config(), ["clip", "gae"], 30)]
    assert all(tricks.reuse and tricks.baseline for tricks in sets)
    assert {(tricks.clip, tricks.gae) for tricks in sets} == {(a, b) for a in (False, True) for b in (False, True)}


def test_every_combination_is_in_one_stack_with_its_own_seeds(monkeypatch: Patch) -> None:
    grid = parse(["clip-range=0.1,0.2", "epochs=1,4"])
    assert grid == {"clip_range": (0.1, 0.2), "epochs": (1, 4)}
    assert [type(value) for value in grid["epochs"]] == [int, int]
    assert {"lr", "gamma", "clip_range", "entropy_coef", "gae_lambda"} <= set(SIDE_BY_SIDE)
    assert not {"epochs", "minibatches", "lanes"} & set(SIDE_BY_SIDE)  # which are whole
    monkeypatch.setattr(grids, "STACK", 6)
    grid = parse(["gamma=0.9,0.99", "epochs=1,4", "lr=0.001,0.01"])
    found = list(stacks(Config(), grid, seeds=3))
    assert [(stack.epochs, len(stack.seed_list)) for stack in found] == [(1, 6), (4, 6), (1, 6), (4, 6)]
    agents = [stack.only(k) for stack in found for k in range(6)]
    cells = [tuple(getattr(alone, name) for name in grid) for alone in agents]
    assert sorted(cells) == sorted(tuple(cell.values()) for cell in combinations(grid) for _ in range(3))
    assert sum([stack.seed_list for stack in found if stack.epochs == 1], ()) == tuple(range(12))


def runs() -> pd.DataFrame:
    """Two numbers, of which a = 2 needs another b than a = 1; five seeds, which differ by 0, 1, ... 4."""
    means = {(1, 10): 5.0, (1, 20): 3.0, (2, 10): 4.0, (2, 20): 8.0}
    cells = [{"a": a, "b": b, "seed": k, "score": mean + k - 2} for (a, b), mean in means.items() for k in range(5)]
    return pd.DataFrame(cells).assign(env="tricks/Corridor-v0", rung="ppo")


def test_each_value_stands_at_the_best_of_the_others_and_a_loss_is_a_share_of_the_way() -> None:
    found = sweeps.best_of_each(runs(), "a")
    assert [(best.value, best.mean, best.others) for best in found] == [(1, 5, {"b": 10}), (2, 8, {"b": 20})]
    half = 2.776445 * 2.5**0.5 / 5**0.5  # t₀.₉₇₅ with 4 degrees of freedom, s² = 2.5
    np.testing.assert_allclose([found[0].low, found[0].high], [5 - half, 5 + half], rtol=1e-6)
    for failed, best, mean in ((10, 20, 8), (20, 10, 4)):
        broken = runs()
        broken.loc[(broken.a == 2) & (broken.b == failed), "score"] = [100.0, 100, 100, 100, np.nan]
        assert sweeps.best_of_each(broken, "a")[1].others == {"b": best}
        assert sweeps.means(broken, ["a", "b"]).round(6).fillna(-1)[2].to_dict() == {failed: -1, best: mean}
    assert sweeps.floor_score(runs()) == 3  # the worst mean
    assert sweeps.floor_score(runs().head(1)) == 3  # a single run is its own mean
    assert sweeps.floor_score(runs().assign(env="CartPole-v1")) == SCALES["CartPole-v1"].random
    scores = pd.Series([-100.0, -60, -20])
    assert sweeps.share_lost(scores, floor=-100).tolist() == [1, 0.5, 0]
    for floor in (0, -20):  # none is above it
        assert sweeps.share_lost(scores, floor=floor).tolist() == [1, 1, 0]
    assert sweeps.share_lost(pd.Series([0.0, 0.25, 0.5]), floor=0).tolist() == [1, 0.5, 0]
    assert sweeps.nearly_as_good(pd.Series([94.0, 95, 100], index=[1, 2, 4]), floor=0) == [2, 4]


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
def test_nearly_as_good_is_within_a_twentieth(means: tuple[float, ...], expected: list[tuple[int, int]]) -> None:
    assert sweeps.good_spans(pd.Series(means, index=[2.0**k for k in range(len(means))]), floor=0) == expected


def test_sweep_trains_every_combination_and_goes_on(tmp_path: Path, told: Told, refuses: Refuses) -> None:
    arguments = ["sweep", "--vary", "gamma=0.9,0.99", "--vary", "lr=0.01", "--vary", "epochs=1,2", "--seeds", "5"]
    arguments += ["--steps", "1500", "--workers", "1", "--out", str(tmp_path)]
    said = told(arguments, main=main)
    assert "4 combinations × 5 seeds × 1,500 steps: 2 jobs" in said
    (path,) = tmp_path.glob("*.sweep.csv")
    assert path.name.startswith("sweep_ppo_CartPole-v1_gamma-epochs-lr")
    frame, first = pd.read_csv(path), path.read_text()
    assert frame.groupby(["gamma", "epochs", "lr"]).size().tolist() == [5] * 4 and frame.score.notna().all()
    best = frame.groupby(["gamma", "epochs"]).score.mean().groupby("gamma").max().idxmax()
    assert f"`gamma` is best at {best:g} (the {'smallest' if best == 0.9 else 'largest'}), and " in said
    assert (tmp_path / f"{path.name.removesuffix('.sweep.csv')}.png").stat().st_size > 10_000
    told(arguments, main=main)
    assert path.read_text() == first
    for fewer in ({"gamma=0.9,0.99": "gamma=0.9"}, {"5": "4"}):
        asked = [fewer.get(argument, argument) for argument in arguments]
        told(asked, main=main)  # another sweep has files of its own
    assert (len([*tmp_path.glob("*.sweep.csv")]), path.read_text()) == (3, first)
    few = ["sweep", "--vary", "gamma=0.9", "--vary", "lr=0.01", "--seeds", "2", "--env", "Pendulum-v1", "--steps", "8"]
    refuses(main, [*few, "--out", str(tmp_path)], "some agent ended no episode in 8 steps")


def test_the_best_is_named_with_what_it_cannot_be_told_from_and_one_value_is_a_condition() -> None:
    near = runs().query("a == 2").assign(a=3).assign(score=lambda rows: rows.score - 1)
    found = pd.concat([runs(), near]).assign(diverged=None)
    # 8 against 7, s = 1.58: t = 1; 8 against 5: t = 3, p = 0.017, times 2 by Holm's correction
    assert sweeps.told_from_best(found, "a") == {1: True, 3: False}
    said = ranges_in_words(found)
    assert "`a` is best at 2, and nothing else is nearly as good. These seeds cannot tell it from 3." in said
    assert "`b` is best at 20 (the largest), and nothing else is nearly as good. All others are told" in said
    assert "With 3 seeds a combination there is no interval" in ranges_in_words(found[found.seed < 3])
    found.loc[found.a == 1, "score"] = np.nan
    assert "| 1 | – " in ranges_in_words(found)  # a value without a score has no best of the others
    assert fixed(runs()) == ""
    found = runs().assign(diverged=None)
    found.insert(1, "c", 0.9)
    assert (varied(found), fixed(found)) == (["a", "b"], " with c=0.9")
    assert ranges(found).startswith("`ppo` with c=0.9 on tricks/Corridor-v0, 5 seeds a combination: `a` is best at 2")
    one = found[(found.a == 2) & (found.b == 20)]
    assert varied(one) == ["a", "c", "b"]  # nothing varies: then all of them are shown
    assert "`a` is best at 2, and nothing else" in ranges(one)  # and there is no edge


def test_a_choice_explains_all_or_nothing_and_a_shuffle_as_good_counts_against_it() -> None:
    level = np.repeat([0, 1], 500)
    assert explained(level * 10.0, level) == pytest.approx(1.0)
    noise = [explained(np.random.default_rng(k).normal(size=1000), level) for k in range(50)]
    assert abs(np.mean(noise)) < 0.001  # without the correction it would be 0.001
    assert explained(np.ones(1000), level) == 0
    # by hand: between 2·3² + 6² = 54 of 56, and the error is 2 of one degree of freedom: (54 − 1·2)/(56 + 2)
    assert explained(np.array([0.0, 2.0, 10.0]), np.array([0, 0, 1])) == pytest.approx(52 / 58)
    rng = np.random.default_rng(0)
    level, sets = rng.integers(0, 3, 60), np.arange(60) // 6
    scores = level + rng.normal(size=60)
    for other in (scores * 1e-3, scores * 1e3, scores + 50):
        assert explained(other, level) == pytest.approx(explained(scores, level))
        assert by_chance(other, level, sets) == by_chance(scores, level, sets)
    # of two sets, any shuffle splits the scores the same way, so chance alone explains all that is explained.
    two = np.repeat([0, 1], 10)
    assert by_chance(two * 10.0 + np.tile([0.1, 0.3], 10), two, two) == 1
    four, odd = np.repeat(np.arange(4), 10), np.repeat([0, 1, 1, 0], 10)  # one in three of the splits of four sets
    assert by_chance(odd * 10.0, odd, four) == pytest.approx(1 / 3, abs=0.05)
    own = np.array([0, 1, 0, 1])  # not shared by the two sets, so shuffled over agents: two in six of their splits
    assert by_chance(own * 10.0, own, np.array([0, 0, 1, 1])) == pytest.approx(1 / 3, abs=0.05)


def test_a_choice_is_clear_of_zero_if_interval_and_shuffles_say_so_as_rarely_as_chance_allows() -> None:
    rows = pd.DataFrame({"explained_low": [0.1, 0.1, -0.1, 0.0, 0.1], "chance": [0.01, 0.2, 0.01, 0.01, 0.025]})
    assert clear_of_zero(rows).tolist() == [True, False, False, False, False]
    # Scores that are alike within sets, and labels of sets that mean nothing; 4 levels, 25 sets of 10.
    sets, clear = np.arange(250) // 10, list[bool]()
    for k in range(20):
        rng = np.random.default_rng(k)
        runs = pd.DataFrame({"set": sets, "label": rng.integers(0, 4, 25)[sets].astype(float)})
        runs["score"] = rng.normal(size=25)[sets] + rng.normal(size=250)
        clear += [bool(x) for x in clear_of_zero(choices(runs, ["label"]).iloc[:1])]
    assert sum(clear) <= 2
    assert by_chance(np.repeat([0.0, 1.0], 125), np.repeat([0, 1], 125), sets) < 0.01


def test_numbers_come_in_ranges_with_equally_many_draws_and_a_choice_is_judged_where_it_matters() -> None:
    found = levels(pd.Series(np.linspace(0, 1, 101), index=range(7, 108)))
    assert (found.index.tolist(), found.nunique()) == ([*range(7, 108)], 5)
    assert found.value_counts().between(20, 21).all() and found.iloc[0] == "0 to 0.2"
    assert levels(pd.Series([True, False, True])).tolist() == ["on", "off", "on"]
    assert levels(pd.Series([1.0, 4.0, 1.0])).tolist() == ["1", "4", "1"]
    assert levels(pd.Series([16, 4, 8, 1, 2])).tolist() == ["16", "4", "8", "1", "2"]  # as many values as ranges
    runs = pd.DataFrame({"baseline": [False, True, True, True], "gae": [False, False, True, True]})
    assert matters(runs, "gae").tolist() == [False, True, True, True]
    assert matters(runs, "gae_lambda").tolist() == [False, False, True, True] and matters(runs, "lr").all()
    assert matters(runs, "baseline").all()
    either = pd.DataFrame({"value_clip": [False, True, False], "clip_anneal": [False, False, True]})
    assert matters(either, "value_clip_anneals").tolist() == [False, True, True]  # any trick that reads it


def test_quantiles_are_of_the_agents_with_the_level_and_the_interval_of_whole_sets_in_any_order() -> None:
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"set": np.arange(400) // 10, "flag": np.arange(400) // 10 % 2 == 1})
    runs["score"] = rng.normal(size=400) + 10 * runs.flag
    on = choices(runs, ["flag"]).set_index("level").loc["on"]
    assert on.agents == 200 and on["q0.5_low"] < 10 < on["q0.5_high"]
    assert on["q0.5"] == pytest.approx(np.quantile(runs.score[runs.flag], 0.5))
    assert on["q0.95"] == pytest.approx(10 + 1.64, abs=0.4)
    assert on.explained_low < on.explained < on.explained_high
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
    runs = pd.DataFrame({"set": sets, "flag": flag == 1, "lr": 0.1, "score": score})
    one, other = choices(runs, ["flag", "lr"]), choices(runs[::-1], ["flag", "lr"])
    assert one.choice.tolist() == ["flag", "flag"]  # what has no alternative is no choice
    pd.testing.assert_frame_equal(one.drop(columns="chance"), other.drop(columns="chance"))


def test_the_command_trains_what_is_drawn_goes_on_and_judges_what_agents_use(tmp_path: Path, told: Told) -> None:
    arguments = ["random", "--draws", "20", "--tricks", "baseline,reuse,clip", "--steps", "600", "--workers", "1"]
    arguments += ["--out", str(tmp_path)]
    assert "20 agents: 2 jobs, 0 of them done before" in told(arguments, main=main)
    (path,) = tmp_path.glob("random_*.csv.gz")
    frame, name = pd.read_csv(path), path.name.removesuffix(".csv.gz")
    assert len(frame) == 20 and frame.groupby("set").baseline.nunique().eq(1).all() and frame.lr.nunique() > 15
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    stored = pd.read_csv(tmp_path / f"{name}.choices.csv")
    assert stored[stored.choice == "lr"].agents.sum() == 20
    assert not {"gae_lambda", "max_grad_norm"} & {*stored.choice}  # which no agent uses
    first = (tmp_path / f"{name}.md").read_text().splitlines()[2]
    assert f"`{stored.sort_values('explained').choice.iloc[-1]}`" in first  # what explains most
    before = path.read_bytes()
    assert "2 of them done before" in told(arguments, main=main)
    assert path.read_bytes() == before

"""Tuning: seven rates at first, past the edge if the best lies there, the best three again, on seeds of their own."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ablations import cli
from ablations.training import rate_table, tuning
from ablations.training.jobs import Job
from ablations.training.rate_table import GRID, split
from ablations.training.rates import at_edge, best_rate
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import Store
from ablations.training.tuning import Tried, jobs_at, still_wanted, tune
from tricks import PPO, REINFORCE, Config

TINY = Config(steps=200, lanes=2, horizon=16)


def race(peak: float, seeds: int = 4) -> tuple[dict[float, int], list[dict[float, range]]]:
    """How many seeds each rate gets if scores fall off from the peak, and the rounds in which it gets them."""
    counts: dict[float, int] = {}
    rounds: list[dict[float, range]] = []
    for _ in range(20):
        seen = {rate: Tried((-abs(np.log(rate / peak)),) * count, ()) for rate, count in counts.items()}
        wanted = still_wanted(seen, seeds)
        if not wanted:
            return counts, rounds
        rounds.append(wanted)
        counts |= {rate: places.stop for rate, places in wanted.items()}
    raise AssertionError("the race does not end")


def test_every_rate_gets_a_first_look_and_the_best_three_a_second_on_other_seeds() -> None:
    counts, rounds = race(0.003)
    assert rounds == [dict.fromkeys(GRID, range(4)), dict.fromkeys((0.003, 0.001, 0.01), range(4, 8))]
    assert counts == dict.fromkeys(GRID, 4) | dict.fromkeys((0.001, 0.003, 0.01), 8)


def test_where_the_best_rate_is_at_the_edge_the_grid_grows_until_it_is_not() -> None:
    low, rounds = race(3e-5)
    assert [list(wanted) for wanted in rounds[1:-1]] == [[1e-4], [3e-5], [1e-5]]
    assert {rate for rate, count in low.items() if count == 8} == {1e-5, 3e-5, 1e-4}
    high, _ = race(50.0)
    assert max(high) == 1  # there is an end to it


def test_a_rate_at_which_no_episode_ends_in_some_seed_is_never_best() -> None:
    nothing = Tried((np.nan, 500.0), ())
    assert nothing.area == -np.inf
    seen = {rate: nothing if rate == 0.01 else Tried((-abs(np.log(rate / 0.003)),) * 2, ()) for rate in GRID}
    assert 0.01 not in still_wanted(seen, 2)


def test_the_finalists_are_those_of_the_first_look_whatever_the_second_says_of_them() -> None:
    """The best of the first look fails at the second: the fourth, which has had no second look, does not move up."""
    first = dict(zip(GRID, (1.0, 2.0, 6.0, 9.0, 8.0, 7.0, 0.0), strict=True))
    seen = {rate: Tried((score,) * 4, ()) for rate, score in first.items()}
    assert still_wanted(seen, 4) == dict.fromkeys((0.01, 0.03, 0.1), range(4, 8))
    seen |= {0.01: Tried((9.0,) * 4 + (-99.0,) * 4, ())} | {rate: Tried((first[rate],) * 8, ()) for rate in (0.03, 0.1)}
    assert still_wanted(seen, 4) == {}
    seen |= {rate: Tried((first[rate],) * 4 + (-99.0,) * 4, ()) for rate in (0.03, 0.1)}
    seen |= {0.0003: Tried((6.5,) * 4, ())}
    assert still_wanted(seen, 4) == {}  # though the lowest rate is now ahead, at a first look


def test_where_a_second_look_puts_the_best_rate_at_the_edge_the_next_one_gets_both_looks_at_once() -> None:
    first = dict(zip(GRID, (8.0, 9.0, 7.0, 0.0, 0.0, 0.0, 0.0), strict=True))
    seen = {rate: Tried((score,) * 4, ()) for rate, score in first.items()}
    second = {0.0003: 8.0, 0.001: 1.0, 0.003: 7.0}
    seen |= {rate: Tried((first[rate],) * 4 + (score,) * 4, ()) for rate, score in second.items()}
    assert still_wanted(seen, 4) == {1e-4: range(8)}


def test_no_two_rates_share_a_seed_and_none_is_ever_reported() -> None:
    (first,) = jobs_at(Job(TINY, PPO), still_wanted({}, 4))
    assert first.config.rates == tuple(rate for rate in GRID for _ in range(4))
    assert len(set(first.config.seed_list)) == 4 * len(GRID)
    assert first.config.seed_list[:5] == (*range(1_000_060_000, 1_000_060_004), 1_000_080_000)  # as they ever were
    seen = {rate: Tried((-rate,) * 4, ()) for rate in (1e-5, 3e-5, 1e-4, *GRID)}
    (again,) = jobs_at(Job(TINY, PPO), still_wanted(seen, 4))
    assert set(again.config.rates) == {1e-5, 3e-5, 1e-4}
    assert min(first.config.seed_list + again.config.seed_list) >= FIRST_TUNING_SEED
    assert not set(first.config.seed_list) & set(again.config.seed_list)
    apart = jobs_at(Job(TINY, REINFORCE), still_wanted({}, 4))  # whole episodes: a stack per rate
    assert [set(job.config.rates) for job in apart] == [{rate} for rate in GRID]
    assert {seed for job in apart for seed in job.config.seed_list} == set(first.config.seed_list)


def test_tuning_keeps_every_seed_s_score_and_replaces_what_was_known_of_the_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.table.cache_clear()
    store, arms = Store(tmp_path), [Job(TINY, REINFORCE), Job(TINY, PPO)]
    scores = tune(arms, store, workers=1, seeds=2)
    assert {len(split(areas)) for areas in scores.areas} == {2, 4}
    mine = scores[(scores.seeds == 4) & scores.tricks.eq("")]
    best = float(mine.lr.to_numpy()[mine.area.to_numpy().argmax()])
    assert best_rate(TINY, REINFORCE) == (best, "")
    assert not at_edge(TINY.env, TINY.steps, scores.numbers.iloc[0], "", best)
    tune(arms[:1], store, workers=1, seeds=1)
    assert rate_table.table().groupby("tricks").seeds.max().to_dict() == {"": 2, scores.tricks.iloc[-1]: 4}
    rate_table.table.cache_clear()


class Told:
    """A store that holds whatever is asked for: the nearer a rate is to 0.01, the better, and the end is 100 better."""

    def scored(self, job: Job) -> SimpleNamespace:
        score = -abs(np.log10(job.config.rates) + 2)
        return SimpleNamespace(table=lambda seeds: pd.DataFrame({"score": score, "late": score + 100}, list(seeds)))


def test_a_first_look_is_at_ten_seeds_and_a_second_at_ten_more_of_three_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    monkeypatch.setattr(tuning, "run_jobs", lambda jobs, store, workers: {})
    rate_table.table.cache_clear()
    tune([Job(TINY, PPO)], Told(), workers=1)  # type: ignore[arg-type]
    rows = rate_table.table().set_index("lr")
    rate_table.table.cache_clear()
    assert rows.seeds.to_dict() == dict.fromkeys(GRID, 10) | dict.fromkeys((0.003, 0.01, 0.03), 20)
    assert rows.area[[0.001, 0.01, 0.1]].tolist() == [-1, 0, -1]
    assert rows.late[[0.001, 0.01, 0.1]].tolist() == [99, 100, 99]
    assert rows.areas[0.1] == " ".join(["-1"] * 10)


def test_tuning_keeps_what_another_process_stored_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rates.csv"
    monkeypatch.setattr(rate_table, "TABLE", path)
    row = ("Elsewhere-v0", 200, "", "", 0.01, 1.0, 1.0, 2, "1 1")
    rate_table.store_table(pd.DataFrame([row], columns=rate_table.COLUMNS))
    theirs = path.read_bytes()
    rate_table.store_table(pd.DataFrame([("Here-v0", *row[1:])], columns=rate_table.COLUMNS))
    assert rate_table.table().env.tolist() == ["Here-v0"]  # and is remembered
    path.write_bytes(theirs)
    tune([Job(TINY, REINFORCE)], Store(tmp_path), workers=1, seeds=1)
    assert set(rate_table.table().env) == {"Elsewhere-v0", TINY.env}
    rate_table.table.cache_clear()


def test_what_a_user_tunes_goes_to_a_table_beside_the_package_s_which_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = tmp_path / "shipped.csv"
    monkeypatch.setattr(rate_table, "TABLE", shipped)
    rate_table.store_table(pd.DataFrame([("Other-v0", 100, "", "", 0.1, 1.0, 1.0, 1, "1")], columns=rate_table.COLUMNS))
    before, own = shipped.read_bytes(), tmp_path / "learning_rates.csv"
    words = ["tune", "--env", TINY.env, "--steps", "200", "--tricks", "baseline", "--seeds-per-rate", "1"]
    assert cli.main([*words, "--workers", "1", "--out", str(tmp_path)]) == 0
    assert f"wrote {own}" in capsys.readouterr().out
    assert shipped.read_bytes() == before
    assert best_rate(Config(steps=200), REINFORCE).reservation == "not tuned"  # the command is over
    rate_table.use(own)
    assert best_rate(Config(steps=200), REINFORCE).reservation == ""
    assert set(rate_table.table().env) == {"Other-v0", TINY.env}
    assert cli.main(["run", "--tricks", "baseline", "--steps", "200", "--dry-run", "--out", str(tmp_path)]) == 0
    assert "not all arms are tuned" not in capsys.readouterr().out
    rate_table.use(None)

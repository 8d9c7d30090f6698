"""Learning rates: a table that is whole or refused; each arm at its own, tuned on seeds that are never reported: seven
rates at first, past the edge if the best lies there, the best three again."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.damage import flips

from ablations import cli
from ablations.design.choice import usable
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.training import rate_table, tuning
from ablations.training.jobs import Job
from ablations.training.rate_table import COLUMNS, GRID, best_of, split, store_table, table
from ablations.training.rates import at_edge, best_rate
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import Store
from ablations.training.tagged_csv import tagged
from ablations.training.tuning import Tried, jobs_at, still_wanted, tune
from tricks import PPO, REINFORCE, Config, InputError
from tricks.runs.files import HOST

TINY = Config(steps=200, lanes=2, horizon=16)
SHIPPED = rate_table.TABLE
DAMAGED = "is damaged or not a table of learning rates: "


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a test's own table is."""
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    table.cache_clear()
    yield tmp_path / "rates.csv"
    table.cache_clear()


def store(*rows: tuple[Any, ...]) -> None:
    store_table(pd.DataFrame(rows, columns=COLUMNS))


def test_a_table_that_is_not_whole_is_refused_in_one_line(rates: Path) -> None:
    whole, rows = SHIPPED.read_text(), pd.read_csv(SHIPPED, comment="#", keep_default_na=False)
    lines = whole.splitlines(keepends=True)
    damaged = ["", lines[0], "a,b\n1,2\n", whole[: len(whole) // 2], "".join(lines[: len(lines) // 2])]
    damaged += [whole + lines[-1], "".join(lines[1:]), "# [1]\n" + whole, whole.replace(",5,\n", ",-5,\n", 1)]
    impossible: list[tuple[str, Any]] = [("lr", -1.0), ("lr", 0.0), ("lr", 1e9), ("lr", "fast"), ("seeds", -5)]
    impossible += [("steps", 0), ("env", ""), ("areas", "1 2 3"), ("areas", "one two three four five")]
    damaged += [tagged({"rows": len(rows)}, rows.assign(**{name: x}), digits=None) for name, x in impossible]
    twice = pd.concat([rows, rows[:1]])
    damaged += [tagged({"rows": len(twice)}, twice, digits=None), tagged({"rows": 7}, rows, digits=None)]
    for content in (*(text.encode() for text in damaged), b"\xff\xfe"):
        rates.write_bytes(content)
        table.cache_clear()
        with pytest.raises(InputError, match=rf"^{rates} {DAMAGED}.+$"):
            table()


def test_a_table_that_was_tuned_has_a_checksum_and_loses_no_row(rates: Path) -> None:
    store(*(("x", 9, "", arm, lr, 0.1, None, 5, "") for arm in ("", "gae") for lr in GRID))
    assert len(table()) == 2 * len(GRID)
    whole = rates.read_bytes()
    for damaged in [*flips(whole), whole[: whole.index(b"x,9,,gae")]]:
        rates.write_bytes(damaged)
        table.cache_clear()
        with pytest.raises(InputError, match="is damaged or not a table"):
            table()


GOOD = {"env": "x", "steps": 9, "numbers": "", "tricks": "", "lr": 1.0, "area": 2.0, "late": 2.5, "seeds": 2}
ROWS = pd.DataFrame([GOOD | {"areas": "1 3"}, GOOD | {"env": "y", "areas": ""}])[COLUMNS]
INFINITE, AREAS = "a score is infinite, or an environment has no name", "the areas of a row are not those of its seeds"


@pytest.mark.usefixtures("rates")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"steps": 0}, "a budget or a number of seeds is not a positive whole number"),
        ({"seeds": 0, "areas": ""}, "a budget or a number of seeds is not a positive whole number"),
        *(({"lr": lr}, "a learning rate is not between 0 and 1") for lr in (0.0, 1.5)),
        *((wrong, INFINITE) for wrong in ({"area": np.inf, "areas": ""}, {"late": -np.inf}, {"env": ""})),
        ({"env": "y"}, "a row is there twice"),
        *((wrong, AREAS) for wrong in ({"areas": "1 2 3"}, {"area": 1.0})),
    ],
    ids=str,
)
def test_one_impossible_row_is_enough_to_refuse_a_table(wrong: dict[str, Any], said: str) -> None:
    store_table(ROWS)
    assert table().areas.tolist() == ["1 3", ""]
    store_table(pd.DataFrame([ROWS.loc[0].to_dict() | wrong, ROWS.loc[1].to_dict()]))
    with pytest.raises(InputError, match=said):
        table()


def test_a_seed_without_an_episode_has_no_area_and_neither_has_its_row(rates: Path) -> None:
    left = rates.parent / f".rates.csv.{HOST}.999999999"  # by a process that was killed
    left.touch()
    store_table(ROWS.assign(area=[np.nan, 2.0], areas=["nan 3", ""]))
    assert table().area.isna().tolist() == [True, False]
    assert not left.exists()


def test_every_arm_of_the_main_job_has_its_own_tuned_rate_inside_the_grid() -> None:
    scores = table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(GRID)
        best = mine[mine.seeds == mine.seeds.max()].set_index("lr").area.idxmax()
        assert best_rate(Config(), arm.tricks) == (best, "")
        assert best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert best_rate(Config(env="Nowhere-v0"), REINFORCE) == (0.003, "not tuned")


def test_a_rate_that_lost_at_the_first_look_is_not_chosen_however_well_it_did_there() -> None:
    """Ten lucky seeds can be ahead of twenty honest ones."""
    looks = [(0.001, 9.0, 9.0, 10), (0.003, 5.0, 4.0, 20), (0.01, 6.0, 3.0, 20), (0.03, 1.0, 5.0, 20)]
    rows = pd.DataFrame(looks, columns=["lr", "area", "late", "seeds"])
    assert (best_of(rows), best_of(rows, "late")) == (0.01, 0.03)
    rows.loc[3, "area"] = np.nan  # no episode ended
    assert best_of(rows) == 0.01


@pytest.mark.usefixtures("rates")
def test_an_arm_has_the_rows_of_its_own_setting_in_order_and_a_budget_without_rates_borrows_the_largest_s() -> None:
    store(*(("x", steps, "", "", lr, 1.0, 1.0, 1, "1") for steps, lr in ((10, 0.1), (1000, 0.01), (100, 0.03))))
    borrowed = (0.01, "tuned at 1,000 steps")
    found = [best_rate(Config(env="x", steps=steps), REINFORCE) for steps in (5, 10, 50, 5000)]
    assert found == [borrowed, (0.1, ""), borrowed, borrowed]
    mine = ("x", 10, "lanes=2", "gae")
    others = [("y", *mine[1:]), ("x", 11, *mine[2:]), ("x", 10, "lanes=3", "gae"), (*mine[:3], "clip")]
    rows = [(*mine, lr) for lr in (0.1, 0.001, 0.03)] + [(*other, lr) for other in others for lr in (0.0003, 0.3)]
    store(*((*row, 1.0, 1.0, 1, "1") for row in rows))
    assert rate_table.rows_of(*mine).lr.tolist() == [0.001, 0.03, 0.1]
    assert [at_edge(*mine, lr) for lr in (0.001, 0.03, 0.1)] == [True, False, True]
    assert not at_edge("z", *mine[1:], 0.1)


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


def test_every_rate_gets_a_first_look_and_the_best_three_a_second_and_the_grid_grows_past_its_edge() -> None:
    counts, rounds = race(0.003)
    assert rounds == [dict.fromkeys(GRID, range(4)), dict.fromkeys((0.003, 0.001, 0.01), range(4, 8))]
    assert counts == dict.fromkeys(GRID, 4) | dict.fromkeys((0.001, 0.003, 0.01), 8)
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
    second = {0.0003: 8.0, 0.001: 1.0, 0.003: 7.0}
    seen = {rate: Tried((x,) * 4 + (second[rate],) * 4 * (rate in second), ()) for rate, x in first.items()}
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


def test_tuning_keeps_every_seed_s_score_and_replaces_what_was_known_of_the_arm_alone(rates: Path) -> None:
    arms = [Job(TINY, REINFORCE), Job(TINY, PPO)]
    scores = tune(arms, Store(rates.parent), workers=1, seeds=2)
    assert {len(split(areas)) for areas in scores.areas} == {2, 4}
    mine = scores[(scores.seeds == 4) & scores.tricks.eq("")]
    best = float(mine.lr.to_numpy()[mine.area.to_numpy().argmax()])
    assert best_rate(TINY, REINFORCE) == (best, "")
    assert not at_edge(TINY.env, TINY.steps, scores.numbers.iloc[0], "", best)
    tune(arms[:1], Store(rates.parent), workers=1, seeds=1)
    assert table().groupby("tricks").seeds.max().to_dict() == {"": 2, scores.tricks.iloc[-1]: 4}
    row = (200, "", "", 0.01, 1.0, 1.0, 2, "1 1")
    store(("Elsewhere-v0", *row))
    theirs = rates.read_bytes()
    store(("Here-v0", *row))
    assert table().env.tolist() == ["Here-v0"]  # and is remembered
    rates.write_bytes(theirs)  # what another process stored meanwhile is kept
    tune(arms[:1], Store(rates.parent), workers=1, seeds=1)
    assert set(table().env) == {"Elsewhere-v0", TINY.env}


class Told:
    """A store that holds whatever is asked for: the nearer a rate is to 0.01, the better, and the end is 100 better."""

    def scored(self, job: Job) -> SimpleNamespace:
        score = -abs(np.log10(job.config.rates) + 2)
        return SimpleNamespace(table=lambda seeds: pd.DataFrame({"score": score, "late": score + 100}, list(seeds)))


@pytest.mark.usefixtures("rates")
def test_a_first_look_is_at_ten_seeds_and_a_second_at_ten_more_of_three_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "run_jobs", lambda jobs, store, workers: {})
    tune([Job(TINY, PPO)], Told(), workers=1)  # type: ignore[arg-type]
    rows = table().set_index("lr")
    assert rows.seeds.to_dict() == dict.fromkeys(GRID, 10) | dict.fromkeys((0.003, 0.01, 0.03), 20)
    assert rows.area[[0.001, 0.01, 0.1]].tolist() == [-1, 0, -1]
    assert rows.late[[0.001, 0.01, 0.1]].tolist() == [99, 100, 99]
    assert rows.areas[0.1] == " ".join(["-1"] * 10)


def test_what_a_user_tunes_goes_to_a_table_beside_the_package_s_which_stays_as_it_is(
    rates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store(("Other-v0", 100, "", "", 0.1, 1.0, 1.0, 1, "1"))
    before, own, few = (
        rates.read_bytes(),
        rates.with_name("learning_rates.csv"),
        ["--tricks", "baseline", "--steps", "200"],
    )
    words = ["tune", "--env", TINY.env, *few, "--seeds-per-rate", "1", "--workers", "1"]
    assert cli.main([*words, "--out", str(rates.parent)]) == 0
    assert f"wrote {own}" in capsys.readouterr().out
    assert rates.read_bytes() == before
    assert best_rate(Config(steps=200), REINFORCE).reservation == "not tuned"  # the command is over
    rate_table.use(own)
    assert best_rate(Config(steps=200), REINFORCE).reservation == ""
    assert set(table().env) == {"Other-v0", TINY.env}
    assert cli.main(["run", *few, "--dry-run", "--out", str(rates.parent)]) == 0
    assert "not all arms are tuned" not in capsys.readouterr().out
    rate_table.use(None)

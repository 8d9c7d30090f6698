"""Plans: which arms run where, on which seeds, under which name, and at which learning rates, tuned on seeds that are
never reported: seven rates at first, past the edge if the best lies there, the best three again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.jobs import flips

import ablations.training.plan as planning
from ablations import cli
from ablations.cli import again, main
from ablations.design.choice import usable
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.design.registry import SUITES
from ablations.training import rate_table, tuning
from ablations.training.jobs import Job
from ablations.training.plan import plans
from ablations.training.rate_table import COLUMNS, GRID, best_of, split, store_table, table
from ablations.training.rates import UNTUNED, at_edge, best_rate, refuse_tuned_on
from ablations.training.seed_ranges import FIRST_TUNING_SEED, blocks, following, further, parse_seeds
from ablations.training.store import Store, name_of
from ablations.training.tagged_csv import tagged
from ablations.training.tuning import Tried, jobs_at, still_wanted, tune
from ablations.training.what import What
from tricks import PPO, REINFORCE, Config, InputError
from tricks.core.env import Env
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS
from tricks.runs.files import HOST

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_tuned_arms_have_their_own_rates_and_one_that_is_not_puts_all_at_the_same() -> None:
    (tuned,), (mixed,), (borrowed,) = (plans(x, "10") for x in (What(), What(design="ladder,screen"), What(steps=500)))
    assert {rate.reservation for rate in tuned.rates.values()} == {""}
    assert len({rate.value for rate in tuned.rates.values()}) > 1 and "tune" not in tuned.in_words
    assert "learning rates" not in tuned.in_words
    assert set(mixed.rates.values()) == {(UNTUNED, "not tuned")} and f"all run at {UNTUNED:g}" in mixed.in_words
    few = replace(mixed, only=frozenset(mixed.arms[:2]))  # both are tuned, but the comparison was made without
    assert few.rates == {arm: mixed.rates[arm] for arm in mixed.arms[:2]}
    fixed = plans(What(suite="published", env="CartPole-v1"))[0]
    assert set(fixed.rates.values()) == {(2.5e-4, "fixed")}
    for plan, said in ((borrowed, "tuned at 100,000 steps"), (fixed, "fixed")):
        assert plan.in_words.endswith(f"; learning rates {said}")
        assert all(set(job.config.rates) == {rate.value} for job, rate in plan.jobs.items())


def test_a_job_is_an_arm_and_a_whole_block_of_seeds_and_studies_that_differ_have_other_names() -> None:
    (plan,) = plans(What(tricks="entropy,grad_clip", steps=500), "5:12")
    assert {job.config.seeds for job in plan.jobs} == {tuple(range(10)), tuple(range(10, 30))}
    assert len(plan.jobs) == 2 * len(plan.arms) == 6 and {job.config.steps for job in plan.jobs} == {500}
    asked = [What(), What(steps=500), What(tricks="clip,gae"), What(tricks="clip,entropy"), What(env="Acrobot-v1")]
    found = [plans(what, "10")[0] for what in (*asked, What(design="ladder,add-one-in"))]
    names = [plan.name for plan in found] + [plans(What(), "10:20")[0].name]
    assert len(set(names)) == len(names)
    assert (names[0], What().workers, What().out) == ("ladder_CartPole-v1", 0, Path("runs/ablations"))  # unless told
    assert plans(What(suite="cartpole"))[0].name == "ladder_CartPole-v1_from30"
    namespaced = replace(found[0], config=replace(found[0].config, env="a/b_c/d"))  # which is no folder
    assert namespaced.name == "ladder_a_b_c_d"


@pytest.mark.parametrize(
    ("whole", "start"),
    [("a" * 140, None), ("a" * 141, "a" * 123), ("γ" * 70, None), ("γ" * 71, "γ" * 61), ("aγ" * 60, "aγ" * 41)],
)
def test_a_name_of_more_than_140_bytes_ends_in_a_hash_of_it_all(whole: str, start: str | None) -> None:
    short = f"{start}-{sha256(whole.encode()).hexdigest()[:16]}" if start else whole
    assert (name_of("", whole, first=0), name_of(whole, "", first=10)) == (short, f"{short}_from10")


def test_one_lane_is_tried_beforehand_and_what_cannot_be_made_is_left_out(monkeypatch: Patch, capsys: Capture) -> None:
    tried = list[Config]()

    def without_envpool(config: Config) -> Env:
        tried.append(config)
        if config.backend == "envpool":
            raise InputError("no envpool")
        return make_env(config)

    monkeypatch.setattr(planning, "make_env", without_envpool)
    (plan,) = plans(What(device="cuda:7"), "10:30")
    assert tried == [replace(Config("CartPole-v1"), seeds=(0,), lanes=1, device="cpu")]
    assert plan.config.device == "cuda:7"
    found = plans(What(suite="classic"))
    assert len(found) == len(SUITES["classic"].settings) - 1
    assert found[0].left_out == ("LunarLander-v3 (no envpool)",)
    assert "left out: LunarLander-v3 (no envpool)" in capsys.readouterr().err
    with pytest.raises(InputError, match="no envpool"):
        plans(What(suite="classic", env="LunarLander-v3"))


def test_a_command_is_told_without_where_results_go_who_makes_them_and_any_path_of_this_machine() -> None:
    arguments = ["--suite", "classic", "--out", "/tmp/x", "--seeds", "30", "--workers=4", "--scheduler", "tcp://a:1"]
    assert again("run", arguments) == "python -m ablations run --suite classic --seeds 30"
    assert again("run", ["--device", "cuda", "--workers", "2"]) == "python -m ablations run --device cuda"
    assert again("run", ["--env", "ALE/Pong-v5"]) == "python -m ablations run --env ALE/Pong-v5"
    assert again("games", ["runs/x y", "--out", "a b", "--workers=2"]) == "python -m ablations games 'runs/x y'"
    for folder in ("/home/me/runs/breakout", "~/runs/breakout", "../../breakout", "/breakout/"):
        assert again("games", [folder, "--greedy"]) == "python -m ablations games breakout --greedy"
    assert again("games", ["runs/breakout"]) == "python -m ablations games runs/breakout"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run --tricks action_mask", "CartPole-v1 gives no action mask, so action_mask has no effect"),
        ("run --design ppo --tricks clip", "the design ppo has its own arms"),
        ("run --tricks ppg", "ppg is beyond the ladder: leave out --tricks"),
        ("run --tricks clip,shared_trunk,ppg", "shared_trunk, ppg are beyond the ladder"),
        ("run --tricks baseline,popart", "return_norm is needed, and itself needs baseline: add return_norm"),
        ("tune --suite published", "the suite published has fixed learning rates"),
        ("tune --suite worlds", "python -m ablations worlds --tune"),
        ("run --suite worlds --backend gymnasium", "leave out --backend"),
        ("run --suite classic --backend gymnasium", "a suite has its own backends"),
        ("run --suite mujoco --env Ant-v5", "it has Hopper-v5, Walker2d-v5, HalfCheetah-v5\n"),
    ],
)
def test_what_makes_no_sense_is_refused(words: str, message: str, refuses: Callable[..., None]) -> None:
    refuses(main, words.split(), message)


def test_a_suite_has_settings_with_their_own_designs_and_budgets_of_which_one_picks() -> None:
    asked = {plan.config.env: [design.name for design in plan.designs] for plan in plans(What(suite="beyond"))}
    assert asked["CartPole-v1"] == asked["Acrobot-v1"] == ["beyond", "beyond-normed"]
    assert asked["MiniGrid-Unlock-v0"] == ["beyond"]
    (chosen,) = plans(What(suite="beyond", env="CartPole-v1", design="beyond"))
    assert [(design.name, design.names) for design in chosen.designs] == [("beyond", SUITES["beyond"].beyond)]
    (every,), (boxed,) = plans(What(design="beyond")), plans(What(design="beyond", env="Pendulum-v1"))
    assert boxed.designs[0].names == tuple(name for name in NEEDS if name not in LADDER)
    assert every.designs[0].names == tuple(name for name in boxed.designs[0].names if name != "squash")
    robots = {"continuous": {1_000_000}, "around-continuous": {300_000}, "ladder": {300_000, 1_000_000}}
    for design, budgets in robots.items():
        assert {plan.config.steps for plan in plans(What(suite="mujoco", design=design))} == budgets
    (same,) = plans(What(suite="mujoco", env="Hopper-v5", design="ladder", steps=1000))
    assert same.config.steps == 1000


def test_seeds_come_in_fixed_blocks_and_an_arm_that_many_share_has_as_many_again() -> None:
    assert blocks(range(5, 31)) == [tuple(range(10)), tuple(range(10, 30)), tuple(range(30, 40))]
    assert blocks(range(40, 70)) == [tuple(range(40, 60)), tuple(range(60, 70))]
    assert (blocks([29, 10]), blocks([9])) == ([tuple(range(10, 30))], [tuple(range(10))])
    assert parse_seeds("10:12") == (10, 11)
    assert (parse_seeds("1100:1130")[-1], len(parse_seeds("2000"))) == (1129, 2000)
    for text, said in (
        *((text, "seed") for text in ("0", "5:5", "a", "3:2")),
        ("999999999:1000000001", "are for tuning only, so --seeds 999999999:1000000001 cannot be reported"),
        ("5000:205000", "at most 100,000 seeds, not 200,000"),
    ):
        with pytest.raises(InputError, match=said):
            parse_seeds(text)
    (plan,) = plans(What(design="ladder,leave-one-out"), "30:60")
    counts = {arm.name: len(plan.seeds_of(arm.tricks)) for design in plan.designs for arm in design.arms}
    assert counts.pop("all") == counts.pop("+ clip_anneal") == 60  # the last rung is the full set, too
    assert set(counts.values()) == {30}
    assert {seed for job in plan.jobs for seed in job.config.seed_list} == {*range(30, 60), *range(90, 120)}
    assert plans(What(), "100")[0].seeds_of(REINFORCE) == tuple(range(100))


def test_no_two_tries_or_rates_share_a_seed_and_none_is_ever_reported() -> None:
    for seeds in (range(10), range(30, 60), range(40), range(60), range(100)):
        one, other = ({*some, *further(some)} for some in (seeds, following(seeds)))
        assert not one & other and len(one) == len(other) == 2 * len(seeds)
    assert further(range(880, 910))[0] == 940
    last = range(FIRST_TUNING_SEED - 30, FIRST_TUNING_SEED)
    with pytest.raises(InputError, match=r"so seeds 1000000030 .*, which the arms shared by many .*, cannot be"):
        further(last)
    with pytest.raises(InputError, match=r"1000000000 on are for tuning only, so seeds 1000000000 .*, which --confirm"):
        following(last)
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


def test_seeds_that_chose_the_oldest_rates_are_refused_where_they_did(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    kept = {"CartPole-v1": "", "Acrobot-v1": "1 1 1"}  # each seed's score
    rows = [(env, 9, "", "", 0.01, 1.0, 1.0, 3, areas) for env, areas in kept.items()]
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    refused = "seeds 1000 to 1099 chose learning rates in CartPole-v1; name others to be reported"
    for seeds in (range(2000), range(1099, 1101)):
        with pytest.raises(InputError, match=refused):
            refuse_tuned_on(Config("CartPole-v1"), REINFORCE, seeds)
        refuse_tuned_on(Config("Acrobot-v1"), REINFORCE, seeds)  # tuned, but on later seeds
        refuse_tuned_on(Config("CartPole-v1"), PPO, seeds)  # not tuned at all
    refuse_tuned_on(Config("CartPole-v1"), REINFORCE, range(1000))
    with pytest.raises(InputError, match=refused):
        plans(What(), "1000:1010")[0].seeds_of(REINFORCE)
    rate_table.table.cache_clear()


TINY = Config(steps=200, lanes=2, horizon=16)
SHIPPED = rate_table.TABLE
DAMAGED = "is damaged or not a table of learning rates: "


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    table.cache_clear()
    yield tmp_path / "rates.csv"
    table.cache_clear()


def store(*rows: tuple[Any, ...]) -> None:
    store_table(pd.DataFrame(rows, columns=COLUMNS))


def test_a_table_that_is_not_whole_is_refused_in_one_line_and_one_that_was_tuned_has_a_checksum(rates: Path) -> None:
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
    store(*(("x", 9, "", arm, lr, 0.1, None, 5, "") for arm in ("", "gae") for lr in GRID))
    assert len(table()) == 2 * len(GRID)
    stored = rates.read_bytes()
    for content in [*flips(stored), stored[: stored.index(b"x,9,,gae")]]:
        rates.write_bytes(content)
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


def test_a_rate_at_which_no_episode_ends_is_never_best_nor_is_a_seed_s_area_known(rates: Path) -> None:
    left = rates.parent / f".rates.csv.{HOST}.999999999"  # by a process that was killed
    left.touch()
    store_table(ROWS.assign(area=[np.nan, 2.0], areas=["nan 3", ""]))
    assert table().area.isna().tolist() == [True, False]
    assert not left.exists()
    nothing = Tried((np.nan, 500.0), ())
    assert nothing.area == -np.inf
    seen = {rate: nothing if rate == 0.01 else Tried((-abs(np.log(rate / 0.003)),) * 2, ()) for rate in GRID}
    assert 0.01 not in still_wanted(seen, 2)


def test_every_arm_has_its_own_tuned_rate_inside_the_grid_which_had_a_second_look() -> None:
    scores = table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(GRID)
        best = mine[mine.seeds == mine.seeds.max()].set_index("lr").area.idxmax()
        assert best_rate(Config(), arm.tricks) == (best, "")
        assert best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert best_rate(Config(env="Nowhere-v0"), REINFORCE) == (0.003, "not tuned")
    # Ten lucky seeds can be ahead of twenty honest ones.
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


def test_finalists_are_those_of_the_first_look_and_the_next_rate_gets_both_at_once() -> None:
    """The best of the first look fails at the second: the fourth, which has had no second look, does not move up."""
    first = dict(zip(GRID, (1.0, 2.0, 6.0, 9.0, 8.0, 7.0, 0.0), strict=True))
    seen = {rate: Tried((score,) * 4, ()) for rate, score in first.items()}
    assert still_wanted(seen, 4) == dict.fromkeys((0.01, 0.03, 0.1), range(4, 8))
    seen |= {0.01: Tried((9.0,) * 4 + (-99.0,) * 4, ())} | {rate: Tried((first[rate],) * 8, ()) for rate in (0.03, 0.1)}
    assert still_wanted(seen, 4) == {}
    seen |= {rate: Tried((first[rate],) * 4 + (-99.0,) * 4, ()) for rate in (0.03, 0.1)}
    seen |= {0.0003: Tried((6.5,) * 4, ())}
    assert still_wanted(seen, 4) == {}  # though the lowest rate is now ahead, at a first look
    first = dict(zip(GRID, (8.0, 9.0, 7.0, 0.0, 0.0, 0.0, 0.0), strict=True))
    second = {0.0003: 8.0, 0.001: 1.0, 0.003: 7.0}
    seen = {rate: Tried((x,) * 4 + (second.get(rate, 0.0),) * 4 * (rate in second), ()) for rate, x in first.items()}
    assert still_wanted(seen, 4) == {1e-4: range(8)}


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
def test_a_first_look_is_at_ten_seeds_and_a_second_at_ten_more_of_three_rates(monkeypatch: Patch) -> None:
    monkeypatch.setattr(tuning, "run_jobs", lambda jobs, store, workers: {})
    tune([Job(TINY, PPO)], Told(), workers=1)  # type: ignore[arg-type]
    rows = table().set_index("lr")
    assert rows.seeds.to_dict() == dict.fromkeys(GRID, 10) | dict.fromkeys((0.003, 0.01, 0.03), 20)
    assert rows.area[[0.001, 0.01, 0.1]].tolist() == [-1, 0, -1]
    assert (rows.late[[0.001, 0.01, 0.1]].tolist(), rows.areas[0.1]) == ([99, 100, 99], " ".join(["-1"] * 10))


def test_what_a_user_tunes_goes_to_a_table_beside_the_package_s(rates: Path, capsys: Capture) -> None:
    store(("Other-v0", 100, "", "", 0.1, 1.0, 1.0, 1, "1"))
    before, own = rates.read_bytes(), rates.with_name("learning_rates.csv")
    few = ["--tricks", "baseline", "--steps", "200"]
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

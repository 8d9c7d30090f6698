"""Questions: which arms run where, on which seeds, under which name, and at which learning rates, tuned on seeds that
are never reported: seven rates at first, past the edge if the best lies there, the best three again."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Capture, Patch, Told, refusal
from support.studies import TINY, flips

from ablations import Arm, areas_of, cli, flags
from ablations.cli import again
from ablations.experiments import design_runs
from ablations.experiments.compare import design_of
from ablations.experiments.design_runs import What, questions
from ablations.question.around import fits
from ablations.question.designs import SUITES, ladder
from ablations.question.words import function_from, usable
from ablations.training import jobs, tuning
from ablations.training import rates as rate_table
from ablations.training.jobs import Job, own_of
from ablations.training.question import TUNE, Question
from ablations.training.rates import GRID, UNTUNED, at_edge, best_of, best_rate, table
from ablations.training.seed_ranges import FIRST_TUNING_SEED, blocks, following, further, parse_seeds
from ablations.training.store import LONGEST, Store, name_of
from ablations.training.tuning import Tried, jobs_at, still_wanted, tune
from tricks import PPO, REINFORCE, Config, InputError
from tricks.core.env import Env
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS
from tricks.version import ALGORITHM


def asked_for(seeds: str = "10", **what: Any) -> Question:
    (found,) = questions(What(**what), seeds)
    return found


def jobs_of(asked: Question) -> dict[Job, Any]:
    return asked.jobs(asked.table_rates)


def test_tuned_arms_have_their_own_rates_and_one_that_is_not_puts_all_at_the_same() -> None:
    tuned, mixed, borrowed = asked_for(), asked_for(design="ladder,scales"), asked_for(steps=500)
    fixed = asked_for(suite="published", env="CartPole-v1")
    assert {rate.reservation for rate in tuned.table_rates.values()} == {""}
    assert len({rate.value for rate in tuned.table_rates.values()}) > 1
    assert set(mixed.table_rates.values()) == {(UNTUNED, "not tuned")}
    assert set(fixed.table_rates.values()) == {(2.5e-4, "fixed")}
    assert borrowed.in_words.endswith("each arm at its own learning rate, tuned at 100,000 steps")
    for asked in (tuned, mixed, borrowed, fixed):
        assert all(set(job.config.rates) == {rate.value} for job, (_, rate) in jobs_of(asked).items())


def test_a_job_is_an_arm_and_a_whole_block_of_seeds_and_studies_that_differ_have_other_names() -> None:
    asked = asked_for("5:12", tricks="entropy,grad_clip", steps=500)
    assert {job.config.seeds for job in jobs_of(asked)} == {tuple(range(10)), tuple(range(10, 30))}
    assert len(jobs_of(asked)) == 2 * len(asked.arms) == 6 and {job.config.steps for job in jobs_of(asked)} == {500}
    more: list[dict[str, Any]] = [{}, {"steps": 500}, {"tricks": "clip,gae"}, {"tricks": "clip,entropy"}]
    found = [asked_for(**what) for what in (*more, {"env": "Acrobot-v1"}, {"design": "ladder,add-one-in"})]
    names = [each.name for each in found] + [asked_for("10:20").name]
    assert len(set(names)) == len(names)
    assert (names[0], What().workers, What().out) == ("ladder_CartPole-v1", 0, Path("runs/ablations"))  # unless told
    assert questions(What(suite="cartpole"))[0].name == "ladder_CartPole-v1_from30"
    namespaced = replace(found[0], config=replace(found[0].config, env="a/b_c/d"))  # which is no folder
    assert namespaced.name == "ladder_a_b_c_d"


@pytest.mark.parametrize(
    ("whole", "start"),
    [("a" * 140, None), ("a" * 141, "a" * 123), ("γ" * 70, None), ("γ" * 71, "γ" * 61), ("aγ" * 60, "aγ" * 41)],
)
def test_a_name_of_more_than_140_bytes_ends_in_a_hash_of_it_all(whole: str, start: str | None) -> None:
    short = f"{start}-{sha256(whole.encode()).hexdigest()[:16]}" if start else whole
    assert (name_of("", whole, first=0), name_of(whole, "", first=10)) == (short, f"{short}_from10")
    assert len(short.encode()) <= LONGEST


def test_one_lane_is_tried_beforehand_and_what_cannot_be_made_is_left_out(monkeypatch: Patch, capsys: Capture) -> None:
    def without_envpool(config: Config) -> Env:
        assert (config.lanes, config.device) == (1, "cpu")
        if config.backend == "envpool":
            raise InputError("no envpool")
        return make_env(config)

    monkeypatch.setattr(design_runs, "make_env", without_envpool)
    asked = asked_for("10:30", device="cuda:7")
    assert asked.config.device == "cuda:7"
    found = questions(What(suite="classic"))
    assert len(found) == len(SUITES["classic"].settings) - 1
    assert found[0].left_out == ("LunarLander-v3 (no envpool)",)
    assert "left out: LunarLander-v3 (no envpool)" in capsys.readouterr().err
    refusal("no envpool", questions, What(suite="classic", env="LunarLander-v3"))


def test_a_command_is_told_without_where_results_go_who_makes_them_and_any_path_of_this_machine() -> None:
    arguments = ["--suite", "classic", "--out", "/tmp/x", "--seeds", "30", "--workers=4"]
    assert again("run", arguments) == "python -m ablations run --suite classic --seeds 30"
    assert again("run", ["--device", "cuda", "--workers", "2"]) == "python -m ablations run --device cuda"
    assert again("run", ["--env", "ALE/Pong-v5"]) == "python -m ablations run --env ALE/Pong-v5"
    assert again("compare", ["runs/x y", "--out", "a b", "--workers=2"]) == "python -m ablations compare 'runs/x y'"
    for folder in ("/home/me/runs/breakout", "~/runs/breakout", "../../breakout", "/breakout/"):
        assert again("plot", [folder, "--x"]) == "python -m ablations plot breakout --x"
    assert again("plot", ["runs/breakout"]) == "python -m ablations plot runs/breakout"


def test_a_suite_has_settings_with_their_own_designs_and_budgets_of_which_one_picks() -> None:
    chosen = asked_for(suite="beyond", env="CartPole-v1", design="beyond")
    assert [(design.name, design.names) for design in chosen.designs] == [("beyond", SUITES["beyond"].beyond)]
    every, boxed = asked_for(design="beyond"), asked_for(design="beyond", env="Pendulum-v1")
    assert boxed.designs[0].names == tuple(name for name in NEEDS if name not in LADDER and fits(PPO, name))
    assert every.designs[0].names == tuple(name for name in boxed.designs[0].names if name != "squash")
    robots = {"continuous": {1_000_000}, "around-continuous": {300_000}, "ladder": {300_000, 1_000_000}}
    for design, budgets in robots.items():
        assert {each.config.steps for each in questions(What(suite="mujoco", design=design))} == budgets
    assert asked_for(suite="mujoco", env="Hopper-v5", design="ladder", steps=1000).config.steps == 1000


def test_seeds_come_in_fixed_blocks_and_an_arm_that_many_share_has_as_many_again() -> None:
    assert blocks(range(5, 31)) == [tuple(range(10)), tuple(range(10, 30)), tuple(range(30, 40))]
    assert blocks(range(40, 70)) == [tuple(range(40, 60)), tuple(range(60, 70))]
    assert (blocks([29, 10]), blocks([9])) == ([tuple(range(10, 30))], [tuple(range(10))])
    assert parse_seeds("10:12") == (10, 11)
    assert (parse_seeds("1100:1130")[-1], len(parse_seeds("2000"))) == (1129, 2000)
    for text, said in (
        *((text, "seed") for text in ("0", "5:5", "a", "3:2")),
        ("999999999:1000000001", "are for tuning only, so seeds 999999999 to 1000000000 cannot be reported"),
        ("5000:205000", "at most 100,000 seeds, not 200,000"),
    ):
        refusal(said, parse_seeds, text)
    asked = asked_for("30:60", design="ladder,leave-one-out")
    counts = {arm.name: len(asked.seeds_of(arm)) for arm in asked.arms}
    twice = [name for name, count in counts.items() if count == 60]  # the last rung is the full set, too
    assert twice == ["+ clip_anneal"] and set(counts.values()) == {30, 60}
    assert {seed for job in jobs_of(asked) for seed in job.config.seed_list} == {*range(30, 60), *range(90, 120)}
    assert asked_for("100").seeds_of(Arm("reinforce", REINFORCE)) == tuple(range(100))


def test_no_two_tries_or_rates_share_a_seed_and_none_is_ever_reported() -> None:
    for seeds in (range(10), range(30, 60), range(40), range(60), range(100)):
        one, other = ({*some, *further(some)} for some in (seeds, following(seeds)))
        assert not one & other and len(one) == len(other) == 2 * len(seeds)
    assert further(range(880, 910))[0] == 940
    last = range(FIRST_TUNING_SEED - 30, FIRST_TUNING_SEED)
    refusal(r"so seeds 1000000030 to 1000000059 cannot be", further, last)
    refusal(r"1000000000 on are for tuning only, so seeds 1000000000 to ", following, last)
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


SHIPPED = rate_table.TABLE


def store(*rows: tuple[Any, ...]) -> None:
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))


def test_a_table_with_one_flipped_bit_or_less_than_the_whole_is_refused_by_its_name(rates: Path) -> None:
    whole = SHIPPED.read_text()
    lines = whole.splitlines(keepends=True)
    damaged = ["", lines[0], "a,b\n1,2\n", "".join(lines[: len(lines) // 2]), whole + lines[-1], "".join(lines[1:])]
    damaged += ["# [1]\n" + whole, whole.replace(",5,\n", ",-5,\n", 1)]
    store(*(("x", 9, "", arm, lr, 0.1, None, 5, "") for arm in ("", "gae") for lr in GRID))
    assert len(table()) == 2 * len(GRID)
    stored = rates.read_bytes()
    for content in (*(text.encode() for text in damaged), b"\xff\xfe", *flips(stored), stored[:-2]):
        rates.write_bytes(content)
        table.cache_clear()
        refusal(rf"^{rates} is damaged or not a table of learning rates: .+$", table)


@pytest.mark.usefixtures("rates")
def test_a_rate_at_which_no_episode_ends_is_never_best_nor_is_a_seed_s_area_known() -> None:
    ends = [("x", 9, "", "", 1.0, np.nan, 2.5, 2, "nan 3"), ("y", 9, "", "", 1.0, 2.0, 2.5, 2, "")]
    store(*ends)
    assert table().area.isna().tolist() == [True, False]
    nothing = Tried((np.nan, 500.0), ())
    seen = {rate: nothing if rate == 0.01 else Tried((-abs(np.log(rate / 0.003)),) * 2, ()) for rate in GRID}
    assert 0.01 not in still_wanted(seen, 2)


def test_every_arm_has_its_own_tuned_rate_inside_the_grid_which_had_a_second_look() -> None:
    scores = table()
    for arm in ladder(usable(Config("CartPole-v1"))).arms:
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
    assert {len(areas) for areas in areas_of(scores)} == {2, 4}
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
    assert {*table().env} == {"Elsewhere-v0", "Here-v0", TINY.env}  # and is remembered
    rates.write_bytes(theirs)  # what another process stored meanwhile is kept
    tune(arms[:1], Store(rates.parent), workers=1, seeds=1)
    assert set(table().env) == {"Elsewhere-v0", TINY.env}


class Holding:
    """A store that holds whatever is asked for: the nearer a rate is to 0.01, the better, and the end is 100 better."""

    def scored(self, job: Job) -> SimpleNamespace:
        score = -abs(np.log10(job.config.rates) + 2)
        return SimpleNamespace(table=lambda seeds: pd.DataFrame({"score": score, "late": score + 100}, list(seeds)))


@pytest.mark.usefixtures("rates")
def test_a_first_look_is_at_ten_seeds_and_a_second_at_ten_more_of_three_rates(monkeypatch: Patch) -> None:
    monkeypatch.setattr(tuning, "run_jobs", lambda jobs, store, workers: {})
    tune([Job(TINY, PPO)], Holding(), workers=1)  # type: ignore[arg-type]
    rows = table().set_index("lr")
    assert rows.seeds.to_dict() == dict.fromkeys(GRID, 10) | dict.fromkeys((0.003, 0.01, 0.03), 20)
    assert rows.area[[0.001, 0.01, 0.1]].tolist() == [-1, 0, -1]
    assert (rows.late[[0.001, 0.01, 0.1]].tolist(), rows.areas[0.1]) == ([99, 100, 99], " ".join(["-1"] * 10))


def test_what_a_user_tunes_goes_to_a_table_beside_the_package_s(rates: Path, told: Told) -> None:
    store(("Other-v0", 100, "", "", 0.1, 1.0, 1.0, 1, "1"))
    before, own = rates.read_bytes(), rates.with_name("learning_rates.csv")
    few = ["--tricks", "baseline", "--steps", "200"]
    words = ["tune", "--env", TINY.env, *few, "--seeds-per-rate", "1", "--workers", "1"]
    assert f"wrote {own}" in told([*words, "--out", str(rates.parent)], main=cli.main)
    assert rates.read_bytes() == before
    assert best_rate(Config(steps=200), REINFORCE).reservation == "not tuned"  # the command is over
    rate_table.use(own)
    assert best_rate(Config(steps=200), REINFORCE).reservation == ""
    assert set(table().env) == {"Other-v0", TINY.env}
    asked = ["run", *few, "--dry-run", "--out", str(rates.parent)]
    assert "not all arms are tuned" not in told(asked, main=cli.main)
    rate_table.use(None)


def test_a_rate_is_known_by_the_sign_of_the_reward_as_if_that_were_a_flag(rates: Path) -> None:
    store(("Other-v0", 100, "", "reward_sign", 0.1, 1.0, 1.0, 1, "1"))
    config = Config("Other-v0", steps=100)
    assert best_rate(replace(config, reward_sign=True), REINFORCE) == (0.1, "")
    assert best_rate(config, REINFORCE).reservation == "not tuned"


CARTPOLE = replace(TINY, env="CartPole-v1")
PAIR = (Arm("ppo", PPO), Arm("other", REINFORCE))


def about(*arms: Arm, config: Config = TINY, **more: Any) -> Question:
    return Question(config, (design_of(arms or PAIR),), (0, 1), named=True, **more)


def halved(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage / 2


def doubled(ratio: Any, advantage: Any, clip_range: Any) -> Any:
    return ratio * advantage * 2


def other_arm(tricks: Any, numbers: Any = (), **functions: Any) -> Question:
    return about(PAIR[0], Arm("other", tricks, dict(numbers), functions))


OTHERS = [
    about(),
    *(
        about(config=Config(**{**vars(config), name: x}))
        for config, name, x in (
            (TINY, "env", "tricks/NoisyChain-v0"),
            (CARTPOLE, "env_args", ("sutton_barto_reward=True",)),
            (CARTPOLE, "wrap", ("gymnasium.wrappers:FlattenObservation",)),
            *((TINY, name, x) for name, x in (("steps", 640), ("lanes", 4), ("backend", "gymnasium"), ("lr", 0.5))),
            *((TINY, "record", (name,)) for name in ("level", "cost", "cost:sum")),
        )
    ),
    *(about(rates=(0.001, 0.003), rate_seeds=count) for count in (10, 3)),
    about(rates=TUNE),
    other_arm(replace(PPO, gae=False)),
    other_arm(REINFORCE, {"lr": 0.7}),
    other_arm(PPO, clipped_surrogate=halved),
    other_arm(PPO, clipped_surrogate=doubled),
    about(*PAIR[::-1]),
    about(PAIR[0], PAIR[1].like("another")),
    about(PAIR[0], PAIR[1], Arm("third", replace(PPO, gae=False))),
    about(margin=0.5),
    about(score="late"),
]


def test_every_question_has_a_name_of_its_own_whatever_its_seeds_are(tmp_path: Path, monkeypatch: Patch) -> None:
    every, file = [*OTHERS], tmp_path / "mine.py"
    for factor in (2, 3, 2):  # a function whose file changed is another one
        file.write_text(f"def mine(ratio, advantage, clip_range):\n    return ratio * {factor}\n")
        every.append(other_arm(PPO, clipped_surrogate=function_from(f"{file}:mine")))
        assert every[-1].digest  # which reads the file
    assert every.pop().digest == every[-2].digest
    digests = [each.digest for each in every]
    assert len({*digests}) == len(digests) == len({each.name for each in every})
    more = replace(OTHERS[0], seeds=(0, 1, 2))
    assert (more.digest, more.name) == (digests[0], OTHERS[0].name)
    assert replace(more, seeds=(5, 6)).name == f"{more.name}_from5"
    monkeypatch.setattr(jobs, "ALGORITHM", ALGORITHM + 1)
    assert OTHERS[0].digest == digests[0]


def test_a_module_of_one_s_own_counts_in_every_job_and_question(tmp_path: Path, monkeypatch: Patch) -> None:
    """After a change of its file, no finished job and no stored study stands for it."""
    home = tmp_path / "mine_of_folders.py"
    home.write_text("import gymnasium as gym\ngym.register('Mine-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config, keys = Config("mine_of_folders:Mine-v0"), []
    for line in ("", "# changed\n"):
        home.write_text(home.read_text() + line)
        asked = asked_for("1", env=config.env, tricks="baseline", steps=64)
        keys.append((next(iter(jobs_of(asked))).key, Job(config, REINFORCE, own_of(config)).key, asked.digest))
    assert all(before != after for before, after in zip(*keys, strict=True))
    assert own_of(Config()) is None

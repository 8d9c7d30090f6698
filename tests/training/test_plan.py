"""Plans: which arms run where, at which rates, on which seeds, under which name, and what is tried beforehand."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import ablations.training.plan as planning
from ablations.cli import again, main
from ablations.design.registry import SUITES
from ablations.training import rate_table
from ablations.training.plan import plans
from ablations.training.rates import UNTUNED, refuse_tuned_on
from ablations.training.seed_ranges import FIRST_TUNING_SEED, blocks, following, further, parse_seeds
from ablations.training.store import name_of
from ablations.training.what import What
from tricks import PPO, REINFORCE, Config, InputError
from tricks.core.env import Env
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS


def test_tuned_arms_have_their_own_rates_and_one_that_is_not_puts_all_at_the_same() -> None:
    (tuned,), (mixed,), (borrowed,) = (plans(x, "10") for x in (What(), What(design="ladder,screen"), What(steps=500)))
    assert {rate.reservation for rate in tuned.rates.values()} == {""}
    assert len({rate.value for rate in tuned.rates.values()}) > 1
    assert "tune" not in tuned.in_words
    assert "learning rates" not in tuned.in_words
    assert set(mixed.rates.values()) == {(UNTUNED, "not tuned")}
    assert f"all run at {UNTUNED:g}" in mixed.in_words
    few = replace(mixed, only=frozenset(mixed.arms[:2]))  # both are tuned, but the comparison was made without
    assert few.rates == {arm: mixed.rates[arm] for arm in mixed.arms[:2]}
    fixed = plans(What(suite="published", env="CartPole-v1"))[0]
    assert set(fixed.rates.values()) == {(2.5e-4, "fixed")}
    for plan, said in ((borrowed, "tuned at 100,000 steps"), (fixed, "fixed")):
        assert plan.in_words.endswith(f"; learning rates {said}")
        assert all(set(job.config.rates) == {rate.value} for job, rate in plan.jobs.items())


def test_a_job_is_an_arm_and_a_whole_block_of_seeds() -> None:
    (plan,) = plans(What(tricks="entropy,grad_clip", steps=500), "5:12")
    assert {job.config.seeds for job in plan.jobs} == {tuple(range(10)), tuple(range(10, 30))}
    assert len(plan.jobs) == 2 * len(plan.arms) == 6
    assert {job.config.steps for job in plan.jobs} == {500}


def test_studies_that_differ_have_names_that_differ() -> None:
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
    assert name_of("", whole, first=0) == short
    assert name_of(whole, "", first=10) == f"{short}_from10"


def test_what_is_tried_beforehand_is_one_lane_on_the_cpu_and_what_cannot_be_made_is_left_out_of_a_suite_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_seeds_come_in_fixed_blocks() -> None:
    assert blocks(range(5, 31)) == [tuple(range(10)), tuple(range(10, 30)), tuple(range(30, 40))]
    assert blocks(range(40, 70)) == [tuple(range(40, 60)), tuple(range(60, 70))]
    assert blocks([29, 10]) == [tuple(range(10, 30))]
    assert blocks([9]) == [tuple(range(10))]
    assert parse_seeds("10:12") == (10, 11)
    assert parse_seeds("1100:1130")[-1] == 1129
    assert len(parse_seeds("2000")) == 2000
    for text, said in (
        *((text, "seed") for text in ("0", "5:5", "a", "3:2")),
        ("999999999:1000000001", "are for tuning only, so --seeds 999999999:1000000001 cannot be reported"),
        ("5000:205000", "at most 100,000 seeds, not 200,000"),
    ):
        with pytest.raises(InputError, match=said):
            parse_seeds(text)


def test_an_arm_that_half_of_the_comparisons_share_has_as_many_seeds_again_that_no_other_arm_has() -> None:
    (plan,) = plans(What(design="ladder,leave-one-out"), "30:60")
    counts = {arm.name: len(plan.seeds_of(arm.tricks)) for design in plan.designs for arm in design.arms}
    assert counts.pop("all") == counts.pop("+ clip_anneal") == 60  # the last rung is the full set, too
    assert set(counts.values()) == {30}
    assert {seed for job in plan.jobs for seed in job.config.seed_list} == {*range(30, 60), *range(90, 120)}
    assert plans(What(), "100")[0].seeds_of(REINFORCE) == tuple(range(100))


def test_two_tries_have_no_seed_in_common_and_none_with_tuning() -> None:
    for seeds in (range(10), range(30, 60), range(40), range(60), range(100)):
        first, second = ({*some, *further(some)} for some in (seeds, following(seeds)))
        assert not first & second
        assert len(first) == len(second) == 2 * len(seeds)
    assert further(range(880, 910))[0] == 940
    last = range(FIRST_TUNING_SEED - 30, FIRST_TUNING_SEED)
    with pytest.raises(InputError, match=r"so seeds 1000000030 .*, which the arms shared by many .*, cannot be"):
        further(last)
    with pytest.raises(InputError, match=r"1000000000 on are for tuning only, so seeds 1000000000 .*, which --confirm"):
        following(last)


def test_the_seeds_that_chose_the_oldest_rates_are_refused_where_they_did_and_only_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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

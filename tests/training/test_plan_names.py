"""Plans: what they are called and say of themselves, the numbers of their jobs, and what is tried beforehand."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import ablations.training.plan as planning
from ablations.training.plan import plans
from ablations.training.store import name_of
from ablations.training.what import What
from tricks import Config
from tricks.core.env import Env
from tricks.envs.make import make_env


@pytest.mark.parametrize(
    ("whole", "start"),
    [("a" * 140, None), ("a" * 141, "a" * 123), ("γ" * 70, None), ("γ" * 71, "γ" * 61), ("aγ" * 60, "aγ" * 41)],
)
def test_a_name_of_more_than_140_bytes_ends_in_a_hash_of_it_all(whole: str, start: str | None) -> None:
    short = f"{start}-{sha256(whole.encode()).hexdigest()[:16]}" if start else whole
    assert name_of("", whole, first=0) == short
    assert name_of(whole, "", first=10) == f"{short}_from10"


def test_an_environment_of_a_namespace_is_no_folder() -> None:
    (plan,) = plans(What(), "10")
    assert replace(plan, config=replace(plan.config, env="a/b_c/d")).name == "ladder_a_b_c_d"


def test_a_plan_says_at_which_rates_it_runs_unless_each_is_tuned_for_it() -> None:
    tuned, borrowed, fixed = (
        plans(what, "10")[0] for what in (What(), What(steps=500), What(suite="published", env="CartPole-v1"))
    )
    assert "learning rates" not in tuned.in_words
    assert borrowed.in_words.endswith("; learning rates tuned at 100,000 steps")
    assert fixed.in_words.endswith("; learning rates fixed")
    for plan in (borrowed, fixed):
        assert all(set(job.config.rates) == {rate.value} for job, rate in plan.jobs.items())


def test_what_is_tried_beforehand_is_one_lane_of_one_seed_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[Config]()

    def noted(config: Config) -> Env:
        tried.append(config)
        return make_env(config)

    monkeypatch.setattr(planning, "make_env", noted)
    (plan,) = plans(What(device="cuda:7"), "10:30")
    assert tried == [replace(Config("CartPole-v1"), seeds=(0,), lanes=1, device="cpu")]
    assert plan.config.device == "cuda:7"


def test_unless_told_a_ladder_is_trained_on_every_core_into_a_folder_of_runs() -> None:
    chosen = What()
    (plan,) = plans(chosen, "10")
    assert (plan.name, chosen.workers, chosen.out) == ("ladder_CartPole-v1", 0, Path("runs/ablations"))

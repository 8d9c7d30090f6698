"""Numbers of one's own, from infos, are columns of the curve."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from support.any_space import AnySpace

from tricks import PPO, REINFORCE, Checkpoints, Config, InputError, Tricks, further, load, resume, train
from tricks.cli.train import summary
from tricks.texts import recorded

SMALL = Config("own", seeds=(0, 3), steps=200, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
RULES = ("level", "cost:sum", "speed:mean", "inner.depth", "is_success")


class Telling(AnySpace):
    """Episodes of five steps. Each costs 2, all but the first have a speed, and the last one has is_success."""

    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"level": np.array([self.t]), "cost": 2, "inner": {"depth": torch.tensor(7.0)}}
        info |= {"speed": None if self.t == 1 else np.float32(self.t)} | ({"is_success": True} if self.t == 5 else {})
        return info | {"junk": object(), "level_": "x"} if self.t else {"cost": 1000}


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["episodes", "segments"])
@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_each_rule_gives_the_number_of_an_episode(tricks: Tricks, backend: str) -> None:
    curve = train(replace(SMALL, record=RULES, backend=backend), tricks, env=Telling).curve
    ended = curve[curve.episodes > 0]
    assert list(curve)[-5:] == ["level", "cost", "speed", "inner.depth", "is_success"]
    expected = {"level": 5, "cost": 10, "speed": 3.5, "inner.depth": 7, "is_success": 1}
    assert {name: set(ended[name]) for name in expected} == {name: {x} for name, x in expected.items()}


def test_recording_changes_nothing_else() -> None:
    for env in (None, Telling):
        config = replace(SMALL, env="CartPole-v1", backend="gymnasium")
        plain, told = (train(replace(config, record=x), PPO, env=env).curve for x in ((), ("cost",)))
        pd.testing.assert_frame_equal(plain, told[list(plain)])


def test_an_update_without_an_end_has_no_number_and_episodes_go_on_across_updates() -> None:
    config = replace(SMALL, horizon=3, minibatches=1, record=("cost:sum",), steps=24)
    curve = train(config, PPO, env=Telling, checkpoints=Checkpoints("x", 6)).curve
    assert curve["cost"].isna().equals(curve.episodes == 0)
    assert set(curve["cost"].dropna()) == {10}


def test_a_run_with_records_is_resumed_saved_loaded_and_continued() -> None:
    def stop(rows: Any) -> None:
        if rows[0]["step"] > 100:
            raise KeyboardInterrupt

    config = replace(SMALL, record=("cost:sum",))
    with pytest.raises(KeyboardInterrupt):
        train(config, PPO, env=Telling, checkpoints=Checkpoints("x", 50), on_update=stop)
    run = resume("x", env=Telling)
    assert set(run.curve["cost"].dropna()) == {10}
    run.save("x")
    again = load("x", env=Telling)
    assert again.config == run.config
    pd.testing.assert_frame_equal(again.curve, run.curve)
    longer = further("x", 100, env=Telling).curve
    assert set(longer["cost"].dropna()) == {10}
    assert len(longer) > len(run.curve)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_name_that_no_info_has_is_said_once(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    curve = train(replace(SMALL, record=("sucess", "cost"), backend=backend), PPO, env=Telling).curve
    assert curve["sucess"].isna().all()
    assert capsys.readouterr().err == (
        "own: no info has had sucess in 4 episodes; "
        "the last one has cost, inner, is_success, junk, level, level_, speed\n"
    )


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_what_is_no_number_is_an_error_that_names_it(backend: str) -> None:
    for name, what in (("junk", "<object"), ("inner", "{'depth'"), ("level_", "'x'")):
        with pytest.raises(InputError, match=rf"^own: record: info\['{name}'\] must be a number, not {what}"):
            train(replace(SMALL, record=(name,), backend=backend), PPO, env=Telling)


@pytest.mark.parametrize("text", ["", "a,", "cost:max", "a b", "cost:", ":sum", "a,a:sum", 'a"b'])
def test_a_record_is_a_name_with_a_rule(text: str) -> None:
    with pytest.raises(InputError, match=r"^record "):
        Config(record=(text,))


def test_a_column_that_is_there_already_and_a_backend_without_infos_are_refused() -> None:
    with pytest.raises(InputError, match=r"^record: every curve has a column 'length'"):
        train(replace(SMALL, record=("length",)), PPO, env=Telling)
    for backend in ("tensor", "envpool"):
        with pytest.raises(InputError, match=f"^backend {backend} has no infos to record"):
            train(Config(backend=backend, record=("x",)), PPO)


def test_the_shell_takes_names_with_commas_or_again_and_finds_a_backend_that_has_them(told: Callable[..., str]) -> None:
    small = "--env CartPole-v1 --wrap gymnasium.wrappers:RecordEpisodeStatistics --seeds 1 --steps 200 --lanes 2"
    told(f"train ppo {small} --horizon 16 --record episode.r,episode.l:sum --record episode.t --out x")
    run = load("x")
    assert recorded(run.config.record) == {"episode.r": "last", "episode.l": "sum", "episode.t": "last"}
    assert list(run.curve)[-3:] == ["episode.r", "episode.l", "episode.t"]
    ended = run.curve[run.curve.episodes > 0]
    assert len(ended)
    np.testing.assert_allclose(ended["episode.r"], ended["return"])


class Paying(AnySpace):
    """Pays 0.25 a step, and never ends if so asked."""

    def __init__(self, ends: bool) -> None:
        super().__init__()
        self.ends = ends

    def step(self, action: Any) -> Any:
        obs, _, over, _, info = super().step(action)
        return obs, 0.25, over and self.ends, False, info


def test_the_reward_per_step_is_the_score_of_all_steps_whatever_the_agent_learns_from() -> None:
    run = train(SMALL, PPO, env=lambda: Paying(ends=False))
    assert run.curve["return"].isna().all()
    assert "no episode ended in the last 10% of the budget; mean reward per step there 0.25" in summary(run)
    for tricks in (REINFORCE, PPO):
        curve = train(replace(SMALL, reward_sign=True), tricks, env=lambda: Paying(ends=True)).curve
        assert (curve["reward"] == 0.25).all()
    assert (run.curve["reward"] == 0.25).all()


def test_the_summary_tells_what_was_recorded() -> None:
    said = summary(train(replace(SMALL, record=("cost:sum", "nothing")), PPO, env=Telling))
    assert "mean cost over the last 10%: 10\n" in said
    assert "mean nothing over the last 10%: no episode gave it" in said

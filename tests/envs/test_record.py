"""Numbers of one's own, from infos, are columns of the curve."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from support.any_space import AnySpace

from tricks import PPO, REINFORCE, Checkpoints, Config, InputError, Tricks, further, load, resume, train
from tricks.cli.main import main
from tricks.cli.summary import summary
from tricks.record import recorded

SMALL = Config("own", seeds=(0, 3), steps=200, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
RULES = ("level", "cost:sum", "speed:mean", "inner.depth", "is_success")


class Telling(AnySpace):
    """Episodes of five steps. Each costs 2, all but the first have a speed, and the last one has is_success."""

    def __init__(self) -> None:
        super().__init__(Box(-1, 1, (3,), np.float32), Discrete(2))

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


def test_an_update_without_an_end_has_no_number_and_episodes_go_on_across_updates(tmp_path: Path) -> None:
    config = replace(SMALL, horizon=3, minibatches=1, record=("cost:sum",), steps=24)
    curve = train(config, PPO, env=Telling, checkpoints=Checkpoints(tmp_path, 6)).curve
    assert curve["cost"].isna().equals(curve.episodes == 0)
    assert set(curve["cost"].dropna()) == {10}


def test_a_run_with_records_is_saved_loaded_and_continued(tmp_path: Path) -> None:
    run = train(replace(SMALL, record="cost:sum"), PPO, env=Telling, checkpoints=Checkpoints(tmp_path, 100))  # type: ignore[arg-type]
    run.save(tmp_path)
    again = load(tmp_path, env=Telling)
    assert again.config == run.config
    pd.testing.assert_frame_equal(again.curve, run.curve)
    longer = further(tmp_path, 100, env=Telling).curve
    assert set(longer["cost"].dropna()) == {10}
    assert len(longer) > len(run.curve)


def test_a_resumed_run_keeps_its_records(tmp_path: Path) -> None:
    def stop(rows: Any) -> None:
        if rows[0]["step"] > 100:
            raise KeyboardInterrupt

    config = replace(SMALL, record=("cost:sum",))
    with pytest.raises(KeyboardInterrupt):
        train(config, PPO, env=Telling, checkpoints=Checkpoints(tmp_path, 50), on_update=stop)
    assert set(resume(tmp_path, env=Telling).curve["cost"].dropna()) == {10}


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


def test_a_column_that_is_there_already_is_refused() -> None:
    with pytest.raises(InputError, match=r"^record: every curve has a column 'length'"):
        train(replace(SMALL, record=("length",)), PPO, env=Telling)


def test_backends_without_infos_refuse_to_record_and_auto_finds_one_that_has() -> None:
    for backend in ("tensor", "envpool"):
        with pytest.raises(InputError, match=f"^backend {backend} has no infos to record"):
            train(Config(backend=backend, record=("x",)), PPO)
    wrap = ("gymnasium.wrappers:RecordEpisodeStatistics",)
    curve = train(replace(SMALL, env="CartPole-v1", wrap=wrap, record=("episode.r",)), PPO).curve
    ended = curve[curve.episodes > 0]
    np.testing.assert_allclose(ended["episode.r"], ended["return"])


def test_the_shell_takes_names_with_commas_or_again(tmp_path: Path) -> None:
    small = ["--seeds", "1", "--steps", "100", "--lanes", "2", "--horizon", "16"]
    small += ["--env", "CartPole-v1", "--wrap", "gymnasium.wrappers:RecordEpisodeStatistics"]
    record = ["--record", "episode.r,episode.l:sum", "--record", "episode.t"]
    assert main(["train", "ppo", *small, *record, "--out", str(tmp_path / "x"), "-q"]) == 0
    run = load(tmp_path / "x")
    assert recorded(run.config.record) == {"episode.r": "last", "episode.l": "sum", "episode.t": "last"}
    assert list(run.curve)[-3:] == ["episode.r", "episode.l", "episode.t"]


class Endless(AnySpace):
    """Never ends, and pays 0.25 a step."""

    def step(self, action: Any) -> Any:
        obs, _, _, _, info = super().step(action)
        return obs, 0.25, False, False, info


def test_a_task_that_never_ends_has_a_reward_per_step_in_curve_and_summary() -> None:
    run = train(SMALL, PPO, env=Endless)
    assert run.curve["return"].isna().all()
    assert (run.curve["reward"] == 0.25).all()
    assert "no episode ended in the last 10% of the budget; mean reward per step there 0.25" in summary(run)


def test_the_reward_per_step_is_the_score_of_all_steps_whatever_the_agent_learns_from() -> None:
    for tricks in (REINFORCE, PPO):
        curve = train(replace(SMALL, reward_sign=True), tricks, env=lambda: Paying()).curve
        assert (curve["reward"] == 3).all()


class Paying(AnySpace):
    """Pays 3 a step."""

    def paid(self, action: Any) -> float:
        return 3.0


def test_the_summary_tells_what_was_recorded() -> None:
    said = summary(train(replace(SMALL, record=("cost:sum", "nothing")), PPO, env=Telling))
    assert "mean cost over the last 10%: 10\n" in said
    assert "mean nothing over the last 10%: no episode gave it" in said

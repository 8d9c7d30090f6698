"""Numbers from infos, which may hold anything, are columns; a wrapper with running statistics is refused."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium import wrappers
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.spaces import Discrete
from gymnasium.wrappers import RecordEpisodeStatistics as Record
from gymnasium.wrappers.utils import RunningMeanStd
from support.fixtures import Capture, Patch, refusal
from support.probes import THREE, AnySpace, like, register
from support.training import interrupted

from tricks import PPO, REINFORCE, Checkpoints, Config, Evaluation, Tricks, further, load, resume, train
from tricks.cli.main import main
from tricks.cli.train import summary
from tricks.envs.make import make_env
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


def test_recording_changes_nothing_else_and_episodes_go_on_across_updates() -> None:
    for env in (None, Telling):
        config = replace(SMALL, env="CartPole-v1", backend="gymnasium")
        plain, told = (train(replace(config, record=x), PPO, env=env).curve for x in ((), ("cost",)))
        pd.testing.assert_frame_equal(plain, told[list(plain)])
    config = replace(SMALL, horizon=3, minibatches=1, record=("cost:sum",), steps=24)
    curve = train(config, PPO, env=Telling, checkpoints=Checkpoints("x", 6)).curve
    assert curve["cost"].isna().equals(curve.episodes == 0) and set(curve["cost"].dropna()) == {10}


def test_a_run_with_records_is_resumed_saved_loaded_and_continued(monkeypatch: Patch) -> None:
    config = replace(SMALL, steps=400, record=("cost:sum",))
    interrupted(Path("x"), config, PPO, 1, monkeypatch, env=Telling)
    run = resume("x", env=Telling)
    assert set(run.curve["cost"].dropna()) == {10}
    run.save("x")
    again = load("x", env=Telling)
    assert again.config == run.config
    pd.testing.assert_frame_equal(again.curve, run.curve)
    longer = further("x", 100, env=Telling).curve
    assert set(longer["cost"].dropna()) == {10} and len(longer) > len(run.curve)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_name_that_no_info_has_is_said_once_and_what_is_no_number_an_error(backend: str, capsys: Capture) -> None:
    config, often = replace(SMALL, record=("sucess", "cost"), backend=backend), Evaluation(100, 4)
    curve = train(config, PPO, env=Telling, evaluation=often).curve
    assert curve["sucess"].isna().all()
    assert capsys.readouterr().err == "own: no info has had sucess in 4 episodes\n"
    for name, what in (("junk", "<object"), ("inner", "{'depth'"), ("level_", "'x'")):
        said = rf"^own: record: info\['{name}'\] must be a number, not {what}"
        refusal(said, train, replace(SMALL, record=(name,), backend=backend), PPO, env=Telling)


@pytest.mark.parametrize("text", ["", "a,", "cost:max", "a b", "cost:", ":sum", "a,a:sum", 'a"b'])
def test_a_record_is_a_name_with_a_rule(text: str) -> None:
    refusal(r"^record ", Config, record=(text,))


def test_a_column_that_is_there_lives_that_are_no_number_and_odd_lanes_are_refused() -> None:
    refusal(r"^record: every curve has a column 'length'", train, replace(SMALL, record=("length",)), PPO, env=Telling)
    for backend in ("tensor", "envpool"):
        refusal(f"^backend {backend} has no infos to record", train, Config(backend=backend, record=("x",)), PPO)
    nine = partial(Informing, lambda rng: {"lives": "nine"})
    refusal("^life_ends: own does not report lives", make_env, replace(SHORT, life_ends=True), make=nine)
    actions = iter([2, 2, 2, 2, 3, 3, 3])
    said = r"^own: all lanes must have the same spaces, but lane 1 of seed 3 has Box.* and Disc"
    refusal(said, train, SHORT, PPO, env=lambda: AnySpace(THREE, Discrete(next(actions))))


def test_the_shell_takes_names_with_commas_or_again_and_finds_a_backend_that_has_them(told: Callable[..., str]) -> None:
    small = "--env CartPole-v1 --wrap gymnasium.wrappers:RecordEpisodeStatistics --seeds 1 --steps 200 --lanes 2"
    told(f"train ppo {small} --horizon 16 --record episode.r,episode.l:sum --record episode.t --out x")
    run = load("x")
    assert recorded(run.config.record) == {"episode.r": "last", "episode.l": "sum", "episode.t": "last"}
    assert list(run.curve)[-3:] == ["episode.r", "episode.l", "episode.t"]
    ended = run.curve[run.curve.episodes > 0]
    assert len(ended)
    np.testing.assert_allclose(ended["episode.r"], ended["return"])


Paying = like(AnySpace, "Paying", pay=lambda self, action: 0.25)


def test_the_summary_tells_what_was_recorded_and_the_reward_per_step_is_the_score() -> None:
    run = train(SMALL, PPO, env=like(Paying, "Endless", length=0))
    assert run.curve["return"].isna().all()
    assert "no episode ended in the last 10% of the budget; mean reward per step there 0.25" in summary(run)
    for tricks in (REINFORCE, PPO):
        curve = train(replace(SMALL, reward_sign=True), tricks, env=Paying).curve
        assert (curve["reward"] == 0.25).all()
    assert (run.curve["reward"] == 0.25).all()
    said = summary(train(replace(SMALL, record=("cost:sum", "nothing")), PPO, env=Telling))
    assert "mean cost over the last 10%: 10\n" in said
    assert "mean nothing over the last 10%: no episode gave it" in said


SHORT = Config("own", seeds=(0, 3), steps=100, lanes=3, horizon=10, epochs=1, minibatches=2, hidden=(8,))
Tell = Callable[[np.random.Generator], dict[Any, Any]]
INFOS: dict[str, Tell] = {
    "arrays of any length": lambda rng: {"x": np.arange(rng.integers(1, 5))},
    "a number or a word": lambda rng: {"x": 0 if rng.random() < 0.5 else "crashed"},
    "now and then": lambda rng: {"x": 1.5} if rng.random() < 0.1 else {},
    "keys of any kind": lambda rng: {1: 2, None: 3, ("a", 1): 4, "_x": 5, "x": 6},
    "objects": lambda rng: {"x": object(), "lock": threading.Lock(), "f": lambda: 1, "kind": int},
    "errors": lambda rng: {"x": ValueError("no"), "final_obs": 3, "final_info": "x", "episode": None},
    "lives that are none": lambda rng: {"lives": "nine" if rng.random() < 0.5 else [1, 2]},
    "no mask": lambda rng: {"action_mask": None},
}


class Informing(AnySpace):
    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self.tell = tell

    def info(self) -> dict[Any, Any]:
        return self.tell(self.np_random)  # of which each lane has its own


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_an_info_that_nobody_asked_for_changes_nothing(backend: str, monkeypatch: Patch) -> None:
    def curve(tell: Tell) -> pd.DataFrame:
        return train(replace(SHORT, backend=backend), PPO, env=lambda: Informing(tell)).curve

    silent = curve(lambda rng: {})
    for name, tell in INFOS.items():
        pd.testing.assert_frame_equal(silent, curve(tell), obj=name)
    step = CartPoleVectorEnv.step  # of a class for many lanes, whose info should have arrays
    monkeypatch.setattr(CartPoleVectorEnv, "step", lambda env, action: (*step(env, action)[:4], {"global_step": 0}))
    assert len(train(replace(SHORT, env="CartPole-v1", backend="gymnasium"), PPO).curve) > 1


CONFIG = Config(seeds=2, lanes=2, horizon=8, steps=32, minibatches=2, backend="gymnasium")


class Walk(AnySpace):
    """Random observations, and numbers of its own, which are no statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.std, self.n = 1.0, 2.0, 10


class Mine(gym.RewardWrapper):
    """Scales by statistics of its own, in an object of one's own that says so in its name."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.scaler = type("RewardRunningStd", (), {})()


KEEPERS: dict[str, tuple[Callable[[gym.Env], gym.Env], str]] = {
    "NormalizeObservation": (wrappers.NormalizeObservation, "--state-norm"),
    "NormalizeReward": (wrappers.NormalizeReward, "--reward-scaling"),
    "below others": (lambda e: Record(wrappers.FrameStackObservation(wrappers.NormalizeObservation(e), 2)), "state"),
    "two of them": (lambda env: wrappers.NormalizeReward(wrappers.NormalizeObservation(env)), "--reward-scaling"),
    "of one's own": (Mine, "--reward-scaling"),
}


@pytest.mark.parametrize(("wrap", "said"), KEEPERS.values(), ids=KEEPERS)
def test_running_statistics_are_refused_and_the_trick_is_named(wrap: Any, said: str) -> None:
    pattern = f"keeps running statistics of its own in each lane, .*{said}"
    assert "leave it out" in refusal(pattern, train, CONFIG, PPO, env=lambda: wrap(Walk()))


def test_those_of_an_id_and_of_workers_too(refuses: Callable[..., None]) -> None:
    register("Standardized-v0", lambda: wrappers.NormalizeObservation(Walk()))
    for backend in ("gymnasium", "processes"):
        refusal("NormalizeObservation keeps running", make_env, Config("Standardized-v0", backend, seeds=1, lanes=1))
    refuses(main, ["train", "ppo", "--wrap", "gymnasium.wrappers:NormalizeObservation"], "use --state-norm")


def at_rest(env: gym.Env) -> gym.Env:
    wrapper = wrappers.NormalizeObservation(env)
    wrapper.obs_rms = RunningMeanStd(shape=(3,))
    wrapper.update_running_mean = False
    return wrapper


@pytest.mark.parametrize("wrap", [lambda env: env, Record, at_rest])
def test_what_does_not_change_with_what_it_sees_is_no_fault(wrap: Callable[[gym.Env], gym.Env]) -> None:
    assert len(train(CONFIG, PPO, env=lambda: wrap(Walk())).curve) > 1

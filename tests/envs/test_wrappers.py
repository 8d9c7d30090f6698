"""Wrappers forward the protocol; the sign of the reward changes what is learned from, not the score."""

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import refusal
from torch import Tensor

from tricks import PPO, REINFORCE, Config, Spaces, Tricks, train
from tricks.core.env import Env, Step
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.make import make_env
from tricks.envs.wrappers import EnvWrapper, HostEnv, LifeEnds, RewardSign

EVERYONE = torch.ones(1, dtype=torch.bool)
NO, ZERO = [False, False], [0.0, 0.0]


class Scripted:
    """An Env of one seed and two lanes that takes these steps, and remembers what it was asked."""

    id, lanes, resumable, masks = "x", 2, True, True
    seeds: tuple[int, ...] = (0,)
    spaces = Spaces("x", gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(3))

    def __init__(self, *steps: tuple[list[float], list[int], list[bool]], lives: bool = True) -> None:
        self.steps, self.asked = list(steps), list[object]()
        blank = torch.zeros(1, 2, 1)
        self.now = Step.first(blank, blank == 0, torch.tensor([[3, 3]]) if lives else None)

    def reset(self) -> Step:
        self.asked.append("reset")
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        self.asked.append(action[0].tolist())
        score, lives, ended = self.steps.pop(0)
        earned, over, no = torch.tensor([score]).double(), torch.tensor([ended]), torch.tensor([NO])
        left = self.now.lives if self.now.lives is None else torch.tensor([lives])
        self.now = self.now._replace(
            reward=earned, score=earned, over=over, resetting=over, terminated=over, truncated=no, lives=left
        )
        return self.now

    def close(self) -> None:
        self.asked.append("close")

    def state_dict(self) -> dict[str, Any]:
        return {"steps": len(self.steps)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.now = self.now._replace(obs=torch.full((1, 2, 1), float(state["steps"])))


def told(env: Env, steps: int, action: int = 0) -> list[Step]:
    return [env.step(torch.full((1, 2), action), EVERYONE) for _ in range(steps)]


def column(steps: list[Step], name: str) -> list[list[float]]:
    return [getattr(step, name)[0].tolist() for step in steps]


@pytest.mark.parametrize("wrapped", [EnvWrapper, RewardSign, LifeEnds, lambda env: HostEnv(env, torch.device("cpu"))])
def test_a_wrapper_forwards_the_whole_protocol(wrapped: Any) -> None:
    inner = Scripted(([7.0, -3.0], [3, 3], NO))
    env: Env = wrapped(inner)
    assert (env.id, env.seeds, env.lanes, env.spaces, env.resumable) == ("x", (0,), 2, inner.spaces, True)
    assert env.masks and torch.equal(env.now.obs, inner.now.obs) and env.reset() is env.now
    step = env.step(torch.tensor([[1, 2]]), EVERYONE)
    assert step is env.now and step.score.tolist() == [[7, -3]]
    env.load_state_dict({"steps": 5} | env.state_dict() | {"more": 1})
    assert env.state_dict() == {"steps": 0} and env.now.obs.unique().tolist() == [0]
    env.load_state_dict({"steps": 5})
    assert env.now.obs.unique().tolist() == [5]
    env.close()
    assert inner.asked == ["reset", [1, 2], "close"]


def test_the_sign_is_learned_from_and_without_switches_the_reward_is_the_score() -> None:
    steps = told(RewardSign(Scripted(([7.0, -3.0], [3, 3], NO), ([0.0, 0.5], [3, 3], NO))), 2)
    assert column(steps, "reward") == [[1, -1], [0, 1]] and column(steps, "score") == [[7, -3], [0, 0.5]]
    # a reward that is not finite has no sign, and is found
    (step,) = told(RewardSign(Scripted(([math.nan, -math.inf], [3, 3], NO))), 1)
    assert math.isnan(step.reward[0, 0]) and step.reward[0, 1] == -math.inf
    env, earned = make_env(Config(env="ThreeLives-v0", seeds=1, lanes=2)), []
    for t in range(12):
        step = env.step(torch.zeros(1, 2, dtype=torch.int64), EVERYONE)
        assert torch.equal(step.reward, step.score) and step.terminated.all() == step.over.all() == (t == 11)
        assert not step.truncated.any()
        earned.append(step.reward[0, 0].item())
    assert earned == [5, 5, 5, -60, 5, 5, 5, 5, 5, 5, 5, 5]


@pytest.mark.parametrize("backend", ["gymnasium", "processes", "auto"])
def test_any_environment_can_give_the_sign_of_its_reward_and_lives_if_it_has_some(backend: str) -> None:
    env = make_env(Config(env="Pendulum-v1", seeds=2, lanes=2, backend=backend, reward_sign=True))
    step = env.step(torch.zeros(2, 2, 1), torch.ones(2) > 0)
    assert step.reward.unique().tolist() == [-1] and (step.score < 0).all() and len(step.score.unique()) == 4
    env.close()
    config = Config(seeds=1, lanes=1, backend=backend, life_ends=True)
    refusal("^life_ends: CartPole-v1 does not report lives$", make_env, config)


SCORE = 11 * 5 - 60  # of a game of ThreeLives
LIVES = Config(env="ThreeLives-v0", seeds=1, lanes=2, reward_sign=True, life_ends=True)


def test_a_lost_life_terminates_and_fire_is_pressed_after_it_whatever_the_action() -> None:
    script = (
        (ZERO, [2, 3], NO),  # lane 0 loses a life
        (ZERO, [2, 4], NO),  # lane 1 wins one
        (ZERO, [2, 0], NO),  # all at once, and it is not over yet
        (ZERO, [0, 0], [True, True]),
        (ZERO, [5, 3], NO),  # the reset row
        (ZERO, [5, 3], NO),
    )
    steps = told(LifeEnds(Scripted(*script)), len(script))
    assert column(steps, "terminated") == [[True, False], NO, NO, [True, True], NO, NO]
    assert column(steps, "over") == column(steps, "resetting") == [NO, NO, NO, [True, True], NO, NO]
    # a reset with fewer lives than before is no lost life
    steps = told(LifeEnds(Scripted((ZERO, [6, 3], [True, False]), (ZERO, [3, 3], NO), (ZERO, [2, 3], NO))), 3)
    assert [ended for ended, _ in column(steps, "terminated")] == [True, False, True]
    inner = Scripted((ZERO, [2, 3], NO), (ZERO, [1, 3], NO), (ZERO, [1, 3], NO), (ZERO, [0, 3], [True, False]))
    steps = told(LifeEnds(inner, press=1), 4, action=2)
    assert inner.asked == [[2, 2], [1, 2], [1, 2], [2, 2]]  # lane 0 loses another life while it presses
    assert column(steps, "resetting") == [[True, False], [True, False], NO, [True, False]]
    assert column(steps, "over") == [NO, NO, NO, [True, False]]
    # a seed that stands still presses when it plays again
    env, action = LifeEnds(Scripted(*[(ZERO, [2, 3], NO)] * 3), press=1), torch.full((1, 2), 2)
    for playing, resetting in ((True, [True, False]), (False, [True, False]), (True, NO)):
        assert env.step(action, torch.tensor([playing])).resetting[0].tolist() == resetting


def scores_of(rows: Rollout) -> tuple[list[bool], list[float], list[bool]]:
    return tuple(getattr(rows, name)[0, :, 0].tolist() for name in ("valid", "score", "over"))


def test_what_the_game_pays_and_that_it_ends_while_fire_is_pressed_is_reported() -> None:
    script = (([2.0, 0.0], [2, 3], NO), ([4.0, 0.0], [0, 3], [True, False]), ([8.0, 0.0], [3, 3], NO))
    player = Player(LifeEnds(Scripted(*script), press=1), 4)
    for _ in script:
        player.step(lambda obs, legal: torch.zeros(1, 2, 3), torch.ones(1, 2) > 0)
    rows = player.rollout()
    assert scores_of(rows) == ([True, False, False], [2, 4, 0], [False, True, False])  # the last row is the reset's
    assert rows.terminated[0, :, 0].tolist() == [True, False, False]
    assert rows.reward[0, :, 0].tolist() == [2, 0, 0]


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["episodes", "segments"])
def test_the_curve_and_the_evaluation_tell_the_score_of_whole_games(tricks: Tricks) -> None:
    run = train(replace(LIVES, seeds=2, steps=300, horizon=20), tricks)
    games = run.curve[run.curve.episodes > 0]
    assert (games["return"] == SCORE).all() and (games["length"] == 12).all()
    assert games.episodes.sum() >= 2 * 300 // 12 - 4
    assert run.evaluate(3).tolist() == [[SCORE] * 3] * 2


def test_whole_episodes_are_whole_games_and_are_learned_from_life_by_life() -> None:
    rollout = play_episodes(Player(make_env(LIVES), 16), lambda obs, legal: torch.zeros(1, 2, 2), 30, EVERYONE)
    for lane in (0, 1):
        rows = rollout.valid[0, :, lane]
        steps = torch.arange(int(rows.sum()))
        assert len(steps) == 24
        assert rollout.terminated[0, rows, lane].nonzero().flatten().tolist() == [3, 7, 11, 15, 19, 23]
        assert rollout.over[0, rows, lane].nonzero().flatten().tolist() == [11, 23]
        assert rollout.reward[0, rows, lane].tolist() == [-1 if t % 12 == 3 else 1 for t in steps]
        assert rollout.score[0, rows, lane].tolist() == [-60 if t % 12 == 3 else 5 for t in steps]
    assert not rollout.truncated.any()
    # a lane does not stop where fire is pressed in the middle of a game
    env = LifeEnds(make_env(replace(LIVES, life_ends=False, lanes=1)), press=1)
    valid, score, over = scores_of(play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(1, 1, 2), 3, EVERYONE))
    assert [t for t, experience in enumerate(valid) if not experience] == [4, 8]
    assert (sum(score), over) == (SCORE, [False] * 11 + [True])


@pytest.mark.skipif(find_spec("envpool") is None, reason="envpool is not installed")
def test_lives_that_envpool_reports_end_episodes_and_it_shows_pixels() -> None:
    env = make_env(Config(env="Breakout-v5", backend="envpool", seeds=(3, 4), lanes=2, life_ends=True))
    rng, lost = np.random.default_rng(0), 0
    for _ in range(120):
        before = env.now
        step = env.step(torch.from_numpy(rng.integers(4, size=(2, 2))), torch.tensor([True, False]))
        assert before.lives is not None and step.lives is not None and torch.equal(step.lives[1], before.lives[1])
        fewer = (step.lives < before.lives) & ~before.over
        assert torch.equal(step.terminated, fewer)
        lost += int((fewer & ~step.over).sum())
        assert (step.obs.dtype, step.obs.shape) == (torch.uint8, (2, 2, 4, 84, 84))
    env.close()
    assert env.spaces.pixels and step.obs[:, :, -1].float().mean() > 10
    assert lost >= 4

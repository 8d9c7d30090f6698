"""`tricks check`: what it finds in an environment, and the one line that each fault gets."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tricks.cli import checking
from tricks.cli.main import main

CODE = """
import random
import time
import gymnasium as gym
import numpy as np

class Room(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (3,), np.float32), gym.spaces.Discrete(2)
    info = lambda self: {}
    draw = lambda self: self.np_random.uniform(-1, 1, 3).astype(np.float32)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.draw(), self.info()
    def step(self, action):
        self.t += 1
        return self.draw(), 1.0, self.t >= 5, False, self.info()

def room(**members):
    return type("Changed", (Room,), members)

def last(**changed):
    names = ["obs", "reward", "terminated", "truncated", "info"]
    return room(step=lambda self, action: tuple((dict(zip(names, Room.step(self, action))) | changed).values()))

class OfItsOwn(Room):
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
    def draw(self):
        return self.rng.uniform(-1, 1, 3).astype(np.float32)

Far = room(draw=lambda self: 3 * Room.draw(self))
Nan = room(draw=lambda self: Room.draw(self) * (np.nan if self.t == 3 else 1))
Doubles = room(draw=lambda self: Room.draw(self).astype(np.float64))
Fourth = room(observation_space=gym.spaces.Discrete(4), draw=lambda self: 4 if self.t == 2 else 1)
Failing = room(step=lambda self, action: 1 / 0)
Global = room(draw=lambda self: np.random.uniform(-1, 1, 3).astype(np.float32))
Masked = room(info=lambda self: {"action_mask": np.array([1, 0])})
Stuck = room(info=lambda self: {"action_mask": np.array([1, 1]) * (self.t != 2)})
Unclosed = room(close=lambda self: 1 / 0)
Endless = last(terminated=False)
Chance = room(step=lambda self, action: (Room.step(self, action)[0], time.time(), self.t >= 5, False, {}))
Alike = room(draw=lambda self: np.full(3, self.t / 10, np.float32))
Wide = room(action_space=gym.spaces.Box(-5, 5, (2,)))
Pairs = room(action_space=gym.spaces.MultiDiscrete([2, 3]))

def limited():
    return gym.wrappers.TimeLimit(Endless(), 7)

def louder(env):
    return gym.wrappers.TransformObservation(env, lambda obs: 9 * obs, env.observation_space)
"""


@pytest.fixture(autouse=True)
def _rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checked_rooms.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "checked_rooms", raising=False)
    monkeypatch.setattr(checking, "PATIENCE", 0.5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("Far", "not within the observation space: clip observations, or make the space larger"),
        ("Nan", "the observation is not finite"),
        ("Fourth", "the observation 4 is not in Discrete(4)"),
        ("Failing", "ZeroDivisionError: division by zero, in checked_rooms.py, line "),
        (
            "Global",
            "equivalent for the same seed and action: call super().reset(seed=seed) in reset, and draw from self",
        ),
        ("OfItsOwn", "for the same seed and action: call super()"),
        ("Chance", "for the same seed and action: call super()"),
        ("Stuck", "no legal action"),
        ("Room --wrap checked_rooms:louder", "not within the observation space"),
        ("Room --life-ends", "does not report lives"),
        ("Room --env-arg size=3", "got an unexpected keyword argument 'size'"),
        ("Room --backend tensor", "backend tensor has no 'checked_rooms:Room'"),
        ("NoRoom", "has no class or function 'NoRoom'"),
    ],
)
def test_a_fault_is_one_line(arguments: str, said: str, refuses: Callable[..., None]) -> None:
    refuses(main, ["check", *f"checked_rooms:{arguments}".split()], said)


def test_an_environment_must_be_named(refuses: Callable[..., None]) -> None:
    for words in ([], ["--lanes", "2"], [""]):
        refuses(main, ["check", *words], "takes an environment")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            "checked_rooms:Room",
            [
                "observations: Box(-1.0, 1.0, (3,), float32); the net sees a vector of length 3",
                "actions: Discrete(2); the policy gives one of 2",
                "first observations: 4 of 4 lanes begin differently",
                " of 5.0 steps on average, with a mean return of 5",
                "checked_rooms:Room can be trained in",
            ],
        ),
        (
            "--env checked_rooms:Room --backend processes --lanes 1",
            ["of 5.0 steps on average, with a mean return of 5"],
        ),
        ("--stack 2 checked_rooms:Doubles", ["the net sees a vector of length 6"]),
        ("checked_rooms:limited", ["of 7.0 steps on average"]),
        ("checked_rooms:Endless", ["random games: none ended in "]),
        ("checked_rooms:Masked", ["action masks: yes"]),
        ("checked_rooms:Unclosed", ["can be trained in"]),
        ("checked_rooms:Alike", ["all lanes begin alike, which is right only if every episode does"]),
        ("checked_rooms:Wide --rescale-actions", ["actions: Box(-1.0, 1.0, (2,), float32)"]),
        ("checked_rooms:Pairs", ["the policy gives 2 choices at once"]),
        ("Taxi-v4", ["the net sees a vector of length 500", "action masks: yes"]),
        ("tricks/Bricks-v0", ["the net sees an image [4, 10, 10], its channels first"]),
        ("Blackjack-v1", ["a vector of length 45 (observation[0]: 32, observation[1]: 11, observation[2]: 2)"]),
    ],
)
def test_what_an_environment_has_and_does_is_said(arguments: str, lines: list[str], told: Callable[..., str]) -> None:
    said = told(f"check {arguments}")
    assert [line for line in lines if line not in said] == [], said

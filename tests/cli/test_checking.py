"""`tricks check`: what it finds in an environment, and the one line that each fault gets."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from tricks.cli import checking
from tricks.cli.checking import outside
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
Nested = room(
    observation_space=gym.spaces.Dict(goal=gym.spaces.Box(0, 1, (2,)), at=gym.spaces.MultiDiscrete([2, 3])),
    draw=lambda self: {"goal": np.float32([0.5, 2 if self.t == 2 else 0]), "at": np.array([1, 2])},
)
Dear = last(reward=float("inf"))
Failing = room(step=lambda self, action: 1 / 0)
Leaving = room(step=lambda self, action: exit(3))
Global = room(draw=lambda self: np.random.uniform(-1, 1, 3).astype(np.float32))
Python = room(draw=lambda self: np.float32([random.random()] * 3))
Unseeded = lambda: OfItsOwn(None)
Masked = room(info=lambda self: {"action_mask": np.array([1, 0])})
Stuck = room(info=lambda self: {"action_mask": np.array([1, 1]) * (self.t != 2)})
Forgetful = room(info=lambda self: {"action_mask": np.array([1, 1])} if self.t == 0 else {})
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

def scaling(env):
    return gym.wrappers.TransformAction(env, lambda action: 9 * action, env.action_space)
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
        ("Far", "the observation of reset() at ["),
        ("Nan", "the observation of step() at [0] is nan, not finite, but its space is Box(-1.0, 1.0, (3,), float32)"),
        ("Fourth", "the observation of step() is 4, but its space is Discrete(4): clip it, or make the space larger"),
        ("Nested", "the observation of step() at 'goal' at [1] is 2, above 1, but its space is"),
        ("Dear", "the reward of step() is not finite"),
        ("Failing", "ZeroDivisionError: division by zero, in checked_rooms.py, line "),
        ("Leaving", "SystemExit: 3, in checked_rooms.py, line "),
        ("Global", "two resets with the same seed differ; reset(seed=...) must call super().reset(seed=seed)"),
        ("Python", "two resets with the same seed differ"),
        ("OfItsOwn", "two resets with the same seed differ"),
        ("Unseeded", "two resets with the same seed differ"),
        ("Stuck", "the action mask leaves no legal action"),
        ("Forgetful", "reset() gives 'action_mask' in its info, and step() doesn't: then every action counts as legal"),
        ("Room --wrap checked_rooms:louder", "the observation of reset() at ["),
        ("Wide --wrap checked_rooms:scaling", "the action that reaches Changed at ["),
        ("Room --life-ends", "does not report lives"),
        ("Room --env-arg size=3", "got an unexpected keyword argument 'size'"),
        ("Room --backend tensor", "backend tensor has no 'checked_rooms:Room'"),
        ("Room --lr 3", "unknown option --lr"),
        ("Room --episodes 0", "episodes must be at least 1, not 0"),
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
                "first observations: 4 of 4 lanes begin differently; the same seed gives the same ones",
                "random games: 12 of 5 steps each; 0 ended by a time limit",
                "their returns: 5 to 5 (mean 5)",
                "checked_rooms:Room can be trained in",
            ],
        ),
        ("--env checked_rooms:Room --backend processes --lanes 1", ["random games: 10 of 5 steps each; 0 ended by"]),
        ("--stack 2 checked_rooms:Doubles", ["the net sees a vector of length 6"]),
        ("checked_rooms:limited", ["random games: 12 of 7 steps each; 12 ended by a time limit"]),
        ("checked_rooms:Endless", ["random games: none ended in ", "reward: 1 per step"]),
        ("checked_rooms:Masked", ["action masks: yes"]),
        ("checked_rooms:Unclosed", ["can be trained in"]),
        ("checked_rooms:Alike", ["all lanes begin alike, which is right only if every episode does"]),
        ("checked_rooms:Wide --rescale-actions", ["actions: Box(-1.0, 1.0, (2,), float32)"]),
        ("checked_rooms:Pairs", ["the policy gives 2 choices at once"]),
        ("CartPole-v1", ["actions: Discrete(2)", "CartPole-v1 can be trained in"]),
        ("CartPole-v1 --env-arg sutton_barto_reward=True", ["their returns: -1 to -1 (mean -1)"]),
        ("Taxi-v4", ["the net sees a vector of length 500", "action masks: yes"]),
        ("tricks/Bricks-v0", ["the net sees an image [4, 10, 10], its channels first"]),
        ("Blackjack-v1", ["a vector of length 45 (observation[0]: 32, observation[1]: 11, observation[2]: 2)"]),
        ("Pendulum-v1 --wrap gymnasium.wrappers:FlattenObservation", ["random games: "]),
    ],
)
def test_what_an_environment_has_and_does_is_said(arguments: str, lines: list[str], told: Callable[..., str]) -> None:
    said = told(f"check {arguments}")
    assert [line for line in lines if line not in said] == [], said


def test_steps_that_no_seed_repeats_are_remarked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "checked_rooms:Chance"]) == 0
    said = "checked_rooms:Chance plays two episodes from the same seed and actions, so its runs cannot be repeated"
    assert said in capsys.readouterr().err


def test_what_is_outside_of_a_space_is_found_in_it() -> None:
    box = spaces.Box(np.array([0, -np.inf], np.float32), np.array([1, 5], np.float32))
    assert outside(box, np.array([1, -1e30])) == ""
    assert outside(box, [1 + 1e-7, 5]) == ""  # rounding
    assert outside(box, [0.5, 5.1]) == "at [1] is 5.1, above 5"
    assert outside(box, [-0.1, 5]) == "at [0] is -0.1, below 0"
    assert outside(box, [np.inf, 0]) == "at [0] is inf, not finite"
    assert outside(spaces.Box(0, 1, ()), 2) == "is 2, above 1"
    assert outside(spaces.Discrete(2, start=5), np.int8(6)) == ""
    assert outside(spaces.Discrete(2, start=5), np.array([7])) == "is array([7])"
    assert outside(spaces.Tuple([box, spaces.MultiBinary(2)]), ([0, 0], [0, 2])) == "at 1 is [0, 2]"

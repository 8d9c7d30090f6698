"""`tricks check`: what it finds in an environment, and the one line that each fault gets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces, wrappers
from support.contracts import Counting
from support.probes import like

from tricks.cli.main import main


class Room(Counting):
    """Episodes of five steps with random observations."""

    observation_space, action_space = spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(2)

    def see(self) -> Any:
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)


def room(**members: Any) -> Any:
    return like(Room, "Changed", **members)


Far = room(see=lambda self: 3 * Room.see(self))
Doubles = room(see=lambda self: Room.see(self).astype(np.float64))
Global = room(see=lambda self: np.random.uniform(-1, 1, 3).astype(np.float32))  # noqa: NPY002
Masked = room(info=lambda self: {"action_mask": np.array([1, 0])})
Wide = room(action_space=spaces.Box(-5, 5, (2,)))


def louder(env: Any) -> Any:
    return wrappers.TransformObservation(env, lambda obs: 9 * obs, env.observation_space)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("Far", "not within the observation space: clip observations, or make the space larger"),
        ("Global", "for the same seed and action: call super().reset(seed=seed) in reset, and draw from self"),
        ("Room --wrap test_checking:louder", "not within the observation space"),
        ("NoRoom", "has no class or function 'NoRoom'"),
    ],
)
def test_a_fault_is_one_line(arguments: str, said: str, refuses: Callable[..., None]) -> None:
    refuses(main, ["check", *f"test_checking:{arguments}".split()], said)


def test_an_environment_must_be_named(refuses: Callable[..., None]) -> None:
    for words in ([], ["--stack", "2"], [""]):
        refuses(main, ["check", *words], "takes an environment")


ROOM = [
    "observations: Box(-1.0, 1.0, (3,), float32); the net sees 3 numbers",
    "actions: Discrete(2)",
    "test_checking:Room: no fault found",
]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("test_checking:Room", ROOM),
        ("--env test_checking:Room --backend processes", ROOM[-1:]),
        ("test_checking:Doubles --stack 2", ["the net sees 6 numbers"]),
        ("test_checking:Masked", ["actions: Discrete(2); --action-mask uses their masks"]),
        ("test_checking:Wide --rescale-actions", ["actions: Box(-1.0, 1.0, (2,), float32)"]),
        ("Taxi-v4", ["the net sees 500 numbers"]),
        ("tricks/Bricks-v0", ["the net sees an image [4, 10, 10], its channels first"]),
        ("Blackjack-v1", ["the net sees 45 numbers"]),
    ],
)
def test_what_an_environment_has_and_does_is_said(arguments: str, lines: list[str], told: Callable[..., str]) -> None:
    said = told(f"check {arguments}")
    assert [line for line in lines if line not in said] == [], said

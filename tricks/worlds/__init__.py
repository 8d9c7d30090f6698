"""Worlds written as tensor functions: all lanes of all seeds in one step, beside the agent that plays them.

`CLASSIC` are Gymnasium's own, under Gymnasium's ids.
"""

from tricks.worlds.acrobot import ACROBOT
from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.mountain_car import MOUNTAIN_CAR
from tricks.worlds.pendulum import PENDULUM
from tricks.worlds.tensor import TensorEnv, World

CLASSIC = {world.id: world for world in (CARTPOLE, ACROBOT, MOUNTAIN_CAR, PENDULUM)}
WORLDS = CLASSIC

__all__ = ["CLASSIC", "WORLDS", "TensorEnv", "World"]

"""Worlds written as tensor functions: all lanes of all seeds in one step, beside the agent that plays them."""

from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.tensor import TensorEnv, World

WORLDS: dict[str, World] = {CARTPOLE.id: CARTPOLE}

__all__ = ["WORLDS", "TensorEnv", "World"]

"""reuse: a task that takes many gradient steps, and a budget of a dozen batches.

BITS random bits are drawn at every step. The action that equals their parity pays 1. Episodes have LENGTH steps.

Why: parity has no linear part, so a net needs many small steps before its features help at all. With one step per
batch, that takes many batches; several epochs of minibatches make more steps of the same experience (Kakade & Langford
2002; Schulman et al. 2017, arXiv:1707.06347). Predicted: better with, the more so the more bits; with a single bit,
which one step after another can learn, by less.

Seen on seeds 100 to 119: reuse better with, at two and three bits alike, because it learns early. By the end of the
budget, the agents without it have caught up.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

LENGTH = 10


def of_bits(bits: int) -> World:
    """The world with so many bits."""

    def initial(chance: Tensor) -> Tensor:
        """The bits, and time 0. [..., bits] -> [..., bits + 1]."""
        return torch.cat([chance.round(), torch.zeros_like(chance[..., :1])], -1)

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pay 1 if the action is the parity of the bits, then draw the next ones."""
        time = state[..., bits] + 1
        right = action == state[..., :bits].sum(-1) % 2
        return torch.cat([chance.round(), time.unsqueeze(-1)], -1), right.double(), time >= LENGTH

    def observe(state: Tensor) -> Tensor:
        """The bits as −1 or 1."""
        return 2 * state[..., :bits] - 1

    return World(
        id=f"tricks/Parity{bits}-v0",
        observation=gym.spaces.Box(-1, 1, (bits,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=bits,
        step_chances=bits,
    )


PARITIES = tuple(of_bits(bits) for bits in (1, 2, 3))

"""huber: a ticket that rarely wins, but so much that it is worth twice the sure pay.

An episode has two steps. In the first, the agent takes the sure pay, SURE, or a ticket; in the second, where nothing is
left to decide, the pay is SURE, or the ticket wins PRIZE with probability 1/PRIZE. A ticket is thus worth 1, whatever
the prize.

Why: with λ = 0, the first action is judged by V of the state that it leads to, and a V that is trained with a linear
loss is closer to the median of what follows than to the mean (Huber 1964, 10.1214/aoms/1177703732). The median of a
ticket is 0. Predicted: worse with huber, the more so the larger the prize, and as without if the prize is 2, where
a win is as likely as a blank.

Seen on seeds 100 to 119: huber worse with at prizes of 5 and 20, by about as much, and as without at a prize of 2.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

SURE = 0.5
TICKET = 1  # the action; the other one takes the sure pay


def initial(chance: Tensor) -> Tensor:
    """Before the choice. [..., 1] -> [..., 2]: whether the choice is made, and whether there is a ticket."""
    return torch.zeros_like(chance).repeat_interleave(2, -1)


def observe(state: Tensor) -> Tensor:
    """Whether the choice is made, and whether there is a ticket."""
    return state


def drawing(prize: float) -> World:
    """The world with this prize."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Choose; then be paid, or draw."""
        chosen, ticket = state.unbind(-1)
        won = prize * (chance[..., 0] < 1 / prize).double()
        reward = torch.where(ticket == 1, won, SURE) * chosen
        after = torch.where(chosen == 1, ticket, (action == TICKET).to(ticket))
        return torch.stack([torch.ones_like(chosen), after], -1), reward, chosen == 1

    return World(
        id=f"tricks/Lottery{prize:g}-v0",
        observation=gym.spaces.Box(0, 1, (2,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=1,
        step_chances=1,
    )


LOTTERIES = tuple(drawing(prize) for prize in (2.0, 5.0, 20.0))

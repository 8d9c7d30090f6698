"""action_mask: a trader who can't sell what they don't own or buy what they already own.

There is one share, whose price wanders around a mean: its deviation x becomes KEEP·x plus noise with standard deviation
NOISE. The actions are hold, buy and sell. The reward is the change in wealth: the next change in x if the share is
owned, otherwise 0. Buying twice or selling nothing is illegal: it has no effect and costs PENALTY. Episodes have LENGTH
steps.

Why: in every state one action in three is illegal, and which one depends on the state (Huang & Ontañón 2020,
arXiv:2006.14171). Predicted: better with, but not by much: there are few illegal actions, and their effect, holding,
is often the right choice.

Seen on seeds 100 to 119: action_mask better with, and by more than predicted.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.world import World

HOLD, BUY, SELL = range(3)
KEEP, NOISE, PENALTY, LENGTH = 0.9, 1.0, 0.1, 50
FURTHEST = 3**0.5 * NOISE / (1 - KEEP)  # limit of x if the noise were always at its maximum


def initial(chance: Tensor) -> Tensor:
    """A random price around the mean, and no share. [..., 1] -> [..., 2]."""
    price = 12**0.5 * (chance - 0.5) * NOISE / (1 - KEEP**2) ** 0.5  # with the long-run standard deviation
    return torch.cat([price, torch.zeros_like(price)], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Trade at the observed price; then the price moves, and the owner of the share gains or loses."""
    price, owned = state.unbind(-1)
    allowed = legal(state).gather(-1, action.unsqueeze(-1))[..., 0]
    owned = torch.where(action == BUY, 1.0, torch.where(action == SELL, 0.0, owned))
    after = KEEP * price + noise(chance[..., 0], NOISE)
    reward = (owned * (after - price)).double() - PENALTY * (~allowed).double()
    return torch.stack([after, owned], -1), reward, torch.zeros_like(allowed)


def observe(state: Tensor) -> Tensor:
    """The price's deviation from its mean, and whether the agent owns the share."""
    return state


def legal(state: Tensor) -> Tensor:
    """Hold is always legal, buy without the share, sell with it."""
    owned = state[..., 1] == 1
    return torch.stack([torch.ones_like(owned), ~owned, owned], -1)


TRADING = World(
    id="tricks/Trading-v0",
    observation=gym.spaces.Box(-FURTHEST, FURTHEST, (2,)),
    action=gym.spaces.Discrete(3),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=1,
    step_chances=1,
    time_limit=LENGTH,
    legal=legal,
)

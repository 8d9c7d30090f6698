"""action_mask: a trader who cannot sell what is not there, nor buy what is already bought.

One share of a price that wanders around a mean: its deviation x becomes KEEP·x plus noise of standard deviation NOISE.
Hold, buy and sell are the actions; the reward is the change of wealth, which is x's next change where the share is
owned. To buy twice or to sell nothing is illegal: it does nothing and costs PENALTY. LENGTH steps.

Why: in every state one action in three is illegal, and which one depends on the state (Huang & Ontañón 2020,
arXiv:2006.14171). Predicted: better with, but not by much: there are few illegal actions, and what they stand for, to
hold, is often right.

Seen on seeds 0 to 9: action_mask better with, and by more than that.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.world import World

HOLD, BUY, SELL = range(3)
KEEP, NOISE, PENALTY, LENGTH = 0.9, 1.0, 0.1, 50
FURTHEST = 3**0.5 * NOISE / (1 - KEEP)  # of x, if the noise were at its largest for ever


def initial(chance: Tensor) -> Tensor:
    """The price somewhere around its mean, and no share. [..., 1] -> [..., 2]."""
    price = 12**0.5 * (chance - 0.5) * NOISE / (1 - KEEP**2) ** 0.5  # the deviation of the long run
    return torch.cat([price, torch.zeros_like(price)], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Trade at the price that is seen; then the price moves, and whoever owns the share moves with it."""
    price, owned = state.unbind(-1)
    allowed = legal(state).gather(-1, action.unsqueeze(-1))[..., 0]
    owned = torch.where(action == BUY, 1.0, torch.where(action == SELL, 0.0, owned))
    after = KEEP * price + noise(chance[..., 0], NOISE)
    reward = (owned * (after - price)).double() - PENALTY * (~allowed).double()
    return torch.stack([after, owned], -1), reward, torch.zeros_like(allowed)


def observe(state: Tensor) -> Tensor:
    """The price's deviation from its mean, and whether the share is owned."""
    return state


def legal(state: Tensor) -> Tensor:
    """Hold always, buy without a share, sell with one."""
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

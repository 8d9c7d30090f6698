"""CartPole on tensors. Barto, Sutton & Anderson 1983, 10.1109/TSMC.1983.6313077; Gymnasium's constants."""

import math
from dataclasses import replace

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02  # SI units
MASS, SHARE = CART + POLE, POLE / (CART + POLE)
# as tensors, because a number costs a microsecond more at every operation
G, LEFT, ROD = torch.tensor(GRAVITY), torch.tensor(-FORCE / MASS), torch.tensor(HALF_LENGTH * 4 / 3)
X_LIMIT, ANGLE_LIMIT = torch.tensor(2.4), torch.tensor(math.radians(12))


def initial(chance: Tensor) -> Tensor:
    """Each of x, ẋ, θ, θ̇ uniform within ±0.05. [..., 4] -> [..., 4]."""
    return chance * 0.1 - 0.05


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One Euler step of TAU seconds under a force to the left (0) or right (1); every step pays 1.

    θ̈ = (g·sin θ − p·cos θ)/(l(4/3 − m/M·cos² θ)),  ẍ = p − m/M·l·θ̈·cos θ,  p = ±F/M + m/M·l·θ̇²·sin θ.
    """
    _, x_dot, theta, theta_dot = state.unbind(-1)
    cos, sin = theta.cos(), theta.sin()
    # few operations, as each costs a microsecond: add is a + alpha·b, sub a − alpha·b, and addcmul a + value·b·c
    push = torch.add(LEFT, action, alpha=2 * FORCE / MASS)
    push = torch.addcmul(push, theta_dot.square(), sin, value=SHARE * HALF_LENGTH)
    theta_acc = torch.addcmul(G * sin, push, cos, value=-1)
    theta_acc = theta_acc / torch.sub(ROD, cos.square(), alpha=HALF_LENGTH * SHARE)
    x_acc = torch.addcmul(push, theta_acc, cos, value=-SHARE * HALF_LENGTH)
    state = torch.add(state, torch.stack([x_dot, x_acc, theta_dot, theta_acc], -1), alpha=TAU)
    terminated = (state[..., 0].abs() > X_LIMIT) | (state[..., 2].abs() > ANGLE_LIMIT)
    return state, torch.ones_like(x_dot, dtype=torch.float64), terminated


def observe(state: Tensor) -> Tensor:
    """The full state: x [m], ẋ [m/s], θ [rad], θ̇ [rad/s]."""
    return state


CARTPOLE = World(
    id="CartPole-v1",
    observation=gym.spaces.Box(-math.inf, math.inf, (4,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=4,
    time_limit=500,
)
CARTPOLE_200 = replace(CARTPOLE, id="CartPole-v0", time_limit=200)

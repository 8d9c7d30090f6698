"""CartPole on tensors. Barto, Sutton & Anderson 1983, 10.1109/TSMC.1983.6313077; Gymnasium's constants."""

import math

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.tensor import World

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02  # SI units
X_LIMIT, ANGLE_LIMIT = 2.4, math.radians(12)


def initial(uniform: Tensor) -> Tensor:
    """Each of x, ẋ, θ, θ̇ uniform within ±0.05. [..., 4] -> [..., 4]."""
    return uniform * 0.1 - 0.05


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One Euler step of TAU seconds under a force to the left (0) or to the right (1); every step pays 1."""
    _, x_dot, theta, theta_dot = state.unbind(-1)
    cos, sin = theta.cos(), theta.sin()
    mass, moment = CART + POLE, POLE * HALF_LENGTH
    push = (FORCE * (2 * action - 1) + moment * theta_dot.square() * sin) / mass
    theta_acc = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - POLE / mass * cos.square()))
    x_acc = push - moment / mass * theta_acc * cos
    state = state + TAU * torch.stack([x_dot, x_acc, theta_dot, theta_acc], -1)
    terminated = (state[..., 0].abs() > X_LIMIT) | (state[..., 2].abs() > ANGLE_LIMIT)
    return state, torch.ones_like(x_dot, dtype=torch.float64), terminated


def observe(state: Tensor) -> Tensor:
    """All of it: x [m], ẋ [m/s], θ [rad], θ̇ [rad/s]."""
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
    solved=475.0,
)

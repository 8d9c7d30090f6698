"""Pendulum swing-up on tensors. Equations and constants from Gymnasium's Pendulum-v1."""

import math

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

GRAVITY, MASS, LENGTH, TAU = 10.0, 1.0, 1.0, 0.05  # SI units
TORQUE_LIMIT, SPEED_LIMIT = 2.0, 8.0
TURN = 2 * math.pi


def wrap(angle: Tensor) -> Tensor:
    """The same angle within ±π [rad]."""
    return angle.sub((angle / TURN).round(), alpha=TURN)


def initial(chance: Tensor) -> Tensor:
    """θ uniform within ±π, θ̇ uniform within ±1. [..., 2] -> [..., 2]."""
    theta, theta_dot = (2 * chance - 1).unbind(-1)
    return torch.stack([math.pi * theta, theta_dot], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One Euler step of TAU seconds under a clipped torque u; pays -(θ² + 0.1 θ̇² + 0.001 u²) and never ends."""
    theta, theta_dot = state.unbind(-1)
    theta = wrap(theta)
    torque = action.squeeze(-1).nan_to_num().clamp(-TORQUE_LIMIT, TORQUE_LIMIT)  # NaN from a diverged policy: no torque
    cost = theta.square().add(theta_dot.square(), alpha=0.1).add(torque.square(), alpha=0.001)
    push = theta.sin().mul(1.5 * GRAVITY / LENGTH).add(torque, alpha=3 / (MASS * LENGTH**2))
    theta_dot = theta_dot.add(push, alpha=TAU).clamp(-SPEED_LIMIT, SPEED_LIMIT)
    state = torch.stack([theta.add(theta_dot, alpha=TAU), theta_dot], -1)
    return state, -cost.double(), torch.zeros_like(theta, dtype=torch.bool)


def observe(state: Tensor) -> Tensor:
    """cos θ, sin θ, θ̇ [rad/s]; the pendulum is upright at θ = 0. [..., 2] -> [..., 3]."""
    theta, theta_dot = state.unbind(-1)
    return torch.stack([theta.cos(), theta.sin(), theta_dot], -1)


PENDULUM = World(
    id="Pendulum-v1",
    observation=gym.spaces.Box(-math.inf, math.inf, (3,)),
    action=gym.spaces.Box(-TORQUE_LIMIT, TORQUE_LIMIT, (1,)),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=2,
    time_limit=200,
)

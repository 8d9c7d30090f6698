"""Acrobot on tensors. Sutton 1996, NIPS 8, with the equations from Sutton & Barto's book; Gymnasium's constants."""

import math

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.pendulum import wrap
from tricks.worlds.world import World

GRAVITY, MASS, LENGTH, CENTER, MOMENT, TAU = 9.8, 1.0, 1.0, 0.5, 1.0, 0.2  # SI units; both links are identical
SPEED_LIMITS = 4 * math.pi, 9 * math.pi
COUPLING = MASS * LENGTH * CENTER  # couples the links' accelerations; INERTIA and WEIGHT are in units of it
INERTIA = (MOMENT + MASS * (LENGTH**2 + CENTER**2)) / COUPLING, (MOMENT + MASS * CENTER**2) / COUPLING
WEIGHT = MASS * (LENGTH + CENTER) * GRAVITY / COUPLING, MASS * CENTER * GRAVITY / COUPLING


def initial(chance: Tensor) -> Tensor:
    """Each of θ₁, θ₂, θ̇₁, θ̇₂ uniform within ±0.1. [..., 4] -> [..., 4]."""
    return chance * 0.2 - 0.1


def mirror(joints: Tensor) -> Tensor:
    """Joint angles to link angles from the vertical, φ = (θ₁, -θ₁-θ₂), and back. [..., 2] -> [..., 2]."""
    first, second = joints.unbind(-1)
    return torch.stack([first, -first - second], -1)


def acceleration(angle: Tensor, speed: Tensor, torque: Tensor, others_inertia: Tensor, weight: Tensor) -> Tensor:
    """φ̈ᵢ = (mⱼfᵢ + cos(φ₁+φ₂) fⱼ) / (cos²(φ₁+φ₂) - m₁m₂), with fᵢ = wᵢ sin φᵢ + sin(φ₁+φ₂) φ̇ⱼ² + torque. [..., 2].

    Measured in opposite directions, both links obey the same equation, mᵢφ̈ᵢ - cos(φ₁+φ₂) φ̈ⱼ = -fᵢ.
    """
    bend = angle.sum(-1, keepdim=True)
    cos, sin = bend.cos(), bend.sin()
    force = torch.addcmul(torque, weight, angle.sin()).addcmul(sin, speed.square().flip(-1))
    return torch.addcmul(others_inertia * force, cos, force.flip(-1)) / (cos.square() - others_inertia.prod())


def pair(first: float, second: float, like: Tensor) -> Tensor:
    """The two numbers [2], created on the device of `like`, without a copy from the host."""
    return torch.linspace(first, second, 2, dtype=like.dtype, device=like.device)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One Runge-Kutta step of TAU seconds under a torque of -1, 0 or 1 N m on the second joint (actions 0, 1, 2).

    The episode ends when the tip is one link length above the bar, -cos θ₁ - cos(θ₁+θ₂) > 1; every other step costs 1.
    """
    angle, speed = mirror(state.reshape(*state.shape[:-1], 2, 2)).unbind(-2)
    links = pair(INERTIA[1], INERTIA[0], state), pair(*WEIGHT, state)
    torque = (action.unsqueeze(-1) - 1).to(state) / COUPLING
    k1 = acceleration(angle, speed, torque, *links)
    speed2 = speed.add(k1, alpha=TAU / 2)
    k2 = acceleration(angle.add(speed, alpha=TAU / 2), speed2, torque, *links)
    speed3 = speed.add(k2, alpha=TAU / 2)
    k3 = acceleration(angle.add(speed2, alpha=TAU / 2), speed3, torque, *links)
    speed4 = speed.add(k3, alpha=TAU)
    k4 = acceleration(angle.add(speed3, alpha=TAU), speed4, torque, *links)
    angle = angle.add((speed + speed4).add(speed2 + speed3, alpha=2), alpha=TAU / 6)
    speed = speed.add((k1 + k4).add(k2 + k3, alpha=2), alpha=TAU / 6)
    limit = pair(*SPEED_LIMITS, state)
    terminated = angle.cos().sum(-1) < -1
    angle, speed = mirror(torch.stack([angle, speed], -2)).unbind(-2)
    state = torch.cat([wrap(angle), speed.clamp(-limit, limit)], -1)
    return state, terminated.double() - 1, terminated


def observe(state: Tensor) -> Tensor:
    """cos θ₁, sin θ₁, cos θ₂, sin θ₂, θ̇₁, θ̇₂ [rad/s]; both links hang down at θ₁ = θ₂ = 0. [..., 4] -> [..., 6]."""
    angle, speed = state.chunk(2, -1)
    return torch.cat([torch.stack([angle.cos(), angle.sin()], -1).flatten(-2), speed], -1)


ACROBOT = World(
    id="Acrobot-v1",
    observation=gym.spaces.Box(-math.inf, math.inf, (6,)),
    action=gym.spaces.Discrete(3),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=4,
    time_limit=500,
)

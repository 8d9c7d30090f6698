"""The rules of three worlds as numba compiles them, lane by lane. `tricks.worlds` has the formulas and sources."""

import math

import numpy as np
from numba import njit

from tricks.fast.kernels import kernel

f4 = np.float32
TURN = f4(2 * math.pi)


@kernel("(f4[:, ::1], i8[::1], f4[:, ::1], f8[::1], b1[::1])", contract=False)
def cartpole(state, action, after, reward, terminated):
    """One Euler step of 0.02 s; whether there are all these actions, else nothing is written."""
    mass, half_length, share = f4(1.1), f4(0.5), f4(0.1 / 1.1)
    for i in range(len(state)):
        if not 0 <= action[i] < 2:
            return False
    for i in range(len(state)):
        x, x_dot, theta, theta_dot = state[i, 0], state[i, 1], state[i, 2], state[i, 3]
        cos, sin = np.cos(theta), np.sin(theta)
        push = (f4(10) if action[i] == 1 else f4(-10)) / mass + share * half_length * theta_dot * theta_dot * sin
        theta_acc = (f4(9.8) * sin - push * cos) / (half_length * (f4(4 / 3) - share * cos * cos))
        x_acc = push - share * half_length * theta_acc * cos
        after[i, 0], after[i, 1] = x + f4(0.02) * x_dot, x_dot + f4(0.02) * x_acc
        after[i, 2], after[i, 3] = theta + f4(0.02) * theta_dot, theta_dot + f4(0.02) * theta_acc
        terminated[i] = abs(after[i, 0]) > f4(2.4) or abs(after[i, 2]) > f4(math.radians(12))
        reward[i] = 1.0
    return True


@njit(inline="always")
def accelerations(first, second, first_dot, second_dot, torque):
    """φ̈₁ and φ̈₂ of Acrobot's links, whose angles are measured from the vertical in opposite directions."""
    cos, sin = np.cos(first + second), np.sin(first + second)
    force = torque + f4(29.4) * np.sin(first) + sin * second_dot * second_dot
    other = torque + f4(9.8) * np.sin(second) + sin * first_dot * first_dot
    bottom = cos * cos - f4(4.5 * 2.5)
    return (f4(2.5) * force + cos * other) / bottom, (f4(4.5) * other + cos * force) / bottom


@njit(inline="always")
def wrapped(angle):
    """The same angle within ±π."""
    return angle - TURN * np.rint(angle / TURN)


@kernel("(f4[:, ::1], i8[::1], f4[:, ::1], f8[::1], b1[::1])", contract=False)
def acrobot(state, action, after, reward, terminated):
    """One Runge-Kutta step of 0.2 s; whether there are all these actions, else nothing is written."""
    step, half = f4(0.2), f4(0.1)
    for i in range(len(state)):
        if not 0 <= action[i] < 3:
            return False
    for i in range(len(state)):
        a, b = state[i, 0], -state[i, 0] - state[i, 1]
        v, w = state[i, 2], -state[i, 2] - state[i, 3]
        torque = f4(2) * f4(action[i] - 1)
        k1, l1 = accelerations(a, b, v, w, torque)
        v2, w2 = v + half * k1, w + half * l1
        k2, l2 = accelerations(a + half * v, b + half * w, v2, w2, torque)
        v3, w3 = v + half * k2, w + half * l2
        k3, l3 = accelerations(a + half * v2, b + half * w2, v3, w3, torque)
        v4, w4 = v + step * k3, w + step * l3
        k4, l4 = accelerations(a + step * v3, b + step * w3, v4, w4, torque)
        a += step / f4(6) * (v + v4 + f4(2) * (v2 + v3))
        b += step / f4(6) * (w + w4 + f4(2) * (w2 + w3))
        v += step / f4(6) * (k1 + k4 + f4(2) * (k2 + k3))
        w += step / f4(6) * (l1 + l4 + f4(2) * (l2 + l3))
        terminated[i] = np.cos(a) + np.cos(b) < f4(-1)
        reward[i] = 0.0 if terminated[i] else -1.0
        first, second = v, -v - w
        after[i, 0], after[i, 1] = wrapped(a), wrapped(-a - b)
        after[i, 2] = min(max(first, f4(-4 * math.pi)), f4(4 * math.pi))
        after[i, 3] = min(max(second, f4(-9 * math.pi)), f4(9 * math.pi))
    return True


@kernel("(f4[:, ::1], f4[:, ::1])", contract=False)
def acrobot_shown(state, obs):
    """What the agent sees of each state."""
    for i in range(len(state)):
        obs[i, 0], obs[i, 1] = np.cos(state[i, 0]), np.sin(state[i, 0])
        obs[i, 2], obs[i, 3] = np.cos(state[i, 1]), np.sin(state[i, 1])
        obs[i, 4], obs[i, 5] = state[i, 2], state[i, 3]


@kernel("(f4[:, ::1], f4[:, ::1])", contract=False)
def pendulum_shown(state, obs):
    """What the agent sees of each state."""
    for i in range(len(state)):
        obs[i, 0], obs[i, 1], obs[i, 2] = np.cos(state[i, 0]), np.sin(state[i, 0]), state[i, 1]


@kernel("(f4[:, ::1], f4[::1], f4[:, ::1], f8[::1], b1[::1])", contract=False)
def pendulum(state, action, after, reward, terminated):
    """One Euler step of 0.05 s under a torque within ±2; NaN is no torque."""
    for i in range(len(state)):
        theta, torque = wrapped(state[i, 0]), action[i]
        torque = f4(0) if torque != torque else min(max(torque, f4(-2)), f4(2))
        cost = theta * theta + f4(0.1) * state[i, 1] * state[i, 1] + f4(0.001) * torque * torque
        theta_dot = state[i, 1] + f4(0.05) * (f4(15) * np.sin(theta) + f4(3) * torque)
        theta_dot = min(max(theta_dot, f4(-8)), f4(8))
        after[i, 0], after[i, 1] = theta + f4(0.05) * theta_dot, theta_dot
        reward[i], terminated[i] = -cost, False
    return True

"""Three worlds as numba compiles them: policy, rules, and resets, row by row, one seed after the other.

`tricks.worlds` has the formulas of the rules, and their sources.
"""

import math

import numpy as np
from numba import njit

from tricks.fast.compiled_layers import BLOCK, LINEAR, block_forward, spans_of
from tricks.fast.compiled_product import f4, matrix
from tricks.fast.kernels import kernel

CARTPOLE, ACROBOT, PENDULUM = range(3)
TURN = f4(2 * math.pi)


@kernel("(f4[:, ::1], i8[::1], f4[:, ::1], f8[::1], b1[::1])", contract=False)
def cartpole(state, action, after, reward, terminated):
    """One Euler step of 0.02 s."""
    mass, half_length, share = f4(1.1), f4(0.5), f4(0.1 / 1.1)
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
    """One Runge-Kutta step of 0.2 s."""
    step, half = f4(0.2), f4(0.1)
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


@kernel("(f4[:, ::1], f4[:, ::1], f4[:, ::1], f8[::1], b1[::1])", contract=False)
def pendulum(state, action, after, reward, terminated):
    """One Euler step of 0.05 s under a torque within ±2; NaN is no torque."""
    for i in range(len(state)):
        theta, torque = wrapped(state[i, 0]), action[i, 0]
        torque = f4(0) if torque != torque else min(max(torque, f4(-2)), f4(2))
        cost = theta * theta + f4(0.1) * state[i, 1] * state[i, 1] + f4(0.001) * torque * torque
        theta_dot = state[i, 1] + f4(0.05) * (f4(15) * np.sin(theta) + f4(3) * torque)
        theta_dot = min(max(theta_dot, f4(-8)), f4(8))
        after[i, 0], after[i, 1] = theta + f4(0.05) * theta_dot, theta_dot
        reward[i], terminated[i] = -cost, False


@kernel("(i8, f4[:, ::1], f4[:, ::1])", contract=False)
def show(world, state, obs):
    """What the agent sees of each lane's state."""
    for n in range(len(state)):
        if world == CARTPOLE:
            for j in range(4):
                obs[n, j] = state[n, j]
        elif world == ACROBOT:
            obs[n, 0], obs[n, 1] = np.cos(state[n, 0]), np.sin(state[n, 0])
            obs[n, 2], obs[n, 3] = np.cos(state[n, 1]), np.sin(state[n, 1])
            obs[n, 4], obs[n, 5] = state[n, 2], state[n, 3]
        else:
            obs[n, 0], obs[n, 1], obs[n, 2] = np.cos(state[n, 0]), np.sin(state[n, 0]), state[n, 1]


@kernel("(f4[:, ::1], f4[::1], f4[:, ::1], f4[:, ::1])", contract=False)
def sample(mean, std, noise, action):
    """μ + σ·ε in each lane and dimension."""
    for n in range(len(mean)):
        for j in range(len(std)):
            action[n, j] = mean[n, j] + std[j] * noise[n, j]


@kernel("(f4[:, ::1], f4[:, ::1], i8[::1])")
def choose(logits, noise, action):
    """The largest of logits with Gumbel noise in each lane; the first NaN counts as the largest."""
    for n in range(len(logits)):
        best = 0
        for j in range(logits.shape[1]):
            logits[n, j] += noise[n, j]
            if logits[n, j] > logits[n, best] or (logits[n, j] != logits[n, j] and logits[n, best] == logits[n, best]):
                best = j
        action[n] = best


@njit(inline="always")
def look(obs, seen, s, mean, scale, limit):
    """Write what the policy of a seed sees of its lanes' observations."""
    for n in range(len(obs)):
        for j in range(obs.shape[1]):
            x = obs[n, j]
            if mean.shape[1] > 0:
                x = (x - mean[s, j]) * scale[s, j]
                x = limit if x > limit else -limit if x < -limit else x  # NaN stays NaN
            seen[n, j] = x


@njit(inline="always")
def turn_over(s, t, state, age, resetting, fresh, after, pay, over, ends, time_limit):
    """Take on one seed's states after a step, or the fresh ones, and write what came of it."""
    rewards, terminated, truncated, resets = ends
    for n in range(len(after)):
        going = not resetting[s, n]
        resets[s, t, n] = not going
        for j in range(state.shape[2]):
            state[s, n, j] = after[n, j] if going else fresh[s, t, n, j]
        age[s, n] = age[s, n] + 1 if going else 0
        rewards[s, t, n] = pay[n] if going else 0.0
        terminated[s, t, n] = over[n] and going
        truncated[s, t, n] = age[s, n] >= time_limit
        resetting[s, n] = terminated[s, t, n] or truncated[s, t, n]


@kernel(
    "(i8, f4[:, :, ::1], i4[:, ::1], b1[:, ::1], f4[:, :, :, ::1], f4[:, :, :, ::1], f4[:, ::1], f4[:, ::1], "
    "f4[:, ::1], b1[:, ::1], i8[::1], f4[:, :, :, ::1], i8[:, :, ::1], f4[:, :, :, ::1], f8[:, :, ::1], "
    "b1[:, :, ::1], b1[:, :, ::1], b1[:, :, ::1], b1[:, :, ::1], f4, i8[:, ::1], i8[::1], i8, i8, i8)"
)
def play(
    world, state, age, resetting, fresh, noise, mean, scale, std, playing, count, obs, discrete, continuous,
    rewards, terminated, truncated, resets, played, limit, net, sizes, curved, time_limit, enough,
):  # fmt: skip
    """Write the columns [S, T, N]; state [S, N, K], age and resetting [S, N] are left as they are after the last row.

    A lane stops `playing` [S, N] at the end of an episode once its seed has `enough` rows of experience; count [S]. If
    `enough` is not 0, nothing is written of a seed whose lanes have all stopped.
    fresh [S, T, N, K]: states to reset to. The policy sees (obs − mean)·scale within ±limit, or the observation itself
    if these are empty. net [2, layers]: addresses of weights and biases. Of the two kinds of actions, `discrete`
    [S, T, N] or `continuous` [S, T, N, A] is written; std [S, A] is σ of the latter, and empty for the former.
    """
    seeds, rows, lanes = discrete.shape
    outputs, (spans, features), ends = sizes[-1], spans_of(sizes), (rewards, terminated, truncated, resets)
    seen, y = np.empty((lanes, sizes[0]), np.float32), np.empty((lanes, outputs), np.float32)
    after, pay, over = np.empty_like(state[0]), np.empty(lanes), np.empty(lanes, np.bool_)
    hs, room = np.empty(len(spans), np.int64), np.empty((len(spans), BLOCK * sizes.max()), np.float32)
    for s in range(seeds):
        for k in range(len(hs)):  # in this loop, because numba frees an array after its last use by name
            hs[k] = room[k].ctypes.data
        weights, biases = net[0] + s * spans, net[1] + s * features
        last_bias = matrix(biases[-1], 1, outputs)
        for t in range(rows):
            show(world, state[s], obs[s, t])
            look(obs[s, t], seen, s, mean, scale, limit)
            if enough != 0 and not playing[s].any():
                break
            for first in range(0, lanes, BLOCK):
                part, hs[-1] = seen[first : first + BLOCK], y[first:].ctypes.data
                block_forward(part.ctypes.data, weights, biases, hs, sizes, len(part), curved, LINEAR)
            for n in range(lanes):
                for j in range(outputs):
                    y[n, j] += last_bias[0, j]
            if world == PENDULUM:
                sample(y, std[s], noise[s, t], continuous[s, t])
                pendulum(state[s], continuous[s, t], after, pay, over)
            else:
                choose(y, noise[s, t], discrete[s, t])
                if world == ACROBOT:
                    acrobot(state[s], discrete[s, t], after, pay, over)
                else:
                    cartpole(state[s], discrete[s, t], after, pay, over)
            for n in range(lanes):
                count[s] += playing[s, n] and not resetting[s, n]
                played[s, t, n] = playing[s, n]
            turn_over(s, t, state, age, resetting, fresh, after, pay, over, ends, time_limit)
            for n in range(lanes):
                if enough != 0 and count[s] >= enough and (resetting[s, n] or resets[s, t, n]):
                    playing[s, n] = False
        show(world, state[s], obs[s, rows])

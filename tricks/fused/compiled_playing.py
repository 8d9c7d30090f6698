"""Three worlds as numba compiles them: policy, rules, and resets, row by row, one seed after the other."""

import numpy as np
from numba import njit

from tricks.fast.compiled_layers import BLOCK, LINEAR, block_forward, spans_of
from tricks.fast.compiled_product import matrix
from tricks.fast.compiled_rules import acrobot, acrobot_shown, cartpole, pendulum, pendulum_shown
from tricks.fast.kernels import kernel

CARTPOLE, ACROBOT, PENDULUM = range(3)


@kernel("(i8, f4[:, ::1], f4[:, ::1])")
def show(world, state, obs):
    """What the agent sees of each lane's state."""
    if world == ACROBOT:
        acrobot_shown(state, obs)
    elif world == PENDULUM:
        pendulum_shown(state, obs)
    else:
        for n in range(len(state)):
            for j in range(4):
                obs[n, j] = state[n, j]


@kernel("(i8, f4[:, ::1], i8[::1], f4[::1], f4[:, ::1], f8[::1], b1[::1])")
def move(world, state, action, torque, after, reward, terminated):
    """One step of each lane."""
    if world == ACROBOT:
        acrobot(state, action, after, reward, terminated)
    elif world == PENDULUM:
        pendulum(state, torque, after, reward, terminated)
    else:
        cartpole(state, action, after, reward, terminated)


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
def look(s, t, shown, obs, seen, mean, scale, limit):
    """Write what one seed's lanes show in a row, and as the policy sees it."""
    for n in range(len(shown)):
        for j in range(shown.shape[1]):
            x = shown[n, j]
            obs[s, t, n, j] = x
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
    seen, shown = np.empty((lanes, sizes[0]), np.float32), np.empty((lanes, sizes[0]), np.float32)
    after, pay, over = np.empty_like(state[0]), np.empty(lanes), np.empty(lanes, np.bool_)
    y, torque = np.empty((lanes, outputs), np.float32), np.empty(lanes, np.float32)
    hs, room = np.empty(len(spans), np.int64), np.empty((len(spans), BLOCK * sizes.max()), np.float32)
    for s in range(seeds):
        for k in range(len(hs)):  # in this loop, because numba frees an array after its last use by name
            hs[k] = room[k].ctypes.data
        weights, biases = net[0] + s * spans, net[1] + s * features
        last_bias = matrix(biases[-1], 1, outputs)
        for t in range(rows):
            show(world, state[s], shown)
            look(s, t, shown, obs, seen, mean, scale, limit)
            if enough != 0 and not playing[s].any():
                break
            for first in range(0, lanes, BLOCK):
                part, hs[-1] = seen[first : first + BLOCK], y[first:].ctypes.data
                block_forward(part.ctypes.data, weights, biases, hs, sizes, len(part), curved, LINEAR)
            for n in range(lanes):
                for j in range(outputs):
                    y[n, j] += last_bias[0, j]
            if std.shape[1] > 0:
                sample(y, std[s], noise[s, t], continuous[s, t])
                torque[:] = continuous[s, t, :, 0]
            else:
                choose(y, noise[s, t], discrete[s, t])
            move(world, state[s], discrete[s, t], torque, after, pay, over)
            for n in range(lanes):
                count[s] += playing[s, n] and not resetting[s, n]
                played[s, t, n] = playing[s, n]
            turn_over(s, t, state, age, resetting, fresh, after, pay, over, ends, time_limit)
            for n in range(lanes):
                if enough != 0 and count[s] >= enough and (resetting[s, n] or resets[s, t, n]):
                    playing[s, n] = False
        show(world, state[s], shown)
        look(s, rows, shown, obs, seen, mean, scale, limit)

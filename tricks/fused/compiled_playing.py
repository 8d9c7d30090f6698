"""Three worlds as numba compiles them: policy, rules, and resets, row by row, one seed after the other."""

import numpy as np

from tricks.fast.compiled_layers import BLOCK, block_forward, fill, largest, moved, spans_of
from tricks.fast.compiled_product import matrix, product
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
        pendulum(state, torque, after, reward)
        for n in range(len(state)):
            terminated[n] = False
    else:
        cartpole(state, action, after, terminated)
        for n in range(len(state)):
            reward[n] = 1.0


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


@kernel(
    "(i8, f4[:, :, ::1], i4[:, ::1], b1[:, ::1], f4[:, :, :, ::1], f4[:, :, :, ::1], f4[:, ::1], f4[:, ::1], "
    "f4[:, ::1], b1[:, ::1], i8[::1], f4[:, :, :, ::1], i8[:, :, ::1], f4[:, :, :, ::1], f8[:, :, ::1], "
    "b1[:, :, ::1], b1[:, :, ::1], b1[:, :, ::1], b1[:, :, ::1], f4, i8[:, ::1], i8[::1], b1, i8, i8)"
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
    outputs, (spans, features) = sizes[-1], spans_of(sizes)
    seen, shown = np.empty((lanes, sizes[0]), np.float32), np.empty((lanes, sizes[0]), np.float32)
    after, pay, over = np.empty_like(state[0]), np.empty(lanes), np.empty(lanes, np.bool_)
    y, torque = np.empty((lanes, outputs), np.float32), np.empty(lanes, np.float32)
    hs, room = np.empty(len(sizes) - 2, np.int64), np.empty((len(sizes) - 2, BLOCK * largest(sizes)), np.float32)
    for s in range(seeds):
        for k in range(len(hs)):  # in this loop, because numba frees an array after its last use by name
            hs[k] = room[k].ctypes.data
        weights, biases = moved(net[0], s, spans), moved(net[1], s, features)
        last_bias = matrix(biases[-1], 1, outputs)
        for t in range(rows):
            going = enough == 0
            for n in range(lanes):
                going = going or playing[s, n]
            show(world, state[s], shown)
            for n in range(lanes):
                for j in range(sizes[0]):
                    x = shown[n, j]
                    obs[s, t, n, j] = x
                    if mean.shape[1] > 0:
                        x = (x - mean[s, j]) * scale[s, j]
                        x = limit if x > limit else -limit if x < -limit else x  # NaN stays NaN
                    seen[n, j] = x
            if not going:
                break
            for first in range(0, lanes, BLOCK):
                part = seen[first : first + BLOCK]
                some, x = len(part), part.ctypes.data
                block_forward(x, weights, biases, hs, sizes, some, curved)
                fill(y[first:].ctypes.data, 0, some, outputs)
                below = hs[-1] if len(hs) > 0 else x
                product(below, sizes[-2], 1, weights[-1], y[first:].ctypes.data, some, outputs, sizes[-2])
            for n in range(lanes):
                for j in range(outputs):
                    y[n, j] += last_bias[0, j]
            if std.shape[1] > 0:
                sample(y, std[s], noise[s, t], continuous[s, t])
                for n in range(lanes):
                    torque[n] = continuous[s, t, n, 0]
            else:
                choose(y, noise[s, t], discrete[s, t])
            move(world, state[s], discrete[s, t], torque, after, pay, over)
            for n in range(lanes):
                count[s] += playing[s, n] and not resetting[s, n]
            for n in range(lanes):
                going = not resetting[s, n]
                resets[s, t, n], played[s, t, n] = not going, playing[s, n]
                for j in range(state.shape[2]):
                    state[s, n, j] = after[n, j] if going else fresh[s, t, n, j]
                age[s, n] = age[s, n] + 1 if going else 0
                rewards[s, t, n] = pay[n] if going else 0.0
                terminated[s, t, n] = over[n] and going
                truncated[s, t, n] = age[s, n] >= time_limit
                resetting[s, n] = terminated[s, t, n] or truncated[s, t, n]
                if enough != 0 and count[s] >= enough and (resetting[s, n] or not going):
                    playing[s, n] = False
        show(world, state[s], shown)
        for n in range(lanes):
            for j in range(sizes[0]):
                obs[s, rows, n, j] = shown[n, j]

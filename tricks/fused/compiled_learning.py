"""A minibatch's gradients as numba compiles them: from the observations to the loss and back, 32 rows at a time.

What lies between them stays in the fastest cache. `tricks.fused.losses` says when this takes the place of the loop's
losses. Nets are passed as addresses, see `compiled_layers`.
"""

import numpy as np
from numba import njit

from tricks.fast.compiled_layers import BLOCK
from tricks.fast.compiled_product import f4, matrix
from tricks.fast.compiled_rows import adam_step
from tricks.fast.kernels import kernel
from tricks.fused.compiled_losses import (
    ACTION_MASK,
    ADVANTAGE_NORM,
    ENTROPY,
    ENTROPY_COEF,
    FLAGS,
    FOUND,
    MAX_RATIO,
    MEAN_ENTROPY,
    NUMBERS,
    POLICY_LOSS,
    REUSE,
    VALUE_COEF,
    error,
    gaussian_row,
    hide,
    objective,
    single,
    softmax_row,
    standardize,
)
from tricks.fused.compiled_nets import backward, count_of, finish, forward, net_of_seed, room_for

__all__ = ["FLAGS", "FOUND", "NUMBERS", "policy_gradients", "step", "value_gradients"]


@njit(inline="always")
def vain(row):
    """0 if all of it is finite, else NaN."""
    rest = f4(0)
    for j in range(len(row)):
        rest += f4(0) * row[j]
    return rest


@kernel(
    "(f4[:, :, ::1], b1[:, :], b1[:, :, ::1], i8[:, ::1], f4[:, :, ::1], f4[:, :], f4[:, :], b1[:], b1[::1], "
    "f8[:, ::1], i8[:, ::1], i8[::1], f4[:, ::1], i8, b1, f4[:, ::1], f8[:, ::1])"
)
def policy_gradients(
    obs, valid, legal, discrete, continuous, advantages, olds, active, on, numbers,
    net, sizes, log_std, to_log_std, curved, gradient, found,
):  # fmt: skip
    """Add the gradients of the policy's losses to `gradient` [S, P], and write what is noted of them, [S, FOUND].

    False, and less than that, if there is no such action, or if filler is not finite: 0·∞ is NaN in a mean.

    net [4, layers]: addresses of weights and biases, and where in [P] their gradients begin. Of the two kinds of
    actions, `discrete` [S, B] or `continuous` [S, B, A] is empty, and so is log_std or whatever else is not used.
    """
    seeds, rows, outputs = len(obs), obs.shape[1], sizes[-1]
    gaussian, room = continuous.shape[1] > 0, room_for(sizes)
    for s in range(seeds):
        for r in range(discrete.shape[1]):
            if not 0 <= discrete[s, r] < outputs:
                return False
    y, g = np.empty((BLOCK, outputs), np.float32), np.empty((BLOCK, outputs), np.float32)
    p, log_p = np.empty(outputs, np.float32), np.empty(outputs, np.float32)
    for s in range(seeds):
        noted, number, count, odd = found[s], numbers[s], float(count_of(valid, s, 0, rows)), f4(0)
        for k in range(len(FOUND)):
            noted[k] = 0
        for r in range(rows if active[s] else 0):
            if not valid[s, r]:
                odd += vain(obs[s, r]) + f4(0) * advantages[s, r]
                odd += vain(continuous[s, r]) if gaussian else f4(0)
                odd += f4(0) * olds[s, r] if on[REUSE] else f4(0)
        if odd != 0:
            return False
        if not active[s] or count == 0:
            continue
        one, advantage, bias = net_of_seed(s, net, sizes, gradient, room), advantages[s], np.zeros(outputs, np.float32)
        last_bias, of_std = matrix(net[1, -1] + s * 4 * outputs, 1, outputs), np.zeros(outputs, np.float32)
        if on[ADVANTAGE_NORM]:
            advantage = standardize(advantage, valid[s], count)
        for first in range(0, rows, BLOCK):
            some, x = min(BLOCK, rows - first), obs[s, first:].ctypes.data
            if count_of(valid, s, first, first + some) == 0:
                continue
            forward(x, one, y.ctypes.data, some, curved)
            for i in range(some):
                r = first + i
                for j in range(outputs):
                    y[i, j] += last_bias[0, j]
                    g[i, j] = 0
                if not valid[s, r]:
                    continue
                if gaussian:
                    log_prob, entropy = gaussian_row(y, i, log_std, continuous, s, r, p)
                else:
                    if on[ACTION_MASK]:
                        hide(y, i, legal[s, r])
                    log_prob, entropy = softmax_row(y, i, discrete[s, r], p, log_p)
                old = olds[s, r] if on[REUSE] else f4(0)
                value, slope = objective(log_prob, old, advantage[r], on, number, noted)
                noted[POLICY_LOSS] -= value
                noted[MEAN_ENTROPY] += entropy
                slope = -slope / f4(count)
                bonus = -f4(number[ENTROPY_COEF]) / f4(count) if on[ENTROPY] else f4(0)
                if gaussian:
                    for j in range(outputs):
                        sigma = np.exp(log_std[s, j])
                        push = f4(0.5) * slope * (p[j] + p[j])
                        g[i, j] = push / sigma
                        bias[j] += g[i, j]
                        way = push * (p[j] / sigma) * sigma  # slope·z², as PyTorch gets there
                        if np.isfinite(way) and abs(p[j]) < f4(1e19):  # so that z² is, too
                            of_std[j] += slope * (p[j] * p[j] - f4(1)) + bonus
                        else:
                            of_std[j] += way - (slope - bonus)
                else:
                    for j in range(outputs):
                        chance = (f4(1) if j == discrete[s, r] else f4(0)) - p[j]
                        more = log_p[j] + entropy if on[ENTROPY] else f4(0)
                        g[i, j] = slope * chance - bonus * p[j] * more
                        bias[j] += g[i, j]
            backward(g.ctypes.data, x, one, some, curved)
        finish(one, bias)
        for j in range(outputs if gaussian else 0):
            gradient[s, to_log_std + j] += of_std[j]
        noted[POLICY_LOSS] = single(noted[POLICY_LOSS])
        for k in range(len(FOUND)):
            noted[k] /= 1.0 if k == MAX_RATIO else count
    return True


@kernel(
    "(f4[:, :, ::1], b1[:, :], f8[:, :], f8[:, :], b1[:], b1[::1], f8[:, ::1], i8[:, ::1], i8[::1], f8[:, ::1], b1, "
    "f4[:, ::1], f8[::1])"
)
def value_gradients(
    obs, valid, olds, targets, active, on, numbers, net, sizes, last_bias, curved, gradient, found
):  # fmt: skip
    """Add the gradients of the value losses, times their coefficient, to `gradient` [S, P]; write the losses, [S].

    False, and less than that, if filler is not finite. `olds` may be anything finite without value_clip.
    """
    seeds, rows = len(obs), obs.shape[1]
    y, g, room = np.empty((BLOCK, 1), np.float32), np.empty((BLOCK, 1), np.float32), room_for(sizes)
    for s in range(seeds):
        count, total, number = float(count_of(valid, s, 0, rows)), 0.0, numbers[s]
        found[s], odd = 0, 0.0
        for r in range(rows if active[s] else 0):
            if not valid[s, r]:
                odd += vain(obs[s, r]) + 0.0 * targets[s, r] + 0.0 * olds[s, r]
        if odd != 0:
            return False
        if not active[s] or count == 0:
            continue
        one, bias = net_of_seed(s, net, sizes, gradient, room), np.zeros(1, np.float32)
        for first in range(0, rows, BLOCK):
            some, x = min(BLOCK, rows - first), obs[s, first:].ctypes.data
            if count_of(valid, s, first, first + some) == 0:
                continue
            forward(x, one, y.ctypes.data, some, curved)
            for i in range(some):
                r = first + i
                g[i, 0] = 0
                if not valid[s, r]:
                    continue
                loss, slope = error(y[i, 0] + last_bias[s, 0], olds[s, r], targets[s, r], on, number)
                total += loss
                g[i, 0] = slope * number[VALUE_COEF] / count
                bias[0] += g[i, 0]
            backward(g.ctypes.data, x, one, some, curved)
        finish(one, bias)
        found[s] = total / count
    return True


@kernel(
    "(f4[:, ::1], f4[:, ::1], i8[:, ::1], f4[:, ::1], f4[:, ::1], f4[:], Array(f8, 1, 'A', readonly=True), "
    "Array(f8, 1, 'A', readonly=True), b1[:], f4[::1])"
)
def step(m, v, t, change, gradient, learning_rate, limits, eps, moving, norms):
    """Adam's step with gradients [S, P] shortened to the limits, unless they aren't finite; write their norms, [S]."""
    for s in range(len(m)):
        total = 0.0
        for i in range(m.shape[1]):
            total += float(gradient[s, i]) * gradient[s, i]
        norms[s] = np.sqrt(single(total))
        if moving[s] and np.isfinite(norms[s]):
            factor = min(f4(limits[s]) / (norms[s] + f4(1e-6)), f4(1))
            adam_step(m, v, t, change, gradient, s, factor, learning_rate[s], eps[s])
        else:
            change[s] = 0.0

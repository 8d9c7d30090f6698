"""A minibatch's gradients as numba compiles them: from the observations to the loss and back, 32 rows at a time.

What lies between them stays in the fastest cache. `tricks.fused.losses` says when this takes the place of the loop's
losses. Nets are passed as addresses, see `compiled_layers`; the tricks' files have the sources of a row's losses.
"""

import numpy as np
from numba import njit

from tricks.action_mask import ILLEGAL
from tricks.fast.compiled_layers import BLOCK, LARGEST, LINEAR, block_backward, block_forward, spans_of, turn_all
from tricks.fast.compiled_product import f4, matrix
from tricks.fast.compiled_rows import softmax_row
from tricks.fast.kernels import kernel

FLAGS = ("reuse", "clip", "dual_clip", "advantage_norm", "entropy", "value_clip", "huber", "action_mask")
REUSE, CLIP, DUAL_CLIP, ADVANTAGE_NORM, ENTROPY, VALUE_CLIP, HUBER, ACTION_MASK = range(8)
NUMBERS = ("clip_range", "dual_clip_limit", "entropy_coef", "value_clip_range", "huber_delta", "value_coef")
RANGE, DUAL_LIMIT, ENTROPY_COEF, VALUE_RANGE, DELTA, VALUE_COEF = range(6)
FOUND = LOSS, MEAN_ENTROPY, KL, MAX_RATIO, CLIPPED, BOUNDED = tuple(range(6))  # what is noted of a net's losses
TINY, IMPOSSIBLE, HALF_LOG_TURN = np.finfo(np.float32).tiny, f4(ILLEGAL), f4(0.5 * np.log(2 * np.pi))


@njit(inline="always")
def single(total):
    """A sum in float64, but ±∞ if it is too large for float32, in which the loop adds up."""
    return total if np.isfinite(f4(total)) else float(f4(total))


@kernel()
def standardize(advantage, valid, rows):
    """(A − mean)/(std + 1e-8) of the valid rows."""
    mean, variance = 0.0, 0.0
    for i in range(len(valid)):
        mean += advantage[i] if valid[i] else f4(0)
    mean = f4(single(mean) / rows)
    for i in range(len(valid)):
        variance += (advantage[i] - mean) ** 2 if valid[i] else f4(0)
    spread, found = f4(np.sqrt(single(variance) / max(rows - 1, 1.0))) + f4(1e-8), np.empty(len(valid), np.float32)
    for i in range(len(valid)):
        found[i] = (advantage[i] - mean) / spread
    return found


@njit(inline="always")
def objective(log_prob, old, advantage, on, number, found):
    """A row's objective and its derivative with respect to log π; what is noted of the ratio is added to `found`."""
    if not on[REUSE]:
        return log_prob * advantage, advantage
    ratio, through = np.exp(log_prob - old), f4(1)
    value = ratio * advantage
    above = f4(TINY) if ratio < f4(TINY) else ratio
    found[KL] += above - f4(1) - np.log(above)
    if ratio > found[MAX_RATIO] or ratio != ratio:
        found[MAX_RATIO] = ratio
    if on[CLIP]:
        low, high = f4(1) - f4(number[RANGE]), f4(1) + f4(number[RANGE])
        clipped = (low if ratio < low else high if ratio > high else ratio) * advantage
        if clipped < value:
            value, through = clipped, f4(0)
        found[CLIPPED] += abs(ratio - f4(1)) > f4(number[RANGE])
    if on[DUAL_CLIP]:
        limit = f4(number[DUAL_LIMIT])
        if advantage < f4(0) and value <= limit * advantage:
            through = f4(0.5) * through if value == limit * advantage else f4(0)
            value = limit * advantage
        found[BOUNDED] += ratio > limit and advantage < f4(0)
    return value, through * advantage * ratio  # 0·∞ is NaN, as in PyTorch, so that the seed stops


@njit(inline="always")
def error(value, old, target, on, number):
    """A row's value loss, and its derivative with respect to V."""
    slope = value - target
    found = 0.5 * slope * slope
    if on[VALUE_CLIP]:
        limit = number[VALUE_RANGE]
        moved = value - old
        near = old + (-limit if moved < -limit else limit if moved > limit else moved) - target
        other, within = 0.5 * near * near, abs(moved) <= limit
        if other > found:
            found, slope = other, near if within else 0.0
        elif other == found and not within:
            slope *= 0.5
        elif other != other:  # PyTorch's maximum passes the gradient of a NaN on to both
            found, slope = other, slope + near if within else slope
    if on[HUBER]:
        delta = number[DELTA]
        distance = np.sqrt(2 * max(found, 0.5 * delta * delta))
        if distance > delta:
            found, slope = delta * (distance - 0.5 * delta), slope * delta / distance
    return found, slope


@njit(inline="always")
def gaussian_row(mean, i, log_std, action, s, r, z):
    """log π(a) and the entropy of a row; z = (a − μ)/σ is written."""
    log_prob, entropy = f4(0), f4(0)
    for j in range(len(z)):
        z[j] = (action[s, r, j] - mean[i, j]) / np.exp(log_std[s, j])
        log_prob -= f4(0.5) * z[j] * z[j] + log_std[s, j] + HALF_LOG_TURN
        entropy += log_std[s, j] + HALF_LOG_TURN + f4(0.5)
    return log_prob, entropy


@njit(inline="always")
def judged(y, i, s, r, legal, discrete, continuous, log_std, on, p, log_p):
    """log π(a) and the entropy of a row; of softmax policies, π and log π are written, of others p = (a − μ)/σ."""
    if continuous.shape[1] > 0:
        return gaussian_row(y, i, log_std, continuous, s, r, p)
    for j in range(len(p) if on[ACTION_MASK] else 0):
        y[i, j] = y[i, j] if legal[s, r, j] else IMPOSSIBLE
    return softmax_row(y, i, discrete[s, r], p, log_p)


@kernel()
def net_of_seed(s, net, sizes, gradient, room):
    """One seed's net: addresses of its layers, of where their gradients are added up, and of room for 32 rows.

    net [4, layers]: addresses of weights and biases, and where in a seed's gradients [P] theirs begin.
    """
    (spans, features), here = spans_of(sizes), gradient[s].ctypes.data
    weights, biases = net[0] + s * spans, net[1] + s * features
    turned, hs = np.empty(len(weights), np.int64), np.empty(len(weights), np.int64)
    at = turn_all(weights, turned, sizes, room.ctypes.data)
    for k in range(len(hs) - 1):  # the last one is the output, without its bias
        hs[k] = at
        at += 4 * BLOCK * sizes[k + 1]
    return weights, biases, turned, hs, here + 4 * net[2], here + 4 * net[3], at


@njit(inline="always")
def room_for(sizes):
    """As many numbers as `net_of_seed` needs."""
    return np.empty((sizes[:-1] * sizes[1:]).sum() + BLOCK * (sizes.sum() + 2 * sizes.max()), np.float32)


@njit(inline="always")
def vain(row):
    """0 if all of it is finite, else NaN."""
    rest = 0.0
    for j in range(len(row)):
        rest += 0.0 * row[j]
    return rest


@njit(inline="always")
def unfit(obs, valid, discrete, continuous, aims, olds, active, outputs):
    """Whether there is no such action, or filler is not finite: 0·∞ is NaN in a mean."""
    for s in range(len(obs)):
        for r in range(discrete.shape[1]):
            if not 0 <= discrete[s, r] < outputs:
                return True
        for r in range(obs.shape[1]):
            if active[s] and not valid[s, r]:
                odd = vain(obs[s, r]) + 0.0 * aims[s, r]
                odd += vain(continuous[s, r]) if continuous.shape[1] > 0 else 0.0
                odd += 0.0 * olds[s, r] if olds.shape[1] > 0 else 0.0
                if odd != 0:
                    return True
    return False


@njit(inline="always")
def gaussian_slopes(g, i, z, log_std, s, slope, bonus, of_std):
    """A row's gradients of the means, and of log σ."""
    for j in range(len(z)):
        sigma = np.exp(log_std[s, j])
        push = f4(0.5) * slope * (z[j] + z[j])
        g[i, j] = push / sigma
        way = push * (z[j] / sigma) * sigma  # slope·z², as PyTorch gets there
        if np.isfinite(way) and abs(z[j]) < f4(1e19):  # so that z² is, too
            of_std[j] += slope * (z[j] * z[j] - f4(1)) + bonus
        else:
            of_std[j] += way - (slope - bonus)


@njit(inline="always")
def softmax_slopes(g, i, p, log_p, action, entropy, slope, bonus):
    """A row's gradients of the logits."""
    for j in range(len(p)):
        chance = (f4(1) if j == action else f4(0)) - p[j]
        more = log_p[j] + entropy if bonus != f4(0) else f4(0)  # 0·∞ would be NaN
        g[i, j] = slope * chance - bonus * p[j] * more


@kernel(
    "(f4[:, :, ::1], b1[:, ::1], b1[:, :, ::1], i8[:, ::1], f4[:, :, ::1], f8[:, ::1], f8[:, ::1], b1[:], b1[::1], "
    "f8[:, ::1], i8[:, ::1], i8[::1], f8[:, ::1], f4[:, ::1], i8, i8, f4[:, ::1], f8[:, ::1])"
)
def gradients(
    obs, valid, legal, discrete, continuous, aims, olds, active, on, numbers,
    net, sizes, exact_bias, log_std, to_log_std, curved, gradient, found,
):  # fmt: skip
    """Add the gradients of a net's losses to `gradient` [S, P], and write the losses, and what is noted, [S, FOUND].

    False, and nothing is added, if there is no such action, or if filler is not finite. A policy has `discrete` [S, B]
    or `continuous` [S, B, A] actions; aims [S, B] are its advantages, and olds log π_old. Without either, it is a value
    net: its last bias is `exact`, [S, 1], aims are its targets, and olds its values before. What is not used is empty.
    """
    rows, outputs, found[:] = obs.shape[1], sizes[-1], 0
    gaussian, valued, reused = continuous.shape[1] > 0, exact_bias.shape[1] > 0, olds.shape[1] > 0
    if unfit(obs, valid, discrete, continuous, aims, olds, active, outputs):
        return False
    y, g, room = np.empty((BLOCK, outputs), np.float32), np.empty((BLOCK, outputs), np.float32), room_for(sizes)
    p, log_p = np.empty(outputs, np.float32), np.empty(outputs, np.float32)
    for s in range(len(obs)):
        noted, number, count = found[s], numbers[s], float(np.count_nonzero(valid[s]))
        if not active[s] or count == 0:
            continue
        weights, biases, turned, hs, to_weights, to_biases, scratch = net_of_seed(s, net, sizes, gradient, room)
        hs[-1], advantage = y.ctypes.data, aims[s].astype(np.float32)
        last_bias, of_std = matrix(net[1, -1] + s * 4 * outputs, 1, outputs), gradient[s, to_log_std:]
        if on[ADVANTAGE_NORM] and not valued:
            advantage = standardize(advantage, valid[s], count)
        bonus = -f4(number[ENTROPY_COEF]) / f4(count) if on[ENTROPY] else f4(0)
        for first in range(0, rows, BLOCK):
            some, x = min(BLOCK, rows - first), obs[s, first:].ctypes.data
            if not valid[s, first : first + some].any():
                continue
            block_forward(x, weights, biases, hs, sizes, some, curved, LINEAR)
            g[:] = 0
            for i in range(some):
                r = first + i
                if not valid[s, r]:
                    continue
                old = olds[s, r] if reused else 0.0
                if valued:
                    value, slope = error(y[i, 0] + exact_bias[s, 0], old, aims[s, r], on, number)
                    noted[LOSS] += value
                    g[i, 0] = slope * number[VALUE_COEF] / count
                    continue
                for j in range(outputs):
                    y[i, j] += last_bias[0, j]
                log_prob, entropy = judged(y, i, s, r, legal, discrete, continuous, log_std, on, p, log_p)
                value, slope = objective(log_prob, f4(old), advantage[r], on, number, noted)
                noted[LOSS] -= value
                noted[MEAN_ENTROPY] += entropy
                slope = -slope / f4(count)
                if gaussian:
                    gaussian_slopes(g, i, p, log_std, s, slope, bonus, of_std)
                else:
                    softmax_slopes(g, i, p, log_p, discrete[s, r], entropy, slope, bonus)
            up = g.ctypes.data
            block_backward(up, x, 0, turned, hs, to_weights, to_biases, sizes, some, curved, LINEAR, scratch)
        noted[LOSS] = noted[LOSS] if valued else single(noted[LOSS])
        for k in range(len(FOUND)):
            noted[k] /= 1.0 if k == MAX_RATIO else count
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
            t[s, 0] += 1
            root = np.sqrt(1 - 0.999 ** t[s, 0])
            rate, small = f4(learning_rate[s] * root / (1 - 0.9 ** t[s, 0])), f4(eps[s] * root)
            for i in range(m.shape[1]):  # as in `core.adam.Adam.plan`
                g = gradient[s, i] * factor
                g = f4(0) if g != g else min(max(g, -LARGEST), LARGEST)
                m[s, i] += (g - m[s, i]) * f4(0.1)
                v[s, i] = v[s, i] * f4(0.999) + g * g * f4(0.001)
                change[s, i] = m[s, i] / (np.sqrt(v[s, i]) + small) * rate
        else:
            change[s] = 0.0

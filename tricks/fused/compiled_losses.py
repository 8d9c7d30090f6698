"""One row's part of the losses, with its derivatives, as numba compiles it. The tricks' files have the sources."""

import numpy as np
from numba import njit

from tricks.action_mask import ILLEGAL
from tricks.fast.compiled_product import f4
from tricks.fast.kernels import kernel

FLAGS = ("reuse", "clip", "dual_clip", "advantage_norm", "entropy", "value_clip", "huber", "action_mask")
REUSE, CLIP, DUAL_CLIP, ADVANTAGE_NORM, ENTROPY, VALUE_CLIP, HUBER, ACTION_MASK = range(8)
NUMBERS = ("clip_range", "dual_clip_limit", "entropy_coef", "value_clip_range", "huber_delta", "value_coef")
RANGE, DUAL_LIMIT, ENTROPY_COEF, VALUE_RANGE, DELTA, VALUE_COEF = range(6)
FOUND = ("policy_loss", "entropy", "approx_kl", "max_ratio", "clip_fraction", "bounded_fraction")
POLICY_LOSS, MEAN_ENTROPY, KL, MAX_RATIO, CLIPPED, BOUNDED = range(6)
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
def hide(logits, i, legal):
    """Make the illegal actions of a row impossible."""
    for j in range(len(legal)):
        logits[i, j] = logits[i, j] if legal[j] else IMPOSSIBLE


@njit(inline="always")
def softmax_row(logits, i, action, p, log_p):
    """log π(a) and the entropy of a row; π and log π are written."""
    highest, total, mixed = logits[i, 0], f4(0), f4(0)
    for j in range(1, len(p)):
        highest = max(highest, logits[i, j])
    for j in range(len(p)):
        p[j] = np.exp(logits[i, j] - highest)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total
        log_p[j] = logits[i, j] - highest - np.log(total)  # as in `compiled_rows`, so that the first ratio is 1
        mixed += p[j] * log_p[j]
    return log_p[action], -mixed


@njit(inline="always")
def gaussian_row(mean, i, log_std, action, s, r, z):
    """log π(a) and the entropy of a row; z = (a − μ)/σ is written."""
    log_prob, entropy = f4(0), f4(0)
    for j in range(len(z)):
        z[j] = (action[s, r, j] - mean[i, j]) / np.exp(log_std[s, j])
        log_prob -= f4(0.5) * z[j] * z[j] + log_std[s, j] + HALF_LOG_TURN
        entropy += log_std[s, j] + HALF_LOG_TURN + f4(0.5)
    return log_prob, entropy

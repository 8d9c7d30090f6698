"""Row by row, as numba compiles it: discounted sums, and softmax policies."""

import numpy as np
from numba import njit

from tricks.fast.kernels import kernel

f4 = np.float32


@kernel(["(f4[:, :, ::1], f4[:, :, ::1], f4[:, :, ::1])", "(f8[:, :, ::1], f8[:, :, ::1], f8[:, :, ::1])"])
def discounted_sum(x, discount, sums):
    """yₜ = xₜ + discountₜ·yₜ₊₁, backward in time: [S, T, N]."""
    for s in range(len(x)):
        for n in range(x.shape[2]):
            following = x.dtype.type(0)
            for t in range(x.shape[1] - 1, -1, -1):
                following = x[s, t, n] + discount[s, t, n] * following
                sums[s, t, n] = following


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
        log_p[j] = logits[i, j] - highest - np.log(total)
        mixed += p[j] * log_p[j]
    return log_p[action], -mixed


@kernel("(f4[:, ::1], i8[::1], f4[::1], f4[:, ::1])", contract=False)
def log_prob_forward(logits, action, out, p):
    """log π(a) of each row, and its π, as in learning. False if there is no such action: nothing is written."""
    for i in range(len(logits)):
        if not 0 <= action[i] < logits.shape[1]:
            return False
    log_p = np.empty(logits.shape[1], np.float32)
    for i in range(len(logits)):
        out[i] = softmax_row(logits, i, action[i], p[i], log_p)[0]
    return True

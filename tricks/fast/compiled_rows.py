"""Row by row, as numba compiles it: means, softmax policies, and Adam's step."""

import numpy as np
from numba import njit

from tricks.fast.kernels import kernel

f4 = np.float32


@kernel(
    ["(f4[:, ::1], b1[:, ::1], f4[::1], f8[::1])", "(f8[:, ::1], b1[:, ::1], f8[::1], f8[::1])"],
    contract=False,
)
def mean_forward(x, valid, out, rows):
    """The mean of each seed's valid rows, added up in order, so that filler changes nothing; and how many there are."""
    for s in range(len(x)):
        total, rows[s] = 0.0, 0.0
        for i in range(x.shape[1]):
            total += x[s, i] if valid[s, i] else 0.0
            rows[s] += 1.0 if valid[s, i] else 0.0
        rows[s] = max(rows[s], 1.0)
        out[s] = total / rows[s]


@njit(inline="always")
def adam_step(m, v, t, change, gradient, s, factor, learning_rate, eps):
    """What `core.adam.Adam.plan` says for one seed that moves, with its gradient times a factor."""
    largest = np.finfo(np.float32).max
    t[s, 0] += 1
    root = np.sqrt(1 - 0.999 ** t[s, 0])
    rate = f4(learning_rate * root / (1 - 0.9 ** t[s, 0]))
    small = f4(eps * root)
    for i in range(m.shape[1]):
        g = gradient[s, i] * factor
        g = f4(0) if g != g else min(max(g, -largest), largest)
        m[s, i] += (g - m[s, i]) * f4(0.1)
        v[s, i] = v[s, i] * f4(0.999) + g * g * f4(0.001)
        change[s, i] = m[s, i] / (np.sqrt(v[s, i]) + small) * rate


@kernel(["(f4[:, :, ::1], f4[:, :, ::1], f4[:, :, ::1])", "(f8[:, :, ::1], f8[:, :, ::1], f8[:, :, ::1])"])
def discounted_sum(x, discount, sums):
    """yₜ = xₜ + discountₜ·yₜ₊₁, backward in time: [S, T, N]."""
    for s in range(len(x)):
        for n in range(x.shape[2]):
            following = x.dtype.type(0)
            for t in range(x.shape[1] - 1, -1, -1):
                following = x[s, t, n] + discount[s, t, n] * following
                sums[s, t, n] = following


@kernel("(f4[:, ::1], i8[::1], f4[::1], f4[:, ::1])", contract=False)
def log_prob_forward(logits, action, out, p):
    """log π(a) of each row, and all probabilities; whether there are all these actions, else nothing is written."""
    for i in range(len(logits)):
        if not 0 <= action[i] < logits.shape[1]:
            return False
    for i in range(len(logits)):
        highest, total = logits[i].max(), f4(0)
        for j in range(logits.shape[1]):
            p[i, j] = np.exp(logits[i, j] - highest)
            total += p[i, j]
        out[i] = logits[i, action[i]] - highest - np.log(total)
        for j in range(logits.shape[1]):
            p[i, j] /= total
    return True

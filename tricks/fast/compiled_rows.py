"""Row by row, as numba compiles it: means, discounted sums, and softmax policies."""

import numpy as np

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


@kernel(["(f4[:, :, ::1], f4[:, :, ::1], f4[:, :, ::1])", "(f8[:, :, ::1], f8[:, :, ::1], f8[:, :, ::1])"])
def discounted_sum(x, discount, sums):
    """yₜ = xₜ + discountₜ·yₜ₊₁, backward in time: [S, T, N]."""
    for s in range(len(x)):
        for n in range(x.shape[2]):
            following = x.dtype.type(0)
            for t in range(x.shape[1] - 1, -1, -1):
                following = x[s, t, n] + discount[s, t, n] * following
                sums[s, t, n] = following


@kernel("(f4[:, ::1], i8[::1], f4[::1])", contract=False)
def log_prob_forward(logits, action, out):
    """log π(a) of each row; the logits become probabilities. False if there is no such action: nothing is written."""
    for i in range(len(logits)):
        if not 0 <= action[i] < logits.shape[1]:
            return False
    for i in range(len(logits)):
        highest, total, chosen = logits[i].max(), f4(0), logits[i, action[i]]
        for j in range(logits.shape[1]):
            logits[i, j] = np.exp(logits[i, j] - highest)
            total += logits[i, j]
        out[i] = chosen - highest - np.log(total)
        for j in range(logits.shape[1]):
            logits[i, j] /= total
    return True

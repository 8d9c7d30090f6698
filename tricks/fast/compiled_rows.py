"""Row by row, as numba compiles it: means, softmax policies, and Adam's step."""

from typing import Any

import numpy as np
from numba import njit

KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
f4 = np.float32


@njit(
    ["(f4[:, ::1], b1[:, ::1], f4[::1], f8[::1])", "(f8[:, ::1], b1[:, ::1], f8[::1], f8[::1])"],
    **KERNEL,
)
def mean_forward(x, valid, out, rows):
    """The mean of each seed's valid rows, added up in order, so that filler changes nothing; and how many there are."""
    for s in range(len(x)):
        total, rows[s] = 0.0, 0.0
        for i in range(x.shape[1]):
            weight = 1.0 if valid[s, i] else 0.0
            total += x[s, i] * weight
            rows[s] += weight
        rows[s] = max(rows[s], 1.0)
        out[s] = total / rows[s]


@njit(
    ["(f4[:], b1[:, ::1], f8[::1], f4[:, ::1])", "(f8[:], b1[:, ::1], f8[::1], f8[:, ::1])"],
    **KERNEL,
)
def mean_backward(grad, valid, rows, of_x):
    """The gradient of the rows from that of their means."""
    for s in range(len(of_x)):
        share = grad[s] / rows[s]
        for i in range(of_x.shape[1]):
            of_x[s, i] = share if valid[s, i] else share * 0.0


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


@njit(
    "(f4[:, ::1], f4[:, ::1], i8[:, ::1], f4[:, ::1], f4[:, ::1], f4[:], Array(f8, 1, 'A', readonly=True), b1[:])",
    **KERNEL,
)
def adam(m, v, t, change, gradient, learning_rate, eps, moving):
    """What `core.adam.Adam.plan` says."""
    for s in range(len(m)):
        if moving[s]:
            adam_step(m, v, t, change, gradient, s, f4(1), learning_rate[s], eps[s])
        else:
            change[s] = 0.0


@njit("(f4[:, ::1], i8[::1], f4[::1], f4[:, ::1])", **KERNEL)
def log_prob_forward(logits, action, out, p):
    """log π(a) of each row, and all probabilities."""
    for i in range(len(logits)):
        highest, total = logits[i].max(), f4(0)
        for j in range(logits.shape[1]):
            p[i, j] = np.exp(logits[i, j] - highest)
            total += p[i, j]
        out[i] = logits[i, action[i]] - highest - np.log(total)
        for j in range(logits.shape[1]):
            p[i, j] /= total


@njit("(f4[:], i8[::1], f4[:, ::1], f4[:, ::1])", **KERNEL)
def log_prob_backward(grad, action, p, of_logits):
    """∂ log π(a)/∂zⱼ = [j = a] − π(j)."""
    for i in range(len(p)):
        for j in range(p.shape[1]):
            of_logits[i, j] = grad[i] * ((f4(1) if j == action[i] else f4(0)) - p[i, j])


@njit("(f4[:, ::1], f4[::1], f4[:, ::1], f4[:, ::1])", **KERNEL)
def entropy_forward(logits, out, p, log_p):
    """−Σⱼ π(j)·log π(j) of each row, π and log π."""
    for i in range(len(logits)):
        highest, total, mixed = logits[i].max(), f4(0), f4(0)
        for j in range(logits.shape[1]):
            p[i, j] = np.exp(logits[i, j] - highest)
            total += p[i, j]
        norm = highest + np.log(total)
        for j in range(logits.shape[1]):
            p[i, j] /= total
            log_p[i, j] = logits[i, j] - norm
            mixed += p[i, j] * log_p[i, j]
        out[i] = -mixed


@njit("(f4[:], f4[::1], f4[:, ::1], f4[:, ::1], f4[:, ::1])", **KERNEL)
def entropy_backward(grad, entropy, p, log_p, of_logits):
    """∂H/∂zⱼ = −π(j)·(log π(j) + H)."""
    for i in range(len(p)):
        for j in range(p.shape[1]):
            of_logits[i, j] = -grad[i] * p[i, j] * (log_p[i, j] + entropy[i])

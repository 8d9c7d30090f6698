"""Gradients of layers, heads, means, and softmax policies as numba compiles them, for what takes them one by one."""

import numpy as np

from tricks.fast.compiled_layers import BLOCK, block_backward, fill, finite, largest, moved, silent, spans_of, turn
from tricks.fast.compiled_product import f4, product
from tricks.fast.kernels import kernel


@kernel("(i8, i8, i8, i8[:], i8[:], i8[:], i8[:], i8[:], i8, i8, b1, i8)")
def layers_backward(g, x, gx, weights, hs, to_weights, to_biases, sizes, seeds, rows, curved, scratch):
    """The gradients of weights, biases and, if gx is not 0, of x, from that of the last features, g."""
    spans, features = spans_of(sizes)
    turned, most = np.empty(len(weights), np.int64), largest(sizes)
    for s in range(seeds):
        at = scratch + 8 * BLOCK * most
        to_w, to_b = moved(to_weights, s, spans), moved(to_biases, s, features)
        tame = True  # 0·∞ is NaN, so only a row of finite numbers adds nothing if its gradient is 0
        for k in range(len(weights)):
            tame = tame and finite(weights[k] + s * spans[k], sizes[k], sizes[k + 1])
            turned[k] = at
            turn(weights[k] + s * spans[k], at, sizes[k], sizes[k + 1])
            at += spans[k]
            fill(to_w[k], 0, sizes[k], sizes[k + 1])
            fill(to_b[k], 0, 1, sizes[k + 1])
        for first in range(s * rows, (s + 1) * rows, BLOCK):
            some, d = min(BLOCK, (s + 1) * rows - first), g + first * features[-1]
            to_x = gx + first * 4 * sizes[0] if gx != 0 else 0
            below, h = x + first * 4 * sizes[0], moved(hs, first, features)
            if tame and silent(d, some, sizes[-1]) and finite(below, some, sizes[0]):
                idle = True
                for k in range(len(h)):
                    idle = idle and finite(h[k], some, sizes[k + 1])
                if idle:
                    if gx != 0:
                        fill(to_x, 0, some, sizes[0])
                    continue
            block_backward(d, below, to_x, turned, h, to_w, to_b, sizes, some, curved, scratch)


@kernel("(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8)")
def head_backward(g, h, weight, gh, to_weight, seeds, rows, inputs, outputs, scratch):
    """The gradients of h and of W from that of y = hW."""
    for s in range(seeds):
        at, d, below = 4 * s * inputs * outputs, g + 4 * s * rows * outputs, 4 * s * rows * inputs
        turn(weight + at, scratch, inputs, outputs)
        fill(gh + below, 0, rows, inputs)
        product(d, outputs, 1, scratch, gh + below, rows, inputs, outputs)
        fill(scratch, 0, outputs, inputs)
        product(d, 1, outputs, h + below, scratch, outputs, inputs, rows)
        turn(scratch, to_weight + at, outputs, inputs)


@kernel(["(f4[:, :, :], f4[:, :, ::1])", "(f8[:, :, :], f8[:, :, ::1])"])
def column_sums(g, sums):
    """The sums of each seed's columns: [S, rows, columns] -> [S, 1, columns]."""
    for s in range(len(g)):
        for j in range(g.shape[2]):
            total = 0.0
            for i in range(g.shape[1]):
                total += g[s, i, j]
            sums[s, 0, j] = total


@kernel(
    ["(f4[:], b1[:, ::1], f8[::1], f4[:, ::1])", "(f8[:], b1[:, ::1], f8[::1], f8[:, ::1])"],
)
def mean_backward(grad, valid, rows, of_x):
    """The gradient of the rows from that of their means."""
    for s in range(len(of_x)):
        share = grad[s] / rows[s]
        for i in range(of_x.shape[1]):
            of_x[s, i] = share if valid[s, i] else 0.0


@kernel("(f4[:], i8[::1], f4[:, ::1], f4[:, ::1])")
def log_prob_backward(grad, action, p, of_logits):
    """∂ log π(a)/∂zⱼ = [j = a] − π(j)."""
    for i in range(len(p)):
        for j in range(p.shape[1]):
            of_logits[i, j] = grad[i] * ((f4(1) if j == action[i] else f4(0)) - p[i, j])

"""Layers as numba compiles them, with their gradients: seed by seed, and a few rows through all layers at once.

Every sum is taken in an order that depends on the seed's own rows alone. So a seed gets the same bits in any stack, and
a row the same features in any batch. Matrices are float32 and contiguous, and travel as addresses, because numba takes
longer to unpack an array than a small layer takes to compute.
"""

import numpy as np
from numba import njit

from tricks.fast.compiled_product import f4, matrix, product
from tricks.fast.kernels import kernel

LARGEST = np.finfo(np.float32).max
BLOCK = 32  # rows that go through all layers together, within the fastest cache
FEW = 4  # outputs, as of most heads
RELU, TANH, LINEAR = range(3)  # what a layer makes of xW + b; LINEAR leaves b to the caller, who may add float64


@njit(inline="always")
def tanh(x):
    """A rational function, as in Eigen, and ±1 from where that is the nearest number; NaN stays NaN."""
    bound, least = f4(7.90531110763549805), f4(9.01091293)  # 13·log 2
    full = abs(x) > least
    if x > bound:
        x = bound
    if x < -bound:
        x = -bound
    y = x * x
    p = y * (y * f4(-2.76076847742355e-16) + f4(2.00018790482477e-13)) + f4(-8.60467152213735e-11)
    p = y * (y * p + f4(5.12229709037114e-08)) + f4(1.48572235717979e-05)
    p = y * (y * p + f4(6.37261928875436e-04)) + f4(4.89352455891786e-03)
    q = y * (y * f4(1.19825839466702e-06) + f4(1.18534705686654e-04)) + f4(2.26843463243900e-03)
    q = y * q + f4(4.89352518554385e-03)
    p *= x
    return p / (abs(p) if full else q)


@njit(inline="always")
def spans_of(sizes):
    """The bytes of each layer's weights, and of a row of its features."""
    return 4 * sizes[:-1] * sizes[1:], 4 * sizes[1:]


@kernel("(i8, i8, i8, i8)")
def fill(c, row, rows, columns):
    """Write a row into all rows of C; the address 0 stands for a row of zeros."""
    C, R = matrix(c, rows, columns), matrix(row, 1, columns)
    for i in range(rows):
        for j in range(columns):
            C[i, j] = R[0, j] if row != 0 else f4(0)


@kernel("(i8, i8, i8, i8)")
def bend(h, rows, columns, kind):
    """h ← tanh h, or max(0, h); whether any h was infinite."""
    H, wild = matrix(h, rows, columns), False
    for i in range(rows):
        for j in range(columns):
            wild |= abs(H[i, j]) > LARGEST
        if kind == TANH:
            for j in range(columns):
                H[i, j] = tanh(H[i, j])
        else:
            for j in range(columns):
                H[i, j] = f4(0) if H[i, j] < f4(0) else H[i, j]
    return wild


@kernel("(i8, i8, i8, i8, i8, i8)")
def mend(x, weight, h, rows, inputs, outputs):
    """Where products overflow both ways, h is NaN, as in PyTorch. (Fused multiply-adds don't round a product.)"""
    X, W, H = matrix(x, rows, inputs), matrix(weight, inputs, outputs), matrix(h, rows, outputs)
    for i in range(rows):
        for j in range(outputs):
            above, below = False, False
            for k in range(inputs):
                above |= X[i, k] * W[k, j] > LARGEST
                below |= X[i, k] * W[k, j] < -LARGEST
            if above and below:
                H[i, j] = np.nan


@kernel("(i8, i8, i8, i8, i8, i8, i8)")
def unbend(g, h, d, sums, rows, columns, kind):
    """d = g·(1 − h²), or g where h > 0, or g; the sums of d's columns are added up."""
    G, H, D, B = matrix(g, rows, columns), matrix(h, rows, columns), matrix(d, rows, columns), matrix(sums, 1, columns)
    for i in range(rows):
        if kind == TANH:
            for j in range(columns):
                D[i, j] = G[i, j] * (f4(1) - H[i, j] * H[i, j])
        else:
            for j in range(columns):
                D[i, j] = f4(0) if kind == RELU and H[i, j] <= f4(0) else G[i, j]
        for j in range(columns):
            B[0, j] += D[i, j]


@kernel("(i8, i8, i8, i8, b1)")
def turn(w, t, rows, columns, add):
    """t [columns, rows] ← wᵀ, or t + wᵀ."""
    W, T = matrix(w, rows, columns), matrix(t, columns, rows)
    for j in range(columns):
        for i in range(rows):
            T[j, i] = T[j, i] + W[i, j] if add else W[i, j]


@njit(inline="always")
def block_forward(x, weights, biases, hs, sizes, rows, kind, last):
    """The features of every layer, hs[k] [rows, sizes[k+1]], of one seed's x [rows, sizes[0]]; `last`: its kind."""
    for k in range(len(hs)):
        h, inputs, outputs, linear = hs[k], sizes[k], sizes[k + 1], last == LINEAR and k == len(hs) - 1
        fill(h, 0 if linear else biases[k], rows, outputs)
        product(x, inputs, 1, weights[k], h, rows, outputs, inputs)
        if not linear and bend(h, rows, outputs, kind):
            mend(x, weights[k], h, rows, inputs, outputs)
        x = h


@njit(inline="always")
def turn_all(weights, turned, sizes, at):
    """Write all weights, transposed, from an address on; `turned` gets theirs. Returns the address that follows."""
    for k in range(len(weights)):
        turned[k] = at
        turn(weights[k], at, sizes[k], sizes[k + 1], False)
        at += 4 * sizes[k] * sizes[k + 1]
    return at


@njit(inline="always")
def block_backward(g, x, gx, turned, hs, to_weights, to_biases, sizes, rows, kind, last, scratch):
    """Add to the gradients of one seed's weights and biases and, if gx is not 0, set that of x, from that of g.

    `turned` are the weights, transposed; the scratch has room for twice the rows of the widest layer.
    """
    here, other = scratch, scratch + 4 * rows * sizes.max()
    for k in range(len(hs) - 1, -1, -1):
        inputs, outputs = sizes[k], sizes[k + 1]
        below = hs[k - 1] if k > 0 else x
        unbend(g, hs[k], here, to_biases[k], rows, outputs, last if k == len(hs) - 1 else kind)
        if outputs > FEW:
            product(below, 1, inputs, here, to_weights[k], inputs, outputs, rows)
        else:  # the other way round, so that registers are full
            fill(other, 0, outputs, inputs)
            product(here, 1, outputs, below, other, outputs, inputs, rows)
            turn(other, to_weights[k], outputs, inputs, True)
        if k > 0 or gx != 0:
            g = other if k > 0 else gx
            fill(g, 0, rows, inputs)
            product(here, outputs, 1, turned[k], g, rows, inputs, outputs)


@kernel("(i8, i8[:], i8[:], i8[:], i8[:], i8, i8, i8)")
def layers_forward(x, weights, biases, hs, sizes, seeds, rows, kind):
    """The features of every layer, hs[k] [S, rows, sizes[k+1]], of x [S, rows, sizes[0]]. All layers are of a kind."""
    spans, features = spans_of(sizes)
    for s in range(seeds):
        w, b = weights + s * spans, biases + s * features
        for first in range(s * rows, (s + 1) * rows, BLOCK):
            some, at = min(BLOCK, (s + 1) * rows - first), hs + first * features
            block_forward(x + first * 4 * sizes[0], w, b, at, sizes, some, kind, kind)


@kernel("(i8, i8, i8, i8[:], i8[:], i8[:], i8[:], i8[:], i8, i8, i8)")
def layers_backward(g, x, gx, weights, hs, to_weights, to_biases, sizes, seeds, rows, kind):
    """Add to the gradients of weights and biases and, if gx is not 0, set that of x, from that of the last features."""
    (spans, features), turned = spans_of(sizes), np.empty(len(weights), np.int64)
    room = np.empty(2 * BLOCK * sizes.max() + spans.sum() // 4, np.float32)
    for s in range(seeds):
        at, to_w, to_b = room.ctypes.data, to_weights + s * spans, to_biases + s * features
        scratch = turn_all(weights + s * spans, turned, sizes, at)
        for first in range(s * rows, (s + 1) * rows, BLOCK):
            some, d, h = min(BLOCK, (s + 1) * rows - first), g + first * features[-1], hs + first * features
            below, to_x = x + first * 4 * sizes[0], gx + first * 4 * sizes[0] if gx != 0 else 0
            block_backward(d, below, to_x, turned, h, to_w, to_b, sizes, some, kind, kind, scratch)

"""One seed's net as numba compiles it: 32 rows forward, and their gradients back. Nets are passed as addresses."""

import numpy as np
from numba import njit

from tricks.fast.compiled_layers import BLOCK, block_backward, block_forward, fill, largest, moved, spans_of, turn
from tricks.fast.compiled_product import matrix, product
from tricks.fast.kernels import kernel


@kernel()
def net_of_seed(s, net, sizes, gradient, room):
    """One seed's net: addresses of its layers, of where their gradients are added up, and of room for 32 rows."""
    spans, features = spans_of(sizes)
    weights, biases = moved(net[0], s, spans), moved(net[1], s, features)
    here, at = gradient[s].ctypes.data, room.ctypes.data
    turned, hs = np.empty(len(weights), np.int64), np.empty(len(sizes) - 2, np.int64)
    for k in range(len(weights)):
        turned[k] = at
        turn(weights[k], at, sizes[k], sizes[k + 1])
        at += spans[k]
    for k in range(len(hs)):
        hs[k] = at
        at += 4 * BLOCK * sizes[k + 1]
    to_head, scratch = at, at + 4 * sizes[-2] * sizes[-1]
    fill(to_head, 0, sizes[-1], sizes[-2])
    to_weights, to_biases = np.empty(len(weights), np.int64), np.empty(len(weights), np.int64)
    for k in range(len(weights)):
        to_weights[k], to_biases[k] = here + 4 * net[2, k], here + 4 * net[3, k]
    return sizes, weights, biases, turned, hs, to_weights, to_biases, to_head, scratch


@njit(inline="always")
def room_for(sizes):
    """As many numbers as `net_of_seed` needs."""
    count = sizes[-2] * sizes[-1] + BLOCK * 3 * largest(sizes)
    for k in range(len(sizes) - 1):
        count += sizes[k] * sizes[k + 1] + BLOCK * sizes[k + 1]
    return np.empty(count, np.float32)


@kernel("(b1[:, :], i8, i8, i8)")
def count_of(valid, s, first, last):
    """How many of these rows are experience."""
    count = 0
    for i in range(first, last):
        count += valid[s, i]
    return count


@njit(inline="always")
def forward(x, net, y, rows, curved):
    """A net's output without the last bias."""
    sizes, weights, biases, _, hs, _, _, _, _ = net
    block_forward(x, weights, biases, hs, sizes, rows, curved)
    fill(y, 0, rows, sizes[-1])
    product(hs[-1] if len(hs) > 0 else x, sizes[-2], 1, weights[-1], y, rows, sizes[-1], sizes[-2])


@njit(inline="always")
def backward(g, x, net, rows, curved):
    """Add to the gradients of all but the last bias, from that of the output."""
    sizes, _, _, turned, hs, to_weights, to_biases, to_head, scratch = net
    inputs, outputs = sizes[-2], sizes[-1]
    product(g, 1, outputs, hs[-1] if len(hs) > 0 else x, to_head, outputs, inputs, rows)
    if len(hs) > 0:
        above = scratch + 8 * BLOCK * largest(sizes)
        fill(above, 0, rows, inputs)
        product(g, outputs, 1, turned[-1], above, rows, inputs, outputs)
        block_backward(above, x, 0, turned, hs, to_weights, to_biases, sizes[:-1], rows, curved, scratch)


@njit(inline="always")
def finish(net, bias):
    """Write the gradients of the last layer."""
    sizes, _, _, _, _, to_weights, to_biases, to_head, _ = net
    turn(to_head, to_weights[-1], sizes[-1], sizes[-2])
    to_bias = matrix(to_biases[-1], 1, sizes[-1])
    for j in range(sizes[-1]):
        to_bias[0, j] = bias[j]

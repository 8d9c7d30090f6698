"""The compiled functions as Python runs them, so that faults can be put into them without compiling anything."""

import ctypes
import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

from tricks.fast.kernels import COMPILED

MODULES = [".".join(("tricks", file.parent.name, file.stem)) for file in COMPILED]
BLOCK = 5  # rows that go through all layers together: few, so that a few rows are several blocks


@contextmanager
def interpreted() -> Iterator[None]:
    """Within it, every kernel is the function that numba compiled, and what no Python could run has a twin here."""
    twins = {"matrix": matrix, "product": product}
    with ExitStack() as stack, np.errstate(all="ignore"):
        for module in map(importlib.import_module, MODULES):
            for name, each in list(vars(module).items()):
                if hasattr(each, "py_func"):
                    stack.enter_context(patch.object(module, name, twins.get(name, each.py_func)))
            if hasattr(module, "BLOCK"):
                stack.enter_context(patch.object(module, "BLOCK", BLOCK))
        yield


def matrix(address: int, rows: int, columns: int) -> np.ndarray:
    if address == 0:  # nothing is there
        return np.broadcast_to(np.float32(np.nan), (rows, columns))
    count = int(rows) * int(columns)
    if count == 0:
        return np.empty((rows, columns), np.float32)
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(int(address))).reshape(rows, columns)


def product(a: int, a_row: int, a_column: int, b: int, c: int, rows: int, columns: int, depth: int) -> None:
    if rows * columns * depth:
        first = matrix(a, 1, 1)
        A = np.lib.stride_tricks.as_strided(first, (rows, depth), (4 * int(a_row), 4 * int(a_column)))
        B, C = matrix(b, depth, columns), matrix(c, rows, columns)
        for k in range(depth):  # as the kernel adds up: only sums are rounded
            C[:] += A[:, k : k + 1].astype(np.float64) * B[k]

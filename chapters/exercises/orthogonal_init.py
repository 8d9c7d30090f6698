"""Exercises of the chapter on orthogonal initialization."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from chapters.book.exercise import Exercise
from tricks.core.nets import Net
from tricks.core.seeds import draw
from tricks.orthogonal_init import orthogonal


@torch.no_grad()
def opinionated_(net: Net, seeds: Sequence[int], place: int, gain: float, head_gain: float) -> None:
    """W ← gain·Q with QᵀQ = I or QQᵀ = I, b ← 0, in place; the last layer takes head_gain."""
    for layer, (weight, bias) in enumerate(net.layers):
        _, rows, columns = weight.shape
        q = draw(seeds, "init", place, layer, by=partial(orthogonal, rows=rows, columns=columns))
        weight.copy_(q * (head_gain if layer == len(net.layers) else gain))
        bias.zero_()


def _right(normals: np.ndarray) -> np.ndarray:
    tall = normals if normals.shape[0] >= normals.shape[1] else normals.T
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))
    return q if tall is normals else q.T


def _without_signs(normals: np.ndarray) -> np.ndarray:
    tall = normals if normals.shape[0] >= normals.shape[1] else normals.T
    q, _ = np.linalg.qr(tall)
    return q if tall is normals else q.T


def _never_transposed(normals: np.ndarray) -> np.ndarray:
    q, r = np.linalg.qr(normals)
    return q * np.sign(np.diag(r))


def _by_svd(normals: np.ndarray) -> np.ndarray:
    u, _, v = np.linalg.svd(normals, full_matrices=False)
    return u @ v


check_orthogonal = Exercise(
    _right,
    cases=(
        {"normals": np.array([[3.0, 1.0], [4.0, 2.0]])},
        {"normals": np.array([[1.0, 0.5], [-2.0, 1.0], [2.0, 1.5]])},
        {"normals": np.array([[2.0, 1.0, -1.0], [0.5, 1.0, 3.0]])},
    ),
    mistakes={
        "orthogonal, but not uniform: turn each column of Q by the sign of its entry on R's diagonal.": _without_signs,
        "a matrix with more columns than rows cannot have orthonormal columns: transpose it before and after.": (
            _never_transposed
        ),
        "the columns have length 1, but they are not at right angles to each other.": (
            lambda normals: normals / np.linalg.norm(normals, axis=0)
        ),
        "the rows have length 1, but they are not at right angles to each other.": (
            lambda normals: normals / np.linalg.norm(normals, axis=1, keepdims=True)
        ),
        "this is R, the triangular factor. You want Q.": lambda normals: np.linalg.qr(normals)[1],
        "two things are missing: the signs of R's diagonal, and a transpose for matrices that are wider than tall.": (
            lambda normals: np.linalg.qr(normals)[0]
        ),
        "U·Vᵀ is orthogonal and uniform, too, but another matrix. Here we check for the one from QR.": _by_svd,
    },
    drawn=lambda d: {"normals": d.rng.normal(size=(d.whole(2, 4), d.whole(2, 4)))},
)

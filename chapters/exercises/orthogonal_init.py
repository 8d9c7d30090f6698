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


def _gram_schmidt(normals: np.ndarray, before: int | None = None, length: bool = True) -> np.ndarray:
    """Columns at right angles to the `before` columns before them (None: all), of length 1 if `length`."""
    columns = list[np.ndarray]()
    for x in normals.T:
        for q in columns[-before:] if before else columns:
            x = x - (q @ x) / (q @ q) * q
        columns.append(x / np.linalg.norm(x) if length else x)
    return np.stack(columns, axis=1)


check_orthogonal = Exercise(
    _gram_schmidt,
    cases=(
        {"normals": np.array([[3.0, 1.0], [4.0, 2.0]])},
        {"normals": np.array([[1.0, 0.5], [-2.0, 1.0], [2.0, 1.5]])},
        {"normals": np.array([[2.0, 1.0, -1.0], [0.5, 1.0, 3.0], [1.0, -2.0, 1.5]])},
    ),
    mistakes={
        "right, but for signs that qr chose. Gram-Schmidt never turns a column around.": (
            lambda normals: np.linalg.qr(normals)[0]
        ),
        "the columns have length 1, but they are not at right angles to each other.": (
            lambda normals: normals / np.linalg.norm(normals, axis=0)
        ),
        "the columns are at right angles, but their lengths are not 1.": partial(_gram_schmidt, length=False),
        "each column is at right angles to the one before, but not to all of them.": partial(_gram_schmidt, before=1),
        "these are the rows, made orthogonal. Take the columns.": lambda normals: _gram_schmidt(normals.T).T,
        "U·Vᵀ is orthogonal and uniform, too, but another matrix. Here we check for the one from Gram-Schmidt.": (
            lambda normals: np.matmul(*np.linalg.svd(normals, full_matrices=False)[::2])
        ),
    },
    drawn=lambda d: {"normals": d.rng.normal(size=(d.whole(3, 4), d.whole(2, 3)))},
)

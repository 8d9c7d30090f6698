"""orthogonal_init: weights that preserve norms, zero bias, and a policy head so small that π starts near uniform."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from tricks.core.nets import Net
from tricks.core.seeds import draw


@torch.no_grad()
def orthogonal_(net: Net, seeds: Sequence[int], place: int, gain: float, head_gain: float) -> None:
    """W ← gain·Q with QᵀQ = I or QQᵀ = I, b ← 0, in place; the last layer takes head_gain.

    Q is the orthogonal factor of a Gaussian matrix, drawn separately for each seed; `place` gives each net its own.
    Saxe et al. 2013, arXiv:1312.6120; gains √2, 0.01 and 1 as in openai/baselines.
    """
    for layer, (weight, bias) in enumerate(net.layers):
        q = draw(seeds, "init", place, layer, by=partial(orthogonal, rows=weight.shape[1], columns=weight.shape[2]))
        weight.copy_(q * (head_gain if layer == len(net.layers) - 1 else gain))
        bias.zero_()


def orthogonal(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A uniformly random matrix [rows, columns] with orthonormal rows or columns, whichever are fewer."""
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))  # without the signs of R, Q would not be uniformly distributed
    return q if rows >= columns else q.T

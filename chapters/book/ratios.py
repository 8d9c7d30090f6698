"""The importance ratios of a real run, epoch by epoch, and a plot of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from ablations import style
from chapters.book.trainings import planted
from tricks import Config, Tricks, train
from tricks.reuse import drift

EDGES = np.linspace(-2, 2, 61)  # ratios from 1/4 to 4, as powers of two


def ratios_by_epoch(config: Config, tricks: Tricks, update: int) -> list[np.ndarray]:
    """The ratios of the first seed in one update as the loop computes them, one array per epoch."""
    seen = []

    def listen(ratio: Tensor, valid: Tensor) -> dict[str, Tensor]:
        seen.append(ratio.detach()[0][valid[0]])
        return drift(ratio, valid)

    with planted(drift=listen):
        train(config, tricks)
    steps = config.epochs * config.minibatches
    ours = seen[update * steps : (update + 1) * steps]
    return [torch.cat(ours[i : i + config.minibatches]).numpy() for i in range(0, steps, config.minibatches)]


def draw_ratios(axis: Axes, epochs: Sequence[np.ndarray], color: str) -> None:
    """Draw one histogram per epoch, the first at the top. Heights are square roots of shares, to show rare ratios."""
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    for base, ratios in zip(range(len(epochs), 0, -1), epochs, strict=True):
        share = _shares(ratios)
        axis.fill_between(middle, base, base + 2.5 * np.sqrt(share), color=color, alpha=0.8, lw=0)
        axis.axhline(base, color=style.FAINT, lw=0.5)
    axis.set(xlabel="ratio ρ", xticks=(-2, -1, 0, 1, 2))
    axis.set_xticklabels(["≤¼", "½", "1", "2", "≥4"])
    last = len(epochs)
    axis.set_yticks((last, last // 2 + 1, 1), ["epoch 1", f"epoch {last // 2}", f"epoch {last}"])


def shares_by_epoch(found: Mapping[str, Sequence[np.ndarray]]) -> dict[str, Any]:
    """The ratios of each clip range (`none`: no clip) by epoch as numbers for the moving figure.

    Their shares between EDGES, which share is outside of the range (without a clip: of 0.2), and the largest.
    """
    ranges = {name: 0.2 if name == "none" else float(name) for name in found}
    return {
        "ranges": list(ranges),
        "edges": EDGES.tolist(),
        "shares": [[_shares(ratios).tolist() for ratios in epochs] for epochs in found.values()],
        "outside": [[float((abs(r - 1) > ranges[name]).mean()) for r in epochs] for name, epochs in found.items()],
        "largest": [[float(r.max()) for r in epochs] for epochs in found.values()],
    }


def _shares(ratios: np.ndarray) -> np.ndarray:
    return np.histogram(np.log2(ratios).clip(-2, 2), EDGES)[0] / len(ratios)

"""Special trainings: with a planted fault, unwatched, and on CartPole at several scales at once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import torch

from ablations import interval, style
from chapters.book.figures import label_lines
from tricks import Config, Run, Tricks, train
from tricks.core.rollout import Rollout, play_episodes
from tricks.replaced import patched as planted  # the loop, with one of its functions replaced by a wrong one
from tricks.runs import log

__all__ = ["at_each_scale", "draw_scales", "planted", "unwatched"]

SCALES, AGENTS = (1e-4, 1e-2, 1.0, 1e2, 1e4), 6


@contextmanager
def unwatched(diagnostic: str) -> Iterator[None]:
    """`with unwatched("auxiliary_loss"): train(...)` does not end a seed in which this diagnostic is not finite.

    Raises ValueError for a diagnostic that ends no seed.
    """
    rest = list(log.WATCHED)
    rest.remove(diagnostic)
    with patch.object(log, "WATCHED", tuple(rest)):
        yield


def at_each_scale(tricks: Tricks, first_batch: bool = False) -> Run:
    """Six agents at each scale of CartPole's rewards, from the smallest; the curve counts the returns as usual.

    One stack can hold all scales, since every seed is trained on its own.
    """
    factor = torch.tensor(SCALES).double().repeat_interleave(AGENTS).view(-1, 1, 1)  # [S, 1, 1]

    def rescaled(*arguments: Any) -> Rollout:
        rollout = play_episodes(*arguments)
        return replace(rollout, reward=factor * rollout.reward)

    config = Config("CartPole-v1", seeds=len(factor), steps=15_000, lr=0.003, return_first_batch=first_batch)
    with planted(play_episodes=rescaled):
        return train(config, tricks)


def draw_scales(runs: Mapping[str, Run], trick: str) -> dict[str, np.ndarray]:
    """Draw and print the mean return over training against the scale, with 95% intervals; return it: [scales, agents].

    runs: without the trick, with it from 0 and 1, with it from the first batch.
    """
    looks = (style.SOFT, "-"), (style.INK, "--"), (style.COLORS[trick], "-")
    axis = plt.subplots(figsize=(6.5, 2.8))[1]
    scores = {}
    for shift, ((name, run), (color, dash)) in enumerate(zip(runs.items(), looks, strict=True)):
        score = run.curve.groupby("seed")["return"].mean().to_numpy().reshape(len(SCALES), AGENTS)
        low, high = interval(score.T)
        mean, at = score.mean(1), [scale * 1.3 ** (shift - 1) for scale in SCALES]  # apart, so that all can be seen
        axis.errorbar(at, mean, [mean - low, high - mean], color=color, ls=dash, marker="o", ms=4, capsize=2)
        axis.plot(at, mean, color=color, ls=dash, label=name)
        print(f"{name:{max(map(len, runs))}} mean return:", *(f"{each:4.0f}" for each in mean))
        scores[name] = score
    axis.set(xscale="log", xlabel="rewards times", ylabel="mean return over training", ylim=(0, None), xticks=SCALES)
    label_lines(axis)
    plt.show()
    return scores

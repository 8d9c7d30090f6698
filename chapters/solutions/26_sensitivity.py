"""Solutions to the chapter on sensitivity. `python -m chapters.solutions.26_sensitivity` checks them.

Exercise 2. If you repeat the experiment, its seeds will be others, but the seven rates will be the same. So differences
between rates are not noise, and pooling all scores counts them as noise. The variance of the mean over rates is the sum
of the variances of the seven means, divided by 49.

Exercise 3. While returns grow, the statistics move. Without PopArt, every prediction moves along with the mean of the
returns. With it, predictions stay where they were, and the value net has to climb to the new mean by gradient steps,
which are tiny at this rate. Below, its loss in standardized units is several times that of the rung before.
"""

from dataclasses import replace

import numpy as np
import torch

from chapters.exercises.sensitivity import check_good_range
from tricks import Config, train
from tricks.ladder import named


def my_good_range(scores, floor):
    enough = scores.max() - 0.05 * (scores.max() - floor)
    low = high = scores.argmax()
    while low > 0 and scores[low - 1] >= enough:
        low -= 1
    while high < len(scores) - 1 and scores[high + 1] >= enough:
        high += 1
    return low, high


check_good_range(my_good_range)

rng = np.random.default_rng(0)
level = np.array([0.0, 0.5, 1.0])[:, None]  # of three rates
runs = level + rng.normal(0, 0.1, (2000, 3, 10))  # many experiments, three rates, ten seeds
error = (runs.var(axis=2, ddof=1).sum(axis=1) / 10).mean() ** 0.5 / 3
pooled = (runs.reshape(2000, 30).var(axis=1, ddof=1) / 30).mean() ** 0.5
actual = runs.mean(axis=(1, 2)).std()
assert abs(error / actual - 1) < 0.1 < pooled / actual - 1
print("Right: the means of repeated experiments vary as the errors within each rate say, not as the pooled scores do.")

torch.set_num_threads(1)  # the fastest for nets this small
config = Config("CartPole-v1", seeds=2, steps=20_000, lr=0.0003)
before, popart = (
    train(config, tricks).curve.query("step > 5000").value_loss.mean()
    for tricks in (named("entropy"), replace(named("popart"), action_mask=False))  # CartPole has no illegal actions
)
assert popart > 1.5 * before
print("Right: at this rate, PopArt's value net lags behind the mean of the returns.")

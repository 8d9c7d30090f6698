"""Solutions to the chapter on the whole ladder. `python -m chapters.solutions.25_the_whole_ladder` checks them.

Exercise 2. The arm with the trick gets the best of four rates, chosen on the very seeds that are then reported. The arm
without it gets the first rate, whatever it does there. The largest of four noisy means lies above a single one, so
there is a gain without any effect. Tuning both arms on the reported seeds is fairer but not enough: each maximum still
overstates what its arm can do, and the arm with more rates, or noisier ones, gains more from picking. Choose each arm's
rate on tuning seeds and compare the arms on others. That is what `python -m ablations tune` and `run` do.

Exercise 3. An interval with half-width h from n seeds has about h * sqrt(n / k) from k. Going from 0.08 with 30 seeds
to 0.02 takes 16 times as many: 480. Small effects are expensive, which is why hardly anybody knows them.
"""

import numpy as np

from chapters.exercises.whole_ladder import check_holm


def my_holm(p):
    order = np.argsort(p)
    adjusted, largest = np.empty(len(p)), 0.0
    for k, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - k) * p[index]))
        adjusted[index] = largest
    return adjusted


check_holm(my_holm)

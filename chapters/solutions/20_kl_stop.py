"""Solutions to the chapter on KL stopping. `python -m chapters.solutions.20_kl_stop` checks them.

Exercise 3. The sign is wrong. The rows were drawn from π_old, and under π_old the mean of log ρ is minus the KL
divergence: it falls below 0 as the policy moves, so it stays under any limit above 0, and the brake hardly ever acts.
The returns look like those of a run without a brake, which is what this is. Two numbers give it away if you look at
them together: approx_kl is far above 1.5 times the target, and yet steps_taken is about 100%. With a brake that works,
one of the two must be small.
"""

from chapters.exercises.kl_stop import check_near_enough, check_steps


def my_near_enough(log_prob, old_log_prob, target_kl):
    log_ratio = log_prob - old_log_prob
    return (log_ratio.exp() - 1 - log_ratio).mean() <= 1.5 * target_kl


def my_steps(kl, target_kl):
    taken = 0
    for epoch in kl:
        for measured in epoch:
            if measured > 1.5 * target_kl:
                return taken
            taken += 1
    return taken


check_near_enough(my_near_enough)
check_steps(my_steps)

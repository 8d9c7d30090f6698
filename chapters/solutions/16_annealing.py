"""Solutions to the chapter on annealing. `python -m chapters.solutions.16_annealing` checks them.

Exercise 2. `progress` runs from 0 to 1 over the budget, and `taken` from 0 to 4: the rate reaches 0 after a quarter of
the budget, since the count is in minibatches and the total in updates. Without the clamp it would turn negative, and
the agent would unlearn. The curve alone can't tell a rate of 0 from an agent that has learned what it can. The number
to look at is `approx_kl`. It is 0 from then on, so the policy doesn't move at all. One that has converged at a real
rate still jitters.

Exercise 3. (a) The old line is at 50% now and would reach 0 at 100,000. Either go on from 50% along a flatter line that
ends at 200,000, or jump to the new line, at 75%. Either is fine, and neither is a run of 200,000 steps, which would
have had higher rates until then. Report what you did. (b) Besides the nets and the optimizer, the number of updates so
far and the total, or the share of the budget. Without them, the rate starts from the top again.
"""

from chapters.exercises.annealing import check_rate


def my_rate(start, end, update, updates):
    return start + (end - start) * update / updates


check_rate(my_rate)

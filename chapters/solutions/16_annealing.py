"""Solutions to the chapter on annealing. `python -m solutions.16_annealing`, in the folder `chapters`, checks them.

Exercise 2. `progress` runs from 0 to 1 over the budget, and `taken` from 0 to 4: the rate reaches 0 after a quarter of
the budget, since the count is in minibatches and the total in updates. Without the clamp it would turn negative, and
the agent would unlearn. The curve alone does not tell a rate of 0 from an agent that has learned what it can. The
number to look at: `approx_kl`. It is 0, exactly and for good, so the policy does not move at all. One that has
converged at a real rate still jitters.

Exercise 3. (a) No. A run of 50,000 steps ends at a rate near 0; the long run at 50,000 steps is still at half its rate,
and still bouncing. (b) Going on in the old line means 50% of the start, jumping to the new line 75%. Both are legal,
neither is a run of 200,000 steps, which would have had higher rates until then; say in the report what was done.
(c) Besides nets and optimizer: the number of updates so far and the total, or the share of the budget. Without them
the rate starts from the top.
"""

from exercises.annealing import check_rate


def my_rate(start, update, updates):
    return start * (1 - update / updates)


check_rate(my_rate)

"""Solutions to the chapter on reusing rows. `python -m chapters.solutions.19_ppg_buffers` checks them.

Exercise 2. (a) epochs = 4, policy_rollouts = 1, policy_uses = 1, value_rollouts = 1, value_uses = 4. The value net's
share is 4 / (1 · 4) = 1: it gets every row in every epoch, as in PPO with four epochs. The policy's share is ¼.
(b) Almost. A row is skipped by all four epochs with probability (¾)⁴ = 0.32, and otherwise used once. So the policy
sees 68% of the rows, each of them once. And it takes 16 gradient steps on minibatches of about a sixth of the usual
size, where E_π = 1 would take 4 steps on the usual ones.

Exercise 3. The share forgets how long a row stays: it should be uses / (rollouts · epochs). For the value net it is
16 / 4 = 4, so every row is taken in every epoch until it has had its 16 uses, which is after four updates. The second
half of the buffer holds rows that are never used. For the policy the share is 1 and a row has had its 4 uses at the end
of its first update. Nothing crashes, no limit is exceeded, and the curve looks fine; fresher rows may even learn
better. `policy_age` shows it, which is exactly 0, and so does `value_age`, which settles at 1.5 instead of about 3.
"""

from chapters.exercises.ppg_buffers import check_taken


def my_taken(keys, used, uses, rollouts, epochs):
    share = uses / (rollouts * epochs)
    return (keys < share) & (used < uses)


check_taken(my_taken)

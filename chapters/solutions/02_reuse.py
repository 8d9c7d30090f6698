"""Solutions to the chapter on reuse. `python -m chapters.solutions.02_reuse` checks them.

Exercise 2. The product of 200 ratios of 1.05 is 1.05 ** 200, about 17,000; of 200 ratios of 0.95, about 0.00004. One
episode in a batch would decide everything. The library uses each step's own ratio only, so the noise does not
compound along the episode. The price is a bias, since the states in the batch still come as often as they did under the
old policy. It is small while the policies are close, which is one more reason to stay close.

Exercise 3. The function overwrites the old log-probability with the current one, so the ratio is 1 on every minibatch
of every epoch. Its gradient is that of log π, whoever chose the action. So this is the chapter's first loss, the one
without a ratio, in disguise. What gives it away: max_ratio is always 1.000 and approx_kl is 0, although the policy is
visibly moving. The return doesn't give it away, because on CartPole that loss learns faster than the right one. On
Acrobot it fails. The old log-probability must be computed once, before the first step on the batch.
"""

from chapters.exercises.reuse import check_estimate


def my_estimate(log_prob, old_log_prob, reward):
    ratio = (log_prob - old_log_prob).exp()
    return (ratio * reward).mean()


check_estimate(my_estimate)

assert 17_000 < 1.05**200 < 17_500
assert 0.00003 < 0.95**200 < 0.00004
print("Right: 200 ratios of 1.05 make", round(1.05**200))

"""Solutions to the chapter on reuse. `python -m solutions.02_reuse`, in the folder `chapters`, checks them.

Exercise 2. The product of 200 ratios of 1.05 is 1.05 ** 200, about 17,000, and of 200 ratios of 0.95 about 0.00004.
One episode in a batch would decide everything. The library weighs each step with its own ratio only. That bounds the
noise, and pays with a bias, since the states in the batch still come as often as they did under the old policy. The
bias is small while the policies are near each other, which is one more reason to stay near.

Exercise 3. The function overwrites the old log-probability with the present one, so the ratio is 1 on every minibatch
of every epoch. Its gradient is that of log π, whichever policy drew the action: this is the loss without a ratio, with
which the chapter begins, in disguise. The number that tells: max_ratio is 1.000 at all times and approx_kl is 0, though
the policy is visibly moving. The old log-probability must be computed once, before the first step on the batch.
"""

from exercises.reuse import check_estimate


def my_estimate(log_prob, old_log_prob, reward):
    ratio = (log_prob - old_log_prob).exp()
    return (ratio * reward).mean()


check_estimate(my_estimate)

assert 17_000 < 1.05**200 < 17_500
assert 0.00003 < 0.95**200 < 0.00004
print("Right: 200 ratios of 1.05 make", round(1.05**200))

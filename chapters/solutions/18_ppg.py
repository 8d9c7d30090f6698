"""Solutions to the chapter on PPG. `python -m chapters.solutions.18_ppg` checks them.

Exercise 2. (a) The target is log π_old(a), where the function expects a probability. A log-probability is negative, and
a negative number has no logarithm: the value of the term is NaN from the first row on. (b) The gradient is another
matter. Only target · input depends on the net, so with respect to log π(a) it is −log π_old(a), which is positive and
finite, and gradient descent makes log π(a) smaller. So every action that was taken is pushed *down*, rarer ones harder,
and that never ends: log π(a) has no lower limit, so the loss rewards making one action of a state all but impossible.
Then the other one becomes certain, entropy falls to 0, and which action is certain is chance. Values and features are
learned as ever, PPO's loss looks as ever, and a policy without entropy hardly moves. (c) clone_kl, which should be a
small number after each phase, is NaN in all of them, and so is auxiliary_loss, which `train` watches: a loss that isn't
a number ends the seed. A divergence that is negative or not a number is wrong, whatever the curve does. And even with
probabilities in place of their logarithms, one action wouldn't do: KL is a sum over all of them.

Exercise 3. (a) In the last one before the next phase. When its phase ended, the head was right on that data. Every
update since then has moved the body under it for the policy's sake, and by now the policy visits other states and gets
other returns. (b) Nothing: at π_old its gradient is zero, so a single step goes wherever the values send it. The hold
needs a second step to be felt, and a learning rate small enough that the first isn't already too long.
"""

from chapters.exercises.ppg import check_kl


def my_kl(old, new, action):
    old, new = old.log_softmax(-1), new.log_softmax(-1)
    return (old.exp() * (old - new)).sum(-1)


check_kl(my_kl)

"""Solutions to the chapter on PPG. `python -m solutions.18_ppg`, in the folder `chapters`, checks them.

Exercise 2. (a) The target is log π_old(a), where the function wants a probability. A log-probability is negative, and
a negative number has no logarithm: the value of the term is NaN, from the first row on. (b) The gradient is another
matter. Only target · input depends on the net, so with respect to log π(a) it is −log π_old(a), a positive number, and
finite; gradient descent makes log π(a) smaller. So every action that was taken is pushed *down*, the rarer the harder,
and there is no point at which that ends: log π(a) has no lower limit, and whoever makes one action of a state all but
impossible is paid without end. So the other one becomes certain, the entropy falls to 0, and what is certain is chance.
Values and features are learned as ever, the loss of PPO looks as ever, and a policy without entropy hardly moves any
more. (c) clone_kl, which should be a small number after each phase, is NaN in all of them (and so is auxiliary_loss). A
divergence that is no number, or is negative, is wrong, whatever the curve does. And even with the probabilities in
place of their logarithms, one action would not do: KL is a sum over all of them.

Exercise 3. (a) In the last one before the next phase. The head was right, on the data of its phase, when that ended.
Every update since then has moved the body under it for the policy's sake, and the policy visits other states and has
other returns by then. (b) Nothing: at π_old its gradient is zero, so a single step goes wherever the values send it.
The leash needs a second step to be felt, and a learning rate so small that the first is not already too long. (c)
Twice as many: a phase makes aux_epochs passes over all rows since the last one, in minibatches of the same size.
Since it comes half as often, an update has as many as before, aux_epochs · minibatches = 24 with the usual numbers.
"""

from exercises.ppg import check_kl


def my_kl(old, new, action):
    old, new = old.log_softmax(-1), new.log_softmax(-1)
    return (old.exp() * (old - new)).sum(-1)


check_kl(my_kl)

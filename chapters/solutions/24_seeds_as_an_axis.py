"""Solutions to the chapter on seeds as an axis. `python -m chapters.solutions.24_seeds_as_an_axis` checks them.

Exercise 2. Every gradient is S times smaller. Plain gradient descent then behaves as with a learning rate of 1/S of
the one you set, so a run of 30 seeds learns more slowly than a run of 3. Adam divides by the size of the gradient and
hardly notices, except through its epsilon. But `grad_norm` in the log is wrong by a factor of S, and a gradient clip at
0.5 acts only on gradients that really have length 0.5·S: with many seeds, it is off. In each case an agent's result
depends on how many others were in the stack, which is what must not happen.

Exercise 3. `target[rollout.valid]` is flat, so its mean and variance are those of all seeds' targets. An agent that
earns little gets the scale of its neighbors' large returns, and learns its own values more slowly. The agents are no
longer independent, and an interval that takes them for independent is wrong in a way that you can't see: shapes,
losses, and curves all look fine. (Several programs that share one object for normalization have this bug.) What finds
it is the law of this chapter. Train one seed alone, and compare the `value_loss` of its second update with the stack's.
"""

from dataclasses import replace

import torch

from chapters.book import planted
from chapters.exercises.seeds_as_an_axis import check_mean, follow_targets_
from tricks import PPO, Config, train


def my_mean(x, valid):
    return (x * valid).sum(1) / valid.sum(1).clamp(min=1)


check_mean(my_mean)

weights = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()  # [S, P]
losses = weights.square().sum(1)  # [S]
(of_sum,) = torch.autograd.grad(losses.sum(), weights, retain_graph=True)
(of_mean,) = torch.autograd.grad(losses.mean(), weights)
torch.testing.assert_close(of_sum, 4 * of_mean)
print("Right: with the mean over 4 seeds, each seed's gradient is a quarter of its own.")


def apart(config):
    """How far seed 3's value loss in the second update of the stack is from the one that it has alone."""
    stack, alone = train(config, PPO).curve, train(replace(config, seeds=(3,)), PPO).curve
    return abs(stack[stack.seed == 3].value_loss.iloc[1] - alone.value_loss.iloc[1])


torch.set_num_threads(1)  # the fastest for tensors this small
config = Config(seeds=5, steps=500, lanes=4, horizon=32)
with planted(follow_returns_=follow_targets_):
    faulty = apart(config)
assert apart(config) < 1e-5 < 1e-3 < faulty
print("Right: the faulty version gives seed 3 another value loss in the stack than alone; the library's doesn't.")

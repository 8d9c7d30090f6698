"""Solutions to the chapter on shared trunks. `python -m chapters.solutions.17_shared_trunk` checks them.

Exercise 2. `deepcopy` makes a second body with the same weights. It agrees with the first one until the first gradient
step, and from then on each hears its own loss: these are separate nets with a common start, and they learn like
separate nets. "It scores better" doesn't make it right; it scores better because it doesn't do what it says. A look at
the first forward pass compares weights, and they are equal. What was asked for is one object,
`agent.policy_net.body is agent.value_net.body`, and so one set of weights. Sharing must remove a whole body, 4480 of
9155 numbers, and this version removes none. `sum(p.numel() for p in agent.parameters())` says so before any training.

Exercise 3. (a) Hardly: the body's gradient has no value part. The norm is still taken over all parameters, so a long
gradient of the value head shortens the body's, too; but Adam divides by the usual size, and what is left is that
batches with a large value error count for less. (b) It can learn whatever is linear in the features that the policy
happens to have. If the policy doesn't need something, such as how near the end of the episode is, there may be little
of it in them. `explained_variance` shows it, and so does the value loss: compare them to those of separate nets, best
with `return_norm`. (c) You still save half the work. But the value loss teaches the body nothing, so the policy gains
no features from it. That is why Cobbe et al. let the value's gradient through in the auxiliary phase.
"""

import torch

from chapters.exercises.shared_trunk import check_parts
from tricks import Config
from tricks.core.agent import Agent
from tricks.envs.make import make_env


def my_parts(g_policy, g_value, value_coef, max_norm):
    of_value = value_coef * g_value
    norm = (g_policy + of_value).norm(dim=1)
    factor = torch.where(norm > max_norm, max_norm / norm, 1.0)
    return factor * g_policy.norm(dim=1), factor * of_value.norm(dim=1)


check_parts(my_parts)


def weights(agent: Agent) -> int:
    return sum(parameter.numel() for parameter in agent.parameters())


config = Config(seeds=1)
agent = Agent(make_env(config).spaces, config)
assert weights(agent) == 9155
agent.value_net.body = agent.policy_net.body
assert weights(agent) == 9155 - 4480

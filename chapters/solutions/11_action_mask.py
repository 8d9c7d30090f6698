"""Solutions to the chapter on action masks. `python -m chapters.solutions.11_action_mask` checks them.

Exercise 2. The mean over the two machines that can be drawn is
1/2 * 1 * (2/3, -1/3, -1/3) + 1/2 * 2 * (-1/3, 2/3, -1/3) = (0, 1/2, -1/2). It is not the gradient of what is earned,
(-1/4, 1/4, 0): under the masked policy, the unmasked score doesn't have mean zero. The third component pushes down an
action that was never tried and can't be, and the larger the payouts, the harder it pushes.

Exercise 3. Logits need a gradient only when the loss is computed. So the mask is there when the agent acts, and when
the old log-probabilities are computed, but not when it learns: the policy that learns is not the one that acted. On the
first gradient step of an update nothing has moved yet, so every ratio must be 1 and approx_kl 0. Here each ratio is the
probability that the unmasked net gives to the legal actions together, which is below 1. The largest one creeps upward
because the surer the net gets of a legal action in some state, the less is left for illegal ones. Where the ratio is
below the clip range, a bad action's gradient is zero. The other way around, acting without the mask and learning with
it, illegal actions have a ratio of 0, and approx_kl is huge. (It would be infinite if the library didn't keep ratios
above 1e-38.)
"""

import torch

from chapters.exercises.action_mask import check_entropy


def my_entropy(logits, legal):
    log_prob = torch.where(legal, logits, -1e30).log_softmax(-1)
    return -(log_prob.exp() * log_prob).sum(-1)


check_entropy(my_entropy)

scores = torch.eye(3)[:2] - 1 / 3  # unmasked, of the two actions that were drawn
found = (0.5 * torch.tensor([[1.0], [2.0]]) * scores).sum(0)
torch.testing.assert_close(found, torch.tensor([0.0, 0.5, -0.5]))

"""Solutions to the chapter on language models. `python -m chapters.solutions.29_language` checks them.

Exercise 2. J = s(r - 5c) + (1 - s)(g - 2c), whose slope along the logit of s is s(1 - s)(r - g - 3c).

Exercise 3. The sum is divided by G and contains the reply itself, so this is GRPO's mean of all: (G - 1)/G of the right
advantage. It learns as well with a learning rate that is G/(G - 1) as high, and hardly worse without under Adam, which
undoes factors; but the docstring promises something else. With G = 2, returns of 1 and 0 have advantages of ±1, and
here ±½. The number that shows it is `grad_norm`, at the first update: (G - 1)/G of what it should be.
"""

import torch

from chapters.exercises.language import check_advantages, group_mean
from tricks.group_baseline import leave_one_out


def my_advantages(returns, usable):
    total, count = (returns * usable).sum(), usable.sum()
    others = (total - returns) / (count - 1).clamp(min=1)
    return torch.where(usable & (count > 1), returns - others, 0.0)


check_advantages(my_advantages)

pair = torch.tensor([1.0, 0.0]).view(1, 1, 2)
torch.testing.assert_close(group_mean(pair, 2), leave_one_out(pair, 2) / 2)
print("Right: the faulty version is (G - 1)/G of the right one.")

"""Solutions to the chapter on advantage_norm. `python -m chapters.solutions.06_advantage_norm` checks them.

Exercise 2. (a) It could, and that would not depend on the currency either. But advantages change their size during
training: at the start, when V is about 0, they are whole returns, and later they are small surprises. One number for
all of it fits neither. And it would not move the zero to the middle of this minibatch. (b) When nearly all pulls are
alike, so are their advantages. Then σ is small, and dividing by it makes the few that differ very large, so the
gradient does not fade as the policy makes up its mind. Noise is magnified, too.

Exercise 3. `advantage[valid]` puts the rows of all seeds into one line, so they share a mean and a std, and the
gradient of seed 0 depends on what the other agents went through. With one seed there is no difference, and with five
the curves are about as good. But the seeds are no longer independent experiments, and an interval that treats them as
five observations claims more than was seen. The test is the chapter's: a seed must learn the same, alone or beside
others.
"""

import torch

from chapters.exercises.advantage_norm import check_standardize, standardize_short
from tricks.advantage_norm import standardize


def my_standardize(advantage, valid):
    real = advantage[valid]
    centered = advantage - real.mean()
    squares = centered[valid].square().sum()
    std = (squares / max(len(real) - 1, 1)).sqrt()
    return torch.where(valid, centered / (std + 1e-8), 0.0)


check_standardize(my_standardize)

two = torch.tensor([[1.0, 2.0, 3.0], [100.0, 300.0, 200.0]])
everyone = torch.ones(2, 3, dtype=torch.bool)
alone = standardize(two[:1], everyone[:1])
torch.testing.assert_close(standardize(two, everyone)[:1], alone)
assert not torch.allclose(standardize_short(two, everyone)[:1], alone)
print("Right: in the faulty version, the second seed changes the first.")

"""Solutions to the chapter on a trick of your own. `python -m chapters.solutions.28_your_own_trick` checks them.

Exercise 2. Ranks only see the order, as signs do. In the lottery, with both machines pulled equally often, the worst
35% of the pulls are the right machine's blanks, the next 50% are the left machine's, and the best 15% are the right
one's prizes. On a scale from -1 to +1 that puts the middle of the blanks at -0.65, of the left machine at 0.2, and of
the prizes at 0.85. So right's mean rank is 0.7 * -0.65 + 0.3 * 0.85 = -0.2, below left's 0.2: ranks learn the wrong
machine, too. Anything that depends on the order alone can't know that 10 is much more than 1.
"""

import torch

from chapters.exercises.your_own_trick import check_law, check_ranks


def my_ranks(advantage):
    return 2 * advantage.argsort().argsort() / (len(advantage) - 1) - 1


def my_law(f):
    advantage = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0], [100.0, 300.0, 200.0, 500.0, 400.0]])
    valid = torch.ones_like(advantage, dtype=torch.bool)
    before = f(advantage, valid)
    for k, other in ((0, 1), (1, 0)):
        changed = advantage.clone()
        changed[k] *= -2
        if not torch.allclose(f(changed, valid)[other], before[other]):
            return False
    return True


check_ranks(my_ranks)
check_law(my_law)

torch.manual_seed(0)
right = torch.rand(100_000) < 0.5
pays = torch.where(right, 10.0 * (torch.rand(100_000) < 0.3), 1.0) + 1e-6 * torch.rand(100_000)  # no ties
rank = my_ranks(pays)
assert abs(rank[right].mean() + 0.2) < 0.02
assert abs(rank[~right].mean() - 0.2) < 0.02
print("Right: in the lottery, the mean rank of the better machine is below the other's.")

"""Solutions to the chapter on value clipping. `python -m chapters.solutions.15_value_clip` checks them.

Exercise 2. `cautious_error` takes the smaller of the two errors. So a prediction that has moved more than ε in the
*wrong* direction has the clipped error, which is constant there: its gradient is 0, and nothing calls it back. In the
right direction, on the other hand, nothing stops it: the trick is turned around. The number to look at: the explained
variance. It stays at 0 for most of the training, and ends near it. Do not trust the value loss here, which is the
faulty function's own. For R = 1 the gradient is 0 where V < -0.2, and where V > 1.8. The bug needs steps that
overshoot. At the rate 0.01 fewer values are pushed that far the wrong way. The others move toward their targets, where
the plain error is the smaller one and the bug is the plain squared error. So the net does learn, though later than with
the plain error. In the end it even beats the library's clip, which also stops rows that are moving the right way.

Exercise 3. (a) ε = 0.2 standard deviations of 50 points: 10 points. (b) V_old is about 5000, the net's V about 0, and
clip(V - V_old, ±ε) is -ε, so the clipped prediction is 4999.8, whatever V does. Its error is enormous, so it is the
larger one, and it is constant: no row has a gradient, and the value net learns nothing at all.
"""

import torch

from chapters.exercises.value_clip import check_slope
from tricks.value_clip import clipped_error


def my_slope(value, old, target, clip_range):
    near = old + (value - old).clamp(-clip_range, clip_range)
    constant = ((value - old).abs() > clip_range) & ((near - target).abs() > (value - target).abs())
    return torch.where(constant, 0.0, value - target)


check_slope(my_slope)

value = torch.tensor([[0.3]], requires_grad=True)
clipped_error(value, old=torch.tensor([[5000.0]]), target=torch.tensor([[0.5]]), clip_range=0.2).sum().backward()
assert value.grad.item() == 0
print("Right: with V_old in other units than V, the gradient is 0.")

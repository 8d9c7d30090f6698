"""Solutions to the chapter on orthogonal_init. `python -m chapters.solutions.05_orthogonal_init` checks them.

Exercise 1. What is left of a column is scaled by a positive number, so no column is ever turned around: that is the one
choice of signs that makes Q uniform, and with it, Gram-Schmidt and qr give the same matrix.

Exercise 2. The gradient reaches the hidden layers through the head's weights. If those are 0, so is the gradient of the
hidden layers in the first step. The head's own gradient is made of the activations, which are not 0. So the head moves
in the first step, and from the second one on everything learns. With all layers at 0 the activations are 0 as well, and
then no weight ever gets a gradient: only the head's bias can learn, and it says the same in every state.

Exercise 3. `layer == len(net.layers)` is never true, because the last index is one less. So both heads get the gain of
the hidden layers, √2, instead of 0.01 and 1. The policy's logits are then as large as the activations, and the agent
starts with strong opinions. That is easy to miss on CartPole, where every episode shows what both actions do. The
entropy of the first update gives it away: nothing has been learned yet, so with a head of 0.01 it must be the log of
the number of actions to three digits, for every seed.
"""

import numpy as np
import torch

from chapters.exercises.orthogonal_init import check_orthogonal, opinionated_
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.orthogonal_init import orthogonal_


def my_orthogonal(normals):
    columns = []
    for x in normals.T:
        for q in columns:
            x = x - (q @ x) * q
        columns.append(x / np.linalg.norm(x))
    return np.stack(columns, axis=1)


check_orthogonal(my_orthogonal)
normals = np.random.default_rng(0).normal(size=(5, 3))
q, r = np.linalg.qr(normals)
np.testing.assert_allclose(my_orthogonal(normals), q * np.sign(np.diag(r)))

net = mlp([stream(0, "init")], (4, 64, 64, 2))
for initialize, gain in ((orthogonal_, 0.01), (opinionated_, 2**0.5)):
    initialize(net, (0,), 0, gain=2**0.5, head_gain=0.01)
    head = torch.linalg.svdvals(net.layers[-1][0])
    torch.testing.assert_close(head, torch.full_like(head, gain), rtol=1e-4, atol=0)
print("Right: the faulty version gives the head the gain of the hidden layers.")


def gradients(silenced):
    """Largest gradient of each layer's weight, and that of the head's bias, with some layers set to 0."""
    net = mlp([stream(0, "init")], (4, 64, 64, 2))
    with torch.no_grad():
        for weight, bias in net.layers[silenced:]:
            weight.zero_()
            bias.zero_()
    net(torch.ones(1, 5, 4))[..., 0].sum().backward()
    return [weight.grad.abs().max().item() for weight, _ in net.layers], net.layers[-1][1].grad.abs().max().item()


weights, _ = gradients(silenced=2)  # the head alone
assert weights[0] == weights[1] == 0 < weights[2]
weights, bias = gradients(silenced=0)  # all layers
assert weights == [0, 0, 0]
assert bias > 0
print("Right: behind a head of 0 the hidden layers have no gradient in the first step, and the head has one.")

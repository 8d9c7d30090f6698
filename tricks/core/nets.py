"""Multilayer perceptrons with a seed axis: S independent nets evaluated by one batched matrix product a layer."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn


class MLP(nn.Module):
    """tanh layers and a linear head, for S seeds at once: [S, B, D] -> [S, B, out].

    weights[i] is [S, in, out], biases[i] is [S, 1, out]; the last pair is the head. Initialized as torch.nn.Linear
    is, U(±1/√in), each seed from its own generator. With `exact` the head's bias, and so the output, is float64:
    a float32 bias could not hold the offset of a PopArt head and its small outputs at the same time.
    """

    def __init__(
        self, generators: Sequence[np.random.Generator], sizes: Sequence[int], exact: bool = False
    ) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
            limit = 1 / inputs**0.5
            weight = np.stack([g.uniform(-limit, limit, (inputs, outputs)) for g in generators])
            bias = np.stack([g.uniform(-limit, limit, (1, outputs)) for g in generators])
            self.weights.append(torch.from_numpy(weight).float())
            self.biases.append(torch.from_numpy(bias).float())
        if exact:
            self.biases[-1] = self.biases[-1].detach().double()

    def forward(self, x: Tensor) -> Tensor:
        *hidden, (weight, bias) = zip(self.weights, self.biases, strict=True)
        for w, b in hidden:
            x = torch.tanh(torch.baddbmm(b, x, w))
        return torch.bmm(x, weight) + bias

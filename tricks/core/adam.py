"""Adam with a seed axis: each seed has its own learning rate, and may stand still."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def gradient(loss: Tensor, parameters: Iterable[Tensor]) -> Tensor:
    """Each seed's gradient as one row, [S, P], of losses [S] that share nothing between seeds.

    That they share nothing is why one backward pass through their sum does for all. A net that the loss does not
    use gets 0.
    """
    grads = torch.autograd.grad(loss.sum(), list(parameters), materialize_grads=True)
    return torch.cat([g.flatten(1).float() for g in grads], 1)


class Adam:
    """Adam over parameters stacked [S, ...]. Kingma & Ba 2014, arXiv:1412.6980, algorithm 1.

    θ ← θ − α·m̂/(√v̂ + ε),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ),  with the α [S] of each seed.
    """

    def __init__(self, parameters: Iterable[Tensor], eps: float) -> None:
        self.parameters = list(parameters)
        self.eps, self.t, self.sizes = eps, 0, [p[0].numel() for p in self.parameters]
        self.m, self.v = self.parameters[0].new_zeros(2, len(self.parameters[0]), sum(self.sizes))  # [S, P] each

    @torch.no_grad()
    def step(self, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        """One step along gradient [S, P] at learning_rate [S]; where moving [S] is False, none."""
        beta1, beta2, still = 0.9, 0.999, ~moving.unsqueeze(1)
        self.t += 1
        root = (1 - beta2**self.t) ** 0.5
        gradient = gradient.nan_to_num(0, 0, 0).mul_(moving.unsqueeze(1))  # NaN·0 would be NaN, where one diverged
        self.m.lerp_(gradient, 1 - beta1)
        self.v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        rate = (learning_rate * root / (1 - beta1**self.t)).unsqueeze(1).masked_fill(still, 0)
        step = (self.m * rate).div_(self.v.sqrt().add_(self.eps * root))
        parts = [part.view_as(p) for p, part in zip(self.parameters, step.split(self.sizes, 1), strict=True)]
        torch._foreach_sub_(self.parameters, parts)

    def state_dict(self) -> dict[str, Any]:
        return {"m": self.m, "v": self.v, "t": self.t}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.m.copy_(state["m"])
        self.v.copy_(state["v"])
        self.t = state["t"]

"""Adam with a seed axis. torch.optim.Adam knows one learning rate; here each seed has its own, and may stand still."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Adam:
    """Adam over parameters stacked [S, ...]. Kingma & Ba 2014, arXiv:1412.6980, algorithm 1.

    θ ← θ − α·m̂/(√v̂ + ε),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ),  with the α [S] of each seed.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], eps: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.parameters = list(parameters)
        self.eps, self.betas, self.t = eps, betas, 0
        self.m = [torch.zeros_like(p) for p in self.parameters]
        self.v = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self, learning_rate: Tensor, moving: Tensor) -> None:
        """One step at learning_rate [S]; where moving [S] is False the parameters stay as they are."""
        beta1, beta2 = self.betas
        self.t += 1
        bias1, bias2 = 1 - beta1**self.t, (1 - beta2**self.t) ** 0.5
        everyone = bool(moving.all())
        for p, m, v in zip(self.parameters, self.m, self.v, strict=True):
            if p.grad is None:  # a net that this rung does not use
                continue
            grad, shape = p.grad, (-1,) + (1,) * (p.dim() - 1)
            step = (learning_rate / bias1).to(p.dtype).view(shape)
            if not everyone:  # masked, not multiplied by 0: a diverged seed's gradient is NaN
                still = ~moving.view(shape)
                grad, step = grad.masked_fill(still, 0), step.masked_fill(still, 0)
            m.lerp_(grad, 1 - beta1)
            v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            p.sub_(step * m / (v.sqrt().div_(bias2).add_(self.eps)))


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Global L2 norm of each seed's gradient: [S]."""
    norms = [p.grad.flatten(1).norm(dim=1).double() for p in parameters if p.grad is not None]
    return torch.stack(norms).norm(dim=0)

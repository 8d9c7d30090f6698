"""Adam with a seed axis: each seed has its own learning rate and can be paused."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from tricks.config import PerSeed
from tricks.core.owners import Owner
from tricks.core.seeds import per_seed
from tricks.fast.dispatch import faster


def gradient(loss: Tensor, parameters: Iterable[Tensor]) -> Tensor:
    """Per-seed gradients [S, P] of the losses [S]; 0 for parameters that no loss uses, or that require no gradient.

    The losses share nothing between seeds, so one backward pass through their sum gives every seed its own gradient.
    """
    columns = {p: torch.zeros_like(p) for p in parameters}
    free = [p for p in columns if p.requires_grad]
    if free and (loss.requires_grad or not torch.is_grad_enabled()):  # not if all that it uses is frozen
        columns |= zip(free, torch.autograd.grad(loss.sum(), free, materialize_grads=True), strict=True)
    return torch.cat([g.reshape(len(g), -1).float() for g in columns.values()], 1)


class Adam:
    """Adam over parameters stacked [S, ...]. Kingma & Ba 2014, arXiv:1412.6980, algorithm 1.

    θ ← θ − α·m̂/(√v̂ + ε),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ),  with α [S] per seed.
    """

    limit: Callable[[Tensor, Tensor], Tensor] | None = None
    """Shortens the gradients [S, P], given their norms [S], before each step; None leaves them as they are."""

    OWNERS: ClassVar[dict[str, Owner]] = {"m": "seed", "v": "seed", "t": "seed"}

    def __init__(self, parameters: Iterable[Tensor], eps: PerSeed) -> None:
        self.parameters = list(parameters)
        self.eps, self.sizes = eps, [p[0].numel() for p in self.parameters]
        first = self.parameters[0]
        self.m, self.v = first.new_zeros(2, len(first), sum(self.sizes)).float()  # [S, P] each
        self.t = self.m.new_zeros(len(self.m), 1, dtype=torch.int64)  # steps of each seed
        self.change = torch.zeros_like(self.m)  # the last step [S, P], and as parts shaped like the parameters
        self.changes = [x.view_as(p) for p, x in zip(self.parameters, self.change.split(self.sizes, 1), strict=True)]

    @faster("tricks.fused.losses")
    def move(self, loss: Tensor, learning_rate: Tensor, moving: Tensor) -> Tensor:
        """Step down the gradient of the losses [S], with the seeds that are `moving` [S], within the `limit`.

        Returns each gradient's norm [S]. A seed whose norm is not finite takes no step.
        """
        grad = gradient(loss, self.parameters)  # [S, P]
        norm: Tensor = grad.norm(dim=1)
        if self.limit:
            grad = self.limit(grad, norm)
        self.step(grad, learning_rate, moving & norm.isfinite())
        return norm

    @torch.no_grad()
    def step(self, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        """Take one step with gradient [S, P] and learning_rate [S]; where moving [S] is False, nothing changes.

        Nor does an nn.Parameter that requires no gradient, whatever its averages say.
        """
        self.plan(gradient, learning_rate, moving.unsqueeze(1))
        for p, change in zip(self.parameters, self.changes, strict=True):
            if p.requires_grad or not isinstance(p, nn.Parameter):
                p.sub_(change)

    def plan(self, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        """Update the averages, and set the change to α·m̂/(√v̂ + ε), or to 0 where moving [S, 1] is False."""
        beta1, beta2 = 0.9, 0.999
        self.t += moving
        t = self.t.clamp(min=1).double()
        root = (1 - beta2**t).sqrt()
        rate = learning_rate.unsqueeze(1) * root / (1 - beta1**t)
        gradient = self.change.copy_(gradient).nan_to_num_().mul_(moving)  # NaN·0 would be NaN
        torch.where(moving, self.m.lerp(gradient, moving.to(self.m) * (1 - beta1)), self.m, out=self.m)
        self.v.mul_(torch.where(moving, self.v.new_tensor(beta2), 1.0)).addcmul_(gradient, gradient, value=1 - beta2)
        torch.sqrt(self.v, out=self.change).add_((per_seed(self.eps, root) * root).float())
        torch.div(self.m, self.change, out=self.change).mul_(rate.float()).masked_fill_(~moving, 0)

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.OWNERS}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in Adam.OWNERS:
            getattr(self, name).copy_(state[name])

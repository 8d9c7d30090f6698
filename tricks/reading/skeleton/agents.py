"""The agents: S nets at once for π(a|s), and S for V(s)."""

from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.core.moments import LIMIT, Moments, ReturnStats, denormalize
from tricks.core.seeds import stream
from tricks.reading.skeleton.lanes import Batch, Lanes
from tricks.reading.skeleton.settings import Config
from tricks.reading.skeleton.switches import reads, shares, tricks


def linear(rngs: list[np.random.Generator], inputs: int, outputs: int, exact: bool = False) -> tuple[Tensor, Tensor]:
    """Weight [S, in, out] and bias [S, 1, out] as torch.nn.Linear draws them, U(±1/√in); an exact bias is float64."""
    k = 1 / inputs**0.5
    weight, bias = (torch.tensor(np.stack([g.uniform(-k, k, (n, outputs)) for g in rngs])) for n in (inputs, 1))
    return weight.float().requires_grad_(), (bias if exact else bias.float()).requires_grad_()


class Layer(torch.autograd.Function):  # as a CPU is fast at it: tanh(xW + b) as 2σ(2(xW + b)) − 1, or xW as (WᵀXᵀ)ᵀ
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        y = torch.bmm(w.mT, x.mT).mT if b is None else torch.baddbmm(b, x, w, beta=2, alpha=2).sigmoid_()
        ctx.save_for_backward(x, w, b, y if b is None else y.mul_(2).sub_(1))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, w, b, y = ctx.saved_tensors
        if b is None:
            return torch.bmm(grad, w.mT), torch.bmm(grad.mT, x).mT, None
        grad = torch.ops.aten.tanh_backward(grad, y)
        return torch.bmm(grad, w.mT), torch.bmm(x.mT, grad), grad.sum(1, keepdim=True)


class Net:
    """Tanh layers, the body, and a linear head: [S, B, D] -> [S, B, out]."""

    def __init__(self, rngs: list[np.random.Generator], sizes: tuple[int, ...], exact: bool = False) -> None:
        *body, head = pairwise(sizes)
        self.layers = [*(linear(rngs, *pair) for pair in body), linear(rngs, *head, exact)]

    def with_value_head(self, rngs: list[np.random.Generator]) -> "Net":
        """A net on the same body, with a head of its own for V(s)."""
        net = copy(self)
        net.layers = [*self.body, linear(rngs, self.layers[-1][0].shape[1], 1, exact=True)]
        return net

    def __call__(self, x: Any) -> Tensor:
        if shares:
            return self.apply_head(self.embed(x))
        *body, (last, offset) = self.layers
        for weight, bias in body:
            x = Layer.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return Layer.apply(x, last) + offset  # type: ignore[no-untyped-call]

    @property
    def body(self) -> list[tuple[Tensor, Tensor]]:
        """All layers but the head."""
        return self.layers[:-1]

    @body.setter
    def body(self, layers: list[tuple[Tensor, Tensor]]) -> None:
        self.layers[:-1] = layers

    def embed(self, x: Tensor) -> Tensor:
        """What the body makes of observations: [S, B, D] -> [S, B, H]."""
        for weight, bias in self.body:
            x = Layer.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return x

    def apply_head(self, hidden: Tensor) -> Tensor:
        """What the head makes of that: [S, B, H] -> [S, B, out]."""
        weight, bias = self.layers[-1]
        return Layer.apply(hidden, weight) + bias  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Seen:
    """Observations [S, B, D], and what the policy net's body made of them, [S, B, H], if it has been asked."""

    obs: Tensor
    hidden: Tensor | None = None


class Agent:
    """π(a|s) and V(s) of S seeds, which share nothing. Of a Gaussian, log σ does not depend on the state."""

    auxiliary_net: Net  # a second V(s)

    def __init__(self, env: Lanes, config: Config) -> None:
        rngs = [stream(seed, "init") for seed in range(config.seeds)]
        self.policy_net = Net(rngs, (env.features, *config.hidden, env.actions))
        self.value_net = Net(rngs, (env.features, *config.hidden, 1), exact=True)
        self.log_std = [] if env.family.discrete else [torch.zeros(config.seeds, 1, env.actions).requires_grad_()]
        if tricks.ppg:
            self.seeds = range(config.seeds)
        if tricks.state_norm:
            self.obs_moments = Moments.empty(config.seeds, env.features)
        if tricks.return_norm or tricks.ppg:  # of the returns that the value net's outputs stand for
            zero = torch.zeros(config.seeds, dtype=torch.float64)
            self.returns = ReturnStats(zero, zero + 1)

    def parameters(self) -> list[Tensor]:
        layers = [*self.policy_net.layers, *self.value_net.layers]
        if tricks.ppg:
            layers += self.auxiliary_net.layers
        if shares:
            return list(dict.fromkeys([*self.log_std, *(each for layer in layers for each in layer)]))
        return [*self.log_std, *(each for layer in layers for each in layer)]

    def policy(self, seen: Tensor | Seen, legal: Tensor) -> Tensor:
        """The parameters of π(·|s): [S, B, D] -> [S, B, A], or [S, B, 2A] for a Gaussian."""
        logits = self.read(self.policy_net, seen) if reads else self.policy_net(seen)
        return torch.cat([logits, self.log_std[0].expand_as(logits)], -1) if self.log_std else logits

    def value(self, seen: Tensor | Seen) -> Tensor:
        """What the value net puts out: [S, B, D] -> [S, B] float64."""
        return (self.read(self.value_net, seen) if reads else self.value_net(seen)).squeeze(-1)

    def auxiliary_value(self, seen: Tensor | Seen) -> Tensor:
        """What the second V(s) puts out: [S, B, D] -> [S, B] float64."""
        return self.read(self.auxiliary_net, seen).squeeze(-1)

    def see(self, obs: Tensor) -> Seen:
        """Ask the policy net's body, once for all the heads that read it."""
        if tricks.state_norm:
            return Seen(obs, self.policy_net.embed(self.standardized(obs)))
        return Seen(obs, self.policy_net.embed(obs))

    def read(self, net: Net, seen: Tensor | Seen) -> Tensor:
        """What a net puts out; a body that has been asked already is not asked again."""
        if isinstance(seen, Seen) and seen.hidden is not None and net.layers[0] is self.policy_net.layers[0]:
            return net.apply_head(seen.hidden)
        obs = seen.obs if isinstance(seen, Seen) else seen
        if tricks.state_norm:
            return net(self.standardized(obs))
        return net(obs)

    def standardized(self, obs: Tensor) -> Tensor:
        """Observations by the moments of those before; the first ones as they are."""
        if not self.obs_moments.rows.any():
            return obs
        mean, scale = self.obs_moments.view()
        return ((obs - mean) * scale).clamp(-LIMIT, LIMIT)

    @torch.no_grad()
    def values(self, rollout: Batch) -> tuple[Tensor, Tensor]:
        """V(s) and V(s') of every row, in units of reward: [S, T, N] each."""
        value = self.value(rollout.obs.flatten(1, 2)).view(rollout.obs.shape[:3])  # [S, T+1, N]
        if tricks.return_norm:
            value = denormalize(value, self.returns)
        return value[:, :-1], value[:, 1:]

"""The agents: S nets at once for π(a|s), and S for V(s)."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.core.moments import LIMIT, Moments, ReturnStats, denormalize
from tricks.core.seeds import stream
from tricks.reading.skeleton.lanes import Spaces
from tricks.reading.skeleton.playing import Rollout
from tricks.reading.skeleton.settings import Config
from tricks.reading.skeleton.switches import reads, shares, tricks

Layer = tuple[Tensor, Tensor]  # weight [S, in, out], bias [S, 1, out]


def linear(generators: Sequence[np.random.Generator], inputs: int, outputs: int, exact: bool = False) -> Layer:
    """A layer as torch.nn.Linear draws it, U(±1/√in), in float32; with `exact` its bias is float64."""
    limit = 1 / inputs**0.5
    weight, bias = (
        torch.from_numpy(np.stack([g.uniform(-limit, limit, (rows, outputs)) for g in generators]))
        for rows in (inputs, 1)
    )
    return weight.float().requires_grad_(), (bias if exact else bias.float()).requires_grad_()


class Tanh(torch.autograd.Function):
    """tanh(x) = 2σ(2x) − 1, which takes half the time on a CPU where there are many rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(y := (2 * x).sigmoid_().mul_(2).sub_(1))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return torch.ops.aten.tanh_backward(grad, *ctx.saved_tensors)


class Net:
    """Tanh layers, the body, and a linear head: [S, B, D] -> [S, B, out]."""

    def __init__(self, generators: Sequence[np.random.Generator], sizes: Sequence[int], exact: bool = False) -> None:
        *hidden, outputs = sizes
        self.body = [linear(generators, *pair) for pair in pairwise(hidden)]
        self.head = linear(generators, hidden[-1], outputs, exact)

    @property
    def layers(self) -> list[Layer]:
        return [*self.body, self.head]

    def with_value_head(self, generators: Sequence[np.random.Generator]) -> "Net":
        """A net on the same body, with a head of its own for V(s)."""
        net = copy(self)
        net.head = linear(generators, self.head[0].shape[1], 1, exact=True)
        return net

    def __call__(self, x: Any) -> Tensor:
        if shares:
            return self.read_out(self.embed(x))
        for weight, bias in self.body:
            x = torch.baddbmm(bias, x, weight)
            x = Tanh.apply(x) if x.shape[1] >= 64 else x.tanh()
        weight, bias = self.head
        return torch.bmm(x, weight) + bias

    def embed(self, x: Tensor) -> Tensor:
        """What the body makes of observations: [S, B, D] -> [S, B, H]."""
        for weight, bias in self.body:
            x = torch.baddbmm(bias, x, weight)
            x = Tanh.apply(x) if x.shape[1] >= 64 else x.tanh()
        return x

    def read_out(self, hidden: Tensor) -> Tensor:
        """What the head makes of that: [S, B, H] -> [S, B, out]."""
        weight, bias = self.head
        return torch.bmm(hidden, weight) + bias


@dataclass(frozen=True)
class Seen:
    """Observations [S, B, D], and what the policy net's body made of them, [S, B, H], if it has been asked."""

    obs: Tensor
    hidden: Tensor | None = None


class Agent:
    """π(a|s) and V(s) of S seeds, which share nothing. Of a Gaussian, log σ does not depend on the state."""

    auxiliary_net: Net  # a second V(s)

    def __init__(self, spaces: Spaces, config: Config) -> None:
        generators = [stream(seed, "init") for seed in range(config.seeds)]
        self.policy_net = Net(generators, (spaces.features, *config.hidden, spaces.actions))
        self.value_net = Net(generators, (spaces.features, *config.hidden, 1), exact=True)
        self.log_std = [] if spaces.family.discrete else [torch.zeros(config.seeds, 1, spaces.actions).requires_grad_()]
        if tricks.ppg:
            self.seeds = range(config.seeds)
        if tricks.state_norm:
            self.obs_moments = Moments.empty(config.seeds, spaces.features)
        if tricks.return_norm or tricks.ppg:  # of the returns that the value net's outputs stand for
            zero = torch.zeros(config.seeds, dtype=torch.float64)
            self.returns = ReturnStats(zero, zero + 1)

    def parameters(self) -> list[Tensor]:
        nets = [self.policy_net, self.value_net]
        if tricks.ppg:
            nets.append(self.auxiliary_net)
        found = [*self.log_std, *(each for net in nets for layer in net.layers for each in layer)]
        if shares:
            return list(dict.fromkeys(found))
        return found

    def policy(self, seen: Tensor | Seen, legal: Tensor) -> Tensor:
        """The parameters of π(·|s): [S, B, D] -> [S, B, A], or [S, B, 2A] for a Gaussian."""
        logits = self.read(self.policy_net, seen) if reads else self.policy_net(seen)
        return torch.cat([logits, self.log_std[0].expand_as(logits)], -1) if self.log_std else logits

    def value(self, seen: Tensor | Seen) -> Tensor:
        """What the value net puts out: [S, B, D] -> [S, B] float64."""
        value = self.read(self.value_net, seen) if reads else self.value_net(seen)
        return value.squeeze(-1)

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
        if isinstance(seen, Seen) and seen.hidden is not None and net.body is self.policy_net.body:
            return net.read_out(seen.hidden)
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
    def values(self, rollout: Rollout) -> tuple[Tensor, Tensor]:
        """V(s) and V(s') of every row, in units of reward: [S, T, N] each."""
        value = self.value(rollout.obs.flatten(1, 2))
        if tricks.return_norm:
            value = denormalize(value, self.returns)
        value = value.view(rollout.obs.shape[:3])  # [S, T+1, N]
        return value[:, :-1], value[:, 1:]

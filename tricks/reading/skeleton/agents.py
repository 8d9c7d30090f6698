"""The agents: S nets at once for π(a|s), and S for V(s)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.core.layers import product, tanh_layer
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


class Dense:  # tanh layers: [S, B, D] -> [S, B, H]
    def __init__(self, rngs: list[np.random.Generator], sizes: tuple[int, ...]) -> None:
        self.width, self.layers = sizes[-1], [linear(rngs, *pair) for pair in pairwise(sizes)]

    def __call__(self, x: Tensor) -> Tensor:
        for weight, bias in self.layers:
            x = tanh_layer(x, weight, bias)
        return x


class Head:  # a linear layer: [S, B, H] -> [S, B, out]; an exact one has a float64 bias
    def __init__(self, rngs: list[np.random.Generator], inputs: int, outputs: int, exact: bool = False) -> None:
        self.layer = linear(rngs, inputs, outputs, exact)

    def __call__(self, x: Tensor) -> Tensor:
        return product(x, self.layer[0]) + self.layer[1]


class Net:  # a body and a head: [S, B, D] -> [S, B, out]
    def __init__(self, body: Dense, head: Head) -> None:
        self.body, self.head = body, head

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        return [*self.body.layers, self.head.layer]

    def __call__(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


@dataclass(frozen=True)
class Features:
    """Observations [S, B, D], and what the policy net's body makes of them, [S, B, H]."""

    obs: Tensor
    hidden: Tensor


class Agent:
    """π(a|s) and V(s) of S seeds, which share nothing. Of a Gaussian, log σ does not depend on the state."""

    mask: Callable[[Tensor, Tensor], Tensor]  # what makes illegal actions impossible
    auxiliary_net: Net
    reward_scale: Any

    def __init__(self, env: Lanes, config: Config) -> None:
        self.family, self.seeds = env.family, range(config.seeds)
        rngs, sizes = [stream(seed, "init") for seed in self.seeds], (env.inputs, *config.hidden)
        self.policy_net = Net(Dense(rngs, sizes), Head(rngs, sizes[-1], env.actions))
        self.value_net = Net(Dense(rngs, sizes), Head(rngs, sizes[-1], 1, exact=True))
        self.log_std = [] if env.family.discrete else [torch.zeros(config.seeds, 1, env.actions).requires_grad_()]
        if tricks.state_norm:
            self.obs_moments = Moments.empty(config.seeds, env.inputs)
        if tricks.return_norm or tricks.ppg:  # of the returns that the value net's outputs stand for
            zero = torch.zeros(config.seeds, dtype=torch.float64)
            self.return_stats = ReturnStats(zero, zero + 1)

    def parameters(self) -> list[Tensor]:
        layers = [*self.policy_net.layers, *self.value_net.layers]
        if tricks.ppg:
            layers += self.auxiliary_net.layers
        if shares:
            return list(dict.fromkeys([*self.log_std, *(each for layer in layers for each in layer)]))
        return [*self.log_std, *(each for layer in layers for each in layer)]

    def policy(self, given: Any, legal: Tensor) -> Tensor:
        """The parameters of π(·|s): [S, B, D] -> [S, B, A], or [S, B, 2A] for a Gaussian."""
        logits = self.output(self.policy_net, given) if reads else self.policy_net(given)
        if tricks.action_mask:
            return self.mask(logits, legal)
        return torch.cat([logits, self.log_std[0].expand_as(logits)], -1) if self.log_std else logits

    def value(self, given: Any) -> Tensor:
        """What the value net puts out: [S, B, D] -> [S, B] float64."""
        return (self.output(self.value_net, given) if reads else self.value_net(given)).squeeze(-1)

    def read(self, net: Net, given: Any) -> Tensor:
        """What a net that predicts values puts out: [S, B, D] -> [S, B] float64."""
        return self.output(net, given).squeeze(-1)

    def features(self, obs: Tensor) -> Features:
        """Ask the policy net's body, once for all the heads that read it."""
        return Features(obs, self.policy_net.body(self.standardized(obs) if tricks.state_norm else obs))

    def output(self, net: Net, given: Any) -> Tensor:
        """What a net puts out; a body that has been asked already is not asked again."""
        if shares:
            if isinstance(given, Features) and net.body is self.policy_net.body:
                return net.head(given.hidden)
            given = given.obs if isinstance(given, Features) else given
        return net(self.standardized(given) if tricks.state_norm else given)

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
            value = denormalize(value, self.return_stats)
        return value[:, :-1], value[:, 1:]

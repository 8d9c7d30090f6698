"""What the kernels of `compiled_learning` take: nets as addresses, an update's numbers, and a minibatch's columns."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from tricks import grad_clip
from tricks.config import Config, PerSeed
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Net
from tricks.core.rollout import Batch
from tricks.fast.dense import chained
from tricks.fast.dispatch import compiled, simple
from tricks.fast.rows import known
from tricks.ladder import Tricks

Column = tuple[Tensor, Sequence[int], torch.dtype]  # with the shape and type that it should have


@dataclass(frozen=True)
class Layout:
    """Where a net's parameters are, and where in [S, P] an optimizer has their gradients."""

    net: np.ndarray
    """[4, layers]: addresses of weights and biases, and where their gradients begin."""
    sizes: np.ndarray
    """Of the input, the layers' features, and the output."""
    begins: dict[int, int]
    """Where the gradient of each of the optimizer's parameters begins, by its id."""
    tanh: bool

    @classmethod
    def of(cls, agent: Agent, net: Net, optimizer: Adam, outputs: int) -> "Layout | None":
        """None if the layers do not lead from observations to so many outputs, or are not the optimizer's."""
        weights, biases = zip(*net.layers, strict=True)
        single = [x.float() if x.dtype is torch.float64 and net is agent.value_net else x for x in biases[-1:]]
        flat = [x for layer in zip(weights, [*biases[:-1], *single], strict=True) for x in layer]
        starts = np.cumsum([0, *optimizer.sizes[:-1]]).tolist()
        begins = dict(zip(map(id, optimizer.parameters), starts, strict=True))
        led = chained((len(agent.seeds), 0, agent.spaces.features), flat) and weights[-1].shape[2] == outputs
        if not led or not all(id(x) in begins for x in (*weights, *biases)):
            return None
        table = [[x.data_ptr() for x in each] for each in (weights, biases)]
        table += [[begins[id(x)] for x in each] for each in (weights, biases)]
        sizes = np.array([agent.spaces.features, *(x.shape[2] for x in weights)])
        return cls(np.array(table), sizes, begins, cast(Dense, net.body).tanh)


@dataclass(frozen=True)
class Kernels:
    """The compiled functions, with what they take of an update's agents and numbers.

    Nothing can check an address later, so `of` checks all that is behind those of the nets.
    """

    code: Any
    agent: Agent
    policy_layout: Layout
    value_layout: Layout
    active: np.ndarray  # [S]
    on: np.ndarray  # [FLAGS]
    numbers: np.ndarray  # [S, NUMBERS]

    @classmethod
    def of(
        cls,
        agent: Agent,
        optimizer: Adam,
        value_optimizer: Adam,
        config: Config,
        tricks: Tricks,
        active: Tensor,
        ranges: Mapping[str, Sequence[float]],
    ) -> "Kernels | None":
        """None if they are not for this agent or its optimizers. ranges: of the ratio and of the value, as of now."""
        if not (all(fits(each, agent) for each in {optimizer, value_optimizer}) and exact(agent, optimizer)):
            return None
        policy = Layout.of(agent, agent.policy_net, optimizer, agent.spaces.actions)
        value = Layout.of(agent, agent.value_net, value_optimizer, 1)
        code = compiled("tricks.fused.compiled_learning")
        if policy is None or value is None or code is None:
            return None
        given: dict[str, Sequence[float]] = {name: config.each(name) for name in code.NUMBERS} | dict(ranges)
        numbers, on = np.array([*given.values()]).T.copy(), np.array([getattr(tricks, flag) for flag in code.FLAGS])
        return cls(code, agent, policy, value, active.numpy(), on, numbers)

    def policy(self, b: Batch, gradients: Tensor) -> dict[str, Tensor] | None:
        """Add each seed's gradient of its policy loss, less the bonus, to `gradients` [S, P]; what is noted, [S].

        None for rows that the kernel is not for.
        """
        code, layout, nothing = self.code, self.policy_layout, gradients[:, :0]
        found, (inputs, *_, outputs) = np.empty((len(gradients), len(code.FOUND))), layout.sizes.tolist()
        shape, single = (len(gradients), b.valid.shape[-1]), torch.float32
        discrete, continuous, log_std, to_log_std = b.action, nothing.unsqueeze(2), nothing, 0
        columns = [
            (obs := self.seen(b), (*shape, inputs), single),
            (b.valid, shape, torch.bool),
            (b.advantage, shape, single),
        ]
        if self.agent.spaces.discrete:
            columns.append((discrete, shape, torch.int64))
        else:
            discrete, continuous, log_std = nothing.long(), b.action, self.agent.log_std.detach().squeeze(1)
            to_log_std = layout.begins[id(self.agent.log_std)]
            columns.append((continuous, (*shape, outputs), single))
        old, legal = nothing, b.valid[:, :0].unsqueeze(2)
        if self.on[code.REUSE]:
            columns.append((old := b.old_log_prob, shape, single))
        if self.on[code.ACTION_MASK]:
            columns.append((legal := b.legal, (*shape, outputs), torch.bool))
        if not fitting(columns):
            return None
        rows = obs, b.valid, legal.contiguous(), discrete.contiguous(), continuous.contiguous(), b.advantage, old
        more = layout.net, layout.sizes, log_std.contiguous().numpy(), to_log_std, layout.tanh
        if not self.took(code.policy_gradients, rows, *more, gradients.numpy(), found):
            return None
        return dict(zip(code.FOUND, torch.from_numpy(found).unbind(1), strict=True))

    def values(self, b: Batch, gradients: Tensor) -> Tensor | None:
        """Add each seed's gradient of its value loss, times c₁, to `gradients` [S, P]; returns the losses, [S].

        None for rows that the kernel is not for.
        """
        layout, bias = self.value_layout, self.agent.value_net.head.bias.detach().view(-1, 1).numpy()
        found, shape = np.empty(len(gradients)), (len(gradients), b.valid.shape[-1])
        old = b.value if self.on[self.code.VALUE_CLIP] else b.target
        columns: list[Column] = [
            (self.seen(b), (*shape, int(layout.sizes[0])), torch.float32),
            (b.valid, shape, torch.bool),
        ]
        columns += [(old, shape, torch.float64), (b.target, shape, torch.float64)]
        more = layout.net, layout.sizes, bias, layout.tanh, gradients.numpy(), found
        if not (fitting(columns) and self.took(self.code.value_gradients, [x for x, *_ in columns], *more)):
            return None
        return torch.from_numpy(found)

    def took(self, kernel: Callable[..., bool], rows: Sequence[Tensor], *more: Any) -> bool:
        """Call a kernel; False if it returns that, or if a column is not a CPU's numbers alone."""
        try:
            arrays = [x.numpy() for x in rows]
        except (TypeError, RuntimeError):  # it has a gradient, say
            return False
        return kernel(*arrays, self.active, self.on, self.numbers, *more)

    def seen(self, b: Batch) -> Tensor:
        """The observations as the nets see them, [S, B, D]."""
        return self.agent.standardized(b.obs).contiguous()

    def step(self, optimizer: Adam, gradients: Tensor, learning_rate: Tensor, moving: Tensor) -> Tensor:
        """The step of `Adam.move` down the gradients [S, P]; returns their norms, [S]."""
        seeds, norm = len(gradients), learning_rate.new_empty(len(gradients), dtype=torch.float32)
        numbers = [np.broadcast_to(np.asarray(x, np.float64), seeds) for x in (limit_of(optimizer), optimizer.eps)]
        columns = optimizer.m, optimizer.v, optimizer.t, optimizer.change, gradients, learning_rate.float()
        self.code.step(*(x.numpy() for x in columns), *numbers, moving.numpy(), norm.numpy())
        torch._foreach_sub_(optimizer.parameters, optimizer.changes)
        return norm


def fitting(columns: Iterable[Column]) -> bool:
    """Whether each column has its shape and type, and any row at all."""
    return all(x.shape == shape and x.dtype is kind and shape[1] > 0 for x, shape, kind in columns)


def fits(optimizer: Adam, agent: Agent) -> bool:
    """Whether an optimizer's numbers lie as they did at first, and are those of its parameters."""
    laid = known(optimizer, optimizer.m) and len(optimizer.m) == len(agent.seeds)
    return laid and all(p.shape == x.shape for p, x in zip(optimizer.parameters, optimizer.changes, strict=True))


def exact(agent: Agent, optimizer: Adam) -> bool:
    """Whether what is not a layer is as it was made: the last bias of the values, in float64, and a policy's log σ."""
    bias, shape = agent.value_net.head.bias, (len(agent.seeds), 1, agent.spaces.actions)
    if not simple(bias, torch.float64):
        return False
    if agent.spaces.discrete:
        return True
    log_std = agent.log_std
    return simple(log_std, torch.float32) and log_std.shape == shape and any(log_std is p for p in optimizer.parameters)


def limit_of(optimizer: Adam) -> PerSeed | None:
    """The longest gradient that an optimizer takes; None if it is shortened by something other than `grad_clip`."""
    limit = optimizer.limit
    if limit is None:
        return math.inf
    own = isinstance(limit, partial) and limit.func is grad_clip.shorten and not limit.args
    found: PerSeed | None = cast(partial[Tensor], limit).keywords.get("max_norm") if own else None
    return found

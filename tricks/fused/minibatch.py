"""What the kernels of `compiled_learning` take: nets as addresses, an update's numbers, and a minibatch's columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from tricks import grad_clip
from tricks.config import PerSeed
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Net
from tricks.core.rollout import Batch
from tricks.fast.dense import chained
from tricks.fast.dispatch import compiled, simple
from tricks.fast.rows import known
from tricks.training import Training


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


class Wanted(NamedTuple):
    """A column that a kernel takes: its name, its type, and its shape beyond [S, B]."""

    name: str
    kind: torch.dtype
    shape: tuple[int, ...] = ()


Columns = Sequence[Wanted | np.ndarray]  # an empty array stands for a column that is not used


@dataclass(frozen=True)
class Kernels:
    """The compiled functions, with what they take of an update's agents and numbers.

    Nothing can check an address later, so `of` checks all that is behind those of the nets.
    """

    code: Any
    agent: Agent
    averages: dict[Adam, tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]]
    """What Adam's step changes, and its numbers of each seed."""
    begun: list[Batch | None]
    """The minibatch whose policy gradients are there."""
    policy_gradients: np.ndarray
    value_gradients: np.ndarray
    """[S, P] each, of the last minibatch; one and the same, if the optimizer is."""
    policy_rows: Columns
    policy_more: tuple[Any, ...]
    value_rows: Columns
    value_more: tuple[Any, ...]

    @classmethod
    def of(cls, t: Training, optimizer: Adam, value_optimizer: Adam) -> "Kernels | None":
        """None if they are not for this agent or its optimizers."""
        agent, config, tricks = t.agent, t.config, t.tricks
        if not (all(fits(each, agent) for each in {optimizer, value_optimizer}) and exact(agent, optimizer)):
            return None
        spaces, discrete = agent.spaces, agent.spaces.discrete
        policy = Layout.of(agent, agent.policy_net, optimizer, spaces.actions)
        value = Layout.of(agent, agent.value_net, value_optimizer, 1)
        code = compiled("tricks.fused.compiled_learning")
        if policy is None or value is None or code is None:
            return None
        given = {name: config.each(name) for name in code.NUMBERS}
        given |= {name: vars(t)[name].tolist() for name in ("clip_range", "value_clip_range") if name in vars(t)}
        numbers = np.array([*given.values()]).T.copy()
        on = np.array([getattr(tricks, flag) for flag in code.FLAGS])
        seeds, seen, each = len(agent.seeds), (spaces.features,), (spaces.actions,)
        std, to_std = np.empty((seeds, 0), np.float32), 0
        if not discrete:
            std, to_std = agent.log_std.detach().squeeze(1).numpy(), policy.begins[id(agent.log_std)]
        single, double = torch.float32, torch.float64
        policy_rows = (
            *(Wanted("obs", single, seen), Wanted("valid", torch.bool)),
            Wanted("legal", torch.bool, each) if tricks.action_mask else np.empty((seeds, 0, 0), np.bool_),
            Wanted("action", torch.int64) if discrete else np.empty((seeds, 0), np.int64),
            np.empty((seeds, 0, 0), np.float32) if discrete else Wanted("action", single, each),
            Wanted("advantage", single),
            Wanted("old_log_prob", single) if tricks.reuse else np.empty((seeds, 0), np.float32),
        )
        old, target = Wanted("value" if tricks.value_clip else "target", double), Wanted("target", double)
        value_rows = Wanted("obs", single, seen), Wanted("valid", torch.bool), old, target
        same, bias = (t.active.numpy(), on, numbers), agent.value_net.head.bias.detach().view(-1, 1).numpy()
        policy_more = *same, policy.net, policy.sizes, std, to_std, policy.tanh
        value_more = *same, value.net, value.sizes, bias, value.tanh
        room = np.empty(optimizer.m.shape, np.float32)
        value_room = room if value_optimizer is optimizer else np.empty(value_optimizer.m.shape, np.float32)
        averages = {each: (averages_of(each), limits_of(each)) for each in (optimizer, value_optimizer)}
        return cls(code, agent, averages, [None], room, value_room, policy_rows, policy_more, value_rows, value_more)

    def policy(self, b: Batch, seen: Tensor) -> dict[str, Tensor] | None:
        """Compute each seed's gradient of its policy loss, less the bonus; returns what is noted, [S].

        seen [S, B, D]: the observations as the nets see them. None for rows that the kernel is not for.
        """
        gradients, self.begun[0] = self.policy_gradients, None
        gradients.fill(0)
        found, rows = np.empty((len(gradients), len(self.code.FOUND))), self.arrays(self.policy_rows, b, seen)
        if rows is None or not self.code.policy_gradients(*rows, *self.policy_more, gradients, found):
            return None
        self.begun[0] = b
        return dict(zip(self.code.FOUND, torch.from_numpy(found).unbind(1), strict=True))

    def values(self, b: Batch, seen: Tensor, of: Batch) -> Tensor | None:
        """Compute each seed's gradient of its value loss, times c₁; returns the losses, [S].

        of: the minibatch that these are the value net's rows of. With one optimizer, they are added to the gradients of
        its policy loss, if those are there. None for rows that the kernel is not for.
        """
        gradients = self.value_gradients
        if gradients is not self.policy_gradients or self.begun[0] is not of:
            gradients.fill(0)
        found, rows = np.empty(len(gradients)), self.arrays(self.value_rows, b, seen)
        if rows is None or not self.code.value_gradients(*rows, *self.value_more, gradients, found):
            return None
        return torch.from_numpy(found)

    def move(self, optimizer: Adam, gradients: np.ndarray, learning_rate: Tensor, moving: Tensor) -> Tensor:
        """The step of `Adam.move` down gradients [S, P]; returns their norms, [S]."""
        norm, (averages, numbers) = np.empty(len(gradients), np.float32), self.averages[optimizer]
        self.code.step(*averages, gradients, learning_rate.float().numpy(), *numbers, moving.numpy(), norm)
        torch._foreach_sub_(optimizer.parameters, optimizer.changes)
        return torch.from_numpy(norm)

    def arrays(self, columns: Columns, b: Batch, seen: Tensor) -> list[np.ndarray] | None:
        """A kernel's columns; None if one has another shape or type, no row, or is not a CPU's numbers alone."""
        seeds, rows, found = len(self.agent.seeds), b.valid.shape[-1], list[np.ndarray]()
        for each in columns:
            if isinstance(each, np.ndarray):
                found.append(each)
                continue
            x: Tensor = seen if each.name == "obs" else getattr(b, each.name)
            if x.shape != (seeds, rows, *each.shape) or x.dtype is not each.kind or not rows:
                return None
            try:
                found.append(x.contiguous().numpy())
            except (TypeError, RuntimeError):  # it has a gradient, say
                return None
        return found


def fits(optimizer: Adam, agent: Agent) -> bool:
    """Whether an optimizer's numbers lie as they did at first, and are those of its parameters."""
    laid = known(optimizer, optimizer.m) and len(optimizer.m) == len(agent.seeds)
    return laid and all(p.shape == x.shape for p, x in zip(optimizer.parameters, optimizer.changes, strict=True))


def averages_of(optimizer: Adam) -> tuple[np.ndarray, ...]:
    return tuple(x.numpy() for x in (optimizer.m, optimizer.v, optimizer.t, optimizer.change))


def limits_of(optimizer: Adam) -> tuple[np.ndarray, ...]:
    """The longest gradient and ε, of each seed."""
    return tuple(
        np.broadcast_to(np.asarray(x, np.float64), len(optimizer.m)) for x in (limit_of(optimizer), optimizer.eps)
    )


def exact(agent: Agent, optimizer: Adam) -> bool:
    """Whether what is not a layer is as it was made: the last bias of the values, in float64, and a policy's log σ."""
    bias, shape = agent.value_net.head.bias, (len(agent.seeds), 1, agent.spaces.actions)
    if not simple(bias, torch.float64):
        return False
    if agent.spaces.discrete:
        return True
    log_std = agent.log_std
    own = any(log_std is p for p in optimizer.parameters)
    return own and simple(log_std, torch.float32) and log_std.shape == shape and log_std.is_contiguous()


def limit_of(optimizer: Adam) -> PerSeed | None:
    """The longest gradient that an optimizer takes; None if it is shortened by something other than `grad_clip`."""
    limit = optimizer.limit
    if limit is None:
        return math.inf
    own = isinstance(limit, partial) and limit.func is grad_clip.shorten and not limit.args
    found: PerSeed | None = cast(partial[Tensor], limit).keywords.get("max_norm") if own else None
    return found

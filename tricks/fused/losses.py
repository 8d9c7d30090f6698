"""The loop's losses and Adam's step in one compiled call each, for nets of dense layers on a CPU."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from tricks import action_mask, clip, dual_clip, grad_clip, ppg_buffers, reuse
from tricks.config import PerSeed
from tricks.core import adam
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Net
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Batch
from tricks.core.seeds import per_seed
from tricks.core.sequences import Features
from tricks.fast.dense import addresses, chained
from tricks.fast.dispatch import laid, loaded
from tricks.fused.guard import free, ordinary, own
from tricks.ladder import Tricks
from tricks.training import Training

FORMULAS = (  # what these stand for, beside the losses and what they read
    *((family, name) for family in (Categorical, DiagonalGaussian) for name in ("log_prob", "entropy")),
    *((Agent, name) for name in ("features", "policy", "value", "read", "output", "standardized")),
    *((module, name) for module in (Net, Dense, Head) for name in ("forward", "__call__")),
    *((Adam, name) for name in ("move", "step", "plan")),
    *((module, "noted") for module in (clip, dual_clip, ppg_buffers, reuse)),
    *((Training, "note_tricks"), (Features, "hidden")),
    *((adam, "gradient"), (grad_clip, "shorten"), (action_mask, "mask_logits")),
)


class Layout(NamedTuple):
    """Where a net's parameters are, and where in [S, P] an optimizer has their gradients."""

    net: np.ndarray  # [4, layers]: addresses of weights and biases, and where their gradients begin
    sizes: np.ndarray  # of the input, the layers' features, and the output
    begins: dict[int, int]  # where the gradient of each of the optimizer's parameters begins, by its id
    tanh: int

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
        table = [*map(addresses, (weights, biases)), *([begins[id(x)] for x in each] for each in (weights, biases))]
        sizes = np.array([agent.spaces.features, *(x.shape[2] for x in weights)])
        return cls(np.array(table), sizes, begins, int(cast(Dense, net.body).tanh))


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
    averages: dict[Adam, tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]]  # of `numbers_of`
    begun: list[Batch | None]  # the minibatch whose policy gradients are there
    policy_gradients: np.ndarray
    value_gradients: np.ndarray  # [S, P] each, of the last minibatch; one and the same, if the optimizer is
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
        code = loaded("tricks.fused.compiled_learning")
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
        old, target = Wanted("old_value" if tricks.value_clip else "target", double), Wanted("target", double)
        value_rows = Wanted("obs", single, seen), Wanted("valid", torch.bool), old, target
        same, bias = (t.active.numpy(), on, numbers), agent.value_net.head.bias.detach().view(-1, 1).numpy()
        policy_more = *same, policy.net, policy.sizes, std, to_std, policy.tanh
        value_more = *same, value.net, value.sizes, bias, value.tanh
        room = np.empty(optimizer.m.shape, np.float32)
        value_room = room if value_optimizer is optimizer else np.empty(value_optimizer.m.shape, np.float32)
        averages = {each: numbers_of(each) for each in (optimizer, value_optimizer)}
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


class Slope:
    """What a compiled loss returns: not the losses [S], but their gradients, [S, P], for `Adam.move`.

    It can be added to another loss, and that is all that `learn` does with it; it lasts until the next minibatch.
    """

    def __init__(self, kernels: Kernels, gradients: np.ndarray, rest: Tensor | float = 0.0) -> None:
        self.kernels, self.gradients = kernels, gradients
        self.rest = rest  # [S]: losses whose gradients PyTorch has yet to find

    def __add__(self, other: Any) -> "Slope":
        if isinstance(other, Slope):
            if other.gradients is not self.gradients:  # else they add up there already
                self.gradients += other.gradients
            return Slope(self.kernels, self.gradients, self.rest + other.rest)
        return Slope(self.kernels, self.gradients, self.rest + other)

    __radd__ = __add__


def policy_loss(t: Training, b: Batch, features: Features) -> Any:
    """`loop.policy_loss`. None for agents, flags, devices and rows that it is not for."""
    kernels = kernels_of(t)
    if kernels is None:
        return None
    with torch.no_grad():
        found = kernels.policy(b, t.agent.standardized(b.obs))
    if found is None:
        return None
    tricks, names = t.tricks, ["policy_loss", "entropy"]
    if tricks.reuse:
        names += ["approx_kl", "max_ratio"]
    if tricks.clip:
        names, found["clip_range"] = [*names, "clip_fraction", "clip_range"], t.clip_range
    if tricks.dual_clip:
        names += ["bounded_fraction"]
    if tricks.ppg_buffers:
        t.note(b, **ppg_buffers.noted(SimpleNamespace(t=t, b=b)))
    t.note(b, **{name: found[name] for name in names})
    if tricks.kl_stop:
        kl = found["approx_kl"]
        t.moving = t.moving & (kl <= 1.5 * per_seed(t.config.target_kl, kl))
    return Slope(kernels, kernels.policy_gradients)


def value_loss(t: Training, b: Batch, features: Features) -> Any:
    """`loop.value_loss`. None for agents, flags, devices and rows that it is not for."""
    kernels, rows = kernels_of(t), b.value_rows
    if kernels is None:
        return None
    with torch.no_grad():
        losses = kernels.values(rows, t.agent.standardized(rows.obs), b)
    if losses is None:
        return None
    t.note(rows, value_loss=losses)
    return Slope(kernels, kernels.value_gradients)


def move(optimizer: Adam, loss: Any, learning_rate: Tensor, moving: Tensor) -> Tensor | None:
    """`core.adam.Adam.move`. None for losses, gradients and limits that it is not for."""
    if not isinstance(loss, Slope):
        return None
    if isinstance(loss.rest, Tensor):
        loss.gradients += adam.gradient(loss.rest, optimizer.parameters).numpy()
    with torch.no_grad():
        return loss.kernels.move(optimizer, loss.gradients, learning_rate, moving)


policy_loss.formulas = value_loss.formulas = FORMULAS  # type: ignore[attr-defined]
policy_loss.within = value_loss.within = "learn"  # type: ignore[attr-defined] # which takes what they return
policy_loss.flags = value_loss.flags = (  # type: ignore[attr-defined] # those that they and `learn` know
    *("baseline", "reuse", "clip", "advantage_norm", "state_norm", "entropy", "value_clip", "lr_anneal", "clip_anneal"),
    *("ppg", "ppg_buffers", "kl_stop", "separate_optimizers", "dual_clip", "huber"),
)


def kernels_of(t: Training) -> Kernels | None:
    """The compiled functions for an update's agents and numbers; None if they are not for them."""
    if "kernels" not in t.compiled:
        optimizers = [t.optimizer, *([t.value_optimizer] if t.tricks.separate_optimizers else [])]
        watched = torch.is_anomaly_enabled() or not torch.is_grad_enabled()
        fit = not watched and usual(t.agent, t.tricks, *optimizers)
        t.compiled["kernels"] = Kernels.of(t, optimizers[0], optimizers[-1]) if fit else None
    found: Kernels | None = t.compiled["kernels"]
    return found


def usual(agent: Agent, tricks: Tricks, *optimizers: Adam) -> bool:
    """Whether the compiled functions know these nets, this policy and these optimizers, and all of it may learn.

    They know every flag, but `recurrent` has nets that are not dense, and `squash` a policy of its own.
    """
    adams = all(type(each) is Adam and limit_of(each) is not None for each in optimizers) and own(*optimizers)
    masked = agent.mask is (action_mask.mask_logits if tricks.action_mask else None)
    whole = ordinary(agent, agent.policy_net, agent.value_net) and agent.spaces.tasks == 1
    return whole and masked and adams and free(p for each in optimizers for p in each.parameters)


def fits(optimizer: Adam, agent: Agent) -> bool:
    """Whether an optimizer's numbers lie as they did at first, and are those of its parameters."""
    seeds, pairs = len(agent.seeds), zip(optimizer.parameters, optimizer.changes, strict=True)
    flat = laid((seeds, sum(optimizer.sizes)), optimizer.m, optimizer.v, optimizer.change)
    return flat and laid((seeds, 1), optimizer.t, kind=torch.int64) and all(p.shape == x.shape for p, x in pairs)


def numbers_of(optimizer: Adam) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """What its step changes; and the longest gradient and ε, of each seed."""
    given = (np.asarray(x, np.float64) for x in (limit_of(optimizer), optimizer.eps))
    changed = tuple(x.numpy() for x in (optimizer.m, optimizer.v, optimizer.t, optimizer.change))
    return changed, tuple(np.broadcast_to(x, len(optimizer.m)) for x in given)


def exact(agent: Agent, optimizer: Adam) -> bool:
    """Whether what is not a layer is as it was made: the last bias of the values, in float64, and a policy's log σ."""
    seeds, discrete = len(agent.seeds), agent.spaces.discrete
    log_stds = [p for p in optimizer.parameters if not discrete and p is agent.log_std]
    right = laid((seeds, 1, agent.spaces.actions), *log_stds) and len(log_stds) == (not discrete)
    return right and laid((seeds, 1, 1), agent.value_net.head.bias, kind=torch.float64)


def limit_of(optimizer: Adam) -> PerSeed | None:
    """The longest gradient that an optimizer takes; None if it is shortened by something other than `grad_clip`."""
    limit = optimizer.limit
    if limit is None:
        return math.inf
    own = isinstance(limit, partial) and limit.func is grad_clip.shorten and not limit.args
    found: PerSeed | None = cast(partial[Tensor], limit).keywords.get("max_norm") if own else None
    return found

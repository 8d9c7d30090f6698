"""The loop's losses and Adam's step in one compiled call each, for nets of dense layers on a CPU."""

import math
from collections.abc import Sequence
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
from tricks.fast.dense import Stack
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
CODE = "tricks.fused.compiled_learning"


class Step:
    """An optimizer's step in one call, and the gradients [S, P] that the losses of a minibatch add up for it."""

    def __init__(self, code: Any, optimizer: Adam) -> None:
        given = (np.asarray(x, np.float64) for x in (limit_of(optimizer), optimizer.eps))
        self.numbers = [np.broadcast_to(x, len(optimizer.m)) for x in given]  # the longest gradient and ε, of each seed
        self.averages = [x.numpy() for x in (optimizer.m, optimizer.v, optimizer.t, optimizer.change)]
        self.code, self.gradients = code, np.empty(optimizer.m.shape, np.float32)
        self.of: Batch | None = None  # the minibatch that gradients are there of
        starts = np.cumsum([0, *optimizer.sizes[:-1]]).tolist()
        self.begins = dict(zip(map(id, optimizer.parameters), starts, strict=True))  # where in P a parameter's are

    def places(self, stack: Stack, net: Net) -> np.ndarray:
        """Addresses of weights and biases, and where their gradients begin, [4, layers]: −1 if it has none."""
        begins = ([self.begins.get(id(x), -1) for x in each] for each in zip(*net.layers, strict=True))
        return np.array([stack.weights, stack.biases, *begins])

    @torch.no_grad()
    def take(self, optimizer: Adam, learning_rate: Tensor, moving: Tensor) -> Tensor:
        """`Adam.move` down the gradients; returns their norms, [S]."""
        norm, self.of = np.empty(len(self.gradients), np.float32), None
        given = self.gradients, learning_rate.float().numpy(), *self.numbers, moving.numpy()
        self.code.step(*self.averages, *given, norm)
        torch._foreach_sub_(optimizer.parameters, optimizer.changes)
        return torch.from_numpy(norm)


class Wanted(NamedTuple):
    """A column that the kernel takes: its name, its type, and its shape beyond [S, B]."""

    name: str
    kind: torch.dtype
    shape: tuple[int, ...] = ()


Columns = Sequence[Wanted | np.ndarray]  # an empty array stands for a column that is not used


class Gradients(NamedTuple):
    """The compiled gradients of one net's losses, with what they take of an update's agents and numbers."""

    code: Any
    agent: Agent
    step: Step
    columns: Columns
    more: tuple[Any, ...]

    def found(self, rows: Batch, of: Batch) -> Tensor | None:
        """Add each seed's gradients to those there of the same minibatch; returns what is noted, [FOUND, S].

        rows: those of the minibatch that are the net's. None for rows that the kernel is not for.
        """
        with torch.no_grad():
            columns = self.arrays(rows, self.agent.standardized(rows.obs))
        if self.step.of is not of:
            self.step.gradients.fill(0)
        found = np.empty((len(self.step.gradients), len(self.code.FOUND)))
        if columns is None or not self.code.gradients(*columns, *self.more, self.step.gradients, found):
            return None
        self.step.of = of
        return torch.from_numpy(found).T

    def arrays(self, b: Batch, seen: Tensor) -> list[np.ndarray] | None:
        """The columns, with the observations as they are `seen`; None if one has another shape or type, or no row."""
        seeds, rows, found = len(self.agent.seeds), b.valid.shape[-1], list[np.ndarray]()
        for each in self.columns:
            if isinstance(each, np.ndarray):
                found.append(each)
                continue
            x: Tensor = seen if each.name == "obs" else getattr(b, each.name)
            if x.shape != (seeds, rows, *each.shape) or x.dtype is not each.kind or not rows:
                return None
            try:
                array = x.contiguous().numpy()
            except (TypeError, RuntimeError):  # it has a gradient, say
                return None
            single = each.kind is torch.float32 and not each.shape  # it travels in float64, as those of values do
            found.append(array.astype(np.float64) if single else array)
        return found


class Slope:
    """What a compiled loss returns: not the losses [S], but where their gradients are, for `Adam.move`.

    It can be added to another loss of the minibatch, and that is all that `learn` does with it.
    """

    def __init__(self, step: Step, rest: Tensor | None = None) -> None:
        self.step, self.rest = step, rest  # [S]: losses whose gradients PyTorch has yet to find

    def __add__(self, other: Any) -> "Slope":
        more = other.rest if isinstance(other, Slope) else other  # compiled ones add up by themselves
        rests = [each for each in (self.rest, more) if each is not None]
        return Slope(self.step, sum(rests[1:], rests[0]) if rests else None)

    __radd__ = __add__


def policy_loss(t: Training, b: Batch, features: Features) -> Any:
    """`loop.policy_loss`. None for agents, flags, devices and rows that it is not for."""
    compiled, tricks = gradients_of(t), t.tricks
    found = compiled[0].found(b, b) if compiled else None
    if compiled is None or found is None:
        return None
    loss, entropy, kl, largest, clipped, bounded = found.unbind()
    notes = {"policy_loss": loss, "entropy": entropy}
    if tricks.reuse:
        notes |= {"approx_kl": kl, "max_ratio": largest}
    if tricks.clip:
        notes |= {"clip_fraction": clipped, "clip_range": t.clip_range}
    if tricks.dual_clip:
        notes["bounded_fraction"] = bounded
    if tricks.ppg_buffers:
        t.note(b, **ppg_buffers.noted(SimpleNamespace(t=t, b=b)))
    t.note(b, **notes)
    if tricks.kl_stop:
        t.moving = t.moving & (kl <= 1.5 * per_seed(t.config.target_kl, kl))
        t.note(b, steps_taken=t.moving.float())
    return Slope(compiled[0].step)


def value_loss(t: Training, b: Batch, features: Features) -> Any:
    """`loop.value_loss`. None for agents, flags, devices and rows that it is not for."""
    compiled = gradients_of(t)
    found = compiled[1].found(b.value_rows, b) if compiled else None
    if compiled is None or found is None:
        return None
    t.note(b.value_rows, value_loss=found[compiled[1].code.LOSS])
    return Slope(compiled[1].step)


def move(optimizer: Adam, loss: Any, learning_rate: Tensor, moving: Tensor) -> Tensor | None:
    """`core.adam.Adam.move`. None for losses that are not compiled."""
    if not isinstance(loss, Slope):
        return None
    if loss.rest is not None:
        loss.step.gradients += adam.gradient(loss.rest, optimizer.parameters).numpy()
    return loss.step.take(optimizer, learning_rate, moving)


policy_loss.formulas = value_loss.formulas = FORMULAS  # type: ignore[attr-defined]
policy_loss.within = value_loss.within = "learn"  # type: ignore[attr-defined] # which takes what they return
policy_loss.flags = value_loss.flags = (  # type: ignore[attr-defined] # those that they and `learn` know
    *("baseline", "reuse", "clip", "advantage_norm", "state_norm", "entropy", "value_clip", "lr_anneal", "clip_anneal"),
    *("ppg", "ppg_buffers", "kl_stop", "separate_optimizers", "dual_clip", "huber"),
)


def gradients_of(t: Training) -> tuple[Gradients, Gradients] | None:
    """Those of the policy's and of the value net's losses in this update; None if the kernel is not for them."""
    if "gradients" not in t.compiled:
        watched = torch.is_anomaly_enabled() or not torch.is_grad_enabled()
        t.compiled["gradients"] = None if watched or not usual(t.agent, t.tricks) else both(t)
    found: tuple[Gradients, Gradients] | None = t.compiled["gradients"]
    return found


def both(t: Training) -> tuple[Gradients, Gradients] | None:
    """Those of usual agents. Nothing can check an address later, so all that is behind one is checked here."""
    agent, spaces, config, tricks, seeds = t.agent, t.agent.spaces, t.config, t.tricks, len(t.agent.seeds)
    optimizers = [t.optimizer, *([t.value_optimizer] if tricks.separate_optimizers else [])]
    policy = Stack.of(seeds, spaces.features, agent.policy_net.layers)
    value = Stack.of(seeds, spaces.features, agent.value_net.layers, last=torch.float64)
    code: Any = policy and value and all(fits(each, seeds) for each in optimizers) and loaded(CODE)
    if not (code and policy and value):
        return None
    steps = {each: Step(code, each) for each in optimizers}
    step, value_step = steps[optimizers[0]], steps[optimizers[-1]]
    net, value_net = step.places(policy, agent.policy_net), value_step.places(value, agent.value_net)
    sized = (policy.sizes[-1], value.sizes[-1]) == (spaces.actions, 1)
    log_std, to_log_std = np.empty((seeds, 0), np.float32), 0
    if not spaces.discrete:
        sized = sized and laid((seeds, 1, spaces.actions), agent.log_std)
        log_std, to_log_std = agent.log_std.detach().flatten(1).numpy(), step.begins.get(id(agent.log_std), -1)
    if not sized or min(net.min(), value_net.min(), to_log_std) < 0:  # some parameter is not the optimizer's
        return None
    given = {name: config.each(name) for name in code.NUMBERS}
    given |= {name: vars(t)[name].tolist() for name in ("clip_range", "value_clip_range") if name in vars(t)}
    on = np.array([getattr(tricks, flag) for flag in code.FLAGS])
    same, bias = (t.active.numpy(), on, np.array([*given.values()]).T.copy()), agent.value_net.head.bias.detach()
    of_policy = *same, net, policy.sizes, np.empty((seeds, 0)), log_std, to_log_std, tanh(agent.policy_net)
    of_values = *same, value_net, value.sizes, bias.flatten(1).numpy(), log_std, 0, tanh(agent.value_net)
    wanted = columns(agent, tricks)
    return Gradients(code, agent, step, wanted[0], of_policy), Gradients(code, agent, value_step, wanted[1], of_values)


def columns(agent: Agent, tricks: Tricks) -> tuple[Columns, Columns]:
    """Those of the policy's losses, and of the value net's."""
    seeds, discrete, each = len(agent.seeds), agent.spaces.discrete, (agent.spaces.actions,)
    seen, valid = Wanted("obs", torch.float32, (agent.spaces.features,)), Wanted("valid", torch.bool)
    never, none = np.empty((seeds, 0, 0), np.bool_), np.empty((seeds, 0))
    no_actions = np.empty((seeds, 0), np.int64), np.empty((seeds, 0, 0), np.float32)
    action = Wanted("action", torch.int64) if discrete else Wanted("action", torch.float32, each)
    legal = Wanted("legal", torch.bool, each) if tricks.action_mask else never
    aims = Wanted("advantage", torch.float32), Wanted("target", torch.float64)
    old = Wanted("old_log_prob", torch.float32) if tricks.reuse else none
    old_value = Wanted("old_value", torch.float64) if tricks.value_clip else none
    acted = (action, no_actions[1]) if discrete else (no_actions[0], action)
    return (seen, valid, legal, *acted, aims[0], old), (seen, valid, never, *no_actions, aims[1], old_value)


def usual(agent: Agent, tricks: Tricks) -> bool:
    """Whether the kernel knows these nets and this policy.

    It knows every flag, but `recurrent` has nets that are not dense, and `squash` a policy of its own.
    """
    masked = agent.mask is (action_mask.mask_logits if tricks.action_mask else None)
    return ordinary(agent, agent.policy_net, agent.value_net) and agent.spaces.tasks == 1 and masked


def fits(optimizer: Adam, seeds: int) -> bool:
    """Whether an optimizer takes Adam's steps, with parameters that may all learn, and its numbers lie as at first."""
    if type(optimizer) is not Adam or not own(optimizer) or limit_of(optimizer) is None:
        return False
    flat = laid((seeds, sum(optimizer.sizes)), optimizer.m, optimizer.v, optimizer.change)
    sized = all(p.shape == x.shape for p, x in zip(optimizer.parameters, optimizer.changes, strict=True))
    return free(optimizer.parameters) and flat and laid((seeds, 1), optimizer.t, kind=torch.int64) and sized


def limit_of(optimizer: Adam) -> PerSeed | None:
    """The longest gradient that an optimizer takes; None if it is shortened by something other than `grad_clip`."""
    limit = optimizer.limit
    if limit is None:
        return math.inf
    own = isinstance(limit, partial) and limit.func is grad_clip.shorten and not limit.args
    found: PerSeed | None = cast(partial[Tensor], limit).keywords.get("max_norm") if own else None
    return found


def tanh(net: Net) -> int:
    return int(cast(Dense, net.body).tanh)

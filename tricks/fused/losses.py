"""The loop's losses and Adam's step in one compiled call each, for nets of dense layers on a CPU."""

from types import NoneType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks import action_mask, clip, dual_clip, grad_clip, ppg_buffers, reuse
from tricks.core import adam
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Net
from tricks.core.per_seed import per_seed
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Batch
from tricks.core.sequences import Features
from tricks.fast.formulas import attributes
from tricks.fused.guard import free, of_layers, own, unhooked
from tricks.fused.minibatch import Kernels, limit_of
from tricks.ladder import Tricks
from tricks.state_norm import ObsStats
from tricks.training import Training

FORMULAS = attributes(  # what these stand for, beside the losses and what they read
    *((family, name) for family in (Categorical, DiagonalGaussian) for name in ("log_prob", "entropy")),
    *((Agent, name) for name in ("features", "policy", "value", "read", "output", "standardized")),
    *((module, name) for module in (Net, Dense, Head) for name in ("forward", "__call__")),
    *((Adam, name) for name in ("move", "step", "plan")),
    *((module, "noted") for module in (clip, dual_clip, ppg_buffers, reuse)),
    *((Training, "note_tricks"), (Features, "hidden")),
    *((adam, "gradient"), (grad_clip, "shorten"), (action_mask, "mask_logits")),
)


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


def policy_loss(t: Training, b: Batch, given: Features) -> Any:
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
        t.note(of=t.having_rows(b), **ppg_buffers.noted(SimpleNamespace(t=t, b=b)))
    t.note(of=t.having_rows(b), **{name: found[name] for name in names})
    if tricks.kl_stop:
        kl = found["approx_kl"]
        t.moving = t.moving & (kl <= 1.5 * per_seed(t.config.target_kl, kl))
    return Slope(kernels, kernels.policy_gradients)


def value_loss(t: Training, b: Batch, given: Features) -> Any:
    """`loop.value_loss`. None for agents, flags, devices and rows that it is not for."""
    kernels, rows = kernels_of(t), b.value_rows
    if kernels is None:
        return None
    with torch.no_grad():
        losses = kernels.values(rows, t.agent.standardized(rows.obs), b)
        if losses is None and kernels.begun[0] is b:  # it may have stopped halfway, in the policy's gradients
            kernels.policy(b, t.agent.standardized(b.obs))
    if losses is None:
        return None
    t.note(of=t.having_rows(rows), value_loss=losses)
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
    nets = type(agent) is Agent and of_layers(agent.policy_net) and of_layers(agent.value_net)
    adams = all(type(each) is Adam and limit_of(each) is not None for each in optimizers)
    masked = agent.mask is (action_mask.mask_logits if tricks.action_mask else None)
    family = agent.family is (Categorical if agent.spaces.discrete else DiagonalGaussian)
    shown = agent.spaces.tasks == 1 and type(agent.obs_stats) in (NoneType, ObsStats)
    if not (nets and adams and masked and family and shown):
        return False
    return own(*optimizers) and unhooked(agent) and free(p for each in optimizers for p in each.parameters)

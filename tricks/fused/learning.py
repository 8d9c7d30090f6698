"""The loop's `learn` in a few compiled calls a minibatch, for nets of dense layers on a CPU."""

from collections.abc import Iterable
from itertools import chain
from types import NoneType

import torch
from torch import Tensor

from tricks import action_mask, grad_clip
from tricks.annealing import following_decay, linear_decay
from tricks.config import Config
from tricks.core import adam
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Net
from tricks.core.per_seed import per_seed
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Batch
from tricks.fast.formulas import attributes, formula
from tricks.fused.guard import free, of_layers, own, unhooked
from tricks.fused.minibatch import Descent, Kernels, limit_of
from tricks.ladder import Tricks
from tricks.ppg_buffers import ages
from tricks.runs.log import Log
from tricks.separate_optimizers import idle, turns
from tricks.state_norm import ObsStats

FORMULAS = attributes(  # what this stands for, beside `loop.learn` and what it reads
    *((family, name) for family in (Categorical, DiagonalGaussian) for name in ("log_prob", "entropy")),
    *((Agent, name) for name in ("features", "policy", "value", "read", "output", "standardized")),
    *((module, name) for module in (Net, Dense, Head) for name in ("forward", "__call__")),
    *((Adam, name) for name in ("move", "step", "plan")),
    *((adam, "gradient"), (grad_clip, "shorten"), (action_mask, "mask_logits")),
)


def learn(
    agent: Agent,
    batches: Iterable[Batch],
    optimizer: Adam,
    value_optimizer: Adam,
    learning_rate: Tensor,
    config: Config,
    tricks: Tricks,
    log: Log,
) -> bool | None:
    """`loop.learn`. None for agents, flags and devices that it is not for.

    From the first minibatch on that it is not for, the loop's own learns.
    """
    watched = torch.is_anomaly_enabled() or not torch.is_grad_enabled()
    if watched or not usual(agent, tricks, optimizer, value_optimizer):
        return None
    clip_range = log.progress.new_tensor(config.each("clip_range"))  # [S]
    value_clip_range = log.progress.new_tensor(config.each("value_clip_range"), dtype=torch.float64)
    if tricks.clip_anneal:
        clip_range = linear_decay(clip_range, log.progress)
        value_clip_range = following_decay(value_clip_range, log.progress, config.value_clip_anneals)
    ranges = {"clip_range": clip_range.tolist(), "value_clip_range": value_clip_range.tolist()}
    kernels = Kernels.of(agent, optimizer, value_optimizer, config, tricks, log.active, ranges)
    if kernels is None:
        return None
    left = iter(batches)
    descent = value_descent = Descent.of(kernels.code.step, optimizer, learning_rate)
    if tricks.separate_optimizers:
        value_rate = learning_rate * per_seed(config.value_lr_factor, learning_rate)
        value_descent = Descent.of(kernels.code.step, value_optimizer, value_rate)
    odd = steps(kernels, left, descent, value_descent, clip_range, config, tricks, log)
    if odd is not None:
        rest = chain([odd], left)
        formula("tricks.loop.learn")(agent, rest, optimizer, value_optimizer, learning_rate, config, tricks, log)
    return True


learn.formulas = FORMULAS  # type: ignore[attr-defined]


@torch.no_grad()
def steps(
    kernels: Kernels,
    batches: Iterable[Batch],
    descent: Descent,
    value_descent: Descent,
    clip_range: Tensor,
    config: Config,
    tricks: Tricks,
    log: Log,
) -> Batch | None:
    """A gradient step on each minibatch, as in `loop.learn`; returns the first that the kernels are not for."""
    near = log.near
    for b in batches:
        if tricks.separate_optimizers:
            policy_turn, value_turn = turns(b)
            log.quiet = idle(policy_turn, value_turn)
        rows = b.value_rows if tricks.ppg_buffers else b
        seen = kernels.agent.standardized(b.obs)
        value_seen = seen if rows is b else kernels.agent.standardized(rows.obs)
        descent.gradients.fill(0)
        value_descent.gradients.fill(0)
        found = kernels.policy(b, seen, descent.gradients)
        losses = kernels.values(rows, value_seen, value_descent.gradients) if tricks.baseline else near
        if found is None or losses is None:
            return b
        moving = log.active & b.valid.any(1)  # [S]: the seeds that take a step on these rows
        log.note(policy_loss=found["policy_loss"], entropy=found["entropy"])
        if tricks.reuse:
            log.note(approx_kl=found["approx_kl"], max_ratio=found["max_ratio"])
        if tricks.clip:
            log.note(clip_fraction=found["clip_fraction"], clip_range=clip_range)
        if tricks.dual_clip:
            log.note(bounded_fraction=found["bounded_fraction"])
        if tricks.baseline:
            log.note(value_loss=losses)
            if tricks.ppg_buffers:
                log.note(**ages(b, log.update))
            if tricks.separate_optimizers:
                value_moving = log.active & rows.valid.any(1) & value_turn
                log.note(value_grad_norm=value_descent.move(value_moving))
                moving = moving & policy_turn
            elif tricks.ppg_buffers:  # one step for the rows of both nets
                moving = moving | (log.active & rows.valid.any(1))
        if tricks.kl_stop:
            near = near & (found["approx_kl"] <= 1.5 * per_seed(config.target_kl, found["approx_kl"]))
            moving = moving & near
            log.note(steps_taken=near.float())
        log.note(grad_norm=descent.move(moving))
    return None


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
    return own(*optimizers) and unhooked(agent) and free(p for each in {*optimizers} for p in each.parameters)

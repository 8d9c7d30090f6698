"""The loop's `learn` in a few compiled calls a minibatch, for nets of dense layers on a CPU."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
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
from tricks.fast.dispatch import compiled
from tricks.fast.formulas import attributes
from tricks.ladder import Tricks
from tricks.ppg_buffers import ages
from tricks.runs.log import Log
from tricks.separate_optimizers import idle, turns

FORMULAS = attributes(  # what this stands for, beside `loop.learn` and what it reads
    *((family, name) for family in (Categorical, DiagonalGaussian) for name in ("log_prob", "entropy")),
    *((Agent, name) for name in ("features", "policy", "value", "read", "output", "standardized")),
    *((module, "forward") for module in (Net, Dense, Head)),
    *((Adam, name) for name in ("move", "step", "plan")),
    *((adam, "gradient"), (grad_clip, "shorten"), (action_mask, "mask_logits")),
)


@torch.no_grad()
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
    """`loop.learn`. None for agents, flags and devices that it is not for."""
    if not usual(agent, tricks, optimizer, value_optimizer):
        return None
    policy, value = Layout.of(agent.policy_net, optimizer), Layout.of(agent.value_net, value_optimizer)
    code = compiled("tricks.fused.compiled_learning", *policy.parameters, *value.parameters)
    if code is None:
        return None
    clip_range = log.progress.new_tensor(config.each("clip_range"))  # [S]
    value_clip_range = log.progress.new_tensor(config.each("value_clip_range"), dtype=torch.float64)
    if tricks.clip_anneal:
        clip_range = linear_decay(clip_range, log.progress)
        value_clip_range = following_decay(value_clip_range, log.progress, config.value_clip_anneals)
    given: dict[str, Sequence[float]] = {name: config.each(name) for name in code.NUMBERS}
    given |= {"clip_range": clip_range.tolist(), "value_clip_range": value_clip_range.tolist()}
    numbers = np.array([*given.values()]).T.copy()
    on = np.array([getattr(tricks, flag) for flag in code.FLAGS])
    kernels = Kernels(code, agent, policy, value, config.activation == "tanh", log.active.numpy(), on, numbers)
    near, gradients = log.active, torch.empty_like(optimizer.m)  # [S, P]
    for b in batches:
        moving = log.active & b.valid.any(1)  # [S]: the seeds that take a step on these rows
        if tricks.separate_optimizers:
            policy_turn, value_turn = turns(b)
            log.quiet = idle(policy_turn, value_turn)
        found = kernels.policy(b, gradients.zero_())
        log.note(policy_loss=found["policy_loss"], entropy=found["entropy"])
        if tricks.reuse:
            log.note(approx_kl=found["approx_kl"], max_ratio=found["max_ratio"])
        if tricks.clip:
            log.note(clip_fraction=found["clip_fraction"], clip_range=clip_range)
        if tricks.dual_clip:
            log.note(bounded_fraction=found["bounded_fraction"])
        if tricks.baseline:
            rows, value_gradients = b, gradients
            if tricks.ppg_buffers:
                rows = b.value_rows
                log.note(**ages(b, log.update))
            if tricks.separate_optimizers:
                value_gradients = torch.zeros_like(value_optimizer.m)
            log.note(value_loss=kernels.values(rows, value_gradients))
            if tricks.separate_optimizers:
                value_rate = learning_rate * per_seed(config.value_lr_factor, learning_rate)
                value_moving = log.active & rows.valid.any(1) & value_turn
                log.note(value_grad_norm=kernels.step(value_optimizer, value_gradients, value_rate, value_moving))
                moving = moving & policy_turn
            elif tricks.ppg_buffers:  # one step for the rows of both nets
                moving = moving | (log.active & rows.valid.any(1))
        if tricks.kl_stop:
            near = near & (found["approx_kl"] <= 1.5 * per_seed(config.target_kl, found["approx_kl"]))
            moving = moving & near
            log.note(steps_taken=near.float())
        log.note(grad_norm=kernels.step(optimizer, gradients, learning_rate, moving))
    return True


learn.formulas = FORMULAS  # type: ignore[attr-defined]


def usual(agent: Agent, tricks: Tricks, *optimizers: Adam) -> bool:
    """Whether the compiled functions know these nets, this policy and these optimizers.

    They know every flag, but `recurrent` has nets that are not dense, and `squash` a policy of its own.
    """
    dense = all(type(net.body) is Dense and type(net.head) is Head for net in (agent.policy_net, agent.value_net))
    adams = all(type(each) is Adam for each in optimizers)
    limited = all(each.limit is None or getattr(each.limit, "func", None) is grad_clip.shorten for each in optimizers)
    masked = agent.mask is (action_mask.mask_logits if tricks.action_mask else None)
    known = agent.spaces.tasks == 1 and agent.family in (Categorical, DiagonalGaussian)
    return known and dense and masked and adams and limited


@dataclass(frozen=True)
class Layout:
    """Where a net's parameters are, and where in [S, P] an optimizer has their gradients."""

    parameters: list[Tensor]
    """Weights and biases, without the last bias of a value net, which is float64."""
    net: np.ndarray
    """[4, layers]: addresses of weights and biases, and where their gradients begin."""
    sizes: np.ndarray
    """Of the input, the layers' features, and the output."""
    begins: dict[int, int]
    """Where the gradient of each of the optimizer's parameters begins, by its id."""

    @classmethod
    def of(cls, net: Net, optimizer: Adam) -> "Layout":
        starts = np.cumsum([0, *optimizer.sizes[:-1]]).tolist()
        begins = dict(zip(map(id, optimizer.parameters), starts, strict=True))
        weights, biases = zip(*net.layers, strict=True)
        table = [[x.data_ptr() for x in weights], [x.data_ptr() for x in biases]]
        table += [[begins[id(x)] for x in weights], [begins[id(x)] for x in biases]]
        single = [x for x in (*weights, *biases) if x.dtype is not torch.float64]
        return cls(single, np.array(table), np.array([weights[0].shape[1], *(x.shape[2] for x in weights)]), begins)


@dataclass(frozen=True)
class Kernels:
    """The compiled functions, with what they take of an update's agents and numbers."""

    code: Any
    agent: Agent
    policy_layout: Layout
    value_layout: Layout
    tanh: bool
    active: np.ndarray  # [S]
    on: np.ndarray  # [FLAGS]
    numbers: np.ndarray  # [S, NUMBERS]

    def policy(self, b: Batch, gradients: Tensor) -> dict[str, Tensor]:
        """Add each seed's gradient of its policy loss, less the bonus, to `gradients` [S, P]; what is noted, [S]."""
        found = np.empty((len(gradients), len(self.code.FOUND)))
        old, no_action = getattr(b, "old_log_prob", b.advantage), b.advantage[:, :0]
        if self.agent.family is Categorical:
            discrete, continuous = b.action.contiguous(), no_action.unsqueeze(2)
            log_std, to_log_std = no_action, 0
        else:
            discrete, continuous = no_action.long(), b.action.contiguous()
            log_std = self.agent.log_std.detach().squeeze(1)
            to_log_std = self.policy_layout.begins[id(self.agent.log_std)]
        rows = self.seen(b), b.valid, b.legal.contiguous(), discrete, continuous, b.advantage, old
        self.code.policy_gradients(
            *(x.numpy() for x in rows), self.active, self.on, self.numbers, self.policy_layout.net,
            self.policy_layout.sizes, log_std.contiguous().numpy(), to_log_std, self.tanh, gradients.numpy(), found,
        )  # fmt: skip
        return dict(zip(self.code.FOUND, torch.from_numpy(found).unbind(1), strict=True))

    def values(self, b: Batch, gradients: Tensor) -> Tensor:
        """Add each seed's gradient of its value loss, times c₁, to `gradients` [S, P]; returns the losses, [S]."""
        found, net = np.empty(len(gradients)), self.agent.value_net
        rows = self.seen(b), b.valid, b.value, b.target
        bias = net.head.bias.detach().view(-1, 1).numpy()
        self.code.value_gradients(
            *(x.numpy() for x in rows), self.active, self.on, self.numbers, self.value_layout.net,
            self.value_layout.sizes, bias, self.tanh, gradients.numpy(), found,
        )  # fmt: skip
        return torch.from_numpy(found)

    def seen(self, b: Batch) -> Tensor:
        """The observations as the nets see them, [S, B, D]."""
        return self.agent.standardized(b.obs).contiguous()

    def step(self, optimizer: Adam, gradients: Tensor, learning_rate: Tensor, moving: Tensor) -> Tensor:
        """The step of `Adam.move` down the gradients [S, P]; returns their norms, [S]."""
        seeds, norm = len(gradients), learning_rate.new_empty(len(gradients), dtype=torch.float32)
        limit = np.inf if optimizer.limit is None else cast(partial[Tensor], optimizer.limit).keywords["max_norm"]
        numbers = [np.broadcast_to(np.asarray(x, np.float64), seeds) for x in (limit, optimizer.eps)]
        columns = optimizer.m, optimizer.v, optimizer.t, optimizer.change, gradients, learning_rate.float()
        self.code.step(*(x.numpy() for x in columns), *numbers, moving.numpy(), norm.numpy())
        torch._foreach_sub_(optimizer.parameters, optimizer.changes)
        return norm

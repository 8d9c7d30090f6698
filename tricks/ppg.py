"""ppg: an auxiliary phase, every few updates, trains the policy net to predict values without changing its policy.

Cobbe et al. 2020, "Phasic Policy Gradient", arXiv:2009.04416. `grad_clip` leaves the phase's gradients alone, as in the
paper's code; CleanRL's ppg_procgen clips them. One Adam, with the policy's learning rate, moves both nets in the phase.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from tricks.baseline import squared_error
from tricks.config import Config, PerSeed
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.machine import Need, largest
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import Head, Net
from tricks.core.owners import Owner, restore
from tricks.core.reductions import mean
from tricks.core.rollout import Batch
from tricks.core.seeds import Index, per_seed, stream
from tricks.ladder import Tricks
from tricks.reuse import minibatches, refuse_endless
from tricks.value_clip import clipped_error

CHUNK = 1024  # rows per forward pass over a memory
WATCHED = ("auxiliary_loss",)  # see `runs/log`


def add_auxiliary_head_(agent: Agent) -> None:
    """Add a second value head, on the body of the policy net. Only the auxiliary phase trains it."""
    trunk, generators = agent.policy_net.body, [stream(seed, "init", 2) for seed in agent.seeds]  # orthogonal_: 0, 1
    agent.auxiliary_net = Net(trunk, Head(generators, trunk.width, agent.spaces.tasks, exact=True))


def auxiliary_net(agent: Agent) -> Net:
    """The policy net's body with its second head, whose outputs are like those of the value net."""
    return cast(Net, agent.auxiliary_net)


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError for endless auxiliary phases."""
    refuse_endless("aux_epochs", config, config.value_rollouts if tricks.ppg_buffers else config.aux_every)


def memory(config: Config, tricks: Tricks, rows: int, row: int, features: int) -> Need:
    """The rollouts that the memories hold: rows of each, of so many bytes."""
    names = ("policy_rollouts", "value_rollouts") if tricks.ppg_buffers else ("aux_every",)
    updates = -(-config.steps // (config.lanes * config.horizon))
    stored = sum(min(getattr(config, name), updates) for name in names)
    numbers = largest(config, *names, "lanes", "horizon", "seeds")
    return Need(f"{stored:,} stored rollouts", stored * rows * row, numbers)


class Memory:
    """The last `rollouts` segments as one batch [S, R, ...], with each row's update of origin and number of uses.

    Values and targets are stored in units of reward, whatever the value net's units were.
    """

    OWNERS: ClassVar[dict[str, Owner]] = {"rows": "seed"}

    def __init__(self, rollouts: int) -> None:
        self.rollouts, self.rows = rollouts, Batch()

    def add(self, batch: Batch, stats: ReturnStats, update: Index) -> None:
        """Add a rollout whose old_value and target are in units of `stats`, and drop the oldest one if full."""
        new, length = Batch(**batch.columns), batch.valid.shape[1]
        # Without popart, the net's outputs n stay as they were when the statistics moved: before this update's first
        # step it predicts σ′n + μ′, of today's `stats`, and no longer the σn + μ of the rollout.
        new.old_value = denormalize(batch.old_value, stats.of(batch.task))
        new.target = denormalize(batch.target, stats.of(batch.task))
        new.born = torch.as_tensor(update, device=batch.valid.device).view(-1, 1).expand(batch.valid.shape)
        new.uses = torch.zeros_like(batch.valid, dtype=torch.int64)
        if not self.rows.columns:  # as large as it will be, with rows that do not count
            self.rows = Batch(**{name: torch.cat([x] * self.rollouts, 1) for name, x in new.columns.items()})
            self.rows.valid, self.rows.born = torch.zeros_like(self.rows.valid), torch.full_like(self.rows.born, -1)
        filled, place = self.filled.to(batch.valid.device), torch.arange(self.rollouts * length).to(batch.valid.device)
        full = (filled == self.rollouts).long()  # [S, 1]: then all move up by one rollout, and the first one goes
        old, added = place + length * full, len(place) + place % length
        index = torch.where(place // length == filled - full, added, old)  # [S, R], of the rows and then the new ones
        for name, column in new.columns.items():
            both = torch.cat([self.rows.columns[name].to(column.device), column], 1)  # loaded rows are on the host
            setattr(self.rows, name, torch.stack([x.index_select(0, i) for x, i in zip(both, index, strict=True)]))

    @property
    def filled(self) -> Tensor:
        """How many rollouts each seed has in it: [S, 1]."""
        born: Tensor = self.rows.born.unflatten(1, (self.rollouts, -1))[..., 0]
        return (born >= 0).sum(1, keepdim=True)

    def batch(self, stats: ReturnStats) -> Batch:
        """All rows, with old_value and target in units of `stats`."""
        batch = Batch(**self.rows.columns)
        batch.old_value = normalize(batch.old_value, stats.of(batch.task))
        batch.target = normalize(batch.target, stats.of(batch.task))
        return batch

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows.columns}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rows = Batch(**state["rows"])
        if "filled" in state:  # an older file, where rows that are not filled yet are told by that alone
            self.rows.born[(torch.arange(self.rows.born.shape[1]) // state["length"]) >= state["filled"][:, None]] = -1

    def owned(self) -> dict[str, Tensor]:
        """What the seeds own, see `core.owners`."""
        return self.rows.columns

    def restore(self, seeds: Tensor, rows: Mapping[str, Tensor]) -> None:
        """Put rows in the place of what these seeds have."""
        restore(self.rows, seeds, rows)


class AuxiliaryPhase(Adam):
    """The optimizer of the auxiliary phase, and the minibatches that it learns from."""

    def minibatches(self, memory: Memory, agent: Agent, config: Config, update: Index) -> Iterable[Batch]:
        """Those of E_aux passes over the memory, with π_old's logits as `old`, for seeds that had N_π updates more."""
        due = (torch.as_tensor(update) + 1) % config.aux_every == 0  # [S]
        if not due.any():
            return
        batch = memory.batch(agent.return_stats)
        batch.valid = batch.valid & due.to(batch.valid.device).view(-1, 1)
        with torch.no_grad():
            parts = zip(batch.obs.split(CHUNK, 1), batch.legal.split(CHUNK, 1), strict=True)
            batch.old = torch.cat([agent.policy(*part) for part in parts], 1)
        count = config.minibatches * memory.filled[:, 0]
        yield from minibatches(batch, config.seed_list, update, config.aux_epochs, count, "auxiliary")


def auxiliary_errors(agent: Agent, b: Batch, config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """½(V_aux(s) − G)², KL(π_old(·|s) ‖ π(·|s)) over all actions, and ½(V(s) − G)². [S, B] each.

    Cobbe et al. 2020, sec. 2: L_joint = E[first] + β_clone·E[second] on the policy net, L_value = E[third].
    """
    features = agent.features(b.obs)  # one pass through the policy net's body serves both of its heads
    auxiliary, value = agent.read(auxiliary_net(agent), features), agent.value(features)
    error = squared_error(auxiliary, b.target)
    if config.aux_value_clip:
        error = clipped_error(auxiliary, b.old_value, b.target, per_seed(config.value_clip_range, auxiliary))
    kl = agent.family.kl(b.old, agent.policy(features, b.legal))
    return error, kl, squared_error(value, b.target)


def auxiliary_loss(errors: tuple[Tensor, Tensor, Tensor], valid: Tensor, clone_coef: PerSeed) -> Tensor:
    """L_joint + L_value of each seed, from `auxiliary_errors`: [S]."""
    auxiliary, kl, value = (mean(error, valid) for error in errors)
    return auxiliary + per_seed(clone_coef, kl) * kl + value

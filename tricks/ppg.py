"""ppg: an auxiliary phase, every few updates, trains the policy net to predict values without changing its policy.

Cobbe et al. 2020, "Phasic Policy Gradient", arXiv:2009.04416. `grad_clip` leaves the phase's gradients alone: the
paper's code (openai/phasic-policy-gradient) clips none at all, CleanRL's ppg_procgen clips those of both phases.
`separate_optimizers` leaves the phase alone, too: one Adam, with the policy's learning rate, moves both nets.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from tricks.baseline import squared_error
from tricks.config import Config, Number
from tricks.core.agent import Agent
from tricks.core.memory import Memory
from tricks.core.moments import ReturnStats
from tricks.core.numbers import per_seed
from tricks.core.policies import Family
from tricks.core.reductions import mean
from tricks.core.rollout import AgentPolicy, Batch, Policy
from tricks.core.seeds import stream
from tricks.reuse import minibatches
from tricks.value_clip import clipped_error

CHUNK = 1024  # rows per forward pass over a memory


def add_auxiliary_head_(agent: Agent) -> None:
    """Add a second value head, on the body of the policy net. Only the auxiliary phase trains it."""
    generators = [stream(seed, "init", 2) for seed in agent.seeds]  # orthogonal_init uses 0 and 1
    agent.auxiliary_net = agent.policy_net.with_value_head(generators, agent.spaces.tasks)


def auxiliary_minibatches(
    memory: Memory, stats: ReturnStats, policy: Policy, config: Config, update: int
) -> Iterator[Batch]:
    """The auxiliary phase's minibatches, with π_old's logits as `old`; none unless N_π updates have passed.

    There are E_aux passes over the whole memory, in minibatches as large as those of the policy phase.
    """
    if (update + 1) % config.aux_every:
        return
    batch = memory.batch(stats)
    with torch.no_grad():
        parts = zip(batch.obs.split(CHUNK, 1), batch.legal.split(CHUNK, 1), strict=True)
        batch.old = torch.cat([policy(*part) for part in parts], 1)
    count = config.minibatches * batch.valid.shape[1] // memory.length
    yield from minibatches(batch, config.seed_list, update, config.aux_epochs, count, "auxiliary")


def auxiliary_errors(
    agent: Agent, policy: AgentPolicy, family: Family, b: Batch, config: Config
) -> tuple[Tensor, Tensor, Tensor]:
    """½(V_aux(s) − G)², KL(π_old(·|s) ‖ π(·|s)) over all actions, and ½(V(s) − G)². [S, B] each.

    Cobbe et al. 2020, sec. 2: L_joint = E[first] + β_clone·E[second] on the policy net, and L_value =
    E[third] on the value net.
    """
    seen = agent.see(b.obs)  # one pass through the policy net's body serves both of its heads
    auxiliary, value = agent.auxiliary_value(seen), agent.value(seen)
    error = squared_error(auxiliary, b.target)
    if config.aux_value_clip:
        error = clipped_error(auxiliary, b.value, b.target, per_seed(config.value_clip_range, auxiliary))
    return error, family.kl(b.old, policy(seen, b.legal)), squared_error(value, b.target)


def auxiliary_loss(errors: tuple[Tensor, Tensor, Tensor], valid: Tensor, clone_coef: Number) -> Tensor:
    """L_joint + L_value of each seed, from `auxiliary_errors`: [S]."""
    auxiliary, kl, value = (mean(error, valid) for error in errors)
    return auxiliary + per_seed(clone_coef, kl) * kl + value

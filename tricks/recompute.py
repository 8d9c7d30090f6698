"""recompute: before each further epoch, advantages and value targets are computed anew with the current value net."""

from collections.abc import Iterable
from itertools import islice

from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.moments import normalize
from tricks.core.rollout import Batch, Rollout
from tricks.gae import gae
from tricks.return_norm import per_task


def judged_anew(
    batches: Iterable[Batch], batch: Batch, agent: Agent, rollout: Rollout, config: Config
) -> Iterable[Batch]:
    """The minibatches, in each of the policy's epochs after the first from a batch with new advantages and targets.

    Minibatches are dealt when their epoch begins. The old prediction, which value_clip holds on to, remains that of the
    rollout. Andrychowicz et al. 2020, arXiv:2006.05990, on the recomputation of advantages.
    """
    left = iter(batches)
    for epoch in range(config.epochs):
        if epoch > 0:
            batch.add(**judged(agent, rollout, config))
        yield from islice(left, config.minibatches)
    yield from left


def judged(agent: Agent, rollout: Rollout, config: Config) -> dict[str, Tensor]:
    """Advantages and value targets [S, T, N] by GAE with the current V(s), in the units that the loop gives them."""
    (value, next_value), stats = agent.values(rollout), agent.return_stats.of(rollout.task)
    dead = rollout.done & ~rollout.cut
    advantage = gae(rollout.reward, value, next_value, dead, rollout.done, config.gamma, config.gae_lambda)
    target = normalize(value + advantage, stats)  # the same number until return_norm moves the statistics
    return {"advantage": per_task(advantage, stats).float(), "target": target}

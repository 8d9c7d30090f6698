"""recompute: before each further epoch, advantages and value targets are computed anew with the current value net."""

from collections.abc import Iterator
from itertools import islice

from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.moments import normalize
from tricks.core.rollout import Batch, Rollout
from tricks.gae import gae
from tricks.return_norm import per_task


def judged_anew(
    batches: Iterator[Batch], batch: Batch, agent: Agent, rollout: Rollout, reward: Tensor, dead: Tensor, config: Config
) -> Iterator[Batch]:
    """The minibatches, in each of the policy's epochs after the first from a batch with new advantages and targets.

    Minibatches are dealt when their epoch begins. The old prediction, which value_clip holds on to, remains that of the
    rollout. Andrychowicz et al. 2020, arXiv:2006.05990, on the recomputation of advantages.
    """
    for epoch in range(config.epochs):
        if epoch > 0:
            batch.add(**judged(agent, rollout, reward, dead, config))
        yield from islice(batches, config.minibatches)
    yield from batches


def judged(agent: Agent, rollout: Rollout, reward: Tensor, dead: Tensor, config: Config) -> dict[str, Tensor]:
    """Advantages and value targets [S, T, N] by GAE with the current V(s), in the units that the loop gives them."""
    value, next_value = agent.values(rollout)
    done = rollout.terminated | rollout.truncated
    advantage = gae(reward, value, next_value, dead, done, config.gamma, config.gae_lambda)
    target = normalize(value + advantage, agent.returns)  # the same number until return_norm moves the statistics
    if agent.spaces.tasks > 1:
        advantage = per_task(advantage, agent.returns)
    return {"advantage": advantage.float(), "target": target}

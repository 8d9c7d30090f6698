"""kl_penalty: a price for leaving the reference policy, that of the agents as they were when training began.

A run that starts from others (`start=`, `--start-from`, `imitate_steps`) has those as its reference, with their
statistics of observations. Three estimators of KL(π ‖ π_ref) by Schulman 2020, "Approximating KL Divergence", with a ~
π and q = π_ref(a|s)/π(a|s); and their gradients in the loss, where autograd differentiates them at the actions that
were sampled, and not how likely these were. With ∇ for ∇log π(a|s):

    k1 = −log q          unbiased, high variance    ∇k1 = ∇            E = 0, so it pulls nowhere
    k2 = ½(log q)²       biased, low variance       ∇k2 = −log q · ∇   E = ∇KL(π ‖ π_ref), while the actions are π's own
    k3 = q − 1 − log q   unbiased, low variance     ∇k3 = (1 − q) · ∇  E = ∇KL(π_ref ‖ π), the other direction

In the reward, the gradient is E[k·∇], which is that of KL(π ‖ π_ref) for k1, and counts what follows in the episode,
too. For k3 it lacks the gradient of KL(π_ref ‖ π). On reused rows, after the first step, all this is off by the ratio.
"""

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.reductions import mean
from tricks.core.rollout import Batch
from tricks.core.seeds import per_seed
from tricks.reuse import old_log_prob


def estimated_kl(log_prob: Tensor, reference: Tensor, estimator: str) -> Tensor:
    """k1, k2 or k3 of each row, in nats, from log π(a|s) and log π_ref(a|s). [S, B] -> [S, B]."""
    log_ratio = reference - log_prob  # log q
    if estimator == "k1":
        return -log_ratio
    return 0.5 * log_ratio.square() if estimator == "k2" else log_ratio.expm1() - log_ratio


def penalized_reward(
    reward: Tensor, batch: Batch, agent: Agent, reference: Agent, config: Config
) -> tuple[Tensor, Tensor]:
    """r − β·k of each row, if that is where the penalty goes: [S, T, N]; and the mean of k3: [S].

    Adds log π_ref(a|s) to the batch. Scores and curves keep the reward as it was. Ouyang et al. 2022, arXiv:2203.02155.
    """
    log_prob = old_log_prob(agent.policy, agent.family, batch)
    batch.reference_log_prob = old_log_prob(reference.policy, agent.family, batch)
    if config.kl_in == "reward":
        kl = estimated_kl(log_prob, batch.reference_log_prob, config.kl_estimator).double()
        reward = reward - torch.where(batch.valid, per_seed(config.kl_coef, kl) * kl, 0).view_as(reward)
    return reward, mean(estimated_kl(log_prob, batch.reference_log_prob, "k3"), batch.valid)


def penalized_objective(objective: Tensor, log_prob: Tensor, reference: Tensor, config: Config) -> Tensor:
    """The objective − β·k of each row, if that is where the penalty goes. [S, B]. Shao et al. 2024, eq. 3 and 4."""
    if config.kl_in == "reward":
        return objective
    return objective - per_seed(config.kl_coef, objective) * estimated_kl(log_prob, reference, config.kl_estimator)

"""reward_scaling: rewards are divided by the running standard deviation of the discounted return."""

from dataclasses import replace
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from tricks.config import Config, PerSeed
from tricks.core.agent import Agent
from tricks.core.moments import LIMIT
from tricks.core.owners import Owner
from tricks.core.reductions import reward_to_go
from tricks.core.rollout import Rollout
from tricks.core.seeds import per_seed

EPS = 1e-8  # under the root
PRIOR = 1e-4  # rows of variance 1 that count as seen before the first, as in stable-baselines3 and Gymnasium


def add_reward_scale_(agent: Agent, config: Config) -> None:
    """Give the agent the statistics that its rewards are divided by."""
    agent.reward_scale = RewardScale(len(config.seed_list), config.lanes)


def scale_rewards_(agent: Agent, rollout: Rollout, gamma: PerSeed) -> tuple[Rollout, Tensor]:
    """The rollout with scaled rewards, and the σ [S] that the last of them was divided by. Scores stay as they are."""
    scale = cast(RewardScale, agent.reward_scale)
    reward = scale(rollout.reward, rollout.done, rollout.valid, gamma)
    return replace(rollout, reward=reward), scale.std


class RewardScale(nn.Module):
    """The statistics that rewards are divided by: of each seed, over all steps of its lanes so far."""

    OWNERS: ClassVar[dict[str, Owner]] = {"sums": "episode", "moments": "seed", "std": "seed"}

    def __init__(self, seeds: int, lanes: int) -> None:
        super().__init__()
        self.sums: Tensor = nn.Buffer(torch.zeros(seeds, lanes, dtype=torch.float64))  # so far, of each lane's episode
        self.moments: Tensor = nn.Buffer(torch.tensor([[PRIOR, 0, PRIOR]] * seeds, dtype=torch.float64))
        self.std: Tensor = nn.Buffer(torch.ones(seeds, dtype=torch.float64))  # what the last reward was divided by

    def forward(self, reward: Tensor, done: Tensor, valid: Tensor, gamma: PerSeed) -> Tensor:
        """clip(r/σ, ±10) with the σ of each row's own time. reward, done, valid [S, T, N] -> [S, T, N]."""
        fresh = torch.cat([torch.zeros_like(done[:, :1]), done[:, :-1]], 1)  # the first row of an episode
        sums = running_sums(reward, fresh, self.sums, gamma)
        variance, self.moments = variance_so_far(sums, valid, self.moments)
        self.sums = sums[:, -1].masked_fill(done[:, -1], 0)
        std = (variance + EPS).sqrt()
        self.std = std[:, -1]
        return (reward / std.unsqueeze(2)).clamp(-LIMIT, LIMIT)


def running_sums(reward: Tensor, fresh: Tensor, before: Tensor, gamma: PerSeed) -> Tensor:
    """Rₜ = γ(1 − freshₜ)·Rₜ₋₁ + rₜ, [S, T, N], from R₋₁ = before [S, N]. Engstrom et al. 2020, arXiv:2005.12729."""
    first = reward[:, :1] + per_seed(gamma, reward) * (before.unsqueeze(1) * ~fresh[:, :1])
    reward = torch.cat([first, reward[:, 1:]], 1)
    return reward_to_go(reward.flip(1), fresh.flip(1), gamma).flip(1)  # the same sum, with time reversed


def variance_so_far(x: Tensor, valid: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
    """Variance of all lanes' valid rows up to each step, [S, T], and the moments at the end. x, valid [S, T, N].

    moments [S, 3]: count, mean, and sum of squared deviations.
    """
    count, mean, squares = moments.unsqueeze(2).unbind(1)  # [S, 1] each
    off = (x - mean.unsqueeze(2)) * valid  # from a mean that is near, so that the squares lose no digits
    count = count + valid.sum(2).cumsum(1)  # [S, T]
    shift, squares = off.sum(2).cumsum(1) / count, squares + off.square().sum(2).cumsum(1)
    squares = squares - count * shift.square()
    return squares / count, torch.stack([count, mean + shift, squares], 2)[:, -1]

"""state_norm: observations are standardized with each seed's running mean and variance."""

from typing import Any, ClassVar, cast

from torch import Tensor, nn

from tricks.config import PerSeed
from tricks.core.agent import Agent
from tricks.core.env import Env
from tricks.core.moments import LIMIT, Moments
from tricks.core.owners import Owner
from tricks.core.rollout import Batch
from tricks.core.seeds import per_seed
from tricks.core.sequences import observations
from tricks.errors import InputError


def add_obs_stats_(agent: Agent) -> None:
    """Let the agent see observations through the statistics of those before."""
    agent.obs_stats = ObsStats(len(agent.seeds), agent.spaces.features)


def follow_observations_(agent: Agent, batch: Batch, decay: PerSeed) -> None:
    """Merge a batch, obs [S, B, D], into the agent's statistics; after the update, so that its ratios begin at 1."""
    stats = cast(ObsStats, agent.obs_stats)
    stats.moments = merge_moments(stats.moments, observations(batch.obs), batch.valid, decay)


class ObsStats(nn.Module):
    """Running moments of S seeds' observations; called, it standardizes, once there are any: [S, B, D] -> [S, B, D].

    The nets see clip((s − mean)/√(variance + ε), ±10). Andrychowicz et al. 2020, arXiv:2006.05990, C64.
    """

    OWNERS: ClassVar[dict[str, Owner]] = {"rows": "seed", "average": "seed", "squares": "seed"}
    rows: Tensor
    average: Tensor
    squares: Tensor

    def __init__(self, seeds: int, features: int) -> None:
        super().__init__()
        for name, x in zip(("rows", "average", "squares"), Moments.empty(seeds, features), strict=True):
            self.register_buffer(name, x)
        for name in ("mean", "scale"):  # derived, because the rollout needs them at every step
            self.register_buffer(name, None, persistent=False)

    @property
    def moments(self) -> Moments:
        """The moments; assigning others changes how the nets see observations."""
        return Moments(self.rows, self.average, self.squares)

    @moments.setter
    def moments(self, moments: Moments) -> None:
        self.rows, self.average, self.squares = moments
        self.mean, self.scale = moments.view()

    def _load_from_state_dict(self, *given: Any) -> None:
        super()._load_from_state_dict(*given)
        if self.rows.any():
            self.moments = self.moments

    def forward(self, obs: Tensor) -> Tensor:
        if self.mean is None:
            return obs
        return ((obs - self.mean) * self.scale).clamp(-LIMIT, LIMIT)


def merge_moments(moments: Moments, x: Tensor, valid: Tensor, decay: PerSeed = 0.0) -> Moments:
    """Update the running moments with the valid rows of x [S, B, D], valid [S, B].

    n ← n₀ + k,  mean ← mean + δ·k/n,  M₂ ← M₂ + Σ(x − x̄)² + δ²·n₀k/n,  with δ = x̄ − mean. Chan et al. 1979.
    Before that, all rows so far lose the share `decay` of their weight, n₀ and M₂, unless the seed has no new ones:
    with batches of k rows, n approaches k/decay, and the mean becomes an exponential moving average.
    """
    keep = 1 - per_seed(decay, moments.rows) * valid.any(1, keepdim=True).to(moments.rows)
    moments = Moments(keep * moments.rows, moments.mean, keep * moments.squares)
    weight, x = valid.double().unsqueeze(-1), x.double()
    count = weight.sum(1)
    batch_mean = (x * weight).sum(1) / count.clamp(min=1)
    batch_squares = ((x - batch_mean.unsqueeze(1)).square() * weight).sum(1)
    total = (moments.rows + count).clamp(min=1e-12)
    delta = batch_mean - moments.mean
    squares = moments.squares + batch_squares + delta.square() * moments.rows * count / total
    return Moments(moments.rows + count, moments.mean + delta * count / total, squares)


def refuse_env(env: Env) -> None:
    """Raise InputError for images."""
    if env.spaces.images:
        what = "are images" if env.spaces.pixels else "have images"
        raise InputError(f"state_norm standardizes vectors, but these observations {what}; leave it off")

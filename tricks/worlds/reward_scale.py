"""advantage_norm, return_norm, value_clip, reward_scaling, separate_optimizers: CartPole with rescaled rewards.

Every step pays 100, 10, 0.1, 0.01 or 0.0001 instead of 1. The task is otherwise the same.

Why: the learning rate, the value clip's ε, the entropy bonus and the gradient norm limit all depend on the scale of the
rewards, but none of them is adjusted. Standardized advantages are scale-free, and so is the value net's task with
standardized returns (van Hasselt et al. 2016, arXiv:1602.07714), once their statistics are in the scale of the rewards:
those that start at σ = 1 take long to come down, so at 0.0001 they start from the first batch. A value that moves 0.2
at a time never gets to 10⁴ (Andrychowicz et al. 2020, arXiv:2006.05990). A value net with errors of 10⁴ uses up a
gradient norm that the policy shares with it. Predicted: better with advantage_norm, return_norm, reward_scaling and
separate_optimizers, worse with value_clip.

Seen on seeds 100 to 119: advantage_norm at 0.0001 better with; advantage_norm at 0.01 better with, though by less;
return_norm at 100 better with; return_norm at 0.0001 better with; value_clip no detectable effect; reward_scaling
better with; separate_optimizers better with. Adam cancels much of a factor of 0.01, so there a batch's advantages may
still outweigh the entropy bonus, unlike at 0.0001. Why value_clip shows nothing, these runs do not say; we suspect that
without return_norm neither value net gets near 10⁴.
"""

from dataclasses import replace

from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World


def paying(reward: float) -> World:
    """CartPole with this reward at every step."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        state, one, terminated = CARTPOLE.dynamics(state, action, chance)
        return state, reward * one, terminated

    return replace(CARTPOLE, id=f"tricks/CartPoleReward{reward:g}-v0", dynamics=dynamics)


LARGE_REWARDS = tuple(paying(reward) for reward in (10.0, 100.0))
SMALL_REWARDS = tuple(paying(reward) for reward in (0.1, 0.01, 0.0001))

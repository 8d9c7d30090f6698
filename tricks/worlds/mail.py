"""gae: pay that arrives by mail, late and under noise.

A cue, −1 or 1, is drawn at every step. The action that matches it earns 1, the other one −1, and the pay arrives DELAY
steps later, under noise with standard deviation NOISE. What is in the mail can't be seen. Episodes have LENGTH steps.

Why: the best λ is inside by construction. A TD error (λ = 0) sees the reward of this very step, which the action has
nothing to do with, and the delay hides the rest from V. A Monte Carlo return (λ = 1) has the pay, and the noise of all
later steps. A λ whose memory is a little longer than the delay has the pay and little of the noise (Schulman et al.
2015, arXiv:1506.02438, sec. 3). Predicted: better with λ = 0.9 than with Monte Carlo returns, and by less the longer
the mail takes; worse with λ = 0.

Seen on seeds 100 to 119: gae at λ = 0.9 better with, at every delay by a tenth of the best score; gae at λ = 0 worse
with, at every delay.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.world import World

NOISE, LENGTH = 3.0, 200


def observe(state: Tensor) -> Tensor:
    """The cue as −1 or 1."""
    return 2 * state[..., :1] - 1


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Deliver the oldest pay, post the newest, and draw the next cue."""
    earned = 2 * (action == state[..., 0]).float() - 1
    reward = state[..., -1].double() + noise(chance[..., 1].double(), NOISE)
    posted = torch.cat([chance[..., :1].round(), earned.unsqueeze(-1), state[..., 1:-1]], -1)
    return posted, reward, torch.zeros_like(action, dtype=torch.bool)


def late_by(delay: int) -> World:
    """The world in which pay takes so many steps to arrive."""

    def initial(chance: Tensor) -> Tensor:
        """Cue 0 or 1, and nothing in the mail. [..., 1] -> [..., 1 + delay]."""
        return torch.cat([chance.round(), chance.new_zeros(*chance.shape[:-1], delay)], -1)

    return World(
        id=f"tricks/Mail{delay}-v0",
        observation=gym.spaces.Box(-1, 1, (1,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=1,
        step_chances=2,
        time_limit=LENGTH,
    )


MAILS = tuple(late_by(delay) for delay in (1, 3, 6))

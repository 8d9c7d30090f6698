"""popart: statistics that move while the values at hand stay where they are.

The cue task: a cue, −1 or 1, is drawn at every step, and the action that matches it pays 1; episodes have LENGTH steps.
Each whole episode, in all lanes alike, is lucky or not, at random, and shows which. In a lucky one, the first step
lends LOAN on top, and the last takes it back, so that scores are those of the cue task.

Why: with a batch of one episode per lane, the mean and the deviation of the returns jump from batch to batch, with β =
0.5 by half of the way. A head that is left alone is then wrong about every state by as much as the statistics moved,
although no state's value has changed; rescaling the head keeps what it knew (van Hasselt et al. 2016,
arXiv:1602.07714, proposition 1). Predicted: better with, the more so the larger the loan, and as without if there is
none; and the more so the larger β.

Seen on seeds 100 to 119: popart at β = 0.9 better with; popart at β = 0.5 no detectable effect after the correction for
all trials, though its interval, +0.29 to +1.76, lies above 0. At β = 0.1, or under a loan of 10, the two arms look
alike. All arms at a loan of 100 ran at a rate of 0.003.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

LENGTH = 10


def lucky(clock: Tensor) -> Tensor:
    """Whether the episode that starts at this step of the lane is lucky: a coin, the same in all lanes. 0 or 1."""
    waves = torch.sin((clock.double() / LENGTH).floor() * 12.9898 + 1) * 43758.5453
    return (waves - waves.floor() < 0.5).float()


def initial(chance: Tensor) -> Tensor:
    """Cue 0 or 1, time 0, luck not drawn yet, and the lane's clock at 0. [..., 1] -> [..., 4]."""
    return torch.cat([chance.round(), chance.new_zeros(*chance.shape[:-1], 3)], -1)


def drawn(state: Tensor) -> Tensor:
    """The state with the luck of an episode that is at its first step."""
    cue, time, luck, clock = state.unbind(-1)
    return torch.stack([cue, time, torch.where(time == 0, lucky(clock), luck), clock], -1)


def observe(state: Tensor) -> Tensor:
    """The cue as −1 or 1, the luck as −1 or 1, and the fraction of time left."""
    cue, time, luck, _ = drawn(state).unbind(-1)
    return torch.stack([2 * cue - 1, 2 * luck - 1, 1 - time / LENGTH], -1)


def lending(loan: float) -> World:
    """The world in which lucky episodes lend so much."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pay 1 for a match, lend at the first step, collect at the last; then draw the next cue."""
        cue, time, luck, clock = drawn(state).unbind(-1)
        lent = (time == 0).double() - (time == LENGTH - 1).double()
        reward = (action == cue).double() + loan * luck * lent
        return torch.stack([chance[..., 0].round(), time + 1, luck, clock + 1], -1), reward, time + 1 >= LENGTH

    return World(
        id=f"tricks/Weather{loan:g}-v0",
        observation=gym.spaces.Box(-1, 1, (3,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=1,
        step_chances=1,
        carried=1,
    )


WEATHERS = tuple(lending(loan) for loan in (0.0, 10.0, 100.0))

"""baseline, value_clip, state_norm, entropy: a cue, with or without a loan that hides what an action earned.

A cue, −1 or 1, is drawn at every step, and the action that matches it pays PAY. A sign z = ±1 is drawn once per episode
and shown: the first step lends z·LOAN on top of its pay, and the last step takes it back. Episodes have LENGTH
steps, so the loan leaves every score as it is.

Why: every return after the first step holds −z·LOAN, which says nothing about the action, and a loan of 60 times the
pay is most of the gradient's variance. V(s), which sees z and the time left, takes it out (Williams 1992,
10.1007/BF00992696). It has to learn it first: a V that moves at most 0.2 an update is slow to reach a loan of 30.
Predicted: better with baseline, the more so the larger the loan, and as without if there is none; worse with
value_clip, likewise. Without a loan, observations are in good units and every action pays at once, so neither
state_norm nor entropy should change the score by more than 0.05.

Seen on seeds 100 to 119: baseline better with, at a loan of 6 or more. With rates of their own, value_clip no
detectable effect: the clipped net, at 0.03, gets 2.2, and the plain one, at 0.01, 2.4. With both at 0.01, value_clip
worse with, the more so the larger the loan. Without a loan, as predicted: state_norm no detectable effect; entropy no
detectable effect; both intervals are within 0.004 of 0. All of these reach 0.97 of a possible 1, so only a loss could
have refuted that.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

LENGTH = 10


def initial(chance: Tensor) -> Tensor:
    """Cue 0 or 1, sign ±1, and time 0. [..., 2] -> [..., 3]."""
    cue, sign = chance.round().unbind(-1)
    return torch.stack([cue, 2 * sign - 1, torch.zeros_like(cue)], -1)


def observe(state: Tensor) -> Tensor:
    """The cue as −1 or 1, the sign, and the fraction of time left."""
    cue, sign, time = state.unbind(-1)
    return torch.stack([2 * cue - 1, sign, 1 - time / LENGTH], -1)


def lending(loan: float, pay: float) -> World:
    """The world with this loan and this pay."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pay for a match, lend at the first step, collect at the last; then draw the next cue."""
        cue, sign, time = state.unbind(-1)
        lent = (time == 0).double() - (time == LENGTH - 1).double()
        reward = pay * (action == cue).double() + loan * sign * lent
        return torch.stack([chance[..., 0].round(), sign, time + 1], -1), reward, time + 1 >= LENGTH

    return World(
        id=f"tricks/Loan{loan:g}Pay{pay:g}-v0",
        observation=gym.spaces.Box(-1, 1, (3,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=2,
        step_chances=1,
    )


LOANS = tuple(lending(loan, pay=0.1) for loan in (0.0, 0.6, 6.0, 18.0))
LARGE_LOANS = tuple(lending(loan, pay=0.3) for loan in (0.0, 3.0, 30.0))

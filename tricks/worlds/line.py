"""orthogonal_init: a reward that only an unbiased policy finds.

A line of cells from −REACH to REACH, entered in the middle. Reaching the right end after touching the left end pays 1
and ends the episode.

Why: under a uniform policy this is a random walk, which takes 3·REACH² + 4·REACH² steps on average, about as many as
the time limit allows. If an untrained policy's logits differ by d, in either direction, it has to walk one of the two
ways against its bias, and that takes on the order of exp(2·REACH·|d|) steps. The default initialization, U(±1/√in),
starts with such a d; a policy head with gain 0.01 and bias 0 does not (Andrychowicz et al. 2020, arXiv:2006.05990,
C57). Predicted: better with.

Seen on seeds 100 to 119: orthogonal_init at three constant features better with; at none, with rates of their own,
orthogonal_init no detectable effect after the correction for all trials, though its interval, +0.06 to +0.43, lies
above 0. Constant features act on the default net like one large bias, so d keeps its sign over more of the line; but
that the effect grows with their number is not detected.
"""

from dataclasses import replace

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

REACH = 12


def initial(chance: Tensor) -> Tensor:
    """The middle cell, with the left end not yet touched. [..., 0] -> [..., 2]."""
    return chance.new_zeros(*chance.shape[:-1], 2)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move one cell left (0) or right (1), up to the end of the line."""
    cell, touched = state.unbind(-1)
    cell = (cell + 2 * action - 1).clamp(-REACH, REACH)
    touched = touched.maximum((cell == -REACH).float())
    terminated = (cell == REACH) & (touched == 1)
    return torch.stack([cell, touched], -1), terminated.double(), terminated


def observe(state: Tensor) -> Tensor:
    """The cell's number, and REACH if the left end has been touched, otherwise 0."""
    cell, touched = state.unbind(-1)
    return torch.stack([cell, REACH * touched], -1)


THERE_AND_BACK = World(
    id="tricks/ThereAndBack-v0",
    observation=gym.spaces.Box(-REACH, REACH, (2,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    time_limit=1000,
)


def with_constants(count: int) -> World:
    """The same, seen with so many more features that are always REACH."""

    def observe_more(state: Tensor) -> Tensor:
        """What can be seen, and the constants."""
        seen = observe(state)
        return torch.cat([seen, torch.full_like(seen[..., :1], REACH).expand(*seen.shape[:-1], count)], -1)

    box = gym.spaces.Box(-REACH, REACH, (2 + count,))
    return replace(THERE_AND_BACK, id=f"tricks/ThereAndBackPlus{count}-v0", observation=box, observe=observe_more)


WITH_CONSTANTS = tuple(with_constants(count) for count in (1, 3))

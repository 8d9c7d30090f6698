"""lr_anneal, clip_anneal: one wrong step ends it.

A number between −1 and 1 is drawn at every step. The action that matches its sign pays 1, give or take noise of
standard deviation NOISE; the other one ends the episode, which has at most 200 steps.

Why: a policy that errs once in n steps lives for n, so the last hundredth of certainty is worth more than all before;
at a constant rate the noise of the gradient keeps the policy from settling, and one that falls lets it (Robbins &
Monro 1951, 10.1214/aoms/1177729586). Predicted: better with, late in training; earlier, no better.

Seen on seeds 0 to 9: lr_anneal better with; clip_anneal no detectable effect.
"""

import gymnasium as gym
from torch import Tensor

from tricks.worlds.world import World

NOISE = 3.0


def initial(chance: Tensor) -> Tensor:
    """The first cue's number in [0, 1). [..., 1] -> [..., 1]."""
    return chance


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """On with the action that is the cue, down with the other; then the next cue."""
    right = action == state[..., 0].round()
    noise = NOISE * 12**0.5 * (chance[..., 1].double() - 0.5)  # uniform, of variance NOISE²
    return chance[..., :1], right.double() + noise, ~right


def observe(state: Tensor) -> Tensor:
    """Where the cue's number lies between −1 and 1: its sign is the cue."""
    return 2 * state - 1


TIGHTROPE = World(
    id="tricks/Tightrope-v0",
    observation=gym.spaces.Box(-1, 1, (1,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=1,
    step_chances=2,
    time_limit=200,
)

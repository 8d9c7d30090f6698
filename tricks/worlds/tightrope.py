"""lr_anneal, clip_anneal: one wrong step ends it.

A number between −1 and 1 is drawn at every step. The action that matches its sign pays 1, give or take noise of
standard deviation NOISE; the other one ends the episode, which has at most 200 steps.

Why: a policy that errs once in n steps lives for n, so the last hundredth of certainty is worth more than all before;
at a constant rate the noise of the gradient keeps the policy from settling, and one that falls lets it (Robbins &
Monro 1951, 10.1214/aoms/1177729586). Predicted: better with, late in training; earlier, no better.

Seen on seeds 0 to 9: lr_anneal better with; clip_anneal no detectable effect.
"""

from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.cues import world_of_cues

NOISE = 3.0


def initial(chance: Tensor) -> Tensor:
    """The first cue's number in [0, 1). [..., 1] -> [..., 1]."""
    return chance


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """On with the action that is the cue, down with the other; then the next cue."""
    right = action == state[..., 0].round()
    return chance[..., :1], right.double() + noise(chance[..., 1].double(), NOISE), ~right


TIGHTROPE = world_of_cues("tricks/Tightrope-v0", initial, dynamics, time_limit=200, step_chances=2)

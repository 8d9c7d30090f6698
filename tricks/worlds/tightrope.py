"""lr_anneal, clip_anneal: one wrong step ends the episode.

A number between −1 and 1 is drawn at every step. The action that matches its sign pays 1 plus noise with standard
deviation NOISE; the other action ends the episode. An episode has at most LENGTH steps, on the shorter ropes 12 or 50.

Why: a policy that errs once in n steps survives for n steps, so the last percent of certainty is worth more than all
the rest. At a constant learning rate, gradient noise keeps the policy from settling; a decaying rate lets it settle
(Robbins & Monro 1951, 10.1214/aoms/1177729586). Predicted: better with, late in training; earlier, no better. On a
short rope, a few percent of wrong steps cost little, so lr_anneal should help more the longer the rope.

Seen on seeds 100 to 119: at one rate for both arms, lr_anneal better with, and by more the longer the rope; with rates
of their own, lr_anneal no detectable effect after the correction for all trials, because the arm without it takes a
third of the rate. clip_anneal at a clip range of 1 and many epochs better with; clip_anneal at the usual ones no
detectable effect after the correction for all trials, though its interval, −35 to −2, lies below 0. That it doesn't
help there, we suspect, is because the learning rate bounds a step before ε does.
"""

from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.cues import world_of_cues
from tricks.worlds.world import World

NOISE, LENGTH = 3.0, 200


def initial(chance: Tensor) -> Tensor:
    """The first cue's number in [0, 1). [..., 1] -> [..., 1]."""
    return chance


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Continue if the action matches the cue, fall otherwise; then draw the next cue."""
    right = action == state[..., 0].round()
    return chance[..., :1], right.double() + noise(chance[..., 1].double(), NOISE), ~right


def tightrope(length: int) -> World:
    """The world with a rope of `length` steps."""
    id = f"tricks/Tightrope{'' if length == LENGTH else length}-v0"
    return world_of_cues(id, initial, dynamics, time_limit=length, step_chances=2)


TIGHTROPE, SHORT_ROPES = tightrope(LENGTH), tuple(tightrope(length) for length in (12, 50))

"""Trials for each trick: a place where it should matter, the flags around it, and the direction of its effect.

A trial compares two arms that differ in one flag. It runs in a world of tricks/worlds made for the trick, or on
CartPole-v1 in a setting made for it. Each arm runs at its own best rate of the grid.
"""

from dataclasses import dataclass
from typing import Literal

from tricks.config import Config
from tricks.ladder import Tricks, switched


@dataclass(frozen=True)
class Trial:
    """A claim about a trick, and how to test it."""

    trick: str
    """The flag that the two arms differ in."""
    others: tuple[str, ...]
    """The flags that both arms have."""
    config: Config
    """Environment, budget and numbers; whoever runs the trial sets its seeds and its lr."""
    predicted: Literal[1, -1]
    """Which way the score should go with the trick: 1 up, -1 down."""
    reason: str
    """Why, in one sentence."""
    score: Literal["area", "late"] = "area"
    """Area under the curve, or the last 10% of it."""

    @property
    def env(self) -> str:
        return self.config.env

    @property
    def without(self) -> Tricks:
        return switched(self.others)

    @property
    def having(self) -> Tricks:
        """`without`, plus the trick."""
        return switched([*self.others, self.trick])


PLAIN = ("baseline", "reuse", "clip", "gae")
NORMED = (*PLAIN, "advantage_norm")
SMALL = (32, 32)  # hidden layers, large enough for a world with a handful of states

TRIALS = (
    Trial(
        "baseline",
        (),
        Config("tricks/OffsetReward-v0", steps=100_000, lanes=8, horizon=10, hidden=SMALL),
        1,
        "an offset of ten times the differences between rewards drowns them in the gradient's variance",
    ),
    Trial(
        "reuse",
        ("baseline",),
        Config(steps=50_000, lanes=16, horizon=128),
        1,
        "the budget holds only a few dozen batches, and one gradient step from each is not enough",
    ),
    Trial(
        "clip",
        ("baseline", "reuse"),
        Config(steps=50_000, lanes=16, horizon=128, epochs=20),
        1,
        "after many epochs the policy has moved far away from its batch, and only the clip stops it",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip"),
        Config("tricks/NoisyChain-v0", steps=100_000, lanes=32, horizon=32, gae_lambda=0.9, hidden=SMALL),
        1,
        "the noise of all later rewards adds up in the Monte Carlo return",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip"),
        Config("tricks/NoisyChain-v0", steps=100_000, lanes=32, horizon=32, gae_lambda=0.0, hidden=SMALL),
        -1,
        "the bare TD error relies on a value net that does not know the goal yet",
    ),
    Trial(
        "orthogonal_init",
        (),
        Config("tricks/ThereAndBack-v0", steps=200_000, lanes=8, horizon=64, gamma=0.995, hidden=SMALL),
        1,
        "even a slight preference for one side makes the way there and back exponentially unlikely",
    ),
    Trial(
        "advantage_norm",
        (*PLAIN, "entropy"),
        Config("tricks/CartPoleReward0.01-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "advantages around 0.01 are smaller than the entropy bonus",
    ),
    Trial(
        "state_norm",
        NORMED,
        Config("tricks/CartPoleOddUnits-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "a position in thousands of millimeters saturates the net, and drowns out an angle in thousandths of a turn",
    ),
    Trial(
        "return_norm",
        NORMED,
        Config("tricks/CartPoleReward100-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "steps as small as the learning rate do not get the value net to ten thousand",
    ),
    Trial(
        "grad_clip",
        PLAIN,
        Config("tricks/CartPoleShocks-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "the gradient of a shock outweighs thousands of others, in the step and in Adam's moments",
    ),
    Trial(
        "entropy",
        PLAIN,
        Config("tricks/Corridor-v0", steps=100_000, lanes=32, horizon=32, entropy_coef=0.05, hidden=SMALL),
        1,
        "the agent finds the small reward nearby first, and stops exploring",
    ),
    *(
        Trial(
            "action_mask",
            NORMED,
            Config(f"tricks/Grid{useless}-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL),
            1,
            f"{useless} of {useless + 4} actions do nothing",
        )
        for useless in (10, 20, 40, 60)
    ),
    Trial(
        "action_mask",
        NORMED,
        Config("tricks/Trading-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "one action in three is illegal, and which one depends on the state",
    ),
    Trial(
        "popart",
        (*PLAIN, "return_norm", "segments"),
        Config("tricks/CartPoleJump-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "statistics that grow a thousandfold change every prediction of a head that is not rescaled",
    ),
    Trial(
        "popart",
        (*NORMED, "return_norm"),
        Config("tricks/Magnitudes-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "every batch holds different tasks, and so moves the statistics",
    ),
    Trial(
        "segments",
        NORMED,
        Config("tricks/Marathon-v0", steps=100_000, lanes=8, horizon=64, hidden=SMALL),
        1,
        "one whole episode in every lane takes a sixth of the budget",
    ),
    Trial(
        "bootstrap",
        (*NORMED, "segments"),
        Config("tricks/Commute-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "the path to the better ending is longer than the time limit",
    ),
    Trial(
        "value_clip",
        PLAIN,
        Config("tricks/OffsetReward-v0", steps=50_000, lanes=32, horizon=32, epochs=10, hidden=SMALL),
        -1,
        "a value net that moves at most 0.2 per update does not get to a hundred, and is no baseline until it does",
    ),
    Trial(
        "value_clip",
        NORMED,
        Config("tricks/CartPoleReward100-v0", steps=100_000, lanes=32, horizon=32),
        -1,
        "a value net that moves at most 0.2 per update never gets to ten thousand",
    ),
    Trial(
        "lr_anneal",
        NORMED,
        Config("tricks/Tightrope-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "one wrong step ends an episode, and noise at a constant rate keeps causing wrong steps",
        score="late",
    ),
    Trial(
        "clip_anneal",
        NORMED,
        Config("tricks/Tightrope-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "one wrong step ends an episode, and updates with a constant clip range keep causing wrong steps",
        score="late",
    ),
    Trial(
        "kl_stop",
        ("baseline", "reuse"),
        Config(steps=50_000, lanes=16, horizon=128, epochs=20),
        1,
        "after many epochs the ratio has left the batch behind, and stopping in time keeps the gradient honest",
    ),
)

"""One trial per trick: where it must matter, with what around it, and which way.

A trial compares two arms that differ in one flag, on a world of tricks/worlds that was made for the trick or on
CartPole-v1 in a setting that was. Each arm runs at its own best rate of the grid.
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
    """Environment, budget and numbers; its seeds and its lr are left to whoever runs the trial."""
    predicted: Literal[1, -1]
    """Which way the score should go with the trick: 1 up, -1 down."""
    reason: str
    """Why, in a sentence."""
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
        """`without`, plus the trick and nothing else."""
        return switched([*self.others, self.trick])


PLAIN = ("baseline", "reuse", "clip", "gae")
NORMED = (*PLAIN, "advantage_norm")
SMALL = (32, 32)  # hidden layers that are enough for a world with a handful of states

TRIALS = (
    Trial(
        "baseline",
        (),
        Config("tricks/OffsetReward-v0", steps=100_000, lanes=8, horizon=10, hidden=SMALL),
        1,
        "an offset of ten times the reward's differences drowns them in the gradient's variance",
    ),
    Trial(
        "reuse",
        ("baseline",),
        Config(steps=50_000, lanes=16, horizon=128),
        1,
        "with a few dozen batches in the budget, one gradient step from each is too few",
    ),
    Trial(
        "clip",
        ("baseline", "reuse"),
        Config(steps=50_000, lanes=16, horizon=128, epochs=20),
        1,
        "after many epochs the ratio has left the batch behind, and nothing but the clip stops it",
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
        "the bare TD error leans on a value net that does not know the goal yet",
    ),
    Trial(
        "orthogonal_init",
        (),
        Config("tricks/ThereAndBack-v0", steps=200_000, lanes=8, horizon=64, gamma=0.995, hidden=SMALL),
        1,
        "a preference for either side, however slight, makes the way there and back exponentially unlikely",
    ),
    Trial(
        "advantage_norm",
        (*PLAIN, "entropy"),
        Config("tricks/CartPoleReward0.01-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "advantages of a hundredth are less than the entropy bonus",
    ),
    Trial(
        "state_norm",
        NORMED,
        Config("tricks/CartPoleOddUnits-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "a place in thousands of millimeters saturates the net, an angle in thousandths of a turn is lost in it",
    ),
    Trial(
        "return_norm",
        NORMED,
        Config("tricks/CartPoleReward100-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "steps of the size of the learning rate do not get the value net to ten thousand",
    ),
    Trial(
        "grad_clip",
        PLAIN,
        Config("tricks/CartPoleShocks-v0", steps=100_000, lanes=32, horizon=32),
        1,
        "a shock's gradient outweighs thousands of others, in the step and in Adam's memory",
    ),
    Trial(
        "entropy",
        PLAIN,
        Config("tricks/Corridor-v0", steps=100_000, lanes=32, horizon=32, entropy_coef=0.05, hidden=SMALL),
        1,
        "the small reward near by is found first, and ends the search",
    ),
    *(
        Trial(
            "action_mask",
            NORMED,
            Config(f"tricks/Grid{useless}-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL),
            1,
            f"{useless} actions of {useless + 4} do nothing",
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
        "statistics that grow a thousandfold change everything that a head left as it is says",
    ),
    Trial(
        "popart",
        (*NORMED, "return_norm"),
        Config("tricks/Magnitudes-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "every batch with other tasks moves the statistics",
    ),
    Trial(
        "segments",
        NORMED,
        Config("tricks/Marathon-v0", steps=100_000, lanes=8, horizon=64, hidden=SMALL),
        1,
        "a whole episode in every lane is a sixth of the budget",
    ),
    Trial(
        "bootstrap",
        (*NORMED, "segments"),
        Config("tricks/Commute-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "the way to the better end is longer than the time limit",
    ),
    Trial(
        "value_clip",
        PLAIN,
        Config("tricks/OffsetReward-v0", steps=50_000, lanes=32, horizon=32, epochs=10, hidden=SMALL),
        -1,
        "a value net that may move 0.2 an update does not get to a hundred, and is no baseline until it does",
    ),
    Trial(
        "value_clip",
        NORMED,
        Config("tricks/CartPoleReward100-v0", steps=100_000, lanes=32, horizon=32),
        -1,
        "a value net that may move 0.2 an update never gets to ten thousand",
    ),
    Trial(
        "lr_anneal",
        NORMED,
        Config("tricks/Tightrope-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "one wrong step ends an episode, and at a constant rate noise keeps making some",
        score="late",
    ),
    Trial(
        "clip_anneal",
        NORMED,
        Config("tricks/Tightrope-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL),
        1,
        "one wrong step ends an episode, and updates of constant reach keep making some",
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

"""The trials of each trick. Each arm runs at its own best rate of the grid, unless a trial says otherwise."""

from ablations.design.registry import TRIALS
from ablations.design.trial import NORMED, PLAIN, SMALL, Trial, once
from ablations.findings.dosed import DOSED
from ablations.findings.doses_in_worlds import world
from ablations.findings.practice import PRACTICE
from tricks.config import Config
from tricks.ladder import NEEDS

UNDOSED = (
    Trial(
        "baseline",
        (),
        once(Config("tricks/OffsetReward-v0", steps=100_000, lanes=8, horizon=10, hidden=SMALL)),
        1,
        "an offset of ten times the differences between rewards drowns them in the gradient's variance",
    ),
    Trial(
        "reuse",
        ("baseline",),
        once(Config(steps=50_000, lanes=16, horizon=128)),
        1,
        "the budget holds only a few dozen batches, and one gradient step from each is not enough",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip"),
        once(Config("tricks/NoisyChain-v0", steps=100_000, lanes=32, horizon=32, gae_lambda=0.9, hidden=SMALL)),
        1,
        "the noise of all later rewards adds up in the Monte Carlo return",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip"),
        once(Config("tricks/NoisyChain-v0", steps=100_000, lanes=32, horizon=32, gae_lambda=0.0, hidden=SMALL)),
        -1,
        "the bare TD error relies on a value net that does not know the goal yet",
    ),
    Trial(
        "orthogonal_init",
        (),
        once(Config("tricks/ThereAndBack-v0", steps=200_000, lanes=8, horizon=64, gamma=0.995, hidden=SMALL)),
        1,
        "even a slight preference for one side makes the way there and back exponentially unlikely",
    ),
    Trial(
        "advantage_norm",
        (*PLAIN, "entropy"),
        once(Config("tricks/CartPoleReward0.01-v0", steps=100_000, lanes=32, horizon=32)),
        1,
        "advantages around 0.01 are smaller than the entropy bonus",
    ),
    Trial(
        "state_norm",
        NORMED,
        once(world("Loan0Pay0.1", 60_000)),
        0,
        "a cue of −1 or 1 and a fraction of time are in units that suit a net already",
    ),
    Trial(
        "return_norm",
        NORMED,
        once(Config("tricks/TasksNamed-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL)),
        1,
        "the rewards of four tasks differ a thousandfold, and each has statistics of its own",
    ),
    Trial(
        "return_norm",
        NORMED,
        once(Config("tricks/CartPoleReward0.0001-v0", steps=30_000, lanes=32, horizon=32, return_first_batch=True)),
        1,
        "returns of a thousandth are nothing beside what an untrained value net says, until a batch has set its scale",
    ),
    Trial(
        "grad_clip",
        PLAIN,
        once(Config("tricks/CartPoleShocks-v0", steps=100_000, lanes=32, horizon=32)),
        1,
        "the gradient of a shock outweighs thousands of others, in the step and in Adam's moments",
    ),
    Trial(
        "entropy",
        NORMED,
        once(world("Loan0Pay0.1", 60_000)),
        0,
        "every action pays at once, so there is nothing to explore for, and the bonus is small beside the pay",
    ),
    Trial(
        "action_mask",
        NORMED,
        once(Config("tricks/Trading-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL)),
        1,
        "one action in three is illegal, and which one depends on the state",
    ),
    Trial(
        "popart",
        (*PLAIN, "return_norm", "segments"),
        once(Config("tricks/CartPoleJump-v0", steps=100_000, lanes=32, horizon=32)),
        1,
        "statistics that grow a thousandfold change every prediction of a head that is not rescaled",
    ),
    Trial(
        "popart",
        (*NORMED, "return_norm"),
        once(Config("tricks/Magnitudes-v0", steps=50_000, lanes=32, horizon=32, hidden=SMALL)),
        1,
        "every batch holds different tasks, and so moves the statistics",
    ),
    Trial(
        "bootstrap",
        (*NORMED, "segments"),
        once(Config("tricks/Commute-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL)),
        1,
        "the path to the better ending is longer than the time limit",
    ),
    Trial(
        "value_clip",
        PLAIN,
        once(Config("tricks/OffsetReward-v0", steps=50_000, lanes=32, horizon=32, epochs=10, hidden=SMALL)),
        -1,
        "a value net that moves at most 0.2 per update does not get to a hundred, and is no baseline until it does",
    ),
    Trial(
        "value_clip",
        NORMED,
        once(Config("tricks/CartPoleReward100-v0", steps=100_000, lanes=32, horizon=32)),
        -1,
        "a value net that moves at most 0.2 per update never gets to ten thousand",
    ),
    Trial(
        "clip_anneal",
        NORMED,
        once(Config("tricks/Tightrope-v0", steps=100_000, lanes=32, horizon=32, hidden=SMALL)),
        1,
        "one wrong step ends an episode, and updates with a constant clip range keep causing wrong steps",
        score="late",
    ),
    Trial(
        "kl_stop",
        ("baseline", "reuse"),
        once(Config(steps=50_000, lanes=16, horizon=128, epochs=20)),
        1,
        "after many epochs the ratio has left the batch behind, and stopping in time keeps the gradient honest",
    ),
)

TRIALS += sorted((*DOSED, *PRACTICE, *UNDOSED), key=lambda trial: list(NEEDS).index(trial.trick))

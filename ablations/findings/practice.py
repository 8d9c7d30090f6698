"""Trials, in several doses, of tricks that practitioners add to PPO."""

from ablations.design.trial import NORMED, PLAIN, Trial
from ablations.findings.doses_in_worlds import corridors, doses_of, hidden_speeds, tiny_rewards, world
from tricks.config import Config

PENDULUM = 1086  # from a random policy's return to the ceiling

PRACTICE = (
    Trial(
        "reward_scaling",
        (*PLAIN, "entropy"),
        tiny_rewards(),
        1,
        "advantages of a ten-thousandth are nothing beside the entropy bonus, unless the rewards have been rescaled",
        varied="zeros in front of the reward",
    ),
    Trial(
        "recompute",
        NORMED,
        doses_of((1, 4, 16), lambda epochs: world("NoisyChain", 60_000, gae_lambda=0.0, epochs=int(epochs)), 10),
        1,
        "with λ = 0 a target knows of the goal only what V of the next cell does, and is renewed in every epoch",
        varied="epochs",
    ),
    Trial(
        "separate_optimizers",
        (*NORMED, "grad_clip"),
        doses_of(
            (1, 100),
            lambda size: Config(
                "CartPole-v1" if size == 1 else f"tricks/CartPoleReward{size:g}-v0", steps=50_000, lanes=32, horizon=32
            ),
            lambda size: 500 * size,
        ),
        1,
        "the gradient of V, a hundred times larger, uses up the joint norm and leaves the policy less than Adam's ε",
        varied="reward",
    ),
    Trial(
        "dual_clip",
        (*NORMED, "segments"),
        doses_of((4, 20), lambda epochs: Config("Pendulum-v1", lanes=16, gamma=0.9, epochs=int(epochs)), PENDULUM),
        1,
        "as a Gaussian narrows, ratios grow a hundredfold, and where the advantage is negative, nothing clips them",
        varied="epochs",
        rate=0.01,
        rate_reason="a smaller rate keeps the ratios near 1, and tuning would find it",
    ),
    Trial(
        "huber",
        NORMED,
        doses_of((2, 5, 20), lambda prize: world(f"Lottery{prize:g}", 30_000, gae_lambda=0.0), 1),
        -1,
        "a V between median and mean gives little for a ticket that rarely wins, however much it does",
        varied="prize",
    ),
    Trial(
        "squash",
        (*NORMED, "segments", "entropy"),
        doses_of((0.001, 0.1, 0.3), lambda coef: world("Dial", 60_000, entropy_coef=coef), 10),
        1,
        "the bonus pays a Gaussian for width without end, and most of what it draws then is cut off at a bound",
        varied="coefficient",
    ),
    Trial(
        "recurrent",
        (*NORMED, "segments"),
        corridors((0, 2, 8)),
        1,
        "the cue is only seen at the start of the corridor, and at its end, every observation is the same",
        varied="length",
    ),
    Trial(
        "recurrent",
        (*NORMED, "segments"),
        hidden_speeds((0, 1, 2)),
        1,
        "a pole that falls and one that comes back look the same without their speed",
        varied="hidden speeds",
    ),
)

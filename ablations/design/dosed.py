"""Trials in several doses: the more of what should make a trick matter, the larger its effect should be."""

from collections.abc import Callable, Sequence
from typing import Any

from ablations.design.trial import NORMED, PLAIN, SMALL, Level, Trial
from tricks.config import Config

Of = Callable[[float], Config]  # a dose -> the setting with it


def levels(doses: Sequence[float], config: Of, best: float | Callable[[float], float]) -> tuple[Level, ...]:
    """One level for each dose. best: the best possible score, at this dose."""
    return tuple(Level(dose, config(dose), best(dose) if callable(best) else best) for dose in doses)


def world(name: str, steps: int, **numbers: Any) -> Config:
    """A setting in a small world, with small nets."""
    return Config(f"tricks/{name}-v0", steps=steps, **{"lanes": 32, "horizon": 32, "hidden": SMALL, **numbers})


def mails(delays: Sequence[float], gae_lambda: float) -> tuple[Level, ...]:
    """The mail that takes so many steps; what is posted in the last ones never arrives."""
    numbers = {"lanes": 8, "horizon": 128, "gamma": 0.995, "gae_lambda": gae_lambda}
    return levels(delays, lambda delay: world(f"Mail{delay:g}", 60_000, **numbers), lambda delay: 200 - delay)


def bonuses(name: str) -> tuple[Level, ...]:
    """A world with a small reward nearby and a large one far away, with weaker and stronger entropy bonuses."""
    return levels((0.001, 0.01, 0.05), lambda coef: world(name, 300_000, entropy_coef=coef), 1)


def tiny_rewards() -> tuple[Level, ...]:
    """CartPole that pays 0.1, 0.01 or 0.0001 a step."""
    return levels(
        (1, 2, 4),
        lambda zeros: Config(f"tricks/CartPoleReward{10**-zeros:g}-v0", steps=50_000, lanes=32, horizon=32),
        lambda zeros: 500 * 10**-zeros,
    )


def cartpole(name: str) -> Config:
    """A setting in a world made from CartPole."""
    return Config(name, steps=100_000, lanes=32, horizon=32)


def units() -> tuple[Level, ...]:
    """CartPole in meters, decimeters, centimeters, and millimeters."""
    return levels(
        (1, 10, 100, 1000),
        lambda each: cartpole(f"tricks/CartPoleOddUnits{'' if each == 1000 else f'{each:g}'}-v0"),
        500,
    )


def large_rewards() -> tuple[Level, ...]:
    """CartPole that pays 1, 10, or 100 a step."""
    return levels(
        (1, 10, 100),
        lambda pay: cartpole("CartPole-v1" if pay == 1 else f"tricks/CartPoleReward{pay:g}-v0"),
        lambda pay: 500 * pay,
    )


def lengths(name: str, doses: Sequence[float], **numbers: Any) -> tuple[Level, ...]:
    """A world whose episodes are longer at every level; the last is its usual length. A step pays 1."""
    return levels(
        doses,
        lambda steps: world(f"{name}{'' if steps == doses[-1] else f'{steps:g}'}", 100_000, **numbers),
        lambda steps: steps,
    )


DOSED = (
    Trial(
        "baseline",
        (),
        levels((0, 0.6, 6, 18), lambda loan: world(f"Loan{loan:g}Pay0.1", 100_000, lanes=8, horizon=10), 1),
        1,
        "a loan that is shown, and paid back at the end, is most of the return's variance, and V takes it out",
        dose="loan",
    ),
    Trial(
        "reuse",
        ("baseline", "advantage_norm"),
        levels((1, 2, 3), lambda bits: world(f"Parity{bits:g}", 50_000, lanes=128), 10),
        1,
        "a dozen gradient steps are too few for parity, at any learning rate",
        dose="bits",
    ),
    Trial(
        "clip",
        ("baseline", "reuse"),
        levels((1, 4, 20), lambda epochs: Config(steps=50_000, lanes=16, epochs=int(epochs)), 500),
        1,
        "the more epochs, the farther the policy moves from its batch, and only the clip stops it",
        dose="epochs",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip", "advantage_norm"),
        mails((6, 3, 1), gae_lambda=0.9),
        1,
        "a λ with a memory a little longer than the delay has the pay, and little of the later noise",
        dose="delay",
    ),
    Trial(
        "gae",
        ("baseline", "reuse", "clip", "advantage_norm"),
        mails((1, 3, 6), gae_lambda=0.0),
        -1,
        "a bare TD error holds the reward of this very step, which the action has nothing to do with",
        dose="delay",
    ),
    Trial(
        "orthogonal_init",
        (),
        (
            Level(0, world("ThereAndBack", 120_000, lanes=8, horizon=64, gamma=0.995), 1),
            *levels((1, 3), lambda n: world(f"ThereAndBackPlus{n:g}", 120_000, lanes=8, horizon=64, gamma=0.995), 1),
        ),
        1,
        "constant features saturate the default net, so that its first policy walks one way only",
        dose="constant features",
        rate=0.003,
    ),
    Trial(
        "orthogonal_init",
        NORMED,
        levels((2, 4, 8), lambda depth: Config(steps=40_000, lanes=16, horizon=64, hidden=(32,) * int(depth)), 500),
        1,
        "each layer of the default net shrinks its signal, and eight of them leave nothing of it",
        dose="hidden layers",
        rate=0.001,
    ),
    Trial(
        "advantage_norm",
        (*PLAIN, "entropy"),
        tiny_rewards(),
        1,
        "advantages of a ten-thousandth are nothing beside the entropy bonus",
        dose="zeros in front of the reward",
    ),
    Trial(
        "state_norm",
        NORMED,
        units(),
        1,
        "a position in thousands of millimeters saturates the net, and drowns out an angle in thousandths of a turn",
        dose="units per meter",
    ),
    Trial(
        "return_norm",
        NORMED,
        large_rewards(),
        1,
        "steps as small as the learning rate do not get the value net to ten thousand",
        dose="reward",
    ),
    Trial(
        "grad_clip",
        PLAIN,
        levels(
            (1e3, 1e4, 1e5),
            lambda size: Config(f"tricks/CartPoleShockPairs{size:g}-v0", steps=60_000, lanes=32, horizon=32),
            500,
        ),
        1,
        "Adam's second moments remember a gradient a hundred thousand times the usual one, and freeze",
        dose="shock",
    ),
    Trial(
        "entropy",
        PLAIN,
        bonuses("Corridor"),
        1,
        "the agent finds the small reward nearby first, and only a large enough bonus keeps it exploring",
        dose="coefficient",
    ),
    Trial(
        "entropy",
        PLAIN,
        bonuses("Corridor1"),
        1,
        "the small reward is one step away: without the bonus, the agent takes it long before it sees the large one",
        dose="coefficient",
        rate=0.01,
    ),
    Trial(
        "action_mask",
        NORMED,
        levels((10, 20, 40, 60), lambda useless: world(f"Grid{useless:g}", 50_000), 1),
        1,
        "60 of 64 actions do nothing, and without the mask, that must be learned in every cell",
        dose="useless actions",
    ),
    Trial(
        "popart",
        ("baseline", "return_norm"),
        levels((0, 10, 100), lambda loan: world(f"Weather{loan:g}", 60_000, lanes=8, horizon=10, return_beta=0.5), 10),
        1,
        "the statistics jump with every batch, while the value of no state changes",
        dose="loan",
    ),
    Trial(
        "segments",
        NORMED,
        lengths("Marathon", (100, 500, 2000), lanes=8, horizon=64),
        1,
        "one whole episode in every lane takes a sixth of the budget",
        dose="length",
    ),
    Trial(
        "bootstrap",
        (*NORMED, "segments"),
        levels((64, 16, 4), lambda limit: world(f"Shuttle{limit:g}", 60_000), lambda limit: 0.1 * limit),
        1,
        "to a V that can't see the clock, a limit counted as a death hides whatever is more than a few steps away",
        dose="limit",
    ),
    Trial(
        "value_clip",
        PLAIN,
        levels((0, 3, 30), lambda loan: world(f"Loan{loan:g}Pay0.3", 40_000, epochs=20), 3),
        -1,
        "a value net that moves little per update is slow to learn a loan of 30, and no baseline until it has",
        dose="loan",
    ),
    Trial(
        "lr_anneal",
        NORMED,
        lengths("Tightrope", (12, 50, 200)),
        1,
        "one wrong step ends an episode, and noise at a constant rate keeps causing wrong steps",
        dose="length",
        score="late",
    ),
    Trial(
        "clip_anneal",
        NORMED,
        levels((4, 8, 16), lambda epochs: world("Tightrope", 60_000, epochs=int(epochs), clip_range=1.0), 200),
        1,
        "with a wide clip range and many epochs, late updates still move a policy that one wrong step ends",
        dose="epochs",
        score="late",
        rate=0.01,
    ),
)

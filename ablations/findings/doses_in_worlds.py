"""The doses of trials: what they vary, and in which setting, the one that should matter least first."""

from collections.abc import Callable, Sequence
from typing import Any

from ablations.design.trial import SMALL, Dose
from tricks.config import Config

Of = Callable[[float], Config]  # the size of a dose -> the setting with it


def doses_of(sizes: Sequence[float], config: Of, best: float | Callable[[float], float]) -> tuple[Dose, ...]:
    """A dose of each size. best: the best possible score, the same for all or at each size."""
    return tuple(Dose(size, config(size), best(size) if callable(best) else best) for size in sizes)


def world(name: str, steps: int, **numbers: Any) -> Config:
    """A setting in a small world, with small nets."""
    return Config(f"tricks/{name}-v0", steps=steps, **{"lanes": 32, "horizon": 32, "hidden": SMALL, **numbers})


def mails(delays: Sequence[float], gae_lambda: float) -> tuple[Dose, ...]:
    """The mail that takes so many steps; what is posted in the last ones never arrives."""
    numbers = {"lanes": 8, "horizon": 128, "gamma": 0.995, "gae_lambda": gae_lambda}
    return doses_of(delays, lambda delay: world(f"Mail{delay:g}", 60_000, **numbers), lambda delay: 200 - delay)


def bonuses(name: str) -> tuple[Dose, ...]:
    """A world with a small reward nearby and a large one far away, with weaker and stronger entropy bonuses."""
    return doses_of((0.001, 0.01, 0.05), lambda coef: world(name, 300_000, entropy_coef=coef), 1)


def large_loans() -> tuple[Dose, ...]:
    """A cue that pays 0.3, under no loan, one of 3, or one of 30, and 20 epochs."""
    return doses_of((0, 3, 30), lambda loan: world(f"Loan{loan:g}Pay0.3", 40_000, epochs=20), 3)


def corridors(lengths: Sequence[float]) -> tuple[Dose, ...]:
    """Corridors of these lengths between the cue and the choice that it is about."""
    return doses_of(lengths, lambda length: world(f"Recall{length:g}", 30_000, recurrent_size=32), 1)


def hidden_speeds(counts: Sequence[float]) -> tuple[Dose, ...]:
    """CartPole with so many of its two speeds hidden; with none, it is CartPole itself."""
    names = {count: f"tricks/CartPoleHidden{count:g}-v0" if count else "CartPole-v1" for count in counts}
    return doses_of(counts, lambda count: Config(names[count], steps=40_000, lanes=32, horizon=32), 500)


def tiny_rewards() -> tuple[Dose, ...]:
    """CartPole that pays 0.1, 0.01 or 0.0001 a step."""
    return doses_of(
        (1, 2, 4),
        lambda zeros: Config(f"tricks/CartPoleReward{10**-zeros:g}-v0", steps=50_000, lanes=32, horizon=32),
        lambda zeros: 500 * 10**-zeros,
    )


def cartpole(name: str) -> Config:
    """A setting in a world made from CartPole."""
    return Config(name, steps=100_000, lanes=32, horizon=32)


def units() -> tuple[Dose, ...]:
    """CartPole in meters, decimeters, centimeters, and millimeters."""
    return doses_of(
        (1, 10, 100, 1000),
        lambda each: cartpole(f"tricks/CartPoleOddUnits{'' if each == 1000 else f'{each:g}'}-v0"),
        500,
    )


def large_rewards() -> tuple[Dose, ...]:
    """CartPole that pays 1, 10, or 100 a step."""
    return doses_of(
        (1, 10, 100),
        lambda pay: cartpole("CartPole-v1" if pay == 1 else f"tricks/CartPoleReward{pay:g}-v0"),
        lambda pay: 500 * pay,
    )


def lengths(name: str, sizes: Sequence[float], **numbers: Any) -> tuple[Dose, ...]:
    """A world whose episodes get longer with the dose; the last one is its usual length. A step pays 1."""
    return doses_of(
        sizes,
        lambda steps: world(f"{name}{'' if steps == sizes[-1] else f'{steps:g}'}", 100_000, **numbers),
        lambda steps: steps,
    )


def shock_pairs(sizes: Sequence[float]) -> tuple[Dose, ...]:
    """CartPole with pairs of shocks of these sizes, which cancel."""
    return doses_of(
        sizes, lambda size: Config(f"tricks/CartPoleShockPairs{size:g}-v0", steps=60_000, lanes=32, horizon=32), 500
    )


def weathers(betas: Sequence[float]) -> tuple[Dose, ...]:
    """A loan of 100 in lucky episodes, and return statistics that move β of the way toward those of each batch."""
    return doses_of(betas, lambda beta: world("Weather100", 60_000, lanes=8, horizon=10, return_beta=beta), 10)


def constant_features() -> tuple[Dose, ...]:
    """A walk on a line that is seen as a position and as no, one, or three constants."""

    def seen(count: float) -> Config:
        name = f"ThereAndBack{f'Plus{count:g}' if count else ''}"
        return world(name, 120_000, lanes=8, horizon=64, gamma=0.995)

    return doses_of((0, 1, 3), seen, 1)

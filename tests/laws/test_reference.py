"""Every update that a legal set of flags can make equals that of an independent reference, written from the papers."""

import random
from collections import Counter
from dataclasses import fields, replace

import pytest
from support.recording import Recording, differences
from support.settings import SMALL, drawn_from

from tricks import PPO, Config, Tricks
from tricks.config import PerSeed
from tricks.fast.dispatch import plain
from tricks.ladder import NEEDS, PRESETS, closed, named, rungs

ENVS = ("Restless-v0", BOX := "RestlessBox-v0", "RestlessTasks-v0", NESTED := "RestlessNested-v0")
SHOWN = "tricks/Typos-v0"  # which has demonstrations, and none of the rest that happens in the others
DRAWN = [name for name in NEEDS if name != "imitate"]


def drawn(number: int) -> tuple[Config, Tricks]:
    """A legal set of flags and the numbers of both seeds, all at random, one in four in a nested environment."""
    envs = (NESTED,) if number % 4 == 3 else ENVS[:3]
    lacks = lambda env: "action_mask" if env == BOX else "squash"  # noqa: E731
    return drawn_from(number, envs, lambda env: [name for name in DRAWN if name != lacks(env)])


def agrees(config: Config, tricks: Tricks, limit: float = 1e-5) -> dict[str, float]:
    """The largest distance of each quantity. Fails at the first quantity that is off."""
    recording, worst = Recording(config, tricks), dict[str, float]()
    assert recording.update >= 3
    for where, name, distance in differences(recording):
        assert distance < limit, f"{name} is {distance:.1e} off ({where}) under {', '.join(tricks.on)}"
        worst[name] = max(distance, worst.get(name, 0.0))
    return worst


SETS = {f"ladder up to {rung.on[-1]}" if rung.on else "no flag": rung for rung in rungs()} | PRESETS
SETS["ppg in units"], SETS["recompute in units"] = (named(f"{x}+return_norm+popart") for x in ("ppg", "ppo+recompute"))
SETS["imitate"] = Tricks(imitate=True)
SETS |= {f"ppo and {name}": named(name) for name in NEEDS if not set(closed([name])) <= set(PPO.on)}


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("name", SETS)
def test_rungs_presets_and_flags_on_ppo_equal_the_reference(name: str, env: str) -> None:
    if SETS[name].squash and env != BOX:
        pytest.skip("squash is for Box actions")
    env = SHOWN if SETS[name].imitate else env
    tricks = replace(SETS[name], action_mask=False) if env == BOX else SETS[name]
    agrees(replace(SMALL, env=env, adam_eps=1e-3), tricks)


@pytest.mark.parametrize("name", ["no flag", "ppo", "ppg", "ppo and action_mask", "ppo and shared_trunk"])
def test_an_image_beside_vectors_equals_the_reference(name: str) -> None:
    agrees(replace(SMALL, env="RestlessSeen-v0", adam_eps=1e-3), replace(SETS[name], state_norm=False))


@pytest.mark.parametrize("number", range(60))
def test_random_flags_and_numbers_equal_the_reference(number: int) -> None:
    with plain():  # rounding decides which ratios lie outside a range that is annealed to 0
        agrees(*drawn(number))


def test_every_flag_is_drawn_on_and_off_and_every_number_of_a_seed_is_drawn() -> None:
    sets = [drawn(number) for number in range(60)]
    for name in DRAWN:
        assert {getattr(tricks, name) for _, tricks in sets} == {True, False}, name
    for name in (f.name for f in fields(Config) if f.type == PerSeed):
        assert all(isinstance(getattr(config, name), tuple) for config, _ in sets), name


@pytest.mark.slow
def test_new_random_flags_and_numbers_equal_the_reference() -> None:
    """But for a few: a gradient that is a difference of large terms, a ratio just where rounding decides on a clip."""
    first, worst, off = random.SystemRandom().randrange(10**9), Counter[str](), []
    for number in range(first, first + 500):
        try:
            worst |= Counter(agrees(*drawn(number)))  # the larger of two
        except AssertionError as error:
            off.append(f"set {number}: {str(error).splitlines()[0]}")
    print(f"sets {first} to {first + 499}; the largest relative distances:")
    print("\n".join([f"{distance:.1e} {name}" for name, distance in worst.most_common()] + off))
    assert len(off) < 10

"""Every update that a legal set of flags can make equals that of an independent reference, written from the papers."""

import random
from collections import Counter
from dataclasses import fields, replace

import pytest
from support.recording import Recording, differences
from support.register import register
from support.restless import Restless, RestlessNested

from tricks import PPO, Config, InputError, Tricks
from tricks.config import PerSeed
from tricks.ladder import NEEDS, PRESETS, closed, named, rungs, switched

register("Restless-v0", Restless)
register("RestlessBox-v0", Restless, discrete=False)
register("RestlessTasks-v0", Restless, tasks=2)
register("RestlessNested-v0", RestlessNested)
register("RestlessSeen-v0", RestlessNested, picture=True)
ENVS = ("Restless-v0", BOX := "RestlessBox-v0", "RestlessTasks-v0", NESTED := "RestlessNested-v0")
SMALL = Config(seeds=(3, 8), steps=90, lanes=2, horizon=8, hidden=(5, 4), epochs=2, minibatches=2, aux_every=2)
RANGES = {  # ranges in which each matters: ratios leave the clip range, gradients are too long, the KL is too large
    "lr": (1e-3, 1e-2),
    "adam_eps": (1e-2, 1e-1),
    "gamma": (0.7, 1.0),
    "gae_lambda": (0.5, 1.0),
    "log_std_init": (-1.0, 0.5),
    "value_coef": (0.2, 1.0),
    "clip_range": (0.001, 0.05),
    "max_grad_norm": (0.05, 1.0),
    "entropy_coef": (0.01, 0.3),
    "obs_decay": (0.0, 0.5),
    "return_beta": (0.1, 0.9),
    "value_clip_range": (0.01, 0.3),
    "clone_coef": (0.1, 2.0),
    "target_kl": (1e-6, 1e-3),
    "value_lr_factor": (0.3, 3.0),
    "max_value_grad_norm": (0.05, 1.0),
    "dual_clip_limit": (1.001, 1.05),
    "huber_delta": (0.1, 2.0),
}
COUNTS = {
    "lanes": (2, 3),
    "horizon": (7, 12),
    "epochs": (1, 3),
    "value_epochs": (1, 3),
    "minibatches": (1, 4),
    "aux_every": (1, 3),
    "aux_epochs": (1, 2),
    "policy_rollouts": (1, 2),
    "policy_uses": (1, 3),
    "value_rollouts": (1, 3),
    "value_uses": (1, 4),
}


def drawn(number: int) -> tuple[Config, Tricks]:
    """A legal set of flags and the numbers of both seeds, all at random."""
    rng = random.Random(number)
    counts = {name: rng.randint(*bounds) for name, bounds in COUNTS.items()}
    numbers = {name: (rng.uniform(*bounds), rng.uniform(*bounds)) for name, bounds in RANGES.items()}
    words = {"activation": rng.choice(["tanh", "relu"]), "env": rng.choice(ENVS[:3])}
    words["recurrent_cell"] = rng.choice(["lstm", "gru"])
    if number % 4 == 3:
        words["env"] = NESTED
    switches = {name: rng.random() < 0.5 for name in ("value_clip_anneals", "aux_value_clip", "return_first_batch")}
    config = replace(SMALL, **counts, **numbers, **words, **switches)  # type: ignore[arg-type]
    config = replace(config, steps=5 * config.lanes * config.horizon)
    names = [name for name in NEEDS if name != ("action_mask" if config.env == BOX else "squash")]
    while True:
        share = rng.uniform(0, 0.5)
        try:
            tricks = switched(closed(name for name in names if rng.random() < share))
            fewest = config.minibatches if tricks.recurrent else 1  # lanes, which are dealt whole
            return replace(config, lanes=max(config.lanes, fewest)), tricks
        except InputError:  # two flags that exclude each other
            continue


def agrees(config: Config, tricks: Tricks, limit: float = 1e-5) -> dict[str, float]:
    """The largest distance of each quantity. Fails at the first quantity that is off."""
    recording, worst = Recording(config, tricks), dict[str, float]()
    assert recording.update >= 3
    for where, name, distance in differences(recording):
        assert distance < limit, f"{name} is {distance:.1e} off ({where}) under {', '.join(tricks.on)}"
        worst[name] = max(distance, worst.get(name, 0.0))
    return worst


SETS = {f"ladder up to {rung.on[-1]}" if rung.on else "no flag": rung for rung in rungs()} | PRESETS
SETS |= {f"ppo and {name}": named(name) for name in NEEDS if not set(closed([name])) <= set(PPO.on)}


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("name", SETS)
def test_rungs_presets_and_flags_on_ppo_equal_the_reference(name: str, env: str) -> None:
    if SETS[name].squash and env != BOX:
        pytest.skip("squash is for Box actions")
    tricks = replace(SETS[name], action_mask=False) if env == BOX else SETS[name]
    agrees(replace(SMALL, env=env, adam_eps=1e-3), tricks)


@pytest.mark.parametrize("name", ["no flag", "ppo", "ppg", "ppo and action_mask", "ppo and shared_trunk"])
def test_an_image_beside_vectors_equals_the_reference(name: str) -> None:
    agrees(replace(SMALL, env="RestlessSeen-v0", adam_eps=1e-3), replace(SETS[name], state_norm=False))


@pytest.mark.parametrize("number", range(60))
def test_random_flags_and_numbers_equal_the_reference(number: int) -> None:
    agrees(*drawn(number))


def test_every_flag_is_drawn_on_and_off_and_every_number_of_a_seed_is_drawn() -> None:
    sets = [drawn(number) for number in range(60)]
    for name in NEEDS:
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

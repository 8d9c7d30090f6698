"""What cannot be trained is named."""

from dataclasses import replace

import pytest

from tricks import PPO, Config, InputError, train


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"env": "CartPole-v7"}, "CartPole-v1"),
        ({"env": "Nonsense-v0"}, "cannot make the environment 'Nonsense-v0'"),
        ({"env": "Talking-v0"}, "Talking-v0 has a Text observation space, .* gymnasium.wrappers.TransformObservation"),
        ({"env": "BrokenObs-v0"}, r"BrokenObs-v0: the observation is not finite \(seed 0, step 3 of rollout 0\)"),
        ({"env": "BrokenReward-v0"}, r"BrokenReward-v0: the reward is not finite \(seed 0, step 2 of rollout 0\)"),
    ],
)
def test_bad_input_is_named(change: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(replace(Config(seeds=1, steps=100, lanes=1, horizon=16), **change), PPO)  # type: ignore[arg-type]


OUT_OF_RANGE: list[dict[str, object]] = [
    {"steps": 0},
    {"lr": -1.0},
    {"lr": float("inf")},
    {"entropy_coef": float("nan")},
    {"gamma": 1.1},
    {"seeds": 0},
    {"seeds": (1, 1)},
    {"hidden": (0,)},
    {"minibatches": 0},
]


@pytest.mark.parametrize("change", OUT_OF_RANGE, ids=str)
def test_a_number_out_of_range_is_named(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        Config(**change)  # type: ignore[arg-type]

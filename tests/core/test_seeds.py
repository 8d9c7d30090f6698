"""Random numbers: a stream for each seed, purpose and place."""

import numpy as np
import pytest
import torch

from tricks import Config, train
from tricks.core.seeds import argsort, draw, stream
from tricks.ladder import named


def test_streams_differ_by_seed_purpose_and_place_and_repeat() -> None:
    keys = ((0, "env"), (1, "env"), (0, "action"), (0, "action", 1), (0, "action", 0))
    assert len({stream(*key).random() for key in keys}) == len(keys)
    pair = draw((4, 7), "init", by=lambda rng: rng.random(3))
    assert torch.equal(pair[1:], draw((7,), "init", by=lambda rng: rng.random(3)))


def test_each_seeds_keys_are_put_in_order() -> None:
    assert argsort(torch.tensor([[0.3, 0.1, 0.2], [0.1, 0.3, 0.2]])).tolist() == [[1, 2, 0], [0, 2, 1]]


@pytest.mark.parametrize("tricks", ["reinforce", "ppo", "ppo+recurrent", "reuse+recurrent", "ppg", "ppg+ppg_buffers"])
def test_no_two_things_in_a_training_get_the_same_numbers(tricks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, original = list[tuple[int, ...]](), np.random.SeedSequence

    def noted(seed: int, spawn_key: tuple[int, ...] = ()) -> np.random.SeedSequence:
        asked.append((seed, *spawn_key))
        return original(seed, spawn_key=spawn_key)

    monkeypatch.setattr(np.random, "SeedSequence", noted)
    train(Config(seeds=2, steps=700, lanes=2, horizon=32, minibatches=2, aux_every=2), named(tricks))
    assert len(asked) > 10
    assert sorted(asked) == sorted(set(asked))

"""Random numbers: a stream for each seed, purpose and place."""

import torch

from tricks.core.seeds import argsort, draw, stream


def test_streams_differ_by_seed_purpose_and_place_and_repeat() -> None:
    firsts = [
        stream(*key).random() for key in ((0, "env"), (1, "env"), (0, "action"), (0, "action", 1), (0, "action", 0))
    ]
    assert len(set(firsts)) == len(firsts)
    pair = draw((4, 7), "init", by=lambda rng: rng.random(3))
    assert torch.equal(pair[1:], draw((7,), "init", by=lambda rng: rng.random(3)))


def test_each_seeds_keys_are_put_in_order() -> None:
    assert argsort(torch.tensor([[0.3, 0.1, 0.2], [0.1, 0.3, 0.2]])).tolist() == [[1, 2, 0], [0, 2, 1]]

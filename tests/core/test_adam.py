"""Adam and the gradient, reductions, and random numbers, seed by seed."""

import numpy as np
import pytest
import torch
from support.training import spied

from tricks import Config, named, train
from tricks.core.adam import Adam, gradient
from tricks.core.moments import ReturnStats
from tricks.core.reductions import discounted_sum, mean
from tricks.core.seeds import draw, stream


def test_adam_equals_torch_and_a_seed_that_stood_still_goes_on_as_if_nothing_had_been() -> None:
    pair, one = torch.nn.Parameter(torch.ones(2, 3)), torch.nn.Parameter(torch.ones(3))
    mine, other = Adam([pair], eps=1e-5), torch.optim.Adam([one], 0.1, eps=1e-5)
    for pause in (2, 0, 1, 0, 5):
        for _ in range(pause):
            mine.step(torch.tensor([[torch.nan] * 3, [7.0] * 3]), torch.tensor([0.1, 0.1]), torch.tensor([False, True]))
        one.grad = torch.tensor([1.0, -2.0, 3.0 + pause])
        mine.step(one.grad.expand(2, 3), torch.tensor([0.1, 0.1]), torch.tensor([True, False]))
        other.step()
        torch.testing.assert_close(pair[0], one)


def test_the_gradient_of_a_seed_ignores_others() -> None:
    p = torch.nn.Parameter(torch.ones(2, 3))
    unused = torch.nn.Parameter(torch.ones(2, 1))
    assert gradient(p.square().sum(1) * torch.tensor([1.0, torch.nan]), [p, unused])[0].tolist() == [2, 2, 2, 0]


def test_an_optimizer_counts_any_number_of_steps() -> None:
    adam = Adam([torch.nn.Parameter(torch.ones(2, 3))], eps=1e-5)
    adam.load_state_dict(adam.state_dict() | {"t": torch.full((2, 1), 2**24)})
    adam.step(torch.zeros(2, 3), torch.tensor([0.1, 0.2]), torch.ones(2, dtype=torch.bool))
    assert adam.state_dict()["t"].tolist() == [[2**24 + 1]] * 2  # which float32 does not know


def test_discounted_sums_and_means_by_hand_of_rows_that_are_valid_now() -> None:
    x = torch.tensor([[1.0, 3.0, 100.0]]).repeat(3, 1)
    valid = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    torch.testing.assert_close(mean(x, valid), torch.tensor([2.0, 104 / 3, 0.0]))
    for guard in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with guard():
            x, valid = torch.tensor([[1.0, 3.0, 100.0]]), torch.tensor([[True, True, False]])
            assert mean(x, valid).item() == 2
            valid[0, 2] = True
            torch.testing.assert_close(mean(x, valid), torch.tensor([104 / 3]))
    variance = torch.tensor([0.0, 1e-20, 4.0, 1e20, torch.inf]).double()
    assert ReturnStats(variance, variance).std.tolist() == [1e-4, 1e-4, 2, 1e6, 1e6]
    x, discount = torch.tensor([[[1.0], [10.0], [100.0]]]), torch.tensor([[[0.5], [0.25], [7.0]]])
    assert discounted_sum(x[:, :1], discount[:, :1]).flatten().tolist() == [1]
    assert discounted_sum(x, discount).flatten().tolist() == [18.5, 35, 100]


def test_no_gradient_reaches_filler_rows_not_even_one_that_is_not_finite() -> None:
    """∞ · 0 would be NaN: whether a seed's loss overflows must not depend on how its rows are padded."""
    x, valid = torch.ones(2, 3, requires_grad=True), torch.tensor([[True, False, True], [False, False, False]])
    mean(x, valid).backward(torch.tensor([torch.inf, torch.nan]))
    assert x.grad is not None and x.grad.tolist() == [[torch.inf, 0, torch.inf], [0, 0, 0]]


def test_streams_differ_by_seed_purpose_and_place() -> None:
    keys = ((0, "env"), (1, "env"), (0, "action"), (0, "action", 1), (0, "action", 0))
    assert len({stream(*key).random() for key in keys}) == len(keys)
    pair = draw((4, 7), "init", by=lambda rng: rng.random(3))
    assert torch.equal(pair[1:], draw((7,), "init", by=lambda rng: rng.random(3)))


@pytest.mark.parametrize("tricks", ["reinforce", "ppo", "ppo+recurrent", "reuse+recurrent", "ppg", "ppg+ppg_buffers"])
def test_no_two_things_in_a_training_get_the_same_numbers(tricks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spied(monkeypatch, np.random, "SeedSequence", lambda seed, spawn_key=(): (seed, *spawn_key))
    train(Config(seeds=2, steps=700, lanes=2, horizon=32, minibatches=2, aux_every=2), named(tricks))
    assert len(asked) > 10 and sorted(asked) == sorted(set(asked))

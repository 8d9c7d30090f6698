"""lr_anneal, clip_anneal: in a line from the start to just above 0, by each seed's own use of its budget."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import ATARI, PPO, Config, train
from tricks.annealing import following_decay, linear_decay
from tricks.clip import clipped_surrogate
from tricks.config import ATARI_CONFIG
from tricks.core.adam import Adam
from tricks.ladder import switched
from tricks.value_clip import clipped_error


def test_update_i_of_n_gets_1_minus_i_over_n() -> None:
    progress = torch.tensor([0.0, 0.25, 0.75])
    assert linear_decay(torch.full((3,), 0.4), progress).tolist() == torch.tensor([0.4, 0.3, 0.1]).tolist()


def test_the_rate_falls_with_the_steps_and_never_reaches_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rates, step = [], Adam.step

    def recording(adam: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        rates.append(learning_rate.clone())
        step(adam, gradient, learning_rate, moving)

    monkeypatch.setattr(Adam, "step", recording)
    config = Config(seeds=2, steps=512, lanes=4, horizon=32, lr=0.1)
    train(config, switched(["baseline", "segments", "lr_anneal"]))
    assert rates[0].tolist() == torch.full((2,), 0.1).tolist()
    assert all((b < a).all() for a, b in pairwise(rates))
    assert rates[-1].min() > 0


def test_a_number_that_follows_falls_alike_and_one_that_does_not_stays() -> None:
    start, progress = torch.full((2,), 0.2).double(), torch.tensor([0.0, 0.75])
    torch.testing.assert_close(following_decay(start, progress, True), torch.tensor([0.2, 0.05]).double())
    assert following_decay(start, progress, False) is start


@pytest.mark.parametrize("follows", [False, True])
def test_the_value_range_follows_the_clip_range_if_it_is_to(follows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shares, ranges = [], []

    def noting_surrogate(ratio: Tensor, advantage: Tensor, clip_range: Tensor) -> Tensor:
        shares.append(clip_range / 0.1)
        return clipped_surrogate(ratio, advantage, clip_range)

    def noting_error(value: Tensor, old: Tensor, target: Tensor, clip_range: Tensor) -> Tensor:
        ranges.append(clip_range[:, 0])
        return clipped_error(value, old, target, clip_range)

    monkeypatch.setattr(loop, "clipped_surrogate", noting_surrogate)
    monkeypatch.setattr(loop, "clipped_error", noting_error)
    config = Config(seeds=2, steps=512, lanes=4, horizon=32, clip_range=0.1, value_clip_range=0.3)
    train(replace(config, value_clip_anneals=follows), replace(PPO, clip_anneal=True))
    assert shares[-1].max() < 0.5
    for share, value_range in zip(shares, ranges, strict=True):
        torch.testing.assert_close(value_range, (0.3 * share if follows else torch.full((2,), 0.3)).double())


def test_the_numbers_of_atari_let_both_ranges_fall_as_ppo2_does() -> None:
    assert ATARI.clip_anneal
    assert ATARI.value_clip
    assert ATARI_CONFIG.value_clip_anneals
    assert not Config().value_clip_anneals

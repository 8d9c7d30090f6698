"""return_norm: the statistics are those of the mixture, cannot cancel, and invert exactly."""

import pandas as pd
import pytest
import torch

from tricks import Config, Tricks, train
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.ladder import named, switched
from tricks.return_norm import move_stats, unmoved

ALL = torch.ones(1, 4, 1, dtype=torch.bool)


def stats(mean: float = 0.0, variance: float = 1.0) -> ReturnStats:
    return ReturnStats(torch.tensor([mean], dtype=torch.float64), torch.tensor([variance], dtype=torch.float64))


def test_one_move_is_the_mixture_of_old_and_new_moments() -> None:
    target = torch.tensor([1.0, 2.0, 4.0, 9.0], dtype=torch.float64).view(1, 4, 1)
    moved = move_stats(stats(), target, ALL, beta=0.25)
    first = 0.25 * target.mean()
    second = 0.75 * 1 + 0.25 * target.square().mean()
    torch.testing.assert_close(moved.mean, first.view(1))
    torch.testing.assert_close(moved.variance, (second - first**2).view(1))


def test_a_constant_target_of_a_million_has_no_variance_left_and_no_negative_one() -> None:
    now = stats()
    for _ in range(200):
        now = move_stats(now, torch.full((1, 4, 1), 1e6), ALL, beta=0.5)
    torch.testing.assert_close(now.mean, torch.tensor([1e6], dtype=torch.float64))
    assert 0 <= now.variance.item() < 1e-6
    assert now.std.item() == 1e-4


def test_only_valid_rows_count_and_none_at_all_moves_nothing() -> None:
    target, nobody = torch.tensor([[[1.0], [3.0], [1e9], [1e9]]]), torch.zeros_like(ALL)
    some = torch.tensor([[[True], [True], [False], [False]]])
    assert move_stats(stats(), target, some, beta=1.0).mean.item() == 2
    assert move_stats(stats(5.0, 2.0), target, nobody, beta=1.0) == stats(5.0, 2.0)


def test_the_first_batch_is_all_that_is_known_and_the_second_one_moves_it() -> None:
    start = unmoved(stats(), first_batch=True)
    assert unmoved(stats(), first_batch=False) == stats()
    first = move_stats(start, torch.tensor([1.0, 2.0, 4.0, 9.0]).view(1, 4, 1), ALL, beta=0.25)
    assert (first.mean.item(), first.variance.item()) == (4, (9 + 4 + 0 + 25) / 4)
    second = move_stats(first, torch.full((1, 4, 1), 8.0), ALL, beta=0.25)
    assert (second.mean.item(), second.variance.item()) == (0.75 * 4 + 0.25 * 8, 0.75 * 9.5 + 0.25 * 0.75 * 16)


def test_a_variance_that_is_tiny_is_mixed_like_any_other() -> None:
    moved = move_stats(stats(2e-6, 1e-12), torch.full((1, 4, 1), 6e-6), ALL, beta=0.25)
    assert moved.mean.item() == pytest.approx(3e-6)
    assert moved.variance.item() == pytest.approx(0.75e-12 + 0.25 * 0.75 * 16e-12)


def test_a_seed_or_a_task_without_rows_waits_for_its_own_first_batch() -> None:
    zero = torch.zeros(2, 2, dtype=torch.float64)  # [S, K]
    target = torch.tensor([[1.0, 3.0, 5.0, 5.0]] * 2).view(2, 4, 1)
    task = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]).view(2, 4, 1)
    moved = move_stats(ReturnStats(zero, zero, task), target, torch.ones_like(task, dtype=torch.bool), beta=0.25)
    assert moved.mean.tolist() == [[2, 5], [0, 3.5]]
    assert moved.variance.tolist() == [[1, 0], [0, 2.75]]
    again = move_stats(moved.of(torch.zeros_like(task)), target, task == 1, beta=0.25)
    assert again.mean.tolist() == [[2.75, 5], [3.5, 3.5]]  # of seed 0, a quarter of the way to 5


def test_from_the_first_batch_on_the_statistics_are_in_the_rewards_own_scale() -> None:
    def std(env: str, first_batch: bool) -> float:
        numbers = Config(env, seeds=1, steps=1, lanes=16, horizon=16, return_first_batch=first_batch)
        return train(numbers, named("return_norm")).curve.return_std.item()

    small, usual = (std(env, True) for env in ("tricks/CartPoleReward0.0001-v0", "CartPole-v1"))
    assert small == pytest.approx(1e-4 * usual, rel=0.02)
    assert std("tricks/CartPoleReward0.0001-v0", False) > 100 * small  # one batch takes a tenth of the variance away


@pytest.mark.parametrize("tricks", [switched(["baseline"]), switched(["baseline", "segments", "ppg"])])
def test_without_return_norm_it_makes_no_difference(tricks: Tricks) -> None:
    run, other = (train(Config(seeds=1, steps=300, horizon=16, return_first_batch=x), tricks) for x in (False, True))
    pd.testing.assert_frame_equal(run.curve, other.curve)


def test_denormalize_inverts_normalize() -> None:
    x, now = torch.linspace(-9, 9, 7, dtype=torch.float64).view(1, -1), stats(123.0, 45.0)
    torch.testing.assert_close(denormalize(normalize(x, now), now), x)

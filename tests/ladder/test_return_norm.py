"""return_norm: the statistics are those of the mixture, cannot cancel, and invert exactly."""

import torch

from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.return_norm import move_stats

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


def test_denormalize_inverts_normalize() -> None:
    x, now = torch.linspace(-9, 9, 7, dtype=torch.float64).view(1, -1), stats(123.0, 45.0)
    torch.testing.assert_close(denormalize(normalize(x, now), now), x)

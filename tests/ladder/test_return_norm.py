"""return_norm: statistics of a mixture, which cannot cancel and invert exactly. popart: moving them moves no output."""

import pytest
import torch
from torch import Tensor

from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import Net, mlp
from tricks.core.seeds import stream
from tricks.popart import preserve_outputs_, renormalize, with_a_scale
from tricks.return_norm import move_stats, unmoved

ALL, FOUR = torch.ones(1, 4, 1, dtype=torch.bool), torch.tensor([1.0, 2.0, 4.0, 9.0]).double().view(1, 4, 1)


def stats(mean: list[float], variance: list[float]) -> ReturnStats:
    return ReturnStats(*(torch.tensor(x, dtype=torch.float64) for x in (mean, variance)))


USUAL = stats([0], [1])


@pytest.mark.parametrize(
    ("old", "target", "mean", "variance"),
    [
        (USUAL, FOUR, 0.25 * 4, 0.75 + 0.25 * 25.5 - (0.25 * 4) ** 2),
        (unmoved(USUAL, first_batch=True), FOUR, 4, 9.5),  # all that is known
        (stats([4], [9.5]), torch.full((1, 4, 1), 8.0), 0.75 * 4 + 0.25 * 8, 0.75 * 9.5 + 0.25 * 0.75 * 16),
        (stats([2e-6], [1e-12]), torch.full((1, 4, 1), 6e-6), 3e-6, 0.75e-12 + 0.25 * 0.75 * 16e-12),
    ],
    ids=["a mixture of old and new", "the first batch", "the second batch", "a tiny variance"],
)
def test_one_move_is_the_mixture_of_old_and_new_moments(
    old: ReturnStats, target: Tensor, mean: float, variance: float
) -> None:
    moved = move_stats(old, target, ALL, beta=0.25)
    assert (moved.mean.item(), moved.variance.item()) == pytest.approx((mean, variance), rel=1e-6)
    assert unmoved(USUAL, first_batch=False) == USUAL


def test_a_constant_target_of_a_million_has_no_variance_left_and_no_negative_one() -> None:
    now = USUAL
    for _ in range(200):
        now = move_stats(now, torch.full((1, 4, 1), 1e6), ALL, beta=0.5)
    torch.testing.assert_close(now.mean, torch.tensor([1e6], dtype=torch.float64))
    assert 0 <= now.variance.item() < 1e-6
    assert now.std.item() == 1e-4


def test_only_valid_rows_count_and_none_at_all_moves_nothing() -> None:
    target, some = torch.tensor([[[1.0], [3.0], [1e9], [1e9]]]), torch.tensor([1, 1, 0, 0]).view(1, 4, 1) > 0
    assert move_stats(USUAL, target, some, beta=1.0).mean.item() == 2
    assert move_stats(stats([5], [2]), target, torch.zeros_like(ALL), beta=1.0) == stats([5], [2])


def test_a_seed_or_a_task_without_rows_waits_for_its_own_first_batch() -> None:
    zero = torch.zeros(2, 2, dtype=torch.float64)  # [S, K]
    target = torch.tensor([[1.0, 3.0, 5.0, 5.0]] * 2).view(2, 4, 1)
    task = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]).view(2, 4, 1)
    moved = move_stats(ReturnStats(zero, zero, task), target, torch.ones_like(task, dtype=torch.bool), beta=0.25)
    assert moved.mean.tolist() == [[2, 5], [0, 3.5]]
    assert moved.variance.tolist() == [[1, 0], [0, 2.75]]
    again = move_stats(moved.of(torch.zeros_like(task)), target, task == 1, beta=0.25)
    assert again.mean.tolist() == [[2.75, 5], [3.5, 3.5]]  # of seed 0, a quarter of the way to 5


def test_denormalize_inverts_normalize() -> None:
    x, now = torch.linspace(-9, 9, 7, dtype=torch.float64).view(1, -1), stats([123], [45])
    torch.testing.assert_close(denormalize(normalize(x, now), now), x)


def nets() -> tuple[Net, Tensor, torch.Generator]:
    generator = torch.Generator().manual_seed(0)
    net = mlp([stream(seed, "init") for seed in (0, 1)], (3, 32, 1), exact=True)
    return net, torch.randn(2, 50, 3, generator=generator), generator


def preserved(net: Net, obs: Tensor, old: ReturnStats, new: ReturnStats) -> tuple[Tensor, ...]:
    """Preserve the outputs: before and after, in units of reward and in the net's own."""
    raw = net(obs).squeeze(-1).detach()
    before = denormalize(raw, old)
    preserve_outputs_(net, old, new)
    now = net(obs).squeeze(-1).detach()
    torch.testing.assert_close(renormalize(raw, old, new), now, rtol=1e-5, atol=1e-9)
    return before, denormalize(now, new), raw, now


@pytest.mark.parametrize("jump", [1.0, 100.0, 1e4, 1e-4])
def test_outputs_are_preserved_to_1e_5_also_when_the_scale_jumps(jump: float) -> None:
    net, obs, generator = nets()
    old = stats([3, -20], [4, 0.5])
    for _ in range(5):  # five moves in a row, so that errors would add up
        target = jump * torch.randn(2, 64, 1, generator=generator).double() + 3 * jump
        new = move_stats(old, target, torch.ones_like(target, dtype=torch.bool), beta=0.5)
        before, after, *_ = preserved(net, obs, old, new)
        torch.testing.assert_close(after, before, rtol=1e-5, atol=0)
        old = new


def test_before_the_first_batch_there_is_nothing_to_preserve() -> None:
    net, obs, _ = nets()  # seed 0 has no scale yet
    before, after, raw, now = preserved(net, obs, stats([0, 5], [0, 4]), stats([3e-4, 5], [1e-6, 16]))
    torch.testing.assert_close(now[0], raw[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(after[1], before[1], rtol=1e-5, atol=0)


def test_a_scale_that_is_tiny_is_a_scale() -> None:
    """Returns of a millionth have σ² of 1e-12: only 0 means that no batch has come yet."""
    old, new = stats([2e-6, 0], [1e-12, 0]), stats([3e-6, 5], [4e-12, 4])
    assert [x.tolist() for x in with_a_scale(old, new)[:2]] == [[2e-6, 5], [1e-12, 4]]

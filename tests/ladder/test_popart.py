"""popart: moving the statistics changes no output."""

import pytest
import torch

from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import Net, mlp
from tricks.core.seeds import stream
from tricks.popart import preserve_outputs_, renormalize, with_a_scale
from tricks.return_norm import move_stats

F64 = torch.float64


def outputs(net: Net, obs: torch.Tensor, stats: ReturnStats) -> torch.Tensor:
    return denormalize(net(obs).squeeze(-1), stats).detach()


@pytest.mark.parametrize("jump", [1.0, 100.0, 1e4, 1e-4])
def test_outputs_are_preserved_to_1e_5_also_when_the_scale_jumps(jump: float) -> None:
    generator = torch.Generator().manual_seed(0)
    net = mlp([stream(seed, "init") for seed in (0, 1)], (3, 32, 1), exact=True)
    obs = torch.randn(2, 50, 3, generator=generator)
    old = ReturnStats(torch.tensor([3.0, -20.0]).double(), torch.tensor([4.0, 0.5]).double())
    for _ in range(5):  # five moves in a row, so that errors would add up
        target = jump * torch.randn(2, 64, 1, generator=generator).double() + 3 * jump
        new = move_stats(old, target, torch.ones_like(target, dtype=torch.bool), beta=0.5)
        before, raw = outputs(net, obs, old), net(obs).squeeze(-1).detach()
        preserve_outputs_(net, old, new)
        torch.testing.assert_close(outputs(net, obs, new), before, rtol=1e-5, atol=0)
        torch.testing.assert_close(renormalize(raw, old, new), net(obs).squeeze(-1).detach(), rtol=1e-5, atol=1e-9)
        old = new


def test_before_the_first_batch_there_is_nothing_to_preserve() -> None:
    net = mlp([stream(seed, "init") for seed in (0, 1)], (3, 32, 1), exact=True)
    obs = torch.randn(2, 50, 3, generator=torch.Generator().manual_seed(0))
    old = ReturnStats(torch.tensor([0.0, 5.0]).double(), torch.tensor([0.0, 4.0]).double())  # seed 0 has no scale yet
    new = ReturnStats(torch.tensor([3e-4, 5.0]).double(), torch.tensor([1e-6, 16.0]).double())
    before, raw = outputs(net, obs, old), net(obs).squeeze(-1).detach()
    preserve_outputs_(net, old, new)
    torch.testing.assert_close(net(obs).squeeze(-1).detach()[0], raw[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(outputs(net, obs, new)[1], before[1], rtol=1e-5, atol=0)
    torch.testing.assert_close(renormalize(raw, old, new), net(obs).squeeze(-1).detach(), rtol=1e-5, atol=1e-9)


def test_a_scale_that_is_tiny_is_a_scale() -> None:
    """Returns of a millionth have σ² of 1e-12: only 0 means that no batch has come yet."""
    old = ReturnStats(torch.tensor([2e-6, 0], dtype=F64), torch.tensor([1e-12, 0], dtype=F64))
    new = ReturnStats(torch.tensor([3e-6, 5], dtype=F64), torch.tensor([4e-12, 4], dtype=F64))
    assert with_a_scale(old, new).mean.tolist() == [2e-6, 5]
    assert with_a_scale(old, new).variance.tolist() == [1e-12, 4]

"""grad_clip: each seed by its own norm, as torch does for one agent alone."""

import torch

from tricks.grad_clip import shorten


def test_equals_torch_on_one_seed_alone_and_does_not_move_another() -> None:
    gradient = torch.randn(3, 20, generator=torch.Generator().manual_seed(0)) * torch.tensor([[0.01], [1.0], [100.0]])
    found = shorten(gradient, gradient.norm(dim=1), 0.5)
    for seed in range(3):
        parameter = torch.nn.Parameter(torch.zeros(20))
        parameter.grad = gradient[seed].clone()
        torch.nn.utils.clip_grad_norm_([parameter], 0.5)
        torch.testing.assert_close(found[seed], parameter.grad)
    torch.testing.assert_close(found[0], gradient[0])  # a short gradient stays as it is


def test_a_norm_as_small_as_the_constant_beside_it_is_halved() -> None:
    found = shorten(torch.tensor([[1e-6, 0.0]]), torch.tensor([1e-6]), 1e-6)
    torch.testing.assert_close(found, torch.tensor([[5e-7, 0.0]]), rtol=1e-5, atol=0)

"""Nets with a seed axis, against the same nets of torch.nn; and learning from images, where the answer is known."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.register import register
from torch import nn

from tricks import ATARI, PPG, PPO, Config, InputError, Tricks, train
from tricks.core.images import Shallow, image_body
from tricks.core.nets import Dense, Nature, mlp
from tricks.core.spaces import Spaces
from tricks.fast.passes import CACHED
from tricks.ladder import switched


def generators(seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(seeds)]


def test_each_seed_of_an_mlp_is_a_net_of_torch() -> None:
    net, x = mlp(generators(2), (3, 8, 7, 6, 2)), torch.randn(2, 5, 3)
    layers = [each for weight, _ in net.layers for each in (nn.Linear(*weight.shape[1:]), nn.Tanh())]
    torch.testing.assert_close(net(x)[1], theirs(net, *layers[:-1])(x[1]))


@pytest.mark.parametrize("recorded", [True, False])
def test_a_net_without_hidden_layers_is_its_head(recorded: bool) -> None:
    net, x = mlp(generators(2), (3, 2)), torch.randn(2, 5, 3)
    ((weight, bias),) = net.layers
    with torch.set_grad_enabled(recorded):
        torch.testing.assert_close(net(x), x @ weight + bias)


def test_hidden_layers_with_relu_are_those_of_torch() -> None:
    net, x = Dense(generators(2), (3, 8, 8), "relu"), torch.randn(2, 5, 3)
    (w0, b0), (w1, b1) = net.layers
    expected = ((x @ w0 + b0).relu() @ w1 + b1).relu()
    torch.testing.assert_close(net(x), expected)
    found, wanted = (torch.autograd.grad(y.square().sum(), (w0, b0, w1, b1)) for y in (net(x), expected))
    torch.testing.assert_close(found, wanted)


def theirs(net: Any, *layers: nn.Module) -> nn.Sequential:
    """The layers of torch, with the weights that the second seed's net has for those that have any."""
    own = iter(net.layers)
    for layer in layers:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            weight, bias = next(own)
            layer.weight.data = weight[1].T.reshape(layer.weight.shape).detach()
            layer.bias = nn.Parameter(bias[1, 0].detach())
    return nn.Sequential(*layers)


def test_each_seed_of_nature_and_of_shallow_is_the_net_of_torch() -> None:
    net, image = Nature(generators(2), (4, 84, 84)), torch.randint(256, (2, 3, 4, 84, 84), dtype=torch.uint8)
    assert [tuple(w.shape[1:]) for w, _ in net.layers] == [(4 * 64, 32), (32 * 16, 64), (64 * 9, 64), (64 * 49, 512)]
    relu, flat = nn.ReLU(), nn.Flatten()
    convolutions = nn.Conv2d(4, 32, 8, 4), relu, nn.Conv2d(32, 64, 4, 2), relu, nn.Conv2d(64, 64, 3), relu
    wanted = theirs(net, *convolutions, flat, nn.Linear(3136, 512), relu)(image[1] / 255)  # Mnih et al. 2015
    torch.testing.assert_close(net(image)[1], wanted, rtol=1e-4, atol=1e-5)
    small, image = (
        Shallow(generators(2), (3, 10, 7), brightest=4),
        torch.randint(5, (2, 6, 3, 10, 7), dtype=torch.uint8),
    )
    wanted = theirs(small, nn.Conv2d(3, 8, 3), relu, flat, nn.Linear(8 * 8 * 5, 64), relu)(image[1] / 4)
    torch.testing.assert_close(small(image)[1], wanted)


def test_images_too_small_for_nature_get_shallow_with_the_brightness_of_their_space() -> None:
    def body(low: int, high: int | np.ndarray, *shape: int) -> Any:
        space = gym.spaces.Box(low, high, shape, np.uint8)
        return image_body(generators(1), Spaces("x", space, gym.spaces.Discrete(2)))

    assert isinstance(body(0, 255, 4, 36, 36), Nature)
    assert [body(0, high, 2, 36, 35).brightest for high in (1, 255)] == [1, 255]
    assert isinstance(body(0, 255, 4, 35, 36), Shallow)
    assert body(0, np.arange(18, dtype=np.uint8).reshape(2, 3, 3), 2, 3, 3).brightest == 17
    dark = torch.zeros(1, 1, 2, 10, 10, dtype=torch.uint8)
    bright = dark + 255
    binary, gray = body(0, 1, 2, 10, 10), body(0, 255, 2, 10, 10)
    torch.testing.assert_close(binary(bright // 255), gray(bright))
    torch.testing.assert_close(binary(dark), gray(dark))


def test_passes_of_a_few_rows_at_a_time_give_what_one_pass_gives() -> None:
    net = mlp([np.random.default_rng(0), np.random.default_rng(1)], (3, CACHED // 200, 2))  # 100 rows at a time
    x = torch.randn(2, 250, 3)
    with torch.no_grad():
        torch.testing.assert_close(net(x), net(x.clone().requires_grad_()), rtol=1e-4, atol=1e-5)
        assert torch.equal(net(x)[:, :100], net(x[:, :100]))
    torch.testing.assert_close(net(x).detach(), torch.cat([net(x[:, :100]), net(x[:, 100:])], 1).detach())


class Bright(gym.Env):
    """An image whose left or right half is bright; the action that names the side pays 1."""

    observation_space, action_space = gym.spaces.Box(0, 255, (1, 36, 36), np.uint8), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.side = int(self.np_random.integers(2))
        image = self.np_random.integers(0, 100, (1, 2, 36, 18), np.uint8)
        image[:, self.side] += 100
        return np.concatenate([image[:, 0], image[:, 1]], -1), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(self.observation_space.shape, np.uint8), float(action == self.side), True, False, {}


class Dim(Bright):
    """The same on a small image of bits."""

    observation_space = gym.spaces.Box(0, 1, (1, 8, 8), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        return super().reset(seed=seed)[0][:, 14:22, 14:22] // 100, {}


register("Bright-v0", Bright)
register("Dim-v0", Dim)
BASELINE = switched(["baseline"])
LEARNED = [
    pytest.param("Bright-v0", PPO, marks=pytest.mark.slow),  # two nets, as `baseline` has, at ATARI's epochs
    pytest.param("Bright-v0", BASELINE, marks=pytest.mark.slow),
    pytest.param("Dim-v0", PPG, marks=pytest.mark.slow),
    *[("Bright-v0", ATARI), ("Dim-v0", ATARI)],
]


@pytest.mark.parametrize(("env", "tricks"), LEARNED, ids=lambda x: x if isinstance(x, str) else x.on[-1])
def test_learns_from_images(env: str, tricks: Tricks) -> None:
    run = train(Config(env, seeds=2, steps=1500, lanes=8, horizon=16, lr=0.002), tricks)
    assert run.late().min() > 0.9


def test_images_that_are_too_small_are_refused() -> None:
    assert Nature(generators(1), (1, 36, 36)).layers[-1][0].shape == (1, 64, 512)
    with pytest.raises(InputError, match="at least 36×36 pixels, not 36×35"):
        Nature(generators(1), (1, 36, 35))
    assert Shallow(generators(1), (2, 3, 3), 255).layers[-1][0].shape == (1, 8, 64)
    with pytest.raises(InputError, match="at least 3×3 pixels, not 3×2"):
        Shallow(generators(1), (1, 3, 2), 255)

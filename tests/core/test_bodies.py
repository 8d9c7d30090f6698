"""Bodies and heads: what they are shown, how many rows at a time, and the numbers that they begin with."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tricks import Config
from tricks.core.agent import Agent
from tricks.core.nets import Dense, Head, Layer, Nature, Net
from tricks.core.spaces import Spaces
from tricks.fast.passes import CACHED, FEWEST

DRAWS = [np.random.default_rng(0), np.random.default_rng(1)]


class Noting(nn.Module):
    """Gives back how bright it is, and notes the rows and the type of what it sees."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width, self.layers = width, list[Layer]()
        self.rows, self.types = list[int](), set[torch.dtype]()

    def forward(self, x: Tensor) -> Tensor:
        self.rows.append(x.shape[1])
        self.types.add(x.dtype)
        return x.flatten(2).float().mean(-1, keepdim=True).expand(-1, -1, self.width)


@pytest.mark.parametrize(("width", "most"), [(CACHED // 200, 100), (CACHED // 20, FEWEST)])
def test_without_gradients_a_body_sees_so_many_rows_at_a_time_that_a_cache_holds_them(width: int, most: int) -> None:
    body = Noting(width)
    net, x = Net(body, Head(DRAWS, width, 1)), torch.ones(2, 2 * most + 5, 1)
    net(x)
    with torch.no_grad():
        net(x)
        net(x[:, :most])
    assert body.rows == [2 * most + 5, most, most, 5, most]


@pytest.mark.parametrize(
    ("shape", "low", "seen"), [((1, 8, 8), np.uint8, torch.uint8), ((4,), np.int64, torch.float32)]
)
def test_a_body_of_ones_own_is_shown_images_as_bytes_and_vectors_as_floats(
    shape: tuple[int, ...], low: type, seen: torch.dtype
) -> None:
    body = Noting(3)
    spaces = Spaces("x", gym.spaces.Box(0, 9, shape, low), gym.spaces.Discrete(3))
    Agent(spaces, Config(seeds=2), body=lambda generators, spaces: body)
    assert body.types == {seen}


def test_the_logits_of_a_few_rows_lie_row_by_row() -> None:
    with torch.no_grad():
        logits = Head(DRAWS, 2 * FEWEST, 3)(torch.ones(2, 5, 2 * FEWEST))
    assert logits.is_contiguous()
    assert logits.dtype == torch.float32


def test_weights_and_biases_begin_uniformly_within_one_over_the_root_of_the_inputs() -> None:
    (layer,) = Dense(DRAWS, (4, 2000)).layers
    for x in layer:
        for seed in x:
            torch.testing.assert_close(seed.aminmax(), (torch.tensor(-0.5), torch.tensor(0.5)), rtol=0, atol=0.005)
            assert abs(seed.mean()) < 0.05


def test_an_oblong_image_fills_as_many_rows_as_columns_allow() -> None:
    assert Nature(DRAWS, (1, 36, 44)).layers[-1][0].shape == (2, 64 * 1 * 2, 512)

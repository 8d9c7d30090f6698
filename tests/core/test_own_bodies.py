"""A body of one's own is refused if rows or seeds mix in it, if it is random, or if it plays other than it learns."""

from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from torch import Tensor, nn

from tricks import Config, InputError
from tricks.core.agent import Agent
from tricks.core.layers import dense
from tricks.core.nets import Dense, Layer, Nature
from tricks.core.spaces import Spaces

SEEDS, INPUTS, WIDTH = 3, 4, 6
Forward = Callable[["Own", Tensor], Tensor]


class Own(nn.Module):
    """A layer for each seed, and whatever `how` makes of it."""

    def __init__(self, how: Forward, inputs: int = INPUTS) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.how, self.width, self.layers = how, WIDTH, list[Layer]()
        self.weight = nn.Parameter(torch.randn(SEEDS, inputs, WIDTH, generator=generator))
        self.bias = nn.Parameter(torch.zeros(SEEDS, 1, WIDTH))

    def right(self, x: Tensor) -> Tensor:
        return torch.tanh(torch.baddbmm(self.bias, x, self.weight))

    def forward(self, x: Tensor) -> Tensor:
        return self.how(self, x)


def made(how: Forward, observation: gym.Space[Any] | None = None) -> Agent:
    spaces = Spaces("x", observation or Box(-1, 1, (INPUTS,)), Discrete(2))
    return Agent(spaces, Config(seeds=SEEDS), lambda generators, spaces: Own(how, spaces.features))


WRONG: dict[str, tuple[Forward, str]] = {
    "zeros for all": (lambda own, x: torch.zeros(*x.shape[:2], WIDTH), "no gradient reaches"),
    "a gradient that is cut": (lambda own, x: own.right(x).detach(), "no gradient reaches"),
    "batch norm": (lambda own, x: F.layer_norm(own.right(x).mT, x.shape[1:2]).mT, "mixes rows"),
    "less their mean": (lambda own, x: own.right(x) - own.right(x).mean(1, keepdim=True), "mixes rows"),
    "summed over time": (lambda own, x: own.right(x).cumsum(1), "mixes rows"),
    "rows in another order": (lambda own, x: own.right(x.sort(1).values), "mixes rows"),
    "rows in reverse": (lambda own, x: own.right(x).flip(1), "mixes rows"),
    "seeds in reverse": (lambda own, x: own.right(x).flip(0), "mixes seeds"),
    "the first seed's weights": (lambda own, x: torch.tanh(x @ own.weight[0]), "mixes seeds"),
    "a mean of weights": (lambda own, x: torch.tanh(x @ own.weight.mean(0)), "mixes seeds"),
    "the first seed's observations": (lambda own, x: own.right(x[:1].expand_as(x)), "mixes seeds"),
    "norm over seeds": (lambda own, x: own.right(x - x.mean(0)), "mixes seeds"),
    "an axis for another": (lambda own, x: own.right(x.transpose(0, 1).reshape(x.shape)), "mixes"),
    "dropout": (lambda own, x: F.dropout(own.right(x), 0.5), "second time"),
    "noise": (lambda own, x: own.right(x) + 0.1 * torch.randn(()), "second time"),
    "another way to play": (
        lambda own, x: own.right(x) * (2 - torch.is_grad_enabled()),
        "where gradients are computed",
    ),
    "a shape for one row": (
        lambda own, x: own.right(x)[..., : 5 + (len(x[0]) > 1)],
        r"maps observations \[3, 1, 4\] to \[3, 1, 5\]",
    ),
    "float64": (lambda own, x: own.right(x).double(), "must be float32, and are float64"),
    "weights for fewer features": (lambda own, x: dense(x[..., :3], [(own.weight, own.bias)], True), "fails on"),
    "one seed's rows": (lambda own, x: dense(x[:1], [(own.weight, own.bias)], True), "fails on"),
    "in place": (lambda own, x: own.right(x.mul_(2)), "changes the observations"),
    "no tensor": (lambda own, x: cast(Any, (own.right(x), None)), "fails on"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_body_that_is_wrong_is_refused_before_it_trains(name: str) -> None:
    how, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        made(how)


RIGHT: dict[str, Forward] = {
    "a layer": Own.right,
    "without parameters in use": lambda own, x: torch.cat([x, x], -1)[..., :WIDTH] + 0 * own.right(x),
    "norm over features": lambda own, x: F.layer_norm(own.right(x), (WIDTH,)),
    "seed after seed": lambda own, x: torch.stack([torch.tanh(y @ w) for y, w in zip(x, own.weight, strict=True)]),
    "an embedding": lambda own, x: own.weight.gather(1, x[..., :4].argmax(-1, keepdim=True).expand(-1, -1, WIDTH)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_body_that_is_right_is_taken_also_if_its_features_are_frozen(name: str) -> None:
    assert made(RIGHT[name]).policy_net.body.width == WIDTH
    spaces = Spaces("x", Box(-1, 1, (INPUTS,)), Discrete(2))
    Agent(spaces, Config(seeds=SEEDS), lambda generators, spaces: Own(RIGHT[name]).requires_grad_(False))


def test_our_own_bodies_are_right_by_the_same_rules() -> None:
    dense, images = Box(-9, 9, (4,)), Box(0, 255, (2, 36, 36), np.uint8)
    Agent(Spaces("x", dense, Discrete(2)), Config(seeds=2), lambda rngs, spaces: Dense(rngs, (4, 7, 5)))
    Agent(Spaces("x", images, Discrete(2)), Config(seeds=2), lambda rngs, spaces: Nature(rngs, spaces.shape))


@pytest.mark.parametrize(
    "space",
    [
        Discrete(5, start=2),
        MultiBinary(4),
        Box(-np.inf, np.inf, (2, 2)),
        Box(0, 3, (4,), np.int64),
        Dict({"a": Box(-1, 1, (2,)), "b": Discrete(3, start=1), "c": Box(0, 255, (3, 2), np.uint8)}),
    ],
    ids=str,
)
def test_it_is_tried_on_observations_that_the_space_allows(space: gym.Space[Any]) -> None:
    seen = list[Tensor]()

    def seeing(own: Own, x: Tensor) -> Tensor:
        seen.append(x)
        return own.right(x.float())

    made(seeing, space)
    spaces = Spaces("x", space, Discrete(2))
    assert all(x.shape[2:] == spaces.shape and x.dtype is spaces.dtype for x in seen)
    assert all(len(x.flatten(0, 1).unique(dim=0)) > 1 for x in seen if x.shape[1] > 1)


def test_trying_a_body_takes_no_random_numbers_of_anyone() -> None:
    before = torch.random.get_rng_state()
    space = Box(-1, 1, (INPUTS,), seed=3)
    spaces = Spaces("x", space, Discrete(2))
    Agent(spaces, Config(seeds=SEEDS), lambda generators, spaces: Own(Own.right))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert (space.sample() == Box(-1, 1, (INPUTS,), seed=3).sample()).all()

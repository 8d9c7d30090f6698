"""Nets with a seed axis against those of torch.nn, bodies of one's own, agents, their policies, and recurrence."""

from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gymnasium.spaces import Box, Dict, Discrete
from support.fixtures import refusal
from torch import Tensor, nn

from tricks import Agent, Config, Spaces
from tricks.action_mask import mask_logits
from tricks.core import layers
from tricks.core.layers import dense
from tricks.core.moments import Moments, ReturnStats
from tricks.core.nets import Dense, Head, Layer, Nature, Shallow, image_body, mlp
from tricks.core.policies import Categorical, DiagonalGaussian, noiseless
from tricks.core.sequences import Features
from tricks.envs.make import make_env
from tricks.fast import recurrence
from tricks.fast.passes import CACHED, FEWEST
from tricks.ppg import add_auxiliary_head_, auxiliary_net
from tricks.recurrent import Cell
from tricks.state_norm import ObsStats, add_obs_stats_


def generators(seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(seeds)]


def test_passes_of_a_few_rows_and_layers_of_torch_give_what_one_pass_gives() -> None:
    net, x = mlp(generators(2), (3, 8, 7, 6, 2)), torch.randn(2, 5, 3)
    layers = [each for weight, _ in net.layers for each in (nn.Linear(*weight.shape[1:]), nn.Tanh())]
    torch.testing.assert_close(net(x)[1], theirs(net, *layers[:-1])(x[1]))
    rectified = Dense(generators(2), (3, 8, 8), "relu")
    (w0, b0), (w1, b1) = rectified.layers
    expected = ((x @ w0 + b0).relu() @ w1 + b1).relu()
    torch.testing.assert_close(rectified(x), expected)
    found, wanted = (torch.autograd.grad(y.square().sum(), (w0, b0, w1, b1)) for y in (rectified(x), expected))
    torch.testing.assert_close(found, wanted)
    net = mlp([np.random.default_rng(0), np.random.default_rng(1)], (3, CACHED // 200, 2))  # 100 rows at a time
    x = torch.randn(2, 250, 3)
    with torch.no_grad():
        torch.testing.assert_close(net(x), net(x.clone().requires_grad_()), rtol=1e-4, atol=1e-5)
        assert torch.equal(net(x)[:, :100], net(x[:, :100]))
    torch.testing.assert_close(net(x).detach(), torch.cat([net(x[:, :100]), net(x[:, 100:])], 1).detach())


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
    small = Shallow(generators(2), (3, 10, 7), brightest=4)
    image = torch.randint(5, (2, 6, 3, 10, 7), dtype=torch.uint8)
    wanted = theirs(small, nn.Conv2d(3, 8, 3), relu, flat, nn.Linear(8 * 8 * 5, 64), relu)(image[1] / 4)
    torch.testing.assert_close(small(image)[1], wanted)


def test_images_too_small_get_shallow_with_their_brightness_or_are_refused() -> None:
    def body(low: int, high: int | np.ndarray, *shape: int) -> Any:
        space = gym.spaces.Box(low, high, shape, np.uint8)
        return image_body(generators(1), Spaces("x", space, gym.spaces.Discrete(2)).leaves[0])

    assert isinstance(body(0, 255, 4, 36, 36), Nature)
    assert [body(0, high, 2, 36, 35).brightest for high in (1, 255)] == [1, 255]
    assert isinstance(body(0, 255, 4, 35, 36), Shallow)
    assert body(0, np.arange(18, dtype=np.uint8).reshape(2, 3, 3), 2, 3, 3).brightest == 17
    dark = torch.zeros(1, 1, 2, 10, 10, dtype=torch.uint8)
    bright = dark + 255
    binary, gray = body(0, 1, 2, 10, 10), body(0, 255, 2, 10, 10)
    torch.testing.assert_close(binary(bright // 255), gray(bright))
    torch.testing.assert_close(binary(dark), gray(dark))
    assert Nature(generators(1), (1, 36, 36)).layers[-1][0].shape == (1, 64, 512)
    refusal("at least 36×36 pixels, not 36×35", Nature, generators(1), (1, 36, 35))
    assert Shallow(generators(1), (2, 3, 3), 255).layers[-1][0].shape == (1, 8, 64)
    refusal("at least 3×3 pixels, not 3×2", Shallow, generators(1), (1, 3, 2), 255)


DRAWS = [np.random.default_rng(0), np.random.default_rng(1)]


def test_weights_begin_uniformly_logits_lie_row_by_row_and_an_oblong_image_fills_as_many_rows_as_columns() -> None:
    with torch.no_grad():
        logits = Head(DRAWS, 2 * FEWEST, 3)(torch.ones(2, 5, 2 * FEWEST))
    assert logits.is_contiguous() and logits.dtype == torch.float32
    (layer,) = Dense(DRAWS, (4, 2000)).layers
    for x in layer:
        for seed in x:
            torch.testing.assert_close(seed.aminmax(), (torch.tensor(-0.5), torch.tensor(0.5)), rtol=0, atol=0.005)
            assert abs(seed.mean()) < 0.05
    assert Nature(DRAWS, (1, 36, 44)).layers[-1][0].shape == (2, 64 * 1 * 2, 512)


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


def made(how: Forward, observation: gym.Space[Any] | None = None, learns: bool = True) -> Agent:
    spaces = Spaces("x", observation or Box(-1, 1, (INPUTS,)), Discrete(2))
    return Agent(spaces, Config(seeds=SEEDS), lambda _, spaces: Own(how, spaces.features).requires_grad_(learns))


WRONG: dict[str, tuple[Forward, str]] = {
    "zeros for all": (lambda own, x: torch.zeros(*x.shape[:2], WIDTH), "no gradient reaches"),
    "batch norm": (lambda own, x: F.layer_norm(own.right(x).mT, x.shape[1:2]).mT, "mixes rows"),
    "the first seed's weights": (lambda own, x: torch.tanh(x @ own.weight[0]), "mixes seeds"),
    "the first seed's observations": (lambda own, x: own.right(x[:1].expand_as(x)), "mixes seeds"),
    "an axis for another": (lambda own, x: own.right(x.transpose(0, 1).reshape(x.shape)), "mixes"),
    "dropout": (lambda own, x: F.dropout(own.right(x), 0.5), "second time"),
    "another way to play": (lambda own, x: own.right(x) * (2 - torch.is_grad_enabled()), "gradients are computed"),
    "a shape for one row": (
        lambda own, x: own.right(x)[..., : 5 + (len(x[0]) > 1)],
        r"maps observations \[3, 1, 4\] to \[3, 1, 5\]",
    ),
    "float64": (lambda own, x: own.right(x).double(), "must be float32, and are float64"),
    "weights for fewer features": (lambda own, x: dense(x[..., :3], [(own.weight, own.bias)], True), "fails on"),
    "in place": (lambda own, x: own.right(x.mul_(2)), "changes the observations"),
    "no tensor": (lambda own, x: cast(Any, (own.right(x), None)), "fails on"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_body_that_is_wrong_is_refused_before_it_trains(name: str) -> None:
    how, said = WRONG[name]
    refusal(said, made, how)


RIGHT: dict[str, Forward] = {
    "a layer": Own.right,
    "without parameters in use": lambda own, x: torch.cat([x, x], -1)[..., :WIDTH] + 0 * own.right(x),
    "norm over features": lambda own, x: F.layer_norm(own.right(x), (WIDTH,)),
    "seed after seed": lambda own, x: torch.stack([torch.tanh(y @ w) for y, w in zip(x, own.weight, strict=True)]),
    "an embedding": lambda own, x: own.weight.gather(1, x[..., :4].argmax(-1, keepdim=True).expand(-1, -1, WIDTH)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_body_that_is_right_is_taken_also_if_its_features_are_frozen(name: str) -> None:
    for learns in (True, False):
        assert made(RIGHT[name], learns=learns).policy_net.body.width == WIDTH


def test_our_own_bodies_are_right_by_the_same_rules_and_trying_them_takes_no_random_numbers() -> None:
    dense, images = Box(-9, 9, (4,)), Box(0, 255, (2, 36, 36), np.uint8)
    Agent(Spaces("x", dense, Discrete(2)), Config(seeds=2), lambda rngs, spaces: Dense(rngs, (4, 7, 5)))
    Agent(Spaces("x", images, Discrete(2)), Config(seeds=2), lambda rngs, spaces: Nature(rngs, spaces.shape))
    before = torch.random.get_rng_state()
    space = Box(-1, 1, (INPUTS,), seed=3)
    made(Own.right, space)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert (space.sample() == Box(-1, 1, (INPUTS,), seed=3).sample()).all()


@pytest.mark.parametrize(
    "space",
    [
        Discrete(5, start=2),
        Box(0, 3, (4,), np.int64),
        Box(0, 9, (1, 8, 8), np.uint8),
        Dict({"a": Box(-1, 1, (2,)), "b": Discrete(3, start=1), "c": Box(0, 255, (3, 2), np.uint8)}),
    ],
    ids=str,
)
def test_it_is_tried_on_observations_that_the_space_allows(space: gym.Space[Any]) -> None:
    seen = list[Tensor]()

    def seeing(own: Own, x: Tensor) -> Tensor:
        seen.append(x)
        return own.right(x.flatten(2).float())

    made(seeing, space)
    spaces = Spaces("x", space, Discrete(2))
    assert all(x.shape[2:] == spaces.shape and x.dtype is spaces.dtype for x in seen)
    assert all(len(x.flatten(0, 1).unique(dim=0)) > 1 for x in seen if x.shape[1] > 1)


ACTIONS = gym.spaces.Discrete(3)
VECTORS = Spaces("x", gym.spaces.Box(-1, 1, (4,)), ACTIONS, tasks=2)
IMAGES = Spaces("x", gym.spaces.Box(0, 255, (1, 8, 8), np.uint8), ACTIONS)
CONFIG, OBS = Config(seeds=2, hidden=(8,)), torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))


def looking(seasoned: bool = False) -> Agent:
    """Agents that standardize what they see, of which the second alone has seen something, or neither."""
    agent, third = Agent(VECTORS, CONFIG), torch.full((2, 4), 1 / 3, dtype=torch.float64)
    add_obs_stats_(agent)
    if seasoned:
        stats = cast(ObsStats, agent.obs_stats)
        stats.moments = Moments(torch.tensor([[0.0], [7.0]]).double(), third, 3 * third)
        agent.return_stats = ReturnStats(third[:, :2], 2 * third[:, :2])
    return agent


def test_heads_read_what_their_body_has_seen() -> None:
    agent = looking(seasoned=True)
    kept = Features(torch.full_like(OBS, torch.nan), agent.features(OBS).hidden)
    assert torch.equal(agent.policy(kept), agent.policy(OBS))
    assert agent.value(kept).isnan().all()  # the value net has a body of its own


@pytest.mark.parametrize("k", [0, 1, -1, -2])
def test_one_of_a_stack_sees_with_its_own_moments(k: int) -> None:
    agent = looking(seasoned=True)
    assert agent[k].seeds == (agent.seeds[k],)
    torch.testing.assert_close(agent[k].policy(OBS[[k]]), agent.policy(OBS)[[k]])


def test_values_and_statistics_have_the_digits_of_float64_and_images_are_seen_as_they_are() -> None:
    agent = looking()
    add_auxiliary_head_(agent)
    moments = cast(ObsStats, agent.obs_stats).moments
    numbers = agent.value(OBS), agent.read(auxiliary_net(agent), OBS), *agent.return_stats[:2], *moments
    assert {x.dtype for x in numbers} == {torch.float64}
    assert agent.policy(OBS).dtype == torch.float32
    agent, obs = Agent(IMAGES, CONFIG), torch.zeros(2, 5, 1, 8, 8, dtype=torch.uint8)
    assert agent.standardized(obs) is obs and agent.policy(obs).shape == (2, 5, 3)


def test_policies_agree_with_torch_distributions_and_gumbel_noise_samples_the_softmax() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0])
    noise = torch.from_numpy(Categorical.noise(np.random.default_rng(0), (40_000, 3)))
    counts = Categorical.sample(logits, noise).bincount(minlength=3) / 40_000
    torch.testing.assert_close(counts, logits.softmax(-1), atol=0.01, rtol=0)
    generator, D = torch.Generator().manual_seed(0), torch.distributions
    logits, action = torch.randn(5, 4, generator=generator), torch.tensor([0, 3, 1, 2, 2])
    wide, box = torch.randn(5, 6, generator=generator), torch.randn(5, 3, generator=generator)
    legal, (mean, log_std) = torch.tensor([True, False, True, True]), wide.chunk(2, -1)
    masked = Categorical.kl(mask_logits(logits, legal), mask_logits(logits.flip(0), legal))  # counts legal actions only
    torch.testing.assert_close(masked, Categorical.kl(logits[:, legal], logits.flip(0)[:, legal]))
    for family, given, taken, theirs, other in (
        (Categorical, logits, action, D.Categorical(logits=logits), D.Categorical(logits=logits.flip(0))),
        (DiagonalGaussian, wide, box, gaussian(wide), gaussian(wide.flip(0))),
    ):
        torch.testing.assert_close(family.log_prob(given, taken), theirs.log_prob(taken))
        torch.testing.assert_close(family.log_prob(given[0], taken[0]), theirs.log_prob(taken)[0])
        torch.testing.assert_close(family.entropy(given), theirs.entropy())
        torch.testing.assert_close(family.kl(given.flip(0), given), D.kl_divergence(other, theirs))
    torch.testing.assert_close(DiagonalGaussian.sample(wide, box), mean + log_std.exp() * box)
    torch.testing.assert_close(DiagonalGaussian.std(wide), log_std.exp().mean(-1))


def gaussian(logits: torch.Tensor) -> torch.distributions.Independent:
    mean, log_std = logits.chunk(2, -1)
    return torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)


def test_a_greedy_policy_takes_the_mode_and_a_gaussian_starts_with_its_seed_s_deviation() -> None:
    logits = torch.randn(2, 5, 6)
    for family, mode in ((Categorical, logits.max(-1).indices), (DiagonalGaussian, logits[..., :3])):
        quiet = noiseless(family)
        noise = torch.from_numpy(quiet.noise(np.random.default_rng(0), (2, 5, 6 if family is Categorical else 3)))
        assert torch.equal(family.mode(logits), mode) and torch.equal(quiet.sample(logits, noise), mode)
    config = Config(env="Pendulum-v1", seeds=2, lanes=1, log_std_init=(-0.5, 0.0))
    log_std = Agent(make_env(config).spaces, config).policy(torch.zeros(2, 3, 3)).chunk(2, -1)[1]
    torch.testing.assert_close(log_std, torch.tensor([-0.5, 0.0]).view(2, 1, 1).expand(2, 3, 1))


KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
S, L, H = 3, 4, 5


def given(kind: str, steps: int, features: int = 6) -> tuple[Cell, Tensor, Tensor, Tensor]:
    """A cell, what features contribute to its gates, where episodes go on, and a state, all in float64."""
    rng = torch.Generator().manual_seed(steps)
    cell = Cell(range(S), 0, features, Config(recurrent_cell=kind, recurrent_size=H)).double()
    rows = torch.randn(S, steps, L, cell.onward.shape[-1], generator=rng, dtype=torch.float64)
    goes_on = torch.rand(S, steps, L, 1, generator=rng) > 0.2  # with ends in the first and the last row, too
    goes_on[0, 0], goes_on[0, -1] = False, False
    state = torch.randn(S, L, cell.state_size, generator=rng, dtype=torch.float64)
    return cell, rows.requires_grad_(), goes_on, state.requires_grad_()


@KINDS
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.filterwarnings("error:An output with one or more elements was resized")
def test_it_equals_the_plain_formula(kind: str, steps: int) -> None:
    cell, rows, goes_on, state = given(kind, steps)
    before = rows.detach().clone()
    found, plain = (form(cell, rows, goes_on, state) for form in (recurrence.over_time, layers.over_time))
    for mine, right in zip(found, plain, strict=True):
        torch.testing.assert_close(mine, right)
    weights = [torch.randn_like(x) for x in plain]
    gradients = [torch.autograd.grad([h, last], [rows, cell.onward, state], weights) for h, last in (found, plain)]
    for mine, right in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, right)
    assert rows.equal(before)  # nothing is written into what it was given

"""Several choices at once are independent: each is a Categorical, and log-probabilities and entropies add."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete
from torch import Tensor, distributions

from tricks import Config, InputError
from tricks.action_mask import mask_logits
from tricks.core.agent import Agent
from tricks.core.components import multi_categorical
from tricks.core.policies import Categorical
from tricks.core.spaces import Spaces

BOX = gym.spaces.Box(-1, 1, (2,))
SIZES = pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2, 2), (5,), (1, 3)], ids=str)


def drawn(sizes: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(2, 7, sum(sizes), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def truths(logits: Tensor, sizes: tuple[int, ...]) -> list[distributions.Categorical]:
    return [distributions.Categorical(logits=part) for part in logits.split(sizes, -1)]


@SIZES
def test_log_probabilities_entropies_and_divergences_are_sums_over_components(sizes: tuple[int, ...]) -> None:
    family, logits, other = multi_categorical(sizes), drawn(sizes), drawn(sizes, 1)
    action = torch.stack([truth.sample() for truth in truths(logits, sizes)], -1)  # [S, B, K]
    each = list(zip(truths(logits, sizes), truths(other, sizes), action.unbind(-1), strict=True))
    torch.testing.assert_close(family.log_prob(logits, action), sum(p.log_prob(a) for p, _, a in each))
    torch.testing.assert_close(family.entropy(logits), sum(p.entropy() for p, _, _ in each))
    apart = sum(distributions.kl_divergence(p, q) for p, q, _ in each)
    torch.testing.assert_close(family.kl(logits, other), apart)
    modes = torch.stack([p.logits.argmax(-1) for p, _, _ in each], -1)
    assert family.mode(logits).equal(modes)
    sure = family.deterministic(logits)
    assert family.sample(sure, torch.full_like(sure, 99.0)).equal(modes)
    assert family.log_prob(sure, modes).abs().max() == 0


def test_one_component_is_a_categorical_to_the_last_bit() -> None:
    logits, noise = drawn((5,)), drawn((5,), 1)
    one, action = multi_categorical((5,)), Categorical.sample(logits, noise)
    assert one.sample(logits, noise).squeeze(-1).equal(action)
    assert one.log_prob(logits, action.unsqueeze(-1)).equal(Categorical.log_prob(logits, action))
    assert one.entropy(logits).equal(Categorical.entropy(logits))


@pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 2)], ids=str)
def test_masked_choices_have_probability_zero_and_gradients_stay_finite(sizes: tuple[int, ...]) -> None:
    family, legal = multi_categorical(sizes), torch.ones(sum(sizes), dtype=torch.bool)
    legal[[0, sizes[0] + 1]] = False  # one choice of each of the first two components
    logits = drawn(sizes).requires_grad_()
    masked, action = mask_logits(logits, legal), torch.zeros(2, 7, len(sizes), dtype=torch.int64)
    assert family.log_prob(masked, action).exp().max() == 0
    action[..., :2] = 1
    assert family.log_prob(masked, action).exp().max() == 0
    noise = torch.full_like(logits, -9.0).masked_fill(~legal, 1e6).detach()
    taken = family.sample(masked, noise)
    assert (taken[..., 0] != 0).all()
    assert (taken[..., 1] != 1).all()
    left = [part[..., keep] for part, keep in zip(logits.split(sizes, -1), legal.split(sizes), strict=True)]
    entropy = family.entropy(masked)
    torch.testing.assert_close(entropy, sum(distributions.Categorical(logits=part).entropy() for part in left))
    (gradient,) = torch.autograd.grad((entropy + family.log_prob(masked, taken)).sum(), logits)
    assert gradient.isfinite().all()
    assert gradient[..., ~legal].abs().max() == 0


@pytest.mark.parametrize("low", [-500.0, -1e6, -1e20])
def test_what_a_smaller_component_lacks_is_never_chosen_however_low_its_logits_are(low: float) -> None:
    family, logits = multi_categorical((1, 3)), torch.full((1, 1, 4), low, dtype=torch.float64)
    action = torch.zeros(1, 1, 2, dtype=torch.int64)
    assert family.log_prob(logits, action).item() == pytest.approx(-np.log(3))
    assert family.entropy(logits).item() == pytest.approx(np.log(3))
    assert family.sample(logits, torch.zeros_like(logits)).tolist() == [[[0, 0]]]
    assert family.mode(logits).tolist() == [[[0, 0]]]


def test_actions_come_in_the_environment_s_own_format() -> None:
    square = Spaces("x", BOX, MultiDiscrete(np.array([[2, 3], [4, 1]]), start=np.array([[0, 5], [-1, 0]])))
    assert (square.actions, square.components) == (10, (2, 3, 4, 1))
    action = square.decode(torch.tensor([[[1, 2, 3, 0]]]))
    assert action.tolist() == [[[[1, 7], [2, 0]]]]
    assert square.action.contains(action[0, 0])
    binary = Spaces("x", BOX, MultiBinary([2, 2]))
    assert (binary.actions, binary.components) == (8, (2, 2, 2, 2))
    action = binary.decode(torch.tensor([[1, 0, 1, 1]]))
    assert binary.action.contains(action[0])
    assert binary.clip_share(torch.tensor([[1, 0, 1, 1]])) is None
    legal = torch.tensor([[1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]) > 0  # each component needs a choice
    assert Spaces("x", BOX, MultiDiscrete([2, 3])).possible(legal).tolist() == [True, False, False]


def test_an_agent_acts_with_flat_masks_and_with_a_tuple_of_one_for_each_component() -> None:
    agent = Agent(Spaces("x", BOX, MultiDiscrete([2, 3], start=[0, 1])), Config(seeds=1, hidden=(4,)))
    flat = np.array([0, 1, 1, 0, 0], bool)
    for legal in (flat, (flat[:2], flat[2:]), [flat[:2], flat[2:]]):
        for rng in (None, np.random.default_rng(0)):
            assert agent.act(np.zeros(2), legal, rng).tolist() == [1, 1]
    rows = np.stack([flat, ~flat])
    assert agent.act(np.zeros((2, 2)), (rows[:, :2], rows[:, 2:])).tolist()[0] == [1, 1]
    with pytest.raises(InputError, match="legal leaves no action"):
        agent.act(np.zeros(2), np.array([1, 1, 0, 0, 0]))
    with pytest.raises(InputError, match=r"legal must be \[5\], one entry for each action, not \[2\]"):
        agent.act(np.zeros(2), flat[:2])


@pytest.mark.parametrize("space", [gym.spaces.Dict(a=Discrete(2)), gym.spaces.Tuple([Discrete(2)]), gym.spaces.Text(3)])
def test_other_actions_are_refused_with_what_to_do(space: gym.Space) -> None:
    with pytest.raises(InputError, match=r"^x has a \w+ action space; .*gymnasium\.wrappers\.TransformAction$"):
        Spaces("x", BOX, space)

"""Single kernels, run as Python, do what they say, also at the ties, overflows, and bounds that runs seldom meet."""

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("numba")
from support.interpreted import BLOCK, interpreted

from tricks.advantage_norm import standardize
from tricks.core.adam import Adam
from tricks.core.layers import dense
from tricks.fast import compiled_layers as layers
from tricks.fast import compiled_rules, rows
from tricks.fast.dispatch import plain
from tricks.fused import compiled_learning, compiled_playing
from tricks.fused import compiled_losses as losses
from tricks.fused import compiled_nets as nets
from tricks.fused.losses import Slope, move
from tricks.fused.minibatch import Kernels, averages_of, limits_of
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.value_clip import clipped_error
from tricks.worlds import cartpole

single, LARGEST = np.float32, float(layers.LARGEST)
alike = partial(torch.testing.assert_close, equal_nan=True)


def test_tanh_is_near_and_never_beyond_1() -> None:
    x = np.linspace(-20, 20, 4001).astype(single)
    found = np.array([layers.tanh.py_func(each) for each in x])
    assert np.abs(found).max() == 1
    np.testing.assert_allclose(found, np.tanh(x.astype(float)), rtol=0, atol=3e-7)


@pytest.mark.parametrize("odd", [0.0, 1.0, LARGEST, -LARGEST, np.inf, -np.inf, np.nan])
def test_whether_all_are_finite_or_zero_or_one_was_infinite(odd: float) -> None:
    with interpreted():
        for place in range(4):
            x = np.array([[0, -0.0], [0, 0]], single)
            x.flat[place] = odd
            assert layers.finite(x.ctypes.data, 2, 2) == np.isfinite(odd)
            assert layers.silent(x.ctypes.data, 2, 2) == (odd == 0)
            assert layers.bend(x.ctypes.data, 2, 2, True) == np.isinf(odd)


@pytest.mark.parametrize("factors", [*product([2.0, 1.0], repeat=2)])
@pytest.mark.parametrize("signs", [*product([1, -1], repeat=2)])
def test_products_that_overflow_both_ways_give_nan(signs: Sequence[int], factors: Sequence[float]) -> None:
    x, h = np.array([[0.1, 0.1], factors], single), np.zeros((2, 1), single)
    weight, nan = np.array(signs, single).reshape(2, 1) * layers.LARGEST, [False, min(factors) == 2 and sum(signs) == 0]
    with interpreted():
        layers.mend(x.ctypes.data, weight.ctypes.data, h.ctypes.data, 2, 2, 1)
        layer = torch.from_numpy(weight).unsqueeze(0), torch.zeros(1, 1, 1)
        found = dense(torch.from_numpy(x).unsqueeze(0), [layer], False)
    assert np.isnan(h[:, 0]).tolist() == found.isnan().flatten().tolist() == nan


def test_rows_whose_gradient_is_0_add_what_they_add_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "empty_like", partial(torch.full_like, fill_value=torch.nan))
    for seed in range(150):
        rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        sizes = rng.choice([[2, 4, 1], [rng.randint(1, 4) for _ in range(rng.randint(2, 3))]])
        tanh = rng.random() < 0.4
        normal = partial(torch.randn, generator=generator)
        given = [normal(2, 3 * BLOCK, sizes[0])]
        given += [normal(2, *shape) for a, b in pairwise(sizes) for shape in ((a, b), (1, b))]
        if rng.random() < 0.5:
            given[-2].abs_().neg_()  # so that ∞ is 0 one layer on
        odd = given[0][:, :BLOCK] if rng.random() < 0.5 else rng.choice(given[1:])
        odd[rng.randrange(2), -1, rng.randrange(odd.shape[2])] = rng.choice([1, np.inf, -np.inf, LARGEST, -LARGEST])
        grad = torch.zeros(2, 3 * BLOCK, sizes[-1])  # of the first block, and of the second but for its end
        grad[:, 2 * BLOCK - 1, -1], grad[:, 2 * BLOCK :] = 1, normal(2, BLOCK, sizes[-1])
        wanted = given[rng.randrange(2) :]
        with plain():
            theirs = gradients(given, wanted, grad, tanh)
        with interpreted():
            alike(gradients(given, wanted, grad, tanh), theirs, rtol=1e-4, atol=1e-4)


def gradients(given: list[Tensor], wanted: list[Tensor], grad: Tensor, tanh: bool) -> list[Tensor]:
    """Those of layers, from that of their last features; what is not finite is NaN."""
    x, *flat = given
    for each in given:
        each.requires_grad_(any(each is other for other in wanted))
    out = dense(x, [*zip(flat[::2], flat[1::2], strict=True)], tanh)
    return [torch.where(g.isfinite(), g, torch.nan) for g in torch.autograd.grad(out, wanted, grad)]


@pytest.mark.parametrize(("action", "known"), [(-1, False), (0, True), (2, True), (3, False)])
def test_a_form_is_only_for_actions_that_there_are(action: int, known: bool) -> None:
    with interpreted():
        for place in range(2):
            actions = torch.ones(2, dtype=torch.int64)
            actions[place] = action
            assert (rows.log_prob(torch.zeros(2, 3), actions) is not None) == known


def adam(limit: float | None = None) -> Adam:
    made = Adam([torch.zeros(4, 2)], (0.1, 1e-8, 1e-8, 1e-8))
    if limit is not None:
        made.limit = partial(shorten, max_norm=limit)
    return made


def kernels(mine: Adam) -> Kernels:
    """Those that know this optimizer, and nothing else."""
    made = Kernels.__new__(Kernels)
    vars(made).update(code=compiled_learning, averages={mine: (averages_of(mine), limits_of(mine))})
    return made


GRADIENTS = torch.tensor([[[1.0, -2.0]] * 4, [[1.0, np.nan], [3.0, 4.0], [np.inf, 1.0], [1.0, -np.inf]]])
MOVING, RATE = torch.tensor([[True] * 4, [True, False, True, True]]), torch.tensor([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("limit", [None, 1e-6, 1.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_shortened_steps_of_adam(limit: float | None, scale: float) -> None:
    theirs, mine = adam(limit), adam(limit)
    with interpreted():
        for gradient, moving in zip(scale * GRADIENTS, MOVING, strict=True):
            norm = gradient.norm(dim=1)
            short = theirs.limit(gradient, norm) if theirs.limit else gradient
            with plain():
                theirs.step(short, RATE, moving & norm.isfinite())
            alike(move(mine, Slope(kernels(mine), gradient.numpy()), RATE, moving), norm)
            for name in ("m", "v", "t", "change"):
                alike(getattr(mine, name), getattr(theirs, name), atol=1e-20, rtol=1e-5)
            alike(mine.parameters, theirs.parameters)


def test_an_episode_of_cartpole_goes_on_at_its_limits() -> None:
    ends = torch.tensor([2.4, np.radians(12)], dtype=torch.float32)
    state = torch.zeros(12, 4)
    for k, sign in enumerate((1, -1)):
        for j, limit in enumerate(ends):
            for n, beyond in enumerate((sign * 9.0, 0.0, -sign * 9.0)):
                state[6 * k + 3 * j + n, 2 * j] = (
                    torch.nextafter(sign * limit, torch.tensor(beyond)) if beyond else sign * limit
                )
    action = torch.ones(12, dtype=torch.int64)
    with plain():
        theirs = cartpole.dynamics(state, action, torch.empty(12, 0))
    ended = np.empty(12, bool)
    with interpreted():
        assert compiled_rules.cartpole(state.numpy(), action.numpy(), np.empty((12, 4), single), ended)
    assert ended.tolist() == theirs[2].tolist() == [True, False, False] * 4


def test_an_episode_of_acrobot_goes_on_at_its_height(monkeypatch: pytest.MonkeyPatch) -> None:
    heights = iter(np.array([-0.5, -0.5, -0.5, -0.6, -0.5, -0.4], single))
    state, ended = np.zeros((3, 4), single), np.empty(3, bool)
    with interpreted():
        monkeypatch.setattr(compiled_rules, "accelerations", lambda *_: (single(0), single(0)))
        monkeypatch.setattr(compiled_rules, "np", SimpleNamespace(cos=lambda _: next(heights), rint=np.rint))
        compiled_rules.acrobot(state, np.ones(3, int), state.copy(), np.empty(3), ended)
    assert ended.tolist() == [False, True, False]


def test_the_first_of_the_largest_is_chosen() -> None:
    logits, action = np.array([[1, 2, 2], [2, 1, 2], [2, np.nan, np.nan]], single), np.empty(3, np.int64)
    with interpreted():
        compiled_playing.choose(logits, np.zeros_like(logits), action)
    assert action.tolist() == [1, 0, 1]


def test_beyond_the_clip_the_smallest_advantage_has_no_gradient_either() -> None:
    on = np.array([flag in ("reuse", "clip", "dual_clip") for flag in losses.FLAGS])
    numbers = np.array([{"clip_range": 0.2, "dual_clip_limit": 1.2}.get(name, 0) for name in losses.NUMBERS])
    given = single(0), np.log(single(2)), single(-1e-45), on, numbers, np.zeros(len(losses.FOUND))
    with np.errstate(all="ignore"):
        assert losses.objective.py_func(*given) == (single(-1e-45), 0)


def test_sums_too_large_for_float32() -> None:
    with np.errstate(all="ignore"):
        found = [losses.single.py_func(x) for x in (1e39, -1e39, 0.1)]
    assert found == [np.inf, -np.inf, 0.1]


@pytest.mark.parametrize("scale", [1e-8, 1.0])
def test_standardized_advantages(scale: float) -> None:
    advantage, valid = scale * torch.tensor([[1.0, -2.0, 9.0, 4.0]]), torch.tensor([[True, True, False, True]])
    with interpreted():
        found = losses.standardize(advantage[0].numpy(), valid[0].numpy(), 3)
    alike(torch.from_numpy(found)[valid[0]], standardize(advantage, valid)[valid])


@pytest.mark.parametrize("huber", [False, True])
def test_errors_of_values_have_the_gradients_of_pytorch(huber: bool) -> None:
    numbers = [-1, -0.5, -0.25, 0, 0.25, 0.5, 1, np.nan]
    value, old, target = torch.tensor([*product(numbers, repeat=3)], dtype=torch.float64).T.unsqueeze(1).unbind()
    theirs = clipped_error(value.requires_grad_(), old, target, 0.5)
    theirs = linear_beyond(theirs, 0.5) if huber else theirs
    slope = torch.autograd.grad(theirs.sum(), value)[0]
    on = np.array([flag in ("value_clip", *(["huber"] if huber else [])) for flag in losses.FLAGS])
    given = torch.cat([value, old, target]).detach().T.numpy()
    mine = torch.tensor([losses.error.py_func(v, o, t, on, np.full(len(losses.NUMBERS), 0.5)) for v, o, t in given]).T
    alike(mine, torch.cat([theirs.detach(), slope]))


@pytest.mark.parametrize("sizes", [(3, 2), (2, 24, 1), (2, 20, 48), (3, 4, 9, 2), (3, 9, 2, 1)])
def test_a_net_has_the_gradients_of_pytorch_and_stays_within_its_room(sizes: tuple[int, ...]) -> None:
    normal = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    parts = [
        [normal(*shape).requires_grad_() for shape in pairwise(sizes)],
        [normal(size).requires_grad_() for size in sizes[1:]],
    ]
    parameters, x, g = [*parts[0], *parts[1]], normal(BLOCK, sizes[0]), normal(BLOCK, sizes[-1])
    starts = np.cumsum([0, *(p.numel() for p in parameters)])
    gradient, y = np.zeros((1, starts[-1]), single), np.empty((BLOCK, sizes[-1]), single)
    net = np.array([p.data_ptr() for p in parameters] + starts[:-1].tolist()).reshape(4, -1)
    with interpreted():
        count = len(nets.room_for(np.array(sizes)))
        room = np.full(2 * count, 7, single)
        one = nets.net_of_seed(0, net, np.array(sizes), gradient, room[:count])
        nets.forward(x.data_ptr(), one, y.ctypes.data, BLOCK, True)
        nets.backward(g.data_ptr(), x.data_ptr(), one, BLOCK, True)
        nets.finish(one, g.sum(0).numpy())
    assert (room[count:] == 7).all()
    h = x
    for weight, bias in zip(parts[0][:-1], parts[1][:-1], strict=True):
        h = (h @ weight + bias).tanh()
    out = h @ parts[0][-1]
    alike(torch.from_numpy(y), out.detach())
    theirs = torch.autograd.grad(out + parts[1][-1], parameters, g)
    alike(torch.from_numpy(gradient[0]), torch.cat([each.flatten() for each in theirs]), rtol=1e-4, atol=1e-5)


def test_a_pendulum_never_ends() -> None:
    state, ended = np.zeros((2, 2), single), np.ones(2, bool)
    with interpreted():
        compiled_playing.move(
            compiled_playing.PENDULUM, state, np.zeros(2, int), np.zeros(2, single), state.copy(), np.zeros(2), ended
        )
    assert not ended.any()

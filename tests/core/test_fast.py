"""What numba compiles: each function equals its plain formula, with its gradient; no seed's bits depend on others."""

import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tricks.core.adam import Adam
from tricks.core.nets import Dense, Head
from tricks.core.policies import Categorical
from tricks.core.reductions import mean
from tricks.core.returns import discounted_sum
from tricks.fast.dispatch import compiled, loaded, plain
from tricks.worlds import CLASSIC

pytest.importorskip("numba")
SIZES = [(1, 8, (4, 64, 64), 2), (3, 70, (5, 10, 33), 1), (2, 5, (1, 1), 3), (2, 40, (100, 130), 18), (2, 0, (3, 5), 2)]
SIZES += [(2, 4, (3,), 2)]  # a head alone


@pytest.fixture(autouse=True)
def same_numbers() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def both(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """What it computes, and what it computes from plain formulas."""
    with plain():
        formula = compute()
    return compute(), formula


def assert_same(compute: Callable[[], Any], rtol: float = 1e-5, atol: float = 1e-5) -> None:
    for mine, formula in zip(*both(compute), strict=True):
        torch.testing.assert_close(mine, formula, rtol=rtol, atol=atol, equal_nan=True)


def net(seeds: Iterable[int], sizes: tuple[int, ...], outputs: int, activation: str = "tanh") -> tuple[Dense, Head]:
    rngs = [np.random.default_rng(seed) for seed in seeds]
    return Dense(rngs, sizes, activation), Head(rngs, sizes[-1], outputs, exact=outputs == 1)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("seeds", "rows", "sizes", "outputs"), SIZES)
def test_layers_and_head_equal_the_formula(
    seeds: int, rows: int, sizes: tuple[int, ...], outputs: int, activation: str
) -> None:
    body, head = net(range(seeds), sizes, outputs, activation)
    x, grad = torch.randn(seeds, rows, sizes[0], requires_grad=True), torch.randn(seeds, rows, outputs)
    grad[:, rows // 3 :] = 0  # filler rows

    def compute() -> list[Tensor]:
        y = head(body(x))
        return [y, *torch.autograd.grad(y, [x, *body.parameters(), *head.parameters()], grad.to(y.dtype))]

    assert_same(compute)
    with torch.no_grad():
        played = head(body(x))
    assert torch.equal(played, head(body(x)))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("odd", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_stays_so(odd: float, activation: str) -> None:
    body, head = net(range(2), (3, 4), 2, activation)
    x = torch.randn(2, 6, 3)
    x[1, 2, 0] = odd

    def compute() -> list[Tensor]:
        y = head(body(x))
        return [y.isfinite(), *(g.isfinite() for g in torch.autograd.grad(y.sum(), [*body.parameters()]))]

    assert_same(compute)


def test_a_seed_s_bits_do_not_depend_on_the_stack_nor_a_row_s_on_the_batch() -> None:
    x, grad = torch.randn(5, 75, 7), torch.randn(5, 75, 3)

    def compute(seeds: Sequence[int], rows: int) -> list[Tensor]:
        body, head = net(seeds, (7, 64, 20), 3)
        y = head(body(x[seeds, :rows]))
        return [y, *torch.autograd.grad(y, [*body.parameters(), *head.parameters()], grad[seeds, :rows])]

    whole = compute(range(5), 75)
    assert torch.equal(compute(range(5), 33)[0], whole[0][:, :33])
    for alone, stacked in zip(compute([3], 75), whole, strict=True):
        assert torch.equal(alone, stacked[3:4])


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_mean_equals_the_formula_and_does_not_see_filler(kind: torch.dtype) -> None:
    x, valid = torch.randn(3, 50, dtype=kind, requires_grad=True), torch.rand(3, 50) > 0.3
    valid[2] = False

    def compute() -> list[Tensor]:
        found = mean(x, valid)
        return [found, *torch.autograd.grad(found, [x], torch.arange(3.0, dtype=kind))]

    assert_same(compute, rtol=1e-6, atol=1e-7)
    longer, more = torch.cat([x, torch.randn(3, 7, dtype=kind)], 1), torch.cat([valid, torch.zeros(3, 7) > 0], 1)
    assert torch.equal(mean(longer, more), mean(x, valid))


@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 3), (0,)])
def test_a_softmax_policy_equals_the_formula(shape: tuple[int, ...]) -> None:
    logits = torch.randn(*shape, 5)
    logits.view(-1, 5)[::3, 1] = -1e8  # what a mask makes of an illegal action
    logits.requires_grad_()
    action, weight = torch.randint(5, shape), torch.randn(shape)

    def compute() -> list[Tensor]:
        found = Categorical.log_prob(logits, action), Categorical.entropy(logits)
        return [*found, *(torch.autograd.grad(each, [logits], weight)[0] for each in found)]

    assert_same(compute, rtol=1e-5, atol=1e-6)


def test_a_policy_whose_actions_are_all_illegal_is_uniform() -> None:
    logits = torch.full((2, 5), -1e30)
    assert_same(lambda: [Categorical.entropy(logits), Categorical.log_prob(logits, torch.tensor([0, 4]))])


@pytest.mark.parametrize("eps", [1e-5, (1e-5, 1e-3, 1e-8)])
def test_adam_equals_the_formula(eps: Any) -> None:
    steps = [(torch.randn(3, 6), torch.rand(3) > 0.3) for _ in range(5)]
    steps[2][0][1, 2:5] = torch.tensor([torch.nan, torch.inf, -torch.inf])

    def compute() -> list[Tensor]:
        weights = torch.zeros(3, 2, 3)
        adam = Adam([weights], eps)
        for gradient, moving in steps:
            adam.step(gradient, torch.tensor([0.1, 0.01, 0.2]), moving)
        return [weights, adam.v, adam.t, adam.change]

    assert_same(compute)


@pytest.mark.parametrize("id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
def test_the_rules_of_a_world_equal_the_formulas(id: str) -> None:
    world = CLASSIC[id]
    features = world.reset_chances
    state = 2 * torch.randn(3, 200, features)
    action = 3 * torch.randn(3, 200, 1) if id == "Pendulum-v1" else torch.randint(2 + (id == "Acrobot-v1"), (3, 200))
    if action.is_floating_point():
        action[0, 0] = torch.nan
    assert_same(lambda: world.dynamics(state, action, torch.empty(3, 200, 0)))
    assert_same(lambda: world.dynamics(state.mT.contiguous().mT, action, torch.empty(3, 200, 0)))


def test_compiled_functions_are_for_contiguous_float32_on_a_cpu() -> None:
    x = torch.randn(2, 3)
    assert compiled("compiled_rows", x) is loaded("compiled_rows")
    assert [compiled("compiled_rows", x, other) for other in (x.double(), x.T, x.to("meta"))] == [None] * 3
    with plain():
        assert compiled("compiled_rows", x) is None
    body, head = net(range(2), (3, 4), 2)
    body, head = body.double(), head.double()
    assert head(body(torch.randn(2, 5, 3, dtype=torch.float64))).dtype == torch.float64


def test_without_numba_everything_takes_its_plain_form(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("tricks.fast.compiled"):
            raise ImportError("No module named 'numba'")
        return found(name, *rest)

    found = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", missing)
    loaded.cache_clear()
    try:
        body, head = net(range(2), (3, 4), 2)
        x = torch.randn(2, 5, 3)
        mine, formula = both(lambda: head(body(x)))
        assert torch.equal(mine, formula)
    finally:
        loaded.cache_clear()


@pytest.mark.parametrize(("misses", "seconds"), [({}, 7), ({"(int64,)": 1}, 7), ({"(int64,)": 1}, 0.4)])
def test_what_took_time_to_compile_says_so(
    misses: dict[str, int], seconds: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "perf_counter", iter([0.0, seconds]).__next__)
    function = SimpleNamespace(stats=SimpleNamespace(cache_misses=misses))
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(function=function))
    loaded.__wrapped__("compiled_rows")
    said = "compiled_rows: compiled for this CPU, once, in 7 s\n" if misses and seconds == 7 else ""
    assert capsys.readouterr().err == said


def test_what_this_version_of_numba_cannot_compile_takes_its_plain_form_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(name: str) -> Any:
        raise ValueError(name)

    monkeypatch.setattr(importlib, "import_module", failing)
    assert loaded.__wrapped__("compiled_rows") is None
    said = "compiled_rows: not compiled (ValueError), so PyTorch computes the plain formulas\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 40, 5), (1, 1, 1), (0, 4, 1)])
def test_a_discounted_sum_is_that_of_the_formula_for_any_layout(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x, discount = torch.randn(shape, dtype=dtype), torch.rand(shape, dtype=dtype).round(decimals=1)
    x.flatten()[7:8] = torch.inf
    torch.testing.assert_close(*both(lambda: discounted_sum(x, discount)), equal_nan=True)
    turned = x.mT.contiguous().mT
    torch.testing.assert_close(*both(lambda: discounted_sum(turned, discount)), equal_nan=True)
    x.requires_grad_()
    assert discounted_sum(x, discount).requires_grad

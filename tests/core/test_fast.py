"""What numba compiles: each function equals its plain formula, with its gradient; no seed's bits depend on others."""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
import torch
from support.fixtures import Capture, Patch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tricks.core.nets import Dense, Head
from tricks.core.policies import Categorical
from tricks.core.reductions import discounted_sum, mean
from tricks.fast.dispatch import available, laid, loaded, plain, wanted
from tricks.fast.formulas import FORMULAS, say

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def same_numbers() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def both(compute: Callable[[], Any], *plainly: str) -> tuple[Any, Any]:
    """What it computes, from compiled forms alone but for these formulas, and from plain ones of the same numbers."""
    with plain(), torch.random.fork_rng():
        theirs = compute()
    formulas, written = {formula.plain.__code__: name for name, formula in FORMULAS.items()}, set[str]()
    sys.setprofile(lambda frame, event, _: written.add(formulas.get(frame.f_code, "")) if event == "call" else None)
    try:
        mine = compute()
    finally:
        sys.setprofile(None)
    assert written == {"", *plainly}
    return mine, theirs


def net(seeds: Iterable[int], sizes: tuple[int, ...], outputs: int, activation: str = "tanh") -> tuple[Dense, Head]:
    rngs = [np.random.default_rng(seed) for seed in seeds]
    return Dense(rngs, sizes, activation), Head(rngs, sizes[-1], outputs, exact=outputs == 1)


def gradients(y: Tensor, *of: Any) -> list[Tensor]:
    weight = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(y.dtype)
    return [y, *torch.autograd.grad(y, of, weight)]


def layers(seeds: int, rows: int, sizes: tuple[int, ...], outputs: int, activation: str) -> list[Tensor]:
    (body, head), x = net(range(seeds), sizes, outputs, activation), torch.randn(seeds, rows, sizes[0])
    with torch.no_grad():
        played = head(body(x))
    y = head(body(x.requires_grad_()))
    assert torch.equal(played, y)
    return gradients(y, x, *body.parameters(), *head.parameters())


def softmax(*shape: int) -> list[Tensor]:
    logits, action = torch.randn(*shape, 5), torch.randint(5, shape)
    logits.view(-1, 5)[::3, 1] = -1e8  # what a mask makes of an illegal action
    logits.view(-1, 5)[::7] = -1e30  # all of them are illegal
    logits.requires_grad_()
    return gradients(Categorical.log_prob(logits, action), logits)


def means(kind: torch.dtype) -> list[Tensor]:
    x, valid = torch.randn(3, 50, dtype=kind, requires_grad=True), torch.rand(3, 50) > 0.3
    valid[2] = False
    return gradients(mean(x, valid), x)


def summed(dtype: torch.dtype, *shape: int) -> list[Tensor]:
    x, discount = torch.randn(shape, dtype=dtype), torch.rand(shape, dtype=dtype).round(decimals=1)
    x.flatten()[7:8] = torch.inf
    return [discounted_sum(each, discount) for each in (x, x.mT.contiguous().mT)]


SINGLE, DOUBLE = torch.float32, torch.float64
SIZES = [(1, 8, (4, 64, 64), 2), (3, 70, (5, 10, 33), 1), (2, 5, (1, 1), 3), (2, 40, (100, 130), 18), (2, 0, (3, 5), 2)]
CALLS: list[Callable[[], list[Tensor]]] = [
    *(partial(layers, *sizes, kind) for sizes in SIZES for kind in ("tanh", "relu")),
    *(partial(softmax, *shape) for shape in ((3, 7), (2, 5, 3), (0,))),
    *(partial(means, kind) for kind in (SINGLE, DOUBLE)),
    *(partial(summed, kind, *shape) for kind in (SINGLE, DOUBLE) for shape in ((3, 40, 5), (1, 1, 1), (0, 4, 1))),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.func.__name__} {call.args}")
def test_what_is_compiled_equals_the_formula(call: Callable[[], list[Tensor]]) -> None:
    mine, formula = both(call)
    for one, other in zip(mine, formula, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_what_no_form_is_for_is_computed_as_written() -> None:
    for kind in ("tanh", "relu"):  # there is no hidden layer
        for one, other in zip(*both(partial(layers, 2, 4, (3,), 2, kind), "tricks.core.layers.dense"), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    x, discount = torch.randn(2, 3, 4, requires_grad=True), torch.rand(2, 3, 4)
    mine, _ = both(lambda: discounted_sum(x, discount), "tricks.core.reductions.discounted_sum")
    assert mine.requires_grad
    x = torch.randn(2, 3)
    assert laid((2, 3), x) and not any(laid((2, 3), x, other) for other in (x.double(), x.T, x.to("meta")))


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


def within(context: Callable[[], AbstractContextManager[Any]], ask: Callable[[], Any]) -> None:
    with context():
        ask()


FOLLOWED: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "plain": partial(within, plain),
    "forward mode": partial(within, torch.autograd.forward_ad.dual_level),
    "a mode": partial(within, Passing),
    "fewer digits": partial(within, lambda: torch.autocast("cpu", torch.bfloat16)),
    "a transform": lambda ask: torch.func.vmap(lambda x: (ask(), x)[1])(torch.zeros(1)),
    "a trace": lambda ask: torch.jit.trace(lambda x: (ask(), x + 1)[1], torch.zeros(1), check_trace=False),
    "a compiler": partial(within, lambda: patch.object(torch.compiler, "is_compiling", lambda: True)),
}


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_where_pytorch_follows_what_is_computed_nothing_compiled_is_wanted(name: str) -> None:
    found = list[tuple[bool, bool]]()
    FOLLOWED[name](lambda: found.append((wanted(), available())))
    assert found == [(False, False)]
    assert wanted()
    assert available()


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
    rows, valid = x[..., 0], torch.rand(5, 75) > 0.3
    filled = torch.cat([rows, torch.randn(5, 7)], 1), torch.cat([valid, torch.zeros(5, 7) > 0], 1)
    assert torch.equal(mean(*filled), mean(rows, valid))


def test_without_numba_everything_takes_its_plain_form(monkeypatch: Patch) -> None:
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
        mine, formula = both(lambda: head(body(x)), "tricks.core.layers.dense", "tricks.core.layers.affine")
        assert torch.equal(mine, formula)
    finally:
        loaded.cache_clear()


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("cannot cache function 'x'", "ValueError"),
        ("no locator available", "numba finds no folder for its cache; NUMBA_CACHE_DIR can name one"),
    ],
)
def test_what_numba_cannot_do_is_plain_and_says_why(error: str, why: str, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(importlib, "import_module", Mock(side_effect=ValueError(error)))
    say.cache_clear()
    assert [loaded.__wrapped__(name) for name in ("compiled_rows", "compiled_layers")] == [None, None]
    said = f"not compiled ({why}), so PyTorch computes the plain formulas, which is slower\n"
    assert capsys.readouterr().err == said

"""Objectives that a reader writes in the playground: values, exact slopes, and what is wrong with those that can't be.

At ties, too, the slopes are PyTorch's: half of either side.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from support.browsing import Browser
from torch import Tensor

EPS = 0.2
WRITTEN = (
    "min(ratio * advantage, clamp(ratio, 1 - eps, 1 + eps) * advantage)",
    "where(advantage < 0, clamp(ratio, 1 - eps, 3), min(ratio, 1 + eps)) * advantage",
    "log_ratio * advantage - 0.5 * log_ratio^2",
    "-ratio^2 / 2 + 2 * ratio * sign(advantage)",
    "exp(-abs(ratio - 1) / eps) * advantage",
    "max(min(ratio, 2), 0.5) * abs(advantage) - max(1 - ratio, 0)^2 / eps",
    "clamp(advantage, -1, 1) * clamp(ratio, eps * ratio, 1 + eps)",
    "2^(ratio - 1) * advantage / (1 + ratio^-2)",
    "where(abs(ratio - 1) <= eps, ratio, where(ratio > 1, 1 + log(ratio), ratio**3)) * advantage",
    "ratio ^ ratio - log(1 + exp(-(ratio - 1) * advantage / eps))",
    "clamp(ratio, 2, 1) + where(ratio != 1, min(1, ratio * ratio), max(ratio, 1)) - -1.5e-1",
)
WRONG = {
    "ration * advantage": "`ration` is not a name here: ratio, log_ratio, advantage, eps",
    "sqrt(ratio)": "`sqrt` is not a function here: min, max, clamp, exp, log, abs, sign, where",
    "clamp(ratio, 1 - eps)": "`clamp` takes 3 values, clamp(x, low, high), not 2",
    "min(ratio * advantage, 2": "the `(` at character 4 is never closed",
    "ratio * advantage)": "the `)` at character 18 closes nothing",
    "2 ratio": "an operator is missing before `ratio`: + - * / ^",
    "ratio (advantage)": "an operator is missing before the `(` at character 7: + - * / ^",
    "ratio * * advantage": "a number or a name is missing before the `*` at character 9",
    "ratio +": "something is missing after the `+` at character 7",
    "max * ratio": "`max` is a function: write max(a, b)",
    "ratio < 2": "the `<` at character 7 compares, and only where(a < b, x, y) begins with a comparison",
    "where(ratio, 1, 2)": "`where` begins with a comparison, as in where(advantage < 0, x, y)",
    "ratio, advantage": "the `,` at character 6 is not between the arguments of a function",
    "alert`1`": "the ``` at character 6 means nothing here",
    "constructor(1)": "`constructor` is not a function here: min, max, clamp, exp, log, abs, sign, where",
    " ": "there is nothing here yet; write something with ratio, log_ratio, advantage, eps",
    "(" * 500: "this is too long: 500 characters, and 400 fit",
}


def paired(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function of tensors, also where an argument is a number."""
    return lambda *given: f(*torch.broadcast_tensors(*(torch.as_tensor(x, dtype=torch.float64) for x in given)))


IN_TORCH: dict[str, Any] = {
    "min": paired(torch.minimum),
    "max": paired(torch.maximum),
    "clamp": paired(torch.clamp),
    "where": lambda holds, x, y: torch.where(holds, *torch.broadcast_tensors(*map(torch.as_tensor, (x, y)))),
    **{name: paired(getattr(torch, name)) for name in ("exp", "log", "abs", "sign")},
}


@pytest.mark.parametrize("text", WRITTEN)
def test_an_expression_has_the_value_and_the_slope_that_autograd_finds(engine: Browser, text: str) -> None:
    """At ties, too: 1 ± ε, 1, 2 and 3 are among the ratios, and advantages of 0 and ±1 among the advantages."""
    ratios = np.concatenate([[1 - EPS, 1, 1 + EPS, 0.5, 2, 3], np.random.default_rng(0).lognormal(size=20)])
    rows = np.array([*product(ratios, (-2.5, -1, 0, 1, 0.3))])
    ratio, advantage = torch.tensor(rows[:, 0], requires_grad=True), torch.tensor(rows[:, 1])
    given = {"ratio": ratio, "log_ratio": ratio.log(), "advantage": advantage, "eps": EPS}
    value = eval(text.replace("^", "**"), IN_TORCH | given)
    (slope,) = torch.autograd.grad(value.sum(), ratio)
    mine = engine.run("return written(...arguments)", text, *rows.T.tolist(), EPS)
    np.testing.assert_allclose(mine[0], value.detach(), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(mine[1], (slope * ratio).detach(), rtol=1e-13, atol=1e-14)  # by log π


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_an_expression_is_said_in_words_with_its_place(engine: Browser, text: str) -> None:
    made = "return fault(() => Playground.writtenObjective(arguments[0]) && 'nothing')"
    assert engine.run(made, text) == WRONG[text]


def test_the_clip_written_out_trains_the_same_agents(engine: Browser) -> None:
    setting = {"world": "CartPole-v1", "tricks": ["baseline", "reuse", "clip"], "hidden": [8], "seeds": 2}
    setting |= {"numbers": {"steps": 4000, "lr": 0.03}}
    clip = engine.told("curvesOf(...arguments)", setting)
    assert engine.told("curvesOf(...arguments)", setting | {"swaps": {"objective": WRITTEN[0]}}) == clip
    assert engine.told("curvesOf(...arguments)", setting | {"swaps": {"objective": WRITTEN[2]}}) != clip
    assert engine.complaints() == []

"""Of the same agent and minibatch, both forms find the same seeds' losses and gradients not finite.

Anything may be huge: weights, log σ, observations, advantages, old log-probabilities, old values, targets. `HUGE` in
the environment says how many minibatches are drawn.
"""

import os
import random

import pytest
import torch
from support.learners import Learner
from torch import Tensor

from tricks.runs.log import WATCHED

pytest.importorskip("numba")
COUNT = int(os.environ.get("HUGE", 400))
SIZES = 1e3, 1e6, 1e10, 1e15, 1e20, 1e25, 1e30, 1e35, 1e38
LOG_STD = 1000.0, 90.0, 45.0, -45.0, -90.0, -1000.0
COLUMNS = "obs", "advantage", "old_log_prob", "value", "target"


@torch.no_grad()
def enlarge(x: Tensor, rng: random.Random, generator: torch.Generator) -> None:
    """One number, some, or all of them become huge, of either sign."""
    size = rng.choice((*SIZES, 1e300) if x.dtype is torch.float64 else SIZES)
    draw = torch.rand(2, *x.shape, generator=generator).to(x.dtype)
    share = rng.choice([0.0, 0.5, 1.0])
    some = draw[0] <= max(share, float(draw[0].min()))
    x.copy_(torch.where(some, size * (2 * draw[1] - 1), x))


def enlarged(learner: Learner, rng: random.Random) -> None:
    """Make something about it huge. Filler repeats a row of the seed, as it does in the loop."""
    agent, b = learner.agent, learner.batches[0]
    for kind in rng.choices(("policy_net", "value_net", "one", "log_std", *COLUMNS), k=rng.choice([1, 1, 2, 3])):
        if kind == "log_std" and learner.box:
            agent.log_std.data.fill_(rng.choice(LOG_STD))
        elif kind != "log_std":
            one = getattr(b, kind) if kind in COLUMNS else rng.choice(list(agent.parameters()))
            for x in getattr(agent, kind).parameters() if kind.endswith("net") else [one]:
                enlarge(x, rng, learner.generator)
    for s, valid in enumerate(b.valid):
        if valid.any():
            for column in (getattr(b, name) for name in (*COLUMNS, "legal", "action")):
                column[s, ~valid] = column[s, int(valid.nonzero()[0, 0])].clone()


def finite(found: dict[str, Tensor], seeds: Tensor) -> list[bool]:
    return torch.stack([found[name].isfinite().all(0) for name in WATCHED if name in found]).all(0)[seeds].tolist()


def test_of_huge_numbers_the_same_seeds_have_a_loss_or_gradient_that_is_not_finite() -> None:
    ends = list[bool]()
    for seed in range(COUNT):
        learner, rng = Learner(seed, usual=True), random.Random(f"huge {seed}")
        del learner.batches[1:]
        enlarged(learner, rng)
        compiled, plain = learner.learned(formulas=False), learner.learned(formulas=True)
        assert (compiled is None) == (plain is None)
        if compiled is None or plain is None:
            continue
        seeds = learner.batches[0].valid.any(1)[learner.active]
        mine, theirs = finite(compiled, seeds), finite(plain, seeds)
        assert mine == theirs, f"minibatch {seed}"
        ends += theirs
    assert 0.2 < sum(ends) / len(ends) < 0.8

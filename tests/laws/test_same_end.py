"""Which seed diverges of a bad number, when, and why is the same whether or not numba compiles, and in any dtype."""

import os
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from support.learners import Learner
from support.probes import Endless
from torch import Tensor

from tricks import CONTINUOUS, PPO, REINFORCE, Config, InputError, Run, Tricks, named, train
from tricks.fast.dispatch import plain
from tricks.runs.log import WATCHED

SMALL = Config(seeds=(0, 1, 2), lanes=2, horizon=20, steps=400, hidden=(5,), epochs=2, minibatches=2)
BAD = (np.nan, np.inf, -np.inf, 1e25, 1e300)
KINDS: dict[str, Tricks] = {
    "ppo": PPO,
    "reinforce": REINFORCE,
    "unclipped": replace(PPO, grad_clip=False, clip=False),
    "stopping": named("ppo+kl_stop+separate_optimizers"),
    "bounded": named("ppo+dual_clip+huber"),
}


class Odd(Endless):
    """Of some seeds, a step after the thirtieth returns a bad number, as a reward or in an observation."""

    observation_space, length = spaces.Box(-np.inf, np.inf, (3,), np.float32), 7

    def __init__(self, bad: float, where: str) -> None:
        self.bad, self.where, self.steps, self.odd = bad, where, 0, False

    def pay(self, action: int) -> float:
        self.steps += 1
        self.odd = self.steps > 30 and bool(self.np_random.random() < 0.02)
        return self.bad if self.odd and self.where == "reward" else float(action)

    def see(self) -> np.ndarray:
        obs = self.np_random.uniform(-1, 1, 3)
        obs[1] = self.bad if self.t and self.odd and self.where == "observation" else obs[1]
        with np.errstate(over="ignore"):
            return obs.astype(np.float32)


def end(run: Callable[[], Run]) -> object:
    """Which seeds diverged, when and why; of an error, what it says."""
    try:
        found = run()
    except InputError as error:
        return str(error)
    return found.diverged, found.reasons


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", ["reward", "observation"])
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_bad_number_the_same_seeds_diverge(kind: str, where: str, bad: float) -> None:
    def run() -> Run:
        return train(SMALL, KINDS[kind], env=lambda: Odd(bad, where))

    compiled = end(run)
    with plain():
        assert end(run) == compiled


TINY = Config("CartPole-v1", seeds=2, lanes=2, horizon=16, steps=128, hidden=(4,), epochs=1, minibatches=2)
CASES = {
    "discrete": (TINY, PPO),
    "another world": (replace(TINY, env="Acrobot-v1"), PPO),
    "rewards": (replace(TINY, env="tricks/Shuttle4-v0"), PPO),
    "box": (replace(TINY, env="Pendulum-v1"), CONTINUOUS),
    "squash": (replace(TINY, env="Pendulum-v1"), replace(PPO, squash=True)),
    "recurrent": (TINY, replace(PPO, recurrent=True)),
}


@pytest.mark.parametrize("formulas", [False, True])
@pytest.mark.parametrize(("config", "flags"), CASES.values(), ids=CASES)
def test_float64_by_default_trains_the_same_curve(config: Config, flags: Tricks, formulas: bool) -> None:
    with plain() if formulas else nullcontext():
        wanted = train(config, flags).curve
        torch.set_default_dtype(torch.float64)
        try:
            found = train(config, flags).curve
        finally:
            torch.set_default_dtype(torch.float32)
    assert found.equals(wanted)


pytest.importorskip("numba")
COUNT = int(os.environ.get("HUGE", 50))
SIZES = 1e3, 1e6, 1e10, 1e15, 1e20, 1e25, 1e30, 1e35, 1e38
LOG_STD = 1000.0, 90.0, 45.0, -45.0, -90.0, -1000.0
COLUMNS = "obs", "advantage", "old_log_prob", "old_value", "target"


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


@pytest.mark.parametrize("part", range(3))
def test_of_huge_numbers_the_same_seeds_have_a_loss_or_gradient_that_is_not_finite(part: int) -> None:
    ends = list[bool]()
    for seed in range(part * COUNT, (part + 1) * COUNT):
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

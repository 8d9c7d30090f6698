"""What `learn` makes of given minibatches, and such at random, with what seldom happens: NaN, ties, odd shapes."""

import math
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import gymnasium as gym
import torch
from torch import Tensor

from tricks import Agent, Config, InputError, Spaces, Tricks, loop
from tricks.core.adam import Adam
from tricks.core.rollout import Batch, Rollout
from tricks.fast.dispatch import plain
from tricks.fused.losses import Gradients
from tricks.grad_clip import shorten
from tricks.ladder import closed, switched
from tricks.loop import build_agent
from tricks.training import Doors, Training


def between(agent: Agent, config: Config, tricks: Tricks, *optimizers: Adam) -> Training:
    """optimizers: of both nets, or of the policy and of the value net."""
    env: Any = SimpleNamespace(now=SimpleNamespace(legal=torch.empty(0)), seeds=(), spaces=agent.spaces)
    t = Training(env, config, tricks, cast(Doors, None))
    t.agent, t.optimizer, t.value_optimizer = agent, optimizers[0], optimizers[-1]
    t.memory, t.phase = None, SimpleNamespace(minibatches=lambda *_: ())
    return t


def learn(t: Training, batches: Iterable[Batch]) -> None:
    """A gradient step on each of these minibatches."""
    with patch.object(loop, "deal", lambda *_: batches):
        loop.learn(t, Batch(), cast(Rollout, None))


@contextmanager
def compiled_losses() -> Iterator[list[bool]]:
    """Within it, each loss that is asked of a kernel says whether it found one."""
    found, kernel = list[bool](), Gradients.found

    def noted(*given: Any) -> Any:
        result = kernel(*given)
        found.append(result is not None)
        return result

    with patch.object(Gradients, "found", noted):
        yield found


COMPILED = ("reuse", "clip", "dual_clip", "advantage_norm", "entropy", "value_clip", "huber", "action_mask")
ACTIONS, FEATURES = 2, 3
FLAGS = (*COMPILED, "baseline", "grad_clip", "clip_anneal", "kl_stop", "shared_trunk", "separate_optimizers")
ODD = torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-45, -1e-45
DRIFTS = 0.0, math.log(2), -math.log(2), 0.1, -0.1, 200.0, -200.0  # of log π: ratios of 1, 2, ½, ..., ∞, 0
COLUMNS = ("obs", "legal", "action", "valid", "advantage", "old_log_prob", "old_value", "target")


def some_flags(rng: random.Random) -> Tricks:
    while True:
        names = {name for name in FLAGS if rng.random() < rng.choice([0.2, 0.6])}
        try:
            return switched(closed(names))
        except InputError:  # two that exclude each other
            continue


class Learner:
    """What `learn` is given: agents, a minibatch or two, optimizers, numbers, and a log."""

    def __init__(
        self, seed: int, flags: Tricks | None = None, box: bool | None = None, usual: bool = False, odd: bool = True
    ) -> None:
        """usual: every column has the shape and type that it should have; not odd: and every number is as it should."""
        self.usual = usual
        self.rng, self.generator = random.Random(seed), torch.Generator().manual_seed(seed)
        rng, choose = self.rng, self.rng.choice
        self.flags, self.box = flags or some_flags(rng), rng.random() < 0.3 if box is None else box
        if self.box:
            self.flags = replace(self.flags, action_mask=False)
        action = gym.spaces.Box(-1, 1, (ACTIONS,)) if self.box else gym.spaces.Discrete(ACTIONS)
        seeds = choose([1, 3])
        numbers: dict[str, Any] = {"clip_range": choose([0.2, 0.5, 1.0]), "dual_clip_limit": choose([2.0, 3.0])}
        numbers |= {"value_clip_range": choose([0.5, 0.1]), "huber_delta": choose([0.5, 1.0, 5.0])}
        self.config = Config("x", seeds=seeds, hidden=choose([(), (4,), (5, 3)]) or (1,), adam_eps=1e-3, **numbers)
        self.agent = build_agent(Spaces("x", gym.spaces.Box(-9, 9, (FEATURES,)), action), self.config, self.flags)
        self.exact = rng.random() < 0.5
        if self.exact:
            for net in (self.agent.policy_net, self.agent.value_net):
                for p in net.head.parameters():
                    p.data.zero_()
        spoiled = choose([0, 1, 2])
        self.batches = [self.batch(choose([1, 4, 12 if usual else 40])) for _ in range(choose([1, 2]))]
        for b in self.batches if self.flags.ppg_buffers else ():
            b.value_rows = self.batch(b.valid.shape[1])
        for b in rng.sample(self.batches, min(spoiled, len(self.batches))) if odd else ():
            self.spoil(b, b.valid if rng.random() < 0.8 else ~b.valid)
        self.optimizers = [self.optimizer(self.agent)] * 2
        if self.flags.separate_optimizers:
            self.optimizers = [self.optimizers[0], self.optimizer(self.agent.value_net)]
        self.active = torch.rand(seeds, generator=self.generator) < 0.8

    def optimizer(self, module: torch.nn.Module) -> Adam:
        adam = Adam(module.parameters(), self.config.adam_eps)
        if self.flags.grad_clip:
            adam.limit = partial(shorten, max_norm=self.rng.choice([0.1, 10.0]))
        return adam

    def batch(self, rows: int) -> Batch:
        """Rows, with numbers that seldom happen in some, which are not always filler."""
        shape, draw = (len(self.agent.seeds), rows), dict[str, Any](generator=self.generator)
        valid = torch.rand(shape, **draw) < self.rng.choice([0.0, 0.7, 1.0, 1.0])
        obs, legal = torch.randn(*shape, FEATURES, **draw), torch.rand(*shape, ACTIONS, **draw) < 0.7
        legal[..., 0] |= ~legal.any(-1)
        action = torch.randn(*shape, ACTIONS, **draw) if self.box else legal.float().argmax(-1)
        b = Batch(obs=obs, legal=legal, action=action, valid=valid)
        with torch.no_grad():
            log_prob = self.agent.family.log_prob(self.agent.policy(obs, legal), action)
        drift = torch.tensor(DRIFTS)[torch.randint(len(DRIFTS), shape, **draw)] * (torch.rand(shape, **draw) < 0.5)
        drift = drift if self.exact else 0.9 * drift  # else rounding says which side of a limit a ratio is on
        b.old_log_prob = torch.where(valid, log_prob - drift, log_prob)
        b.born = torch.zeros(shape, dtype=torch.int64)
        b.advantage = torch.randn(shape, **draw).round(decimals=self.rng.choice([0, 4]))
        b.old_value = torch.randint(-1, 2, shape, **draw).double()
        b.target = 0.25 * torch.randint(-4, 5, shape, **draw).double()  # ties: ¼ is as far from 0 as from ½
        return b

    def spoil(self, b: Batch, rows: Tensor) -> None:
        """Something odd in one of these rows, or another shape or type of a column."""
        name = self.rng.choice(COLUMNS)
        column, places = getattr(b, name), rows.nonzero()
        if self.rng.random() < 0.3 and not self.usual:
            kind = self.rng.choice([torch.float32, torch.float64, torch.int64, torch.bool, torch.int32])
            ways = [column[:, :1], column[:, :0], column[:1], column.to(kind), column.unsqueeze(-1)[..., 0]]
            ways += [column.mT.contiguous().mT if column.dim() > 1 else column, column[..., :1], column.unsqueeze(0)]
            vars(b)[name] = self.rng.choice(ways)
        elif len(places):
            s, r = places[self.rng.randrange(len(places))].tolist()
            if column.is_floating_point():
                column[s, r] = self.rng.choice(ODD)
            elif name == "action" and self.rng.random() < 0.3:
                column[s, r] = self.rng.choice([-1, ACTIONS, 2**40])

    def learned(self, formulas: bool) -> dict[str, Tensor] | None:
        """Averages, counts and notes after it; None if it raises."""
        agent, batches, (first, second) = deepcopy((self.agent, self.batches, self.optimizers))
        t = between(agent, replace(self.config, lr=0.01), self.flags, first, second)
        log, t.log.active = t.log, self.active
        try:
            with plain() if formulas else nullcontext():
                learn(t, batches)
            active = log.active.nonzero()[:, 0]
            found = {f"{name} {k}": getattr(x, name)[active] for k, x in enumerate((first, second)) for name in "mt"}
            return found | {name: torch.stack(notes)[:, active] for name, notes in log.notes.items()}
        except Exception:
            return None


def assert_learned(learner: Learner) -> bool:
    """Both raise, or agree; whether they did not raise."""
    theirs, mine = learner.learned(formulas=True), learner.learned(formulas=False)
    assert (mine is None) == (theirs is None)
    for name, y in (theirs or {}).items():
        x = (mine or {})[name]
        if name.endswith("norm"):  # of what overflows
            x, y = (torch.where(each.isfinite(), each, torch.nan) for each in (x, y))
        largest = float(torch.where(y.isfinite(), y, 0).abs().amax()) if y.numel() else 0.0
        near = dict[str, Any](rtol=1e-4, atol=1e-5 * largest + 1e-6, equal_nan=True)
        torch.testing.assert_close(x.double(), y.double(), **near, msg=partial("{}: {}".format, name))
    assert (mine or {}).keys() == (theirs or {}).keys()
    return mine is not None

"""separate_optimizers: two Adams, equal to one at equal rates without limits. recompute: epochs judge rows anew."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import tricks.recompute
from tricks import PPO, Config, Run, loop, train
from tricks.baseline import squared_error
from tricks.core.moments import ReturnStats
from tricks.ladder import named, switched

CONFIG = Config("ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, lr=0.003)
ONE_STEP = replace(CONFIG, steps=1, epochs=1, value_epochs=1, minibatches=1)
FREE = tuple(name for name in PPO.on if name != "grad_clip")
SEPARATE = named("separate_optimizers")


def apart(*names: str, **numbers: Any) -> Run:
    return train(replace(CONFIG, **numbers), switched([*names, "separate_optimizers"]))


def equal(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def way(net: nn.Module, start: nn.Module) -> float:
    """How far a net has moved."""
    pairs = zip(net.parameters(), start.parameters(), strict=True)
    return torch.stack([(a - b).norm().float() for a, b in pairs]).norm().item()


@pytest.mark.parametrize("others", [FREE, (*FREE, "ppg"), ("baseline",)], ids=["ppo", "ppg", "baseline"])
def test_with_one_rate_and_no_limit_on_gradients_nothing_changes(others: tuple[str, ...]) -> None:
    two, one, own = apart(*others), train(CONFIG, switched(others)), ["value_grad_norm", "grad_norm"]
    pd.testing.assert_frame_equal(two.curve.drop(columns=own), one.curve.drop(columns=own))
    assert equal(two.agent, one.agent)
    both = np.hypot(two.curve.grad_norm, two.curve.value_grad_norm)  # the two norms are the legs of the joint one
    np.testing.assert_array_less(np.abs(both - one.curve.grad_norm), 0.1 * one.curve.grad_norm)


def test_each_net_has_a_limit_of_its_own() -> None:
    numbers = replace(ONE_STEP, adam_eps=1.0)  # so that the size of a step is the gradient's
    start = train(replace(numbers, lr=1e-30), SEPARATE).agent

    def moved(net: str, tricks: Any, **given: Any) -> float:
        return way(getattr(train(replace(numbers, **given), tricks).agent, net), getattr(start, net))

    # the value loss drowns the policy's gradient if they are clipped together
    assert moved("policy_net", PPO, value_coef=5e4) < 0.01 * moved("policy_net", PPO)
    assert moved("policy_net", SEPARATE, value_coef=5e4) == pytest.approx(moved("policy_net", SEPARATE))
    few, many = (moved("value_net", SEPARATE, value_coef=1e4, max_value_grad_norm=x) for x in (0.5, 1e9))
    assert many > 10 * few


def test_a_value_net_whose_gradient_is_not_finite_ends_its_seed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(value: Tensor, target: Tensor) -> Tensor:
        return squared_error(value, target) * torch.tensor([[1.0], [torch.inf]])

    monkeypatch.setattr(loop, "squared_error", spoiled)
    run = apart(*(name for name in PPO.on if name != "value_clip"))
    assert run.diverged == {1: int(run.curve[run.curve.seed == 1].step.iloc[0])}
    assert run.curve[run.curve.seed == 0].step.max() >= CONFIG.steps


@pytest.mark.parametrize("more", [(), ("return_norm", "popart"), ("ppg",)])
def test_with_one_epoch_recompute_is_the_plain_loop(more: tuple[str, ...]) -> None:
    plain, one = switched([*PPO.on, *more]), replace(CONFIG, epochs=1)
    pd.testing.assert_frame_equal(train(one, replace(plain, recompute=True)).curve, train(one, plain).curve)


def test_a_value_net_that_does_not_move_gives_the_same_advantages_again_and_one_that_does_others() -> None:
    still = replace(CONFIG, value_coef=0.0, steps=200)  # without a loss of its own
    again, plain = (train(still, tricks).curve for tricks in (named("recompute"), PPO))
    pd.testing.assert_frame_equal(again, plain, rtol=1e-6)
    assert not train(CONFIG, named("recompute")).curve.equals(train(CONFIG, PPO).curve)


@pytest.mark.parametrize("tasks", [1, 2])
def test_of_several_tasks_each_has_advantages_in_its_own_units(tasks: int) -> None:
    zero, no = torch.zeros(1, 2, 1).double(), torch.zeros(1, 2, 1).bool()
    task = torch.tensor([[[0], [1]]]) if tasks == 2 else None
    stats = ReturnStats(torch.zeros(1, 2).double(), torch.tensor([[4.0, 9.0]]).double(), task)
    if tasks == 1:
        stats = ReturnStats(torch.zeros(1).double(), torch.tensor([4.0]).double())
    agent: Any = SimpleNamespace(values=lambda _: (zero, zero), return_stats=stats, spaces=SimpleNamespace(tasks=tasks))
    rollout: Any = SimpleNamespace(reward=zero + 1, done=no, cut=no, task=task)
    found = tricks.recompute.judged(agent, rollout, Config(gamma=0.5, gae_lambda=1.0))
    units = torch.tensor([2.0, 3.0]) if tasks == 2 else torch.ones(2)
    torch.testing.assert_close(found["advantage"].flatten(), torch.tensor([1.5, 1.0]) / units)

"""recompute: each epoch after the first learns from advantages and targets of the value net as it is by then."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor

import tricks.recompute
from tricks import PPO, Config, train
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.rollout import Rollout
from tricks.gae import gae
from tricks.ladder import named, switched

CONFIG = Config("ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, lr=0.003)


@pytest.mark.parametrize("more", [(), ("return_norm", "popart"), ("ppg",)])
def test_with_one_epoch_it_is_the_plain_loop(more: tuple[str, ...]) -> None:
    plain = switched([*PPO.on, *more])
    one = replace(CONFIG, epochs=1)
    pd.testing.assert_frame_equal(train(one, replace(plain, recompute=True)).curve, train(one, plain).curve)


def test_a_value_net_that_does_not_move_gives_the_same_advantages_again() -> None:
    still = replace(CONFIG, value_coef=0.0, steps=200)  # without a loss of its own
    again, plain = (train(still, tricks).curve for tricks in (named("recompute"), PPO))
    pd.testing.assert_frame_equal(again, plain, rtol=1e-6)


@pytest.mark.parametrize("more", [(), ("return_norm", "popart")])
def test_every_further_epoch_has_the_advantages_and_targets_of_its_own_value_net(
    more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged, step, found, taken, steps = tricks.recompute.judged, Adam.step, [], 0, list[int]()

    def recording(agent: Agent, rollout: Rollout, config: Config) -> dict[str, Any]:
        value, next_value = agent.values(rollout)
        done = rollout.terminated | rollout.truncated
        dead = rollout.terminated | (rollout.truncated & ~rollout.cut)
        columns = judged(agent, rollout, config)
        expected = gae(rollout.reward, value, next_value, dead, done, 0.99, 0.95)
        torch.testing.assert_close(columns["advantage"], expected.float())
        torch.testing.assert_close(denormalize(columns["target"], agent.return_stats), value + expected)
        found.append(expected)
        steps.append(taken)
        return columns

    def counting(*given: Any, **named: Any) -> None:
        nonlocal taken
        taken += 1
        step(*given, **named)

    monkeypatch.setattr(tricks.recompute, "judged", recording)
    monkeypatch.setattr(Adam, "step", counting)
    train(replace(CONFIG, steps=1, minibatches=3), switched([*PPO.on, "recompute", *more]))
    assert steps == [3, 6, 9]  # at the start of each of four epochs but the first
    assert all(not torch.equal(a, b) for a, b in pairwise(found))


def test_it_changes_what_is_learned() -> None:
    assert not train(CONFIG, named("recompute")).curve.equals(train(CONFIG, PPO).curve)


def test_a_value_net_with_more_epochs_takes_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    config, taken = replace(CONFIG, steps=1, epochs=2, value_epochs=5), [0]
    step = Adam.step

    def counting(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        taken[0] += bool(moving.any())
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(Adam, "step", counting)
    train(config, switched([*PPO.on, "recompute", "separate_optimizers"]))
    assert taken[0] == (2 + 5) * config.minibatches


@pytest.mark.parametrize("tasks", [1, 2])
def test_of_several_tasks_each_has_advantages_in_its_own_units(tasks: int) -> None:
    zero, no = torch.zeros(1, 2, 1).double(), torch.zeros(1, 2, 1).bool()
    task = torch.tensor([[[0], [1]]]) if tasks == 2 else None
    stats = ReturnStats(torch.zeros(1, 2).double(), torch.tensor([[4.0, 9.0]]).double(), task)
    if tasks == 1:
        stats = ReturnStats(torch.zeros(1).double(), torch.tensor([4.0]).double())
    spaces = SimpleNamespace(tasks=tasks)
    agent: Any = SimpleNamespace(values=lambda _: (zero, zero), return_stats=stats, spaces=spaces)
    rollout: Any = SimpleNamespace(reward=zero + 1, done=no, cut=no, task=task)
    found = tricks.recompute.judged(agent, rollout, Config(gamma=0.5, gae_lambda=1.0))
    units = torch.tensor([2.0, 3.0]) if tasks == 2 else torch.ones(2)
    torch.testing.assert_close(found["advantage"].flatten(), torch.tensor([1.5, 1.0]) / units)

"""Several tasks: each has a value head and statistics of its own, and its outputs are preserved when these move."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.training import UNMASKED
from torch import Tensor

from tricks import PPG, Config, InputError, load, train
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.popart import preserve_outputs_
from tricks.return_norm import move_stats, per_task

K = 3
SMALL = Config("tricks/TasksNamed-v0", seeds=2, steps=768, lanes=8, horizon=16, hidden=(8,), lr=0.01)


def start(tasks: int = K, seeds: int = 2) -> ReturnStats:
    zero = torch.zeros(seeds, tasks, dtype=torch.float64)
    return ReturnStats(zero, zero + 1)


def rows(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Targets around 1, 30, or 1000, depending on the task; the tasks; and which rows are valid. Each is [2, 40, 2]."""
    generator = torch.Generator().manual_seed(seed)
    task = torch.randint(K, (2, 40, 2), generator=generator)
    target = torch.randn(2, 40, 2, generator=generator).double() * torch.tensor([1.0, 30.0, 1000.0])[task] + task
    return target, task, torch.rand(2, 40, 2, generator=generator) < 0.8


def test_each_task_s_statistics_are_those_of_its_rows_alone() -> None:
    target, task, valid = rows()
    moved = move_stats(start().of(task), target, valid, beta=0.5)
    for k in range(K):
        zero = torch.zeros(2, dtype=torch.float64)
        alone = move_stats(ReturnStats(zero, zero + 1), target, valid & (task == k), beta=0.5)
        torch.testing.assert_close((moved.mean[:, k], moved.variance[:, k]), alone[:2], rtol=0, atol=0)


def test_one_task_is_what_it_was_without_tasks() -> None:
    target, _, valid = rows()
    zero, task = torch.zeros(2, dtype=torch.float64), torch.zeros_like(target, dtype=torch.int64)
    without = move_stats(ReturnStats(zero, zero + 1), target, valid, beta=0.3)
    having = move_stats(start(1).of(task), target, valid, beta=0.3)
    assert torch.equal(having.mean[:, 0], without.mean)
    assert torch.equal(having.variance[:, 0], without.variance)
    assert torch.equal(normalize(target, having), normalize(target, without))
    assert make_env(Config()).spaces.task(target) is None


def test_one_agent_of_a_stack_normalizes_with_its_own_statistics() -> None:
    run = train(SMALL, UNMASKED)
    task = torch.randint(run.agent.spaces.tasks, (2, 5, 3), generator=torch.Generator().manual_seed(0))
    value = torch.randn(task.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for k in (0, 1, -1):
        own, alone = value[[k]], run.agent[k].return_stats.of(task[[k]])
        for change in (normalize, denormalize):
            every = change(value, run.agent.return_stats.of(task))
            torch.testing.assert_close(change(own, alone)[0], every[k], rtol=0, atol=0)


def test_every_task_s_outputs_are_preserved_when_the_statistics_move() -> None:
    net = mlp([stream(seed, "init") for seed in (0, 1)], (4, 16, K), exact=True)
    obs = torch.randn(2, 50, 4, generator=torch.Generator().manual_seed(0))
    old = start()
    for step in range(5):
        target, task, valid = rows(step)
        new = move_stats(old.of(task), 10.0**step * target, valid, beta=0.5)
        before = net(obs).detach() * old.std.unsqueeze(1) + old.mean.unsqueeze(1)
        preserve_outputs_(net, old, new)
        after = net(obs).detach() * new.std.unsqueeze(1) + new.mean.unsqueeze(1)
        torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-5 * float(before.abs().max()))
        old = new


def test_a_row_has_the_value_of_its_task_s_head_and_trains_no_other() -> None:
    spaces = Spaces("x", gym.spaces.Box(-1, 1, (K + 2,)), gym.spaces.Discrete(2), tasks=K)
    agent = Agent(spaces, Config(seeds=2, hidden=(8,)))
    obs = torch.zeros(2, 4, K + 2)
    obs[:, torch.arange(4), torch.tensor([0, 2, 2, 0])] = 1
    outputs = agent.value_net(obs)
    torch.testing.assert_close(agent.value(obs), torch.stack([outputs[:, i, k] for i, k in enumerate((0, 2, 2, 0))], 1))
    agent.value(obs).sum().backward()
    used = agent.value_net.layers[-1][0].grad
    assert used is not None
    assert used.abs().sum(1).gt(0).tolist() == [[True, False, True]] * 2


def test_advantages_are_in_units_of_their_task() -> None:
    target, task, valid = rows()
    stats = move_stats(start().of(task), target, valid, beta=1.0)
    scaled = per_task(target - denormalize(torch.zeros_like(target), stats), stats)
    for k in range(K):
        mine = valid & (task == k)
        assert [scaled[s][mine[s]].std(correction=0).item() for s in range(2)] == pytest.approx([1, 1])


@pytest.mark.parametrize("tricks", [UNMASKED, replace(PPG, return_norm=True, popart=True, ppg_buffers=True)])
def test_agents_of_several_tasks_train_save_load_and_do_not_share_anything(tricks: Any, tmp_path: Path) -> None:
    config = replace(SMALL, aux_every=2)
    run = train(config, tricks)
    assert run.agent.return_stats.mean.shape == (2, 4)
    deviations = run.agent.return_stats.std[0]
    assert (deviations[1:] / deviations[:-1] > 3).all()  # the tasks pay 1, 10, 100 and 1000
    last = run.curve[run.curve.seed == 0].iloc[-1]
    assert last.return_std == pytest.approx(float(deviations.mean()))
    run.save(tmp_path / "run")
    again = load(tmp_path / "run").agent
    obs = torch.eye(6)[:4].expand(2, 4, 6)
    assert torch.equal(again.value(obs), run.agent.value(obs))
    alone = train(config.only(1), tricks)
    torch.testing.assert_close(alone.agent.value(obs[:1]), run.agent.value(obs)[1:], rtol=1e-4, atol=1e-4)


def test_gymnasium_says_how_many_tasks_there_are_in_its_metadata() -> None:
    for backend in ("tensor", "gymnasium"):
        env = make_env(replace(SMALL, backend=backend))
        obs = env.reset().obs
        task = env.spaces.task(obs)
        env.close()
        assert env.spaces.tasks == 4
        assert task is not None
        assert torch.equal(obs.gather(-1, task.unsqueeze(-1)), torch.ones(2, 8, 1))


def test_named_tasks_of_any_size_are_all_learned() -> None:
    config = replace(SMALL, seeds=3, steps=30_000, lanes=32, horizon=32, hidden=(32, 32))
    without = dict.fromkeys(("bootstrap", "value_clip", "lr_anneal", "clip_anneal", "state_norm"), False)
    plain = replace(UNMASKED, **without)
    named = train(config, plain).late()
    unnamed = train(replace(config, env="tricks/Tasks-v0"), plain).late()
    assert named.min() > 9.5 > unnamed.mean()  # of 10 right actions; over twenty seeds, the unnamed ones have 8.9


@pytest.mark.parametrize(
    ("tasks", "said"),
    [(0, "whole number from 1 on, not 0"), ("two", "not 'two'"), (9, "must say which of 9 tasks it belongs to")],
)
def test_a_number_of_tasks_that_cannot_be_is_one_line(tasks: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"^Here: .*{said}"):
        Spaces("Here", gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), tasks)
    with pytest.raises(InputError, match="must say which of 2 tasks"):
        Spaces("Here", gym.spaces.Box(0, 255, (3, 40, 40), np.uint8), gym.spaces.Discrete(2), 2)

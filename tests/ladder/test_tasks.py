"""Several tasks: each has a value head and statistics of its own, and its outputs are preserved when these move."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.training import UNMASKED

from tricks import PPG, Config, InputError, load, train
from tricks.core.moments import denormalize, normalize
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env

SMALL = Config("tricks/TasksNamed-v0", seeds=2, steps=768, lanes=8, horizon=16, hidden=(8,), lr=0.01)


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
    task = torch.randint(4, (2, 5, 3), generator=torch.Generator().manual_seed(0))
    value = torch.randn(task.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for k in (0, 1, -1):  # one of a stack has its own statistics
        for change in (normalize, denormalize):
            every = change(value, run.agent.return_stats.of(task))
            own = change(value[[k]], run.agent[k].return_stats.of(task[[k]]))
            torch.testing.assert_close(own[0], every[k], rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["tensor", "gymnasium"])
def test_gymnasium_says_how_many_tasks_there_are_in_its_metadata(backend: str) -> None:
    env = make_env(replace(SMALL, backend=backend))
    obs = env.reset().obs
    task = env.spaces.task(obs)
    env.close()
    assert env.spaces.tasks == 4
    assert task is not None
    assert torch.equal(obs.gather(-1, task.unsqueeze(-1)), torch.ones(2, 8, 1))
    assert make_env(Config()).spaces.task(obs) is None


def test_named_tasks_of_any_size_are_all_learned() -> None:
    config = replace(SMALL, seeds=3, steps=30_000, lanes=32, horizon=32, hidden=(32, 32))
    without = dict.fromkeys(("bootstrap", "value_clip", "lr_anneal", "clip_anneal", "state_norm"), False)
    plain = replace(UNMASKED, **without)
    named = train(config, plain).late()
    unnamed = train(replace(config, env="tricks/Tasks-v0"), plain).late()
    assert named.min() > 9.5 > unnamed.mean()  # of 10 right actions; over twenty seeds, the unnamed ones have 8.9


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        *[(0, "whole number from 1 on, not 0"), (1.5, "whole number"), ("two", "not 'two'")],
        (9, "must say which of 9 tasks it belongs to"),
    ],
)
def test_a_number_of_tasks_that_cannot_be_is_one_line(tasks: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"^Here: .*{said}"):
        Spaces("Here", gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), tasks)
    for space in (gym.spaces.Box(0, 255, (3, 40, 40), np.uint8), gym.spaces.Box(0, 1, (1,))):
        with pytest.raises(InputError, match="must say which of 2 tasks"):
            Spaces("Here", space, gym.spaces.Discrete(2), 2)

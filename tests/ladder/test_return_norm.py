"""return_norm, popart, state_norm, reward_scaling: statistics of seeds and tasks, and what follows them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import Patch, refusal
from support.training import UNMASKED, interrupted, spied
from torch import Tensor

from tricks import CONTINUOUS, PPG, Agent, Config, Spaces, load, resume, train
from tricks.core.moments import Moments, ReturnStats, denormalize
from tricks.core.nets import mlp
from tricks.core.rollout import Batch
from tricks.core.seeds import stream
from tricks.envs.make import make_env
from tricks.popart import preserve_outputs_, renormalize, with_a_scale
from tricks.return_norm import move_stats, unmoved
from tricks.reward_scaling import RewardScale
from tricks.state_norm import add_obs_stats_, follow_observations_, merge_moments

ALL, FOUR = torch.ones(1, 4, 1, dtype=torch.bool), torch.tensor([1.0, 2.0, 4.0, 9.0]).double().view(1, 4, 1)


def stats(mean: list[float], variance: list[float]) -> ReturnStats:
    return ReturnStats(*(torch.tensor(x, dtype=torch.float64) for x in (mean, variance)))


USUAL = stats([0], [1])


@pytest.mark.parametrize(
    ("old", "target", "mean", "variance"),
    [
        (USUAL, FOUR, 0.25 * 4, 0.75 + 0.25 * 25.5 - (0.25 * 4) ** 2),
        (unmoved(USUAL, first_batch=True), FOUR, 4, 9.5),  # all that is known
        (stats([4], [9.5]), torch.full((1, 4, 1), 8.0), 0.75 * 4 + 0.25 * 8, 0.75 * 9.5 + 0.25 * 0.75 * 16),
        (stats([2e-6], [1e-12]), torch.full((1, 4, 1), 6e-6), 3e-6, 0.75e-12 + 0.25 * 0.75 * 16e-12),
    ],
    ids=["a mixture of old and new", "the first batch", "the second batch", "a tiny variance"],
)
def test_one_move_mixes_old_and_new_moments(old: ReturnStats, target: Tensor, mean: float, variance: float) -> None:
    moved = move_stats(old, target, ALL, beta=0.25)
    assert (moved.mean.item(), moved.variance.item()) == pytest.approx((mean, variance), rel=1e-6)
    assert unmoved(USUAL, first_batch=False) == USUAL


def test_a_constant_target_has_no_variance_and_a_seed_without_rows_waits() -> None:
    now = USUAL
    for _ in range(200):
        now = move_stats(now, torch.full((1, 4, 1), 1e6), ALL, beta=0.5)
    torch.testing.assert_close(now.mean, torch.tensor([1e6], dtype=torch.float64))
    assert 0 <= now.variance.item() < 1e-6 and now.std.item() == 1e-4
    target, some = torch.tensor([[[1.0], [3.0], [1e9], [1e9]]]), torch.tensor([1, 1, 0, 0]).view(1, 4, 1) > 0
    assert move_stats(USUAL, target, some, beta=1.0).mean.item() == 2
    assert move_stats(stats([5], [2]), target, torch.zeros_like(ALL), beta=1.0) == stats([5], [2])


def test_a_tiny_scale_is_one_and_only_a_variance_of_0_means_that_no_batch_has_come() -> None:
    old, new = stats([2e-6, 0], [1e-12, 0]), stats([3e-6, 5], [4e-12, 4])
    assert [x.tolist() for x in with_a_scale(old, new)[:2]] == [[2e-6, 5], [1e-12, 4]]


@pytest.mark.parametrize("jump", [1.0, 100.0, 1e4, 1e-4])
def test_outputs_are_preserved_to_1e_5_also_when_the_scale_jumps(jump: float) -> None:
    net = mlp([stream(seed, "init") for seed in (0, 1)], (3, 32, 1), exact=True)
    generator, old = torch.Generator().manual_seed(0), stats([3, -20], [4, 0.5])
    obs = torch.randn(2, 50, 3, generator=generator)
    for _ in range(5):  # five moves in a row, so that errors would add up
        target = jump * torch.randn(2, 64, 1, generator=generator).double() + 3 * jump
        new = move_stats(old, target, torch.ones_like(target, dtype=torch.bool), beta=0.5)
        raw = net(obs).squeeze(-1).detach()
        preserve_outputs_(net, old, new)
        now = net(obs).squeeze(-1).detach()
        torch.testing.assert_close(renormalize(raw, old, new), now, rtol=1e-5, atol=1e-9)
        torch.testing.assert_close(denormalize(now, new), denormalize(raw, old), rtol=1e-5, atol=0)
        old = new


def test_merging_batches_gives_the_moments_of_all_rows() -> None:
    rows = torch.randn(2, 60, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1e6
    valid = torch.rand(2, 60, generator=torch.Generator().manual_seed(1)) < 0.7
    moments = Moments.empty(2, 3)
    for start, stop in ((0, 7), (7, 8), (8, 60)):
        moments = merge_moments(moments, rows[:, start:stop], valid[:, start:stop])
    for seed in range(2):
        seen = rows[seed][valid[seed]]
        torch.testing.assert_close(moments.mean[seed], seen.mean(0))
        torch.testing.assert_close(moments.variance[seed], seen.var(0, correction=0), rtol=1e-6, atol=0)


def test_an_agent_that_has_seen_nothing_sees_observations_as_they_are() -> None:
    config = Config(seeds=2, lanes=1)
    agent = Agent(make_env(config).spaces, config)
    add_obs_stats_(agent)
    obs = torch.tensor([[[1e5, -3.0, 0.1, 1e-9]]]).expand(2, -1, -1)
    assert torch.equal(agent.standardized(obs), obs)
    follow_observations_(agent, Batch(obs=torch.randn(2, 50, 4), valid=torch.ones(2, 50, dtype=torch.bool)), decay=0.0)
    far = torch.tensor([1e5, -1e5, 0.1, -30.0]).expand(2, 1, -1)
    assert agent.standardized(far)[0, 0, [0, 1, 3]].tolist() == [10, -10, -10]  # and then clips at ten deviations


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64).view(1, -1, 1)


def test_the_scale_of_rewards_does_not_matter_and_the_deviation_shown_is_the_last_step_s() -> None:
    assert RewardScale(2, 3).std.tolist() == [1, 1]  # before the first reward, nothing is divided by
    scale, no = RewardScale(1, 1), torch.zeros(1, 4, 1).bool()
    found = scale(column(1, -2, 3, 0.5), no, ~no, 0.5)
    assert scale.std.item() == pytest.approx(0.5 / found[0, -1, 0].item())
    scale.moments = torch.tensor([[1e9, 0, 0]]).double()
    scale.sums.zero_()
    assert scale(column(0), no[:, :1], ~no[:, :1], 0.5).item() == 0 and scale.std.item() == pytest.approx(1e-4)
    # unlike return_norm, it removes the scale from the advantages as well.
    reward, done = 2 + 3 * torch.randn(1, 60, 3).double(), torch.rand(1, 60, 3) < 0.2
    small, large = (RewardScale(1, 3)(size * reward, done, torch.ones_like(done), 0.9) for size in (1.0, 1000.0))
    torch.testing.assert_close(small[:, 9:], large[:, 9:], rtol=1e-2, atol=1e-4)  # once the prior is outweighed
    for sign in (1, -1):
        reward = torch.cat([0.01 * torch.ones(1, 999, 1), torch.full((1, 1, 1), sign * 1e6)], 1).double()
        done = torch.ones_like(reward).bool()
        assert RewardScale(1, 1)(reward, done, done, 0.9)[0, -1, 0] == sign * 10


def test_a_resumed_run_with_new_episodes_starts_sums_anew(tmp_path: Path, monkeypatch: Patch) -> None:
    config = Config("Pendulum-v1", "gymnasium", seeds=2, steps=400, lanes=2, horizon=32, minibatches=2)
    interrupted(tmp_path, config, CONTINUOUS, 1, monkeypatch)
    before = spied(monkeypatch, RewardScale, "forward", lambda scale, *given: scale.sums.clone())
    resume(tmp_path)
    assert not before[0].any() and before[1].all()


SMALL = Config("tricks/TasksNamed-v0", seeds=2, steps=768, lanes=8, horizon=16, hidden=(8,), lr=0.01)


@pytest.mark.parametrize("tricks", [UNMASKED, replace(PPG, return_norm=True, popart=True, ppg_buffers=True)])
def test_agents_of_several_tasks_train_save_load_and_do_not_share_anything(tricks: Any, tmp_path: Path) -> None:
    config = replace(SMALL, aux_every=2)
    run = train(config, tricks)
    assert run.agent.return_stats.mean.shape == (2, 4)
    deviations = run.agent.return_stats.std[0]
    assert (deviations[1:] / deviations[:-1] > 3).all()  # the tasks pay 1, 10, 100 and 1000
    assert run.curve[run.curve.seed == 0].iloc[-1].return_std == pytest.approx(float(deviations.mean()))
    run.save(tmp_path / "run")
    again = load(tmp_path / "run").agent
    obs = torch.eye(6)[:4].expand(2, 4, 6)
    assert torch.equal(again.value(obs), run.agent.value(obs))
    alone = train(config.only(1), tricks)
    torch.testing.assert_close(alone.agent.value(obs[:1]), run.agent.value(obs)[1:], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["tensor", "gymnasium"])
def test_gymnasium_says_how_many_tasks_there_are_in_its_metadata(backend: str) -> None:
    env = make_env(replace(SMALL, backend=backend))
    obs = env.reset().obs
    task = env.spaces.task(obs)
    env.close()
    assert env.spaces.tasks == 4
    assert task is not None and torch.equal(obs.gather(-1, task.unsqueeze(-1)), torch.ones(2, 8, 1))
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
    refusal(f"^Here: .*{said}", Spaces, "Here", gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), tasks)
    for space in (gym.spaces.Box(0, 255, (3, 40, 40), np.uint8), gym.spaces.Box(0, 1, (1,))):
        refusal("must say which of 2 tasks", Spaces, "Here", space, gym.spaces.Discrete(2), 2)

"""squash: what agents that squash do: play within the bounds, are saved, and go on."""

import math
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from support.any_space import AnySpace
from torch import Tensor

from tricks import Config, Evaluation, Tricks, load, resume, train
from tricks.core.env import Step
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.ladder import named
from tricks.runs.checkpoint import Checkpoints
from tricks.runs.save_policy import plain_module, save_policy
from tricks.segments import play_segment
from tricks.squash import SquashedGaussian, squashed

LOW, HIGH = (-2.0, 0.5), (2.0, 0.75)
FAMILY, NARROW = SquashedGaussian(LOW, HIGH), SquashedGaussian((-0.1,), (0.3,))
BOX = Box(np.array(LOW, np.float32), np.array(HIGH, np.float32))
SQUASH, SMALL = named("squash"), Config("ShortPendulum-v0", seeds=2, lanes=2, horizon=16, steps=100, hidden=(8,))


@pytest.mark.parametrize("tricks", [SQUASH, named("reinforce+squash"), named("ppg+squash")])
def test_what_is_played_is_within_the_bounds_and_none_is_cut_off(tricks: Tricks) -> None:
    seen = list[np.ndarray]()

    class Watching(AnySpace):
        def step(self, action: np.ndarray) -> tuple:
            seen.append(action)
            return super().step(action)

    run = train(replace(SMALL, env="own", log_std_init=1.5), tricks, env=lambda: Watching(action=BOX))
    assert all(BOX.contains(action) for action in seen)
    assert (np.ptp(seen, axis=0) > 0.9 * (BOX.high - BOX.low)).all()
    assert (run.curve.action_clip_fraction == 0).all()


def test_worlds_of_tensors_get_the_torque_and_the_rollout_keeps_u(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, step = list[Tensor](), TensorEnv.step

    def watching(self: TensorEnv, action: Tensor, playing: Tensor) -> Step:
        seen.append(action)
        return step(self, action, playing)

    monkeypatch.setattr(TensorEnv, "step", watching)
    env = make_env(replace(SMALL, env="Pendulum-v1"))
    player = Player(env, block=16)
    player.family = squashed(env.spaces.action)
    logits = torch.tensor([0.5, 1.0]).expand(2, 2, 2)
    u = play_segment(player, lambda obs, legal: logits, 16, torch.ones(2, dtype=torch.bool)).action
    torch.testing.assert_close(torch.stack(seen, 1), 2 * u.tanh())
    assert u.abs().max() > 2


def test_with_rescaled_actions_it_plays_the_same() -> None:
    plain, rescaled = (train(replace(SMALL, rescale_actions=on), SQUASH) for on in (False, True))
    np.testing.assert_allclose(plain.curve["return"], rescaled.curve["return"], rtol=1e-4)
    gap = plain.curve.entropy - rescaled.curve.entropy  # per unit of torque, or per half of the range
    np.testing.assert_allclose(gap, math.log(2), rtol=1e-4)


def test_a_run_is_saved_resumed_evaluated_and_played_with_its_bounds(tmp_path: Path) -> None:
    config = replace(SMALL, env="Pendulum-v1", horizon=100, steps=800)
    run = train(config, SQUASH, checkpoints=Checkpoints(tmp_path, every=100), evaluation=Evaluation(400, 2))
    again = resume(tmp_path)
    np.testing.assert_array_equal(run.curve.to_numpy(), again.curve.to_numpy())
    run.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.agent.family == run.agent.family == SquashedGaussian((-2.0,), (2.0,))
    np.testing.assert_array_equal(loaded.evaluate(2, greedy=True), run.evaluate(2, greedy=True))
    obs = np.zeros((2, 1, 3), np.float32)
    mean = run.agent.policy(torch.zeros(2, 1, 3)).chunk(2, -1)[0]
    np.testing.assert_allclose(run.agent.act(obs), 2 * mean.detach().tanh().numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    "space", [Box(np.array(LOW, np.float32), np.array(HIGH, np.float32)), Box(-3, 5, (2,), np.int32)]
)
def test_a_saved_policy_squashes_too(space: gym.Space, tmp_path: Path) -> None:
    run = train(replace(SMALL, env="own", log_std_init=1.0), SQUASH, env=lambda: AnySpace(action=space)).only()
    policy, far = plain_module(run), np.float32(1e3)
    run.agent.spaces.observation.seed(0)
    for scale in (1, 1, 1, far):
        obs = (scale * np.asarray(run.agent.spaces.observation.sample())).astype(np.float32)
        np.testing.assert_allclose(policy.act(obs), run.agent.act(obs), atol=1e-5)
    pytest.importorskip("onnxruntime")
    save_policy(run, tmp_path / "p.onnx", "onnx", noise=True)  # which checks what it computes

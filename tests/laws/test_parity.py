"""Our numbers against public code: called where it is installed (extra `parity`), else as numbers stored from it.

oracles.json holds inputs, and what labml-nn 0.5.1 and DI-engine 0.5.3 made of them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tricks.baseline import squared_error
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.moments import ReturnStats
from tricks.core.nets import mlp
from tricks.core.policies import Categorical
from tricks.core.reductions import mean
from tricks.dual_clip import bounded_below
from tricks.gae import gae
from tricks.popart import preserve_outputs_
from tricks.ppg import auxiliary_loss
from tricks.return_norm import move_stats
from tricks.reuse import importance_ratio
from tricks.value_clip import clipped_error

STORED = json.loads((Path(__file__).parents[1] / "support" / "oracles.json").read_text())
TIGHT: Any = {"rtol": 1e-5, "atol": 1e-5}


def row(name: str) -> torch.Tensor:
    return torch.tensor(STORED[name], dtype=torch.float64)[None]


def test_losses_equal_labml_s_and_di_engine_s() -> None:
    valid, epsilon = torch.ones(1, 16, dtype=torch.bool), torch.tensor([0.2], dtype=torch.float64)
    advantage, action = row("advantage"), torch.tensor(STORED["action"])[None]
    labml = importance_ratio(row("log_prob"), row("old_log_prob"))
    new, old = (Categorical.log_prob(row(name), action) for name in ("logits", "old_logits"))
    ding = clipped_surrogate(importance_ratio(new, old), advantage, epsilon)
    error, none = squared_error(row("new_value"), row("target")), torch.zeros(1, 16)
    value = clipped_error(row("new_value"), row("old_value"), row("target"), 0.2)
    found = {
        "labml_policy_loss": -mean(clipped_surrogate(labml, advantage, epsilon), valid),
        "labml_clip_fraction": clip_fraction(labml, epsilon, valid),
        "labml_value_loss": mean(value, valid),
        "ding_policy_loss": -mean(ding, valid),
        "ding_dual_clip_loss_at_1.2": -mean(bounded_below(ding, advantage, 1.2), valid),
        "ding_entropy": mean(Categorical.entropy(row("logits")), valid),
        "ding_value_loss": mean(value, valid),
        "ding_ppg_auxiliary_loss": auxiliary_loss((error, none, none), valid, 1.0),
        "ding_ppg_clipped_auxiliary_loss": value.mean(),
    }
    for name, each in found.items():
        assert each.item() == pytest.approx(STORED[name], rel=1e-6), name
    assert STORED["ding_dual_clip_loss_at_1.2"] != pytest.approx(STORED["ding_policy_loss"], rel=1e-4)


def test_gae_equals_stable_baselines3_with_ends_and_truncations_inside() -> None:
    buffers = pytest.importorskip("stable_baselines3.common.buffers")
    import gymnasium as gym

    rng, steps, lanes = np.random.default_rng(0), 64, 5
    reward, value = rng.normal(size=(steps, lanes)), rng.normal(size=(steps + 1, lanes))
    terminated = rng.random((steps, lanes)) < 0.1
    truncated = (rng.random((steps, lanes)) < 0.1) & ~terminated
    final = rng.normal(size=(steps, lanes))  # V of the true last observation at a truncation
    done = terminated | truncated
    buffer = buffers.RolloutBuffer(steps, gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2), "cpu", 0.95, 0.99, lanes)
    starts = np.vstack([np.zeros(lanes, bool), done])
    for t in range(steps):
        # stable-baselines3 folds the bootstrap at a truncation into the reward
        paid = reward[t] + 0.99 * final[t] * truncated[t]
        value_t = torch.tensor(value[t], dtype=torch.float32)
        buffer.add(np.zeros((lanes, 1)), np.zeros((lanes, 1)), paid, starts[t], value_t, torch.zeros(lanes))
    buffer.compute_returns_and_advantage(torch.tensor(value[-1]), starts[-1])
    following = np.where(truncated, final, value[1:])
    paid, v, v_next, dead, ended = (torch.tensor(x)[None] for x in (reward, value[:-1], following, terminated, done))
    found = gae(paid, v, v_next, dead, ended, gamma=0.99, lam=0.95)
    np.testing.assert_allclose(found[0], buffer.advantages, **TIGHT)
    np.testing.assert_allclose(found[0] + torch.tensor(value[:-1]), buffer.returns, **TIGHT)


def test_popart_of_three_tasks_equals_di_engine_and_rlax() -> None:
    stored = STORED["tasks"]
    given = {name: torch.tensor(x).double() for name, x in stored.items() if name in ("hidden", "weight", "bias")}
    net = mlp([np.random.default_rng(0)], (4, 3), exact=True)
    weight, bias = net.layers[-1]
    weight.data, bias.data = given["weight"].T.unsqueeze(0).clone(), given["bias"].view(1, 1, 3).clone()
    zero, task = torch.zeros(1, 3).double(), torch.arange(3).expand(1, 8, 3)
    stats = ReturnStats(zero, zero + 1)
    for target, theirs in zip(stored["targets"], stored["steps"], strict=True):
        batch = torch.tensor(target).double().unsqueeze(0)  # eight rows of each task
        moved = move_stats(stats.of(task), batch, torch.ones_like(batch, dtype=torch.bool), beta=0.5)
        preserve_outputs_(net, stats, moved)
        stats = moved
        output = given["hidden"] @ weight[0].detach() + bias[0].detach()
        found = {"mu": stats.mean[0], "sigma": stats.std[0], "weight": weight.detach()[0].T}
        found |= {"bias": bias.detach()[0, 0], "unnormalized": output * stats.std + stats.mean}
        for name, value in found.items():
            torch.testing.assert_close(value, torch.tensor(theirs[name]).double(), **TIGHT)

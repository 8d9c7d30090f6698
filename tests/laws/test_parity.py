"""Our numbers against public code: called where it is installed (extra `parity`), else as numbers stored from it.

oracles.json holds inputs, and what labml-nn 0.5.1 and DI-engine 0.5.3 made of them.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tricks import Config
from tricks.baseline import squared_error
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.moments import ReturnStats
from tricks.core.nets import mlp
from tricks.core.policies import Categorical
from tricks.core.reductions import mean
from tricks.dual_clip import bounded_below
from tricks.envs.lane import make_lane
from tricks.gae import gae
from tricks.popart import preserve_outputs_
from tricks.ppg import auxiliary_loss
from tricks.return_norm import move_stats
from tricks.reuse import importance_ratio
from tricks.reward_scaling import RewardScale
from tricks.value_clip import clipped_error

STORED = json.loads((Path(__file__).parents[1] / "support" / "oracles.json").read_text())
TIGHT: Any = {"rtol": 1e-5, "atol": 1e-5}
GAMMA, STEPS, LANES = 0.9, 60, 3


def row(name: str) -> torch.Tensor:
    return torch.tensor(STORED[name], dtype=torch.float64)[None]


def test_gae_equals_labml() -> None:
    reward, value, done = row("reward").double(), row("value"), row("done").bool()
    found = gae(reward, value[:, :-1], value[:, 1:], done, done, 0.99, 0.95)
    torch.testing.assert_close(found[0], torch.tensor(STORED["labml_gae"]).double(), **TIGHT)


def test_losses_of_policy_and_values_equal_labml_s_and_di_engines() -> None:
    valid, epsilon = torch.ones(1, 16, dtype=torch.bool), torch.tensor([0.2], dtype=torch.float64)
    ratio = importance_ratio(row("log_prob"), row("old_log_prob"))
    loss = -mean(clipped_surrogate(ratio, row("advantage"), epsilon), valid)
    assert loss.item() == pytest.approx(STORED["labml_policy_loss"], rel=1e-5)
    assert clip_fraction(ratio, epsilon, valid).item() == pytest.approx(STORED["labml_clip_fraction"])
    action = torch.tensor(STORED["action"])[None]
    new, old = (Categorical.log_prob(row(name), action) for name in ("logits", "old_logits"))
    objective = clipped_surrogate(importance_ratio(new, old), row("advantage"), epsilon)
    assert -mean(objective, valid).item() == pytest.approx(STORED["ding_policy_loss"], rel=1e-5)
    assert mean(Categorical.entropy(row("logits")), valid).item() == pytest.approx(STORED["ding_entropy"], rel=1e-5)
    loss = -mean(bounded_below(objective, row("advantage"), 1.2), valid)
    assert loss.item() == pytest.approx(STORED["ding_dual_clip_loss_at_1.2"], rel=1e-6)
    assert loss.item() != pytest.approx(STORED["ding_policy_loss"], rel=1e-4)
    clipped = mean(clipped_error(row("new_value"), row("old_value"), row("target"), 0.2), valid).item()
    for name in ("labml_value_loss", "ding_value_loss", "ding_ppg_clipped_auxiliary_loss"):
        assert clipped == pytest.approx(STORED[name], rel=1e-5)
    error = squared_error(row("new_value"), row("target"))
    loss = auxiliary_loss((error, torch.zeros_like(error), torch.zeros_like(error)), valid, 1.0)
    assert loss.item() == pytest.approx(STORED["ding_ppg_auxiliary_loss"], abs=1e-6)


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
        found = SimpleNamespace(
            mu=stats.mean[0],
            sigma=stats.std[0],
            weight=weight.detach()[0].T,
            bias=bias.detach()[0, 0],
            unnormalized=output * stats.std + stats.mean,
        )
        for name, value in vars(found).items():
            torch.testing.assert_close(value, torch.tensor(theirs[name]).double(), **TIGHT)


def test_reward_scaling_equals_stable_baselines3_with_ends_inside_and_in_two_rollouts() -> None:
    vectors = pytest.importorskip("stable_baselines3.common.vec_env")
    rng = np.random.default_rng(0)
    reward = torch.from_numpy(rng.normal(2, 3, (1, STEPS, LANES)))
    done = torch.from_numpy(rng.random((1, STEPS, LANES)) < 0.2)

    class Scripted(vectors.VecEnv):  # type: ignore[name-defined]
        def __init__(self) -> None:
            lane = make_lane(Config())
            super().__init__(LANES, lane.observation_space, lane.action_space)
            self.t = 0

        def reset(self) -> np.ndarray:
            return np.zeros((LANES, 4))

        def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, object]]]:
            self.t += 1
            now = reward[0, self.t - 1].numpy(), done[0, self.t - 1].numpy()
            return np.zeros((LANES, 4)), *now, [{} for _ in range(LANES)]

        step_async = close = set_attr = env_method = lambda *_, **__: None
        env_is_wrapped = get_attr = lambda *_, **__: [None] * LANES

    theirs = vectors.VecNormalize(Scripted(), norm_obs=False, gamma=GAMMA)
    theirs.reset()
    expected = np.stack([theirs.step(np.zeros(LANES))[1] for _ in range(STEPS)])
    scale, everything = RewardScale(1, LANES), torch.ones_like(done)
    parts = [slice(0, 25), slice(25, STEPS)]
    found = torch.cat([scale(reward[:, s], done[:, s], everything[:, s], GAMMA) for s in parts], 1)
    torch.testing.assert_close(found[0], torch.from_numpy(expected).double(), **TIGHT)

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
from gymnasium.wrappers import NormalizeReward

from tricks import Config
from tricks.action_mask import mask_logits
from tricks.baseline import squared_error
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.moments import Moments, ReturnStats, denormalize
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
from tricks.reward_scaling import RewardScale, running_sums, variance_so_far
from tricks.squash import SquashedGaussian, log_slope
from tricks.state_norm import merge_moments
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
    columns = (torch.tensor(x)[None] for x in (reward, value[:-1], following, terminated, done))
    reward_, value_, next_value, dead, ended = columns
    found = gae(reward_, value_, next_value, dead, ended, gamma=0.99, lam=0.95)
    np.testing.assert_allclose(found[0], buffer.advantages, **TIGHT)
    np.testing.assert_allclose(found[0] + torch.tensor(value[:-1]), buffer.returns, **TIGHT)


def test_clipped_policy_loss_equals_labml_and_di_engine() -> None:
    valid, epsilon = torch.ones(1, 16, dtype=torch.bool), torch.tensor([0.2], dtype=torch.float64)
    ratio = importance_ratio(row("log_prob"), row("old_log_prob"))
    loss = -mean(clipped_surrogate(ratio, row("advantage"), epsilon), valid)
    assert loss.item() == pytest.approx(STORED["labml_policy_loss"], rel=1e-5)
    assert clip_fraction(ratio, epsilon, valid).item() == pytest.approx(STORED["labml_clip_fraction"])
    action = torch.tensor(STORED["action"])[None]
    new, old = (Categorical.log_prob(row(name), action) for name in ("logits", "old_logits"))
    loss = -mean(clipped_surrogate(importance_ratio(new, old), row("advantage"), epsilon), valid)
    assert loss.item() == pytest.approx(STORED["ding_policy_loss"], rel=1e-5)
    assert mean(Categorical.entropy(row("logits")), valid).item() == pytest.approx(STORED["ding_entropy"], rel=1e-5)


def test_dual_clip_equals_di_engines() -> None:
    valid, epsilon = torch.ones(1, 16, dtype=torch.bool), torch.tensor([0.2], dtype=torch.float64)
    action = torch.tensor(STORED["action"])[None]
    new, old = (Categorical.log_prob(row(name), action) for name in ("logits", "old_logits"))
    objective = clipped_surrogate(importance_ratio(new, old), row("advantage"), epsilon)
    loss = -mean(bounded_below(objective, row("advantage"), 1.2), valid)
    assert loss.item() == pytest.approx(STORED["ding_dual_clip_loss_at_1.2"], rel=1e-6)
    assert loss.item() != pytest.approx(STORED["ding_policy_loss"], rel=1e-4)


def test_clipped_value_loss_equals_labml_and_di_engine() -> None:
    valid = torch.ones(1, 16, dtype=torch.bool)
    loss = mean(clipped_error(row("new_value"), row("old_value"), row("target"), 0.2), valid).item()
    assert loss == pytest.approx(STORED["labml_value_loss"], rel=1e-5)
    assert loss == pytest.approx(STORED["ding_value_loss"], rel=1e-5)


def test_popart_equals_di_engine() -> None:
    net = mlp([np.random.default_rng(0)], (4, 1), exact=True)
    weight, bias = net.layers[-1]
    weight.data, bias.data = row("popart_weight").float().mT.contiguous(), row("popart_bias").view(1, 1, 1)
    stats = ReturnStats(torch.zeros(1).double(), torch.ones(1).double())
    for target, theirs in zip(STORED["popart_targets"], STORED["popart_steps"], strict=True):
        batch = torch.tensor(target).double().view(1, -1, 1)
        moved = move_stats(stats, batch, torch.ones_like(batch, dtype=torch.bool), beta=0.5)
        preserve_outputs_(net, stats, moved)
        stats = moved
        found = SimpleNamespace(
            mu=stats.mean,
            sigma=stats.std,
            weight=weight.detach()[0].T,
            bias=bias.detach()[0, 0],
            unnormalized=denormalize(net(row("popart_hidden").float()).squeeze(-1), stats)[0].detach(),
        )
        for name, value in vars(found).items():
            torch.testing.assert_close(value.double(), torch.tensor(theirs[name]).double(), **TIGHT)


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


def test_masked_categorical_equals_sb3_contrib() -> None:
    masked = pytest.importorskip("sb3_contrib.common.maskable.distributions")
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(40, 6)), dtype=torch.float32)
    legal = rng.random((40, 6)) < 0.5
    legal[np.arange(40), rng.integers(6, size=40)] = True
    action = torch.tensor([rng.choice(np.flatnonzero(row)) for row in legal])
    theirs = masked.MaskableCategorical(logits=logits, masks=legal)
    mine = mask_logits(logits, torch.from_numpy(legal))
    torch.testing.assert_close(mine.softmax(-1), theirs.probs, **TIGHT)
    torch.testing.assert_close(Categorical.log_prob(mine, action), theirs.log_prob(action), **TIGHT)
    torch.testing.assert_close(Categorical.entropy(mine), theirs.entropy(), **TIGHT)


def test_running_moments_equal_gymnasium() -> None:
    from gymnasium.wrappers.utils import RunningMeanStd

    theirs = RunningMeanStd(epsilon=1e-4, shape=(3,))
    prior = torch.ones(1, 3, dtype=torch.float64)  # theirs starts as if it had seen 1e-4 rows of variance 1
    mine = Moments(1e-4 * prior[:, :1], 0 * prior, 1e-4 * prior)
    rng = np.random.default_rng(0)
    for size in (1, 7, 30):
        batch = rng.normal(5, 3, size=(size, 3))
        theirs.update(batch)
        mine = merge_moments(mine, torch.tensor(batch)[None], torch.ones(1, size, dtype=torch.bool))
    np.testing.assert_allclose(mine.mean[0], theirs.mean, **TIGHT)
    np.testing.assert_allclose(mine.variance[0], theirs.var, **TIGHT)


def test_ppgs_auxiliary_value_loss_equals_di_engines() -> None:
    error = squared_error(row("new_value"), row("target"))
    loss = auxiliary_loss((error, torch.zeros_like(error), torch.zeros_like(error)), torch.ones(1, 16).bool(), 1.0)
    assert loss.item() == pytest.approx(STORED["ding_ppg_auxiliary_loss"], abs=1e-6)
    clipped = clipped_error(row("new_value"), row("old_value"), row("target"), 0.2).mean()
    assert clipped.item() == pytest.approx(STORED["ding_ppg_clipped_auxiliary_loss"], abs=1e-6)


def rows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rewards of three lanes, with terminations and truncations. [1, T, N] each."""
    rng = np.random.default_rng(0)
    reward = torch.from_numpy(rng.normal(2, 3, (1, STEPS, LANES)))
    terminated = torch.from_numpy(rng.random((1, STEPS, LANES)) < 0.1)
    truncated = torch.from_numpy(rng.random((1, STEPS, LANES)) < 0.1) & ~terminated
    return reward, terminated, truncated


def test_reward_scaling_equals_stable_baselines3_with_ends_and_truncations_inside_and_in_two_rollouts() -> None:
    vectors = pytest.importorskip("stable_baselines3.common.vec_env")
    reward, terminated, truncated = rows()
    done = terminated | truncated

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


def test_reward_scaling_equals_gymnasium_where_a_sum_starts_anew_as_gymnasium_lets_it() -> None:
    # its NormalizeReward drops the past at the row that terminates, not after it, and never at a time limit
    reward, terminated, truncated = (x[..., :1] for x in rows())
    theirs = NormalizeReward(_scripted(reward, terminated, truncated), GAMMA)
    theirs.reset()
    expected = [float(theirs.step(0)[1]) for _ in range(STEPS)]
    sums = running_sums(reward, terminated, torch.zeros(1, 1).double(), GAMMA)
    variance, _ = variance_so_far(sums, torch.ones_like(terminated), RewardScale(1, 1).moments)
    found = reward[0, :, 0] / (variance[0] + 1e-8).sqrt()
    torch.testing.assert_close(found, torch.tensor(expected).double(), **TIGHT)


def _scripted(reward: torch.Tensor, terminated: torch.Tensor, truncated: torch.Tensor):  # type: ignore[no-untyped-def]
    import gymnasium as gym

    class Scripted(gym.Env[np.ndarray, int]):
        observation_space = gym.spaces.Box(-1, 1, (1,))
        action_space = gym.spaces.Discrete(2)  # type: ignore[assignment]
        t = 0

        def reset(self, *, seed: int | None = None, options: object = None):  # type: ignore[no-untyped-def]
            return np.zeros(1), {}

        def step(self, action: int):  # type: ignore[no-untyped-def]
            now = [x[0, self.t, 0].item() for x in (reward, terminated, truncated)]
            self.t += 1
            return np.zeros(1), *now, {}

    return Scripted()


def test_squash_of_stable_baselines3_is_less_exact_by_its_epsilon() -> None:
    distributions = pytest.importorskip("stable_baselines3.common.distributions")
    torch.manual_seed(0)
    logits = torch.randn(500, 4).double() * torch.tensor([1.0, 1.0, 0.4, 0.4])
    u = SquashedGaussian((-2.0, 0.5), (2.0, 0.75)).sample(logits, torch.randn(500, 2).double())
    mean, log_std = logits.chunk(2, -1)
    other = distributions.SquashedDiagGaussianDistribution(2).proba_distribution(mean, log_std)
    found = SquashedGaussian((-1, -1), (1, 1)).log_prob(logits, u)
    gap = found - other.log_prob(u.tanh(), gaussian_actions=u)
    # log(1 − tanh² + ε) is too large by less than ε/(1 − tanh²), so their log π is too small
    assert (gap >= -1e-9).all()
    assert (gap <= (other.epsilon * (-log_slope(u)).exp()).sum(-1) + 1e-9).all()
    assert gap.max() > 1e-6

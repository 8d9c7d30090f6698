"""Our numbers against public code: called where it is installed (extra `parity`), else as numbers stored from it.

oracles.json holds inputs, and what labml-nn 0.5.1 and DI-engine 0.5.3 made of them. One update of
recurrent agents, with ends inside, is held to sb3-contrib's RecurrentPPO.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.learners import between, learn
from torch import Tensor, nn

from tricks import CLEANRL, CLEANRL_CONFIG, PPO, SB3, SB3_CONFIG, Config
from tricks.baseline import squared_error
from tricks.bootstrap import time_limits_as_cuts
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.adam import Adam
from tricks.core.agent import RecurrentState
from tricks.core.moments import ReturnStats
from tricks.core.nets import Layer, mlp
from tricks.core.policies import Categorical
from tricks.core.reductions import mean
from tricks.core.rollout import Batch, Player, Rollout
from tricks.dual_clip import bounded_below
from tricks.envs.lane import make_lane
from tricks.envs.make import make_env
from tricks.gae import gae
from tricks.grad_clip import shorten
from tricks.loop import build_agent, judge
from tricks.popart import preserve_outputs_
from tricks.ppg import auxiliary_loss
from tricks.recurrent import whole_lanes
from tricks.return_norm import move_stats
from tricks.reuse import importance_ratio, minibatches, old_log_prob
from tricks.reward_scaling import RewardScale
from tricks.segments import play_segment
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
        w, b = weight.detach()[0], bias.detach()[0, 0]
        found = {"mu": stats.mean[0], "sigma": stats.std[0], "weight": w.T, "bias": b}
        found["unnormalized"] = (given["hidden"] @ w + b) * stats.std + stats.mean
        for name, value in found.items():
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


TRICKS = replace(PPO, recurrent=True, grad_clip=False, lr_anneal=False, value_clip=False)
RECURRENT = Config("Restless-v0", seeds=1, lanes=6, horizon=16, recurrent_size=5, minibatches=2, epochs=1)
CLOSE: Any = {"rtol": 1e-4, "atol": 1e-6}


class Bare(nn.Module):
    """Shows the observation itself, as their nets do to the LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.layers = 3, list[Layer]()

    def forward(self, x: Tensor) -> Tensor:
        return x


class Noting(Adam):
    """Leaves the gradients in the parameters, and takes no step."""

    def move(self, loss: Tensor, learning_rate: Tensor, moving: Tensor) -> Tensor:
        loss.sum().backward()
        return torch.zeros_like(loss)


def batch_of_ours() -> tuple[Any, Batch]:
    """An agent, and a minibatch of three of its six lanes, in which the policy that played was another one."""
    env = make_env(RECURRENT)
    agent = build_agent(env.spaces, RECURRENT, TRICKS, lambda generators, spaces: Bare())
    for net in (agent.policy_net, agent.value_net):
        net.head.weight.data *= 3
    player = Player(env, RECURRENT.horizon)
    player.state = RecurrentState(agent, env)
    for _ in range(2):  # states are not zero before the second rollout
        rollout = play_segment(player, agent.policy, RECURRENT.horizon, torch.ones(1, dtype=torch.bool))
    batch = judge(between(agent, RECURRENT, TRICKS, Adam(agent.parameters(), 1e-5)), rollout)
    batch.old_log_prob = old_log_prob(agent.policy, agent.spaces.family, batch)
    batch.old_log_prob += 0.3 * torch.randn(batch.old_log_prob.shape, generator=torch.Generator().manual_seed(0))
    first, _ = whole_lanes(batch, RECURRENT.seed_list, 0, 1, RECURRENT.minibatches)
    return agent, first


def their_weights(agent: Any, policy: Any) -> list[tuple[nn.Parameter, nn.Parameter]]:
    """Give their policy our weights; returns their parameters beside ours."""
    pairs = []
    for mine, lstm, head in (
        (agent.policy_net, policy.lstm_actor, policy.action_net),
        (agent.value_net, policy.lstm_critic, policy.value_net),
    ):
        cell, weight, bias = mine.body.cell, mine.head.weight, mine.head.bias
        pairs += [(lstm.weight_ih_l0, cell.inward), (lstm.weight_hh_l0, cell.onward), (lstm.bias_ih_l0, cell.bias)]
        pairs += [(head.weight, weight), (head.bias, bias)]
        lstm.bias_hh_l0.data.zero_()
    for theirs, ours in pairs:
        theirs.data.copy_(ours.data[0].T.reshape(theirs.shape))
    return pairs


def test_log_probabilities_values_and_gradients_of_one_minibatch_are_those_of_sb3_contrib() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    from sb3_contrib.common.recurrent.type_aliases import RNNStates
    from stable_baselines3.common import logger

    agent, b = batch_of_ours()
    lanes = b.obs.state.shape[1]
    assert (~b.valid).any()  # a reset, and so an end inside
    assert b.obs.state.any()
    asked: Any = {"n_epochs": 1, "clip_range": 0.2, "ent_coef": RECURRENT.entropy_coef, "learning_rate": 0.0}
    asked |= {"vf_coef": 0.5 * RECURRENT.each("value_coef")[0], "max_grad_norm": np.inf}  # our squared error has a half
    nets = {"net_arch": [], "lstm_hidden_size": RECURRENT.recurrent_size, "optimizer_class": torch.optim.SGD}
    theirs = contrib.RecurrentPPO("MlpLstmPolicy", gym.make(RECURRENT.env), **asked, policy_kwargs=nets)
    pairs = their_weights(agent, theirs.policy)

    def in_their_order(x: Tensor) -> Tensor:  # [1, T·L, ...] -> [L·T, ...]
        return x[0].unflatten(0, (-1, lanes)).transpose(0, 1).flatten(0, 1)

    valid = b.valid[0].unflatten(0, (-1, lanes))
    starts = torch.cat([torch.zeros(1, lanes, dtype=torch.bool), ~valid[:-1]]).T.flatten()
    states = [tuple(x.unsqueeze(0).contiguous() for x in b.obs.state[0, :, k].chunk(2, -1)) for k in (0, 1)]
    data = as_they_name_it(b, b.obs.obs, in_their_order)
    data.lstm_states, data.episode_starts = RNNStates(*states), starts.float()
    data.mask = in_their_order(b.valid).float()
    evaluate = theirs.policy.evaluate_actions
    values, log_prob, _ = evaluate(data.observations, data.actions, data.lstm_states, data.episode_starts)
    rows = in_their_order(b.valid)
    mine = agent.spaces.family.log_prob(agent.policy(b.obs, b.legal), b.action)
    torch.testing.assert_close(in_their_order(mine)[rows], log_prob[rows], **CLOSE)
    torch.testing.assert_close(in_their_order(agent.value(b.obs)).float()[rows], values.flatten()[rows], **CLOSE)

    theirs.rollout_buffer = SimpleNamespace(get=lambda size: [data], values=np.zeros(2), returns=np.zeros(2))
    theirs.set_logger(logger.Logger(None, []))
    theirs.train()
    noting = Noting(agent.parameters(), RECURRENT.adam_eps)
    learn(between(agent, RECURRENT, TRICKS, noting), [b])
    for their, our in pairs:
        assert our.grad is not None
        torch.testing.assert_close(our.grad[0].T.reshape(their.shape).float(), their.grad, **CLOSE)
    for lstm in (theirs.policy.lstm_actor, theirs.policy.lstm_critic):  # each of its two biases has ours' gradient
        torch.testing.assert_close(lstm.bias_hh_l0.grad, lstm.bias_ih_l0.grad)


def test_the_preset_sb3_makes_the_update_that_stable_baselines3_makes_by_default() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common import logger

    config = replace(SB3_CONFIG, env=RECURRENT.env, seeds=1)
    theirs, env = sb3.PPO("MlpPolicy", gym.make(config.env)), make_env(config)
    theirs.set_logger(logger.Logger(None, []))
    assert (theirs.n_envs, theirs.n_steps) == (config.lanes, config.horizon)
    assert theirs.batch_size * config.minibatches == config.horizon
    agent = build_agent(env.spaces, config, SB3)
    pairs = feedforward_weights(agent, theirs.policy)
    optimizer = Adam(agent.parameters(), config.adam_eps)
    optimizer.limit = partial(shorten, max_norm=config.max_grad_norm)
    t, everyone = between(agent, config, SB3, optimizer), torch.ones(1, dtype=torch.bool)
    rollout = time_limits_as_cuts(play_segment(Player(env, config.horizon), agent.policy, config.horizon, everyone))
    batch = judge(t, rollout)
    batch.old_log_prob = old_log_prob(agent.policy, agent.spaces.family, batch)

    rows, buffer = batch.valid[0], judged_by(theirs, rollout)
    for mine, its in (("advantage", "advantages"), ("target", "returns"), ("old_value", "values")):
        found = torch.from_numpy(getattr(buffer, its)).flatten()
        torch.testing.assert_close(batch.columns[mine][0][rows].float(), found, rtol=1e-4, atol=1e-4)
    batches = list(minibatches(batch, config.seed_list, 0, config.epochs, config.minibatches))
    dealt = iter([as_they_name_it(b, b.obs, lambda x, b=b: x[0][b.valid[0]]) for b in batches])  # type: ignore[misc]
    buffer.get = lambda size: [next(dealt) for _ in range(config.minibatches)]
    theirs.rollout_buffer = buffer
    before = [our.data.clone() for _, our in pairs]
    theirs.train()
    learn(t, batches)
    for (their, our), old in zip(pairs, before, strict=True):
        assert not torch.allclose(our, old, atol=1e-3)
        torch.testing.assert_close(our.data[0].T.reshape(their.shape).float(), their.data, rtol=1e-3, atol=1e-4)


def feedforward_weights(agent: Any, policy: Any) -> list[tuple[nn.Parameter, nn.Parameter]]:
    """Give their policy our weights; returns their parameters beside ours."""
    hidden, pairs = policy.mlp_extractor, list[tuple[nn.Parameter, nn.Parameter]]()
    for mine, body, head in (
        (agent.policy_net, hidden.policy_net, policy.action_net),
        (agent.value_net, hidden.value_net, policy.value_net),
    ):
        for layer, ours in zip([body[0], body[2], head], mine.layers, strict=True):
            pairs += zip((layer.weight, layer.bias), ours, strict=True)
    for theirs, ours in pairs:
        theirs.data.copy_(ours.data[0].T.reshape(theirs.shape))
    return pairs


def judged_by(theirs: Any, rollout: Rollout) -> Any:
    """Their buffer of a rollout of one lane, with advantages and returns; a time limit pays V, as they collect it."""
    from stable_baselines3.common.buffers import RolloutBuffer

    rows = rollout.valid[0, :, 0]
    obs, after, over = rollout.obs[0, :-1, 0][rows], rollout.obs[0, 1:, 0][rows], rollout.over[0, :, 0][rows]
    cut = over & ~rollout.terminated[0, :, 0][rows]
    assert cut.any()
    with torch.no_grad():
        value, later = (theirs.policy.predict_values(x).flatten() for x in (obs, after))
    reward = rollout.reward[0, :, 0][rows] + torch.where(cut, theirs.gamma * later, 0)
    begun = torch.cat([torch.ones(1, dtype=torch.bool), over[:-1]])
    spaces = theirs.observation_space, theirs.action_space
    buffer = RolloutBuffer(len(obs), *spaces, gae_lambda=theirs.gae_lambda, gamma=theirs.gamma)
    for x, action, paid, first, v in zip(obs, rollout.action[0, :, 0][rows], reward, begun, value, strict=True):
        buffer.add(x.numpy(), action.numpy(), paid.numpy(), first.numpy(), v, torch.zeros(1))
    buffer.compute_returns_and_advantage(later[-1:], over[-1:].numpy())
    return buffer


def as_they_name_it(b: Batch, obs: Tensor, in_their_order: Callable[[Tensor], Tensor]) -> SimpleNamespace:
    named = {"observations": obs, "actions": b.action, "old_log_prob": b.old_log_prob, "advantages": b.advantage}
    named["returns"] = b.target.float()
    return SimpleNamespace(**{name: in_their_order(x) for name, x in named.items()})


def test_the_preset_cleanrl_has_the_arguments_of_its_ppo() -> None:
    """ppo.py of CleanRL at its master of 2024; its update is the reference's, as that of every preset."""
    config, on = CLEANRL_CONFIG, CLEANRL
    assert (config.steps, config.lr, config.lanes, config.horizon) == (500_000, 2.5e-4, 4, 128)
    assert (config.gamma, config.gae_lambda, config.minibatches, config.epochs) == (0.99, 0.95, 4, 4)
    assert (config.clip_range, config.value_clip_range, config.max_grad_norm) == (0.2, 0.2, 0.5)
    assert (config.entropy_coef, config.value_coef, config.adam_eps, config.hidden) == (0.01, 0.5, 1e-5, (64, 64))
    assert on.lr_anneal and on.advantage_norm and on.value_clip and not on.kl_stop
    assert not on.bootstrap  # it takes truncation for termination

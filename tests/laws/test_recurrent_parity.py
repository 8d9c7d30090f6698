"""One update of recurrent agents against sb3-contrib's RecurrentPPO (extra `parity`), with ends inside."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.register import register
from support.restless import Restless
from support.updates import between, learn
from torch import Tensor, nn

from tricks import PPO, Config
from tricks.core.adam import Adam
from tricks.core.nets import Layer
from tricks.core.recurrent_state import RecurrentState
from tricks.core.rollout import Batch, Player
from tricks.envs.make import make_env
from tricks.loop import build_agent, judge
from tricks.recurrent import whole_lanes
from tricks.reuse import old_log_prob
from tricks.segments import play_segment

register("RestlessParity-v0", Restless)
TRICKS = replace(PPO, recurrent=True, grad_clip=False, lr_anneal=False, value_clip=False)
CONFIG = Config("RestlessParity-v0", seeds=1, lanes=6, horizon=16, recurrent_size=5, minibatches=2, epochs=1)
TIGHT: Any = {"rtol": 1e-4, "atol": 1e-6}


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
    env = make_env(CONFIG)
    agent = build_agent(env.spaces, CONFIG, TRICKS, lambda generators, spaces: Bare())
    for net in (agent.policy_net, agent.value_net):
        net.head.weight.data *= 3
    player = Player(env, CONFIG.horizon)
    player.state = RecurrentState(agent, env)
    for _ in range(2):  # states are not zero before the second rollout
        rollout = play_segment(player, agent.policy, CONFIG.horizon, torch.ones(1, dtype=torch.bool))
    batch = judge(between(agent, CONFIG, TRICKS, Adam(agent.parameters(), 1e-5)), rollout)
    batch.old_log_prob = old_log_prob(agent.policy, agent.spaces.family, batch)
    batch.old_log_prob += 0.3 * torch.randn(batch.old_log_prob.shape, generator=torch.Generator().manual_seed(0))
    first, _ = whole_lanes(batch, CONFIG.seed_list, 0, 1, CONFIG.minibatches)
    return agent, first


def their_weights(agent: Any, policy: Any) -> list[tuple[nn.Parameter, nn.Parameter]]:
    """Give their policy our weights; returns their parameters beside ours."""
    pairs = []
    nets = (
        (agent.policy_net, policy.lstm_actor, policy.action_net),
        (agent.value_net, policy.lstm_critic, policy.value_net),
    )
    for mine, lstm, head in nets:
        cell, (weight, bias) = mine.body.cell, mine.head.layer
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
    lanes, size = b.obs.state.shape[1], CONFIG.recurrent_size
    assert (~b.valid).any()  # a reset, and so an end inside
    assert b.obs.state.any()
    theirs = contrib.RecurrentPPO(
        "MlpLstmPolicy",
        gym.make(CONFIG.env),
        n_epochs=1,
        clip_range=0.2,
        ent_coef=CONFIG.entropy_coef,
        vf_coef=0.5 * CONFIG.each("value_coef")[0],  # our squared error has a half
        max_grad_norm=np.inf,
        policy_kwargs={"net_arch": [], "lstm_hidden_size": size, "optimizer_class": torch.optim.SGD},
        learning_rate=0.0,
    )
    pairs = their_weights(agent, theirs.policy)

    def in_their_order(x: Tensor) -> Tensor:  # [1, T·L, ...] -> [L·T, ...]
        return x[0].unflatten(0, (-1, lanes)).transpose(0, 1).flatten(0, 1)

    valid = b.valid[0].unflatten(0, (-1, lanes))
    starts = torch.cat([torch.zeros(1, lanes, dtype=torch.bool), ~valid[:-1]]).T.flatten()
    states = [tuple(x.unsqueeze(0).contiguous() for x in b.obs.state[0, :, k].chunk(2, -1)) for k in (0, 1)]
    data = SimpleNamespace(
        observations=in_their_order(b.obs.obs),
        actions=in_their_order(b.action),
        old_log_prob=in_their_order(b.old_log_prob),
        advantages=in_their_order(b.advantage),
        returns=in_their_order(b.target).float(),
        lstm_states=RNNStates(*states),
        episode_starts=starts.float(),
        mask=in_their_order(b.valid).float(),
    )
    values, log_prob, _ = theirs.policy.evaluate_actions(
        data.observations, data.actions, data.lstm_states, data.episode_starts
    )
    rows = in_their_order(b.valid)
    mine = agent.spaces.family.log_prob(agent.policy(b.obs, b.legal), b.action)
    torch.testing.assert_close(in_their_order(mine)[rows], log_prob[rows], **TIGHT)
    torch.testing.assert_close(in_their_order(agent.value(b.obs)).float()[rows], values.flatten()[rows], **TIGHT)

    theirs.rollout_buffer = SimpleNamespace(get=lambda size: [data], values=np.zeros(2), returns=np.zeros(2))
    theirs.set_logger(logger.Logger(None, []))
    theirs.train()
    noting = Noting(agent.parameters(), CONFIG.adam_eps)
    learn(between(agent, CONFIG, TRICKS, noting), [b])
    for their, our in pairs:
        assert our.grad is not None
        torch.testing.assert_close(our.grad[0].T.reshape(their.shape).float(), their.grad, **TIGHT)
    for lstm in (
        theirs.policy.lstm_actor,
        theirs.policy.lstm_critic,
    ):  # each of their two biases has the gradient of ours
        torch.testing.assert_close(lstm.bias_hh_l0.grad, lstm.bias_ih_l0.grad)

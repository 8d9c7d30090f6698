"""recurrent: states begin at zero, are carried along a lane, end with its episode, and come out again in training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.register import register
from support.restless import Restless
from torch import Tensor, nn

from tricks import PPO, Config, InputError, Tricks, train
from tricks.core.agent import Agent
from tricks.core.recurrent_state import RecurrentState
from tricks.core.rollout import Batch, Player, Rollout
from tricks.core.sequences import Sequences
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.loop import build_agent
from tricks.recurrent import Cell, as_sequences, whole_lanes
from tricks.segments import play_segment

register("Restless-v0", Restless)
register("RestlessBox-v0", Restless, discrete=False)
TRICKS = replace(PPO, recurrent=True)
CONFIG = Config("Restless-v0", seeds=2, steps=500, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])


def played(config: Config = CONFIG, rollouts: int = 1, tricks: Tricks = TRICKS) -> tuple[Agent, list[Rollout]]:
    """Some agents, and segments that they have played one after the other."""
    env = make_env(config)
    agent, player = build_agent(env.spaces, config, tricks), Player(env, config.horizon)
    player.state = RecurrentState(agent, env)
    everyone = torch.ones(len(config.seed_list), dtype=torch.bool)
    return agent, [play_segment(player, agent.policy, config.horizon, everyone) for _ in range(rollouts)]


def batch_of(rollout: Rollout) -> Batch:
    batch = Batch.of(rollout)
    batch.obs = as_sequences(batch, rollout)
    return batch


def cell_of(kind: str, size: int = 5, features: int = 3) -> Cell:
    return Cell((0,), 0, features, Config(recurrent_cell=kind, recurrent_size=size))


@KINDS
def test_a_cell_equals_torch_s(kind: str) -> None:
    cell, x = cell_of(kind), torch.randn(7, 2, 3)
    theirs = {"lstm": nn.LSTM, "gru": nn.GRU}[kind](3, 5)
    with torch.no_grad():
        cell.bias.normal_()
        theirs.weight_ih_l0.copy_(cell.inward[0].T)
        theirs.weight_hh_l0.copy_(cell.onward[0].T)
        theirs.bias_ih_l0.copy_(cell.bias[0, 0])
        theirs.bias_hh_l0.zero_()
    expected, _ = theirs(x)
    state = torch.zeros(1, 2, cell.state_size)
    for row, out in zip(x, expected, strict=True):
        state = cell(cell.contribution(row.unsqueeze(0)), state)
        torch.testing.assert_close(state[0, :, :5], out)


@KINDS
def test_weights_begin_orthogonal_and_the_bias_at_zero(kind: str) -> None:
    cell = cell_of(kind, size=4, features=30)
    for weight in (cell.inward[0], cell.onward[0]):
        rows, columns = weight.shape
        product = weight.T @ weight if rows > columns else weight @ weight.T
        torch.testing.assert_close(product, torch.eye(min(rows, columns)), atol=1e-5, rtol=0)
    assert not cell.bias.any()


def test_no_two_layers_begin_with_the_same_numbers() -> None:
    config = replace(CONFIG, recurrent_cell="gru", recurrent_size=8)  # as wide as the body
    agent = build_agent(make_env(config).spaces, config, TRICKS)
    cells = [cell for cell in agent.modules() if isinstance(cell, Cell)]
    weights = [weight for cell in cells for weight in (cell.inward, cell.onward)]
    assert len({tuple(weight[0].flatten().tolist()) for weight in weights}) == 4
    heads = [net.head.weight[0, :, 0] for net in (agent.policy_net, agent.value_net)]
    assert not torch.allclose(*[head / head.norm() for head in heads])


@KINDS
@pytest.mark.parametrize("shared", [False, True])
def test_the_features_of_training_are_those_of_play(kind: str, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    look = RecurrentState.look

    def noted(self: RecurrentState) -> object:
        features = look(self)
        seen.append(features.hidden)
        return features

    monkeypatch.setattr(RecurrentState, "look", noted)
    config = replace(CONFIG, recurrent_cell=kind)
    agent, rollouts = played(config, rollouts=3, tricks=replace(TRICKS, shared_trunk=shared))
    for k, rollout in enumerate(rollouts):
        assert rollout.done.any()  # there are ends inside
        hidden = agent.features(batch_of(rollout).obs).hidden.unflatten(1, (16, 4))
        theirs = torch.stack(seen[16 * k : 16 * (k + 1)], 1)
        torch.testing.assert_close(hidden[rollout.valid], theirs[rollout.valid], atol=1e-6, rtol=1e-5)


def test_a_state_is_carried_from_one_rollout_to_the_next() -> None:
    _, (first, second) = played(rollouts=2)
    assert first.state is not None
    assert second.state is not None
    assert not first.state.any()
    ended = first.done[:, -1] | ~first.valid[:, -1]  # lanes whose last row was an end or a reset
    assert second.state[~ended].flatten(1).any(1).all()
    reset = ~first.valid[:, -1]
    assert not second.state[reset].any()


def test_an_end_cuts_the_memory_and_before_it_everything_counts() -> None:
    agent, (rollout,) = played()
    obs = rollout.obs[:, :-1].clone()
    s, t, n = (~rollout.valid).nonzero()[0].tolist()  # a reset
    start = next(k for k in range(t - 1, -2, -1) if k < 0 or not rollout.valid[s, k, n]) + 1

    def hidden(change: int) -> Tensor:
        changed = obs.clone()
        changed[s, change, n] += 1
        lanes = replace(batch_of(rollout).obs, obs=changed.flatten(1, 2))
        return agent.features(lanes).hidden.unflatten(1, (16, 4))[s, :, n]

    before = hidden(start) - agent.features(batch_of(rollout).obs).hidden.unflatten(1, (16, 4))[s, :, n]
    assert (before[start:t].abs().sum(-1) > 0).all()  # up to the end
    assert not before[t + 1 :].any()  # and not beyond it


def test_a_value_sees_what_its_lane_has_seen_and_the_true_last_observation() -> None:
    agent, (rollout,) = played()
    _, following = agent.values(rollout)
    s, t, n = (rollout.done & rollout.valid)[:, :-1].nonzero()[0].tolist()
    start = next(k for k in range(t - 1, -2, -1) if k < 0 or not rollout.valid[s, k, n]) + 1
    one = agent[s]
    past = rollout.obs[s, start : t + 2, n][None]  # the episode with its last observation, as one lane
    lanes = Sequences(past, torch.ones(past.shape[:2], dtype=torch.bool), torch.zeros(1, 1, 2, 10))
    torch.testing.assert_close(one.value(lanes)[0, -1], following[s, t, n])


def test_a_minibatch_holds_whole_lanes_in_the_order_of_time() -> None:
    _, (_, rollout) = played(rollouts=2)
    batch = batch_of(rollout)
    batch.add(advantage=torch.arange(16 * 4.0).view(16, 4).expand(2, 16, 4))
    dealt = list(whole_lanes(batch, (0, 1), 0, epochs=2, count=2))
    for epoch in (dealt[:2], dealt[2:]):
        rows = torch.cat([b.advantage.unflatten(1, (16, -1)) for b in epoch], 2)  # [S, T, N]
        assert (rows.diff(dim=1) == 4).all()
        assert (rows[:, 0].sort().values == torch.arange(4)).all()
        for b in epoch:
            lane = b.advantage.unflatten(1, (16, -1))[:, 0].long()  # [S, L]
            for s in range(2):
                assert batch.obs.state[s, lane[s]].equal(b.obs.state[s])
                assert rollout.valid[s][:, lane[s]].equal(b.valid.unflatten(1, (16, -1))[s])
                assert rollout.obs[s, :-1][:, lane[s]].equal(b.obs.obs.unflatten(1, (16, -1))[s])
    orders = [torch.cat([b.advantage.unflatten(1, (16, -1))[:, 0] for b in e], 1) for e in (dealt[:2], dealt[2:])]
    assert not orders[0].equal(orders[1])


def test_lanes_that_cannot_be_dealt_evenly_are_all_dealt_once() -> None:
    _, (rollout,) = played(replace(CONFIG, lanes=5))
    batch = batch_of(rollout)
    batch.add(advantage=torch.ones(2, 16, 5))
    counts = [b.valid.sum(1) for b in whole_lanes(batch, (0, 1), 0, epochs=1, count=2)]
    assert torch.stack(counts).sum(0).equal(rollout.valid.flatten(1).sum(1))


def test_the_state_before_a_rollout_has_no_gradient() -> None:
    agent, rollouts = played(rollouts=2)
    lanes = batch_of(rollouts[1]).obs
    assert not lanes.state.requires_grad
    agent.features(lanes).hidden.sum().backward()
    assert all(p.grad is not None for p in agent.policy_net.body.parameters())  # type: ignore[attr-defined]


def test_a_recurrent_net_is_not_asked_about_an_observation_alone() -> None:
    agent, _ = played()
    with pytest.raises(NotImplementedError):
        agent.policy(torch.zeros(2, 3, 3))


def test_more_minibatches_than_lanes_are_refused() -> None:
    with pytest.raises(InputError, match="whole lanes, and 4 minibatches are more than 2 lanes: lower --minibatches"):
        train(replace(CONFIG, lanes=2, minibatches=4), TRICKS)


@pytest.mark.parametrize("other", ["ppg", "separate_optimizers"])
def test_what_it_cannot_go_with_is_named(other: str) -> None:
    with pytest.raises(InputError, match=f"recurrent cannot be combined with {other}"):
        replace(named(other), recurrent=True)


def test_under_shared_trunk_both_heads_read_one_state() -> None:
    apart, shared = (
        build_agent(make_env(CONFIG).spaces, CONFIG, replace(TRICKS, shared_trunk=x)) for x in (False, True)
    )
    assert shared.value_net.body is shared.policy_net.body
    body = sum(p.numel() for p in apart.value_net.body.parameters())  # type: ignore[attr-defined]
    assert sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters()) == body


@pytest.mark.parametrize("discrete", [True, False])
def test_masks_and_both_action_families(discrete: bool) -> None:
    config = replace(CONFIG, env="Restless-v0" if discrete else "RestlessBox-v0", epochs=1, minibatches=1)
    curve = train(config, replace(TRICKS, action_mask=discrete)).curve
    np.testing.assert_allclose(curve["max_ratio"], 1, atol=1e-5)


def test_images_too() -> None:
    config = Config("tricks/Bricks-v0", seeds=2, steps=300, lanes=2, horizon=16, minibatches=1, epochs=1)
    np.testing.assert_allclose(train(config, TRICKS).curve["max_ratio"], 1, atol=1e-5)

"""recurrent: states begin at zero, end with their episode or life, are carried along, and come back in training."""

import itertools
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.register import register
from support.restless import Restless
from torch import Tensor, nn

from tricks import PPO, Config, InputError, Run, train
from tricks.core.agent import Agent
from tricks.core.recurrent_state import RecurrentState
from tricks.core.rollout import Batch, Player
from tricks.core.sequences import goes_on
from tricks.envs.make import make_env
from tricks.envs.wrappers import LifeEnds
from tricks.ladder import named
from tricks.loop import build_agent
from tricks.recurrent import Cell, as_sequences
from tricks.runs import film
from tricks.segments import play_segment

register("Restless-v0", Restless)
TRICKS = replace(PPO, recurrent=True)
CONFIG = Config("Restless-v0", seeds=2, steps=300, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
EVERYONE = torch.ones(2, dtype=torch.bool)


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
    state = torch.zeros(1, 2, cell.state_size)
    for row, out in zip(x, theirs(x)[0], strict=True):
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


def test_no_two_layers_begin_with_the_same_numbers_and_a_shared_trunk_has_one_body() -> None:
    config = replace(CONFIG, recurrent_cell="gru", recurrent_size=8)  # as wide as the body
    apart, shared = (
        build_agent(make_env(config).spaces, config, replace(TRICKS, shared_trunk=x)) for x in (False, True)
    )
    cells = [cell for cell in apart.modules() if isinstance(cell, Cell)]
    weights = [weight for cell in cells for weight in (cell.inward, cell.onward)]
    assert len({tuple(weight[0].flatten().tolist()) for weight in weights}) == 4
    heads = [net.head.weight[0, :, 0] for net in (apart.policy_net, apart.value_net)]
    assert not torch.allclose(*[head / head.norm() for head in heads])
    assert shared.value_net.body is shared.policy_net.body
    body = sum(p.numel() for p in apart.value_net.body.parameters())  # type: ignore[attr-defined]
    assert sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters()) == body


class Lives(gym.Env):
    """Random observations; a game has three lives of three to five steps each."""

    observation_space, action_space = gym.spaces.Box(-9, 9, (3,), np.float32), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.lives, self.left = 3, self.np_random.integers(3, 6)
        return self.observation(), {"lives": self.lives}

    def observation(self) -> np.ndarray:
        return self.np_random.normal(size=3).astype(np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.left -= 1
        if self.left == 0:
            self.lives, self.left = self.lives - 1, self.np_random.integers(3, 6)
        return self.observation(), 1.0, self.lives == 0, False, {"lives": self.lives}


LIVES = replace(CONFIG, env="CartPole-v1", life_ends=True)


@KINDS
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("press", [None, 1], ids=["goes on at once", "presses fire first"])
def test_a_state_is_zero_exactly_where_an_episode_begins_and_training_sees_what_play_saw(
    press: int | None, shared: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(LIVES, recurrent_cell=kind)
    env = LifeEnds(make_env(replace(config, life_ends=False), make=Lives), press)
    agent = build_agent(env.spaces, config, replace(TRICKS, shared_trunk=shared))
    player = Player(env, config.horizon)
    player.state, states, hidden = RecurrentState(agent, env), list[Tensor](), list[Tensor]()
    through = agent.through

    def noted(net: Any, lanes: Any) -> Any:
        found = through(net, lanes)
        if net is agent.policy_net and lanes.obs.dim() == 3 and lanes.obs.shape[1] == config.lanes:
            states.append(lanes.state)
            hidden.append(found[0])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(agent, "through", noted)
        rollouts = [play_segment(player, agent.policy, config.horizon, EVERYONE) for _ in range(3)]
    valid, done = (torch.cat([getattr(r, name) for r in rollouts], 1) for name in ("valid", "done"))  # [S, T, N]
    before, played = torch.stack(states, 1).flatten(3), torch.stack(hidden, 1)  # [S, T, N, ...]
    first = torch.zeros_like(done)
    first[:, 0] = True
    first[:, 1:] = valid[:, 1:] & (done[:, :-1] | ~valid[:, :-1])
    assert int((first[:, 1:] & done[:, :-1]).sum()) > (10 if press is None else -1)
    assert not before[first].any()
    assert before[valid & ~first].any(-1).all()  # also from one rollout to the next
    for k, rollout in enumerate(rollouts):
        sequences = as_sequences(Batch.of(rollout), rollout)
        assert not sequences.state.requires_grad
        rows = slice(config.horizon * k, config.horizon * (k + 1))
        again = agent.features(sequences).hidden.unflatten(1, (config.horizon, config.lanes))
        torch.testing.assert_close(again[rollout.valid], played[:, rows][rollout.valid], atol=1e-6, rtol=1e-5)
    again.sum().backward()
    assert all(p.grad is not None for p in agent.policy_net.body.parameters())  # type: ignore[attr-defined]
    with pytest.raises(NotImplementedError):  # about an observation alone
        agent.policy(torch.zeros(2, 3, 3))


def test_rows_after_which_a_state_goes_on_by_hand() -> None:
    valid = torch.tensor([True, True, True, False, True, True]).view(1, -1, 1)
    done = torch.tensor([False, True, True, False, False, True]).view(1, -1, 1)
    # a life ends in row 1, the game in row 2, whose state row 3 still sees before the reset; then comes another game
    assert goes_on(valid, done).flatten().tolist() == [True, False, True, False, True, True]


@pytest.mark.parametrize("env", ["lives", "tricks/Bricks-v0"])
@pytest.mark.parametrize("tricks", [TRICKS, replace(TRICKS, shared_trunk=True)], ids=["apart", "shared"])
def test_the_first_ratio_is_one_though_lives_are_lost_and_on_images(tricks: Any, env: str) -> None:
    config, make = replace(CONFIG, env=env, epochs=1, minibatches=1), None
    if env == "lives":
        config, make = replace(config, life_ends=True), Lives
    np.testing.assert_allclose(train(config, tricks, env=make).curve["max_ratio"], 1, atol=1e-5)


@pytest.fixture(scope="module")
def run() -> Run:
    return train(LIVES, TRICKS, env=Lives)


def test_an_evaluation_forgets_with_a_life_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, look = list[tuple[Tensor, Tensor]](), RecurrentState.look

    def noted(state: RecurrentState) -> object:
        seen.append((state.env.now.ended & ~state.env.now.resetting, state.before()))
        return look(state)

    monkeypatch.setattr(RecurrentState, "look", noted)
    run.evaluate(3)
    assert sum(int(lost.sum()) for lost, _ in seen) >= 2 * 3 * 2
    assert not any(before[lost].any() for lost, before in seen)


def test_so_does_an_agent_that_is_filmed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL", reason="the extra `play` is not installed")
    begun, lives, act, env = list[bool](), list[int](), Agent.act, Lives()

    def noted(agent: Agent, obs: Any, legal: Any, rng: Any, begins: bool) -> np.ndarray:
        begun.append(begins)
        lives.append(env.lives)
        return act(agent, obs, legal, rng, begins)

    monkeypatch.setattr(Agent, "act", noted)
    monkeypatch.setattr(film, "_drawn", lambda *_: np.zeros((2, 2, 3), np.uint8))
    film.watch(run.only(1), env, greedy=False)
    assert begun == [True, *(after < before for before, after in itertools.pairwise(lives))]
    assert sum(begun) == 3


def test_what_it_cannot_go_with_is_named() -> None:
    with pytest.raises(InputError, match="whole lanes, and 4 minibatches are more than 2 lanes: lower --minibatches"):
        train(replace(CONFIG, lanes=2, minibatches=4), TRICKS)
    for other in ("ppg", "separate_optimizers"):
        with pytest.raises(InputError, match=f"recurrent cannot be combined with {other}"):
            replace(named(other), recurrent=True)

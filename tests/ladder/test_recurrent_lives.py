"""recurrent: where a lost life ends an episode, the memory ends with it, in play, in training and in evaluation."""

import itertools
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from tricks import PPO, Config, train
from tricks.core.agent import Agent
from tricks.core.env import Env
from tricks.core.recurrent_state import RecurrentState
from tricks.core.rollout import Batch, Player
from tricks.core.sequences import goes_on
from tricks.envs.make import make_env
from tricks.envs.wrappers import LifeEnds
from tricks.loop import build_agent
from tricks.recurrent import as_sequences
from tricks.runs import film
from tricks.segments import play_segment

TRICKS = replace(PPO, recurrent=True)
CONFIG = Config(seeds=2, lanes=4, horizon=16, steps=300, hidden=(8,), recurrent_size=5, minibatches=2, life_ends=True)


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


def lanes_of(press: int | None) -> Env:
    return LifeEnds(make_env(replace(CONFIG, life_ends=False), make=Lives), press)


@pytest.mark.parametrize("press", [None, 1], ids=["goes on at once", "presses fire first"])
def test_a_state_is_zero_exactly_where_an_episode_begins(press: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    env = lanes_of(press)
    agent, player = build_agent(env.spaces, CONFIG, TRICKS), Player(env, CONFIG.horizon)
    player.state, states, hidden = RecurrentState(agent, env), list[Tensor](), list[Tensor]()
    through = agent.through

    def noted(net: Any, lanes: Any) -> Any:
        found = through(net, lanes)
        if net is agent.policy_net and lanes.obs.dim() == 3 and lanes.obs.shape[1] == CONFIG.lanes:
            states.append(lanes.state)
            hidden.append(found[0])
        return found

    monkeypatch.setattr(agent, "through", noted)
    rollouts = [play_segment(player, agent.policy, CONFIG.horizon, torch.ones(2) > 0) for _ in range(3)]
    valid, done = (torch.cat([getattr(r, name) for r in rollouts], 1) for name in ("valid", "done"))  # [S, T, N]
    before, played = torch.stack(states, 1).flatten(3), torch.stack(hidden, 1)  # [S, T, N, ...]
    first = torch.zeros_like(done)
    first[:, 0] = True
    first[:, 1:] = valid[:, 1:] & (done[:, :-1] | ~valid[:, :-1])
    assert int((first[:, 1:] & done[:, :-1]).sum()) > (10 if press is None else -1)
    assert not before[first].any()
    assert before[valid & ~first].any(-1).all()
    monkeypatch.undo()
    for k, rollout in enumerate(rollouts):  # and training sees what play saw
        batch = Batch.of(rollout)
        rows = slice(CONFIG.horizon * k, CONFIG.horizon * (k + 1))
        again = agent.features(as_sequences(batch, rollout)).hidden.unflatten(1, (CONFIG.horizon, CONFIG.lanes))
        torch.testing.assert_close(again[rollout.valid], played[:, rows][rollout.valid], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("tricks", [TRICKS, replace(TRICKS, shared_trunk=True)], ids=["apart", "shared"])
def test_the_first_ratio_is_one_though_lives_are_lost(tricks: Any) -> None:
    curve = train(replace(CONFIG, epochs=1, minibatches=1), tricks, env=Lives).curve
    np.testing.assert_allclose(curve["max_ratio"], 1, atol=1e-5)


def test_rows_after_which_a_state_goes_on_by_hand() -> None:
    valid = torch.tensor([True, True, True, False, True, True]).view(1, -1, 1)
    done = torch.tensor([False, True, True, False, False, True]).view(1, -1, 1)
    # a life ends in row 1, the game in row 2, whose state row 3 still sees before the reset; then comes another game
    assert goes_on(valid, done).flatten().tolist() == [True, False, True, False, True, True]


def test_an_evaluation_forgets_with_a_life_too(monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(CONFIG, TRICKS, env=Lives)
    seen, look = list[tuple[Tensor, Tensor]](), RecurrentState.look

    def noted(state: RecurrentState) -> object:
        seen.append((state.env.now.ended & ~state.env.now.resetting, state.before()))
        return look(state)

    monkeypatch.setattr(RecurrentState, "look", noted)
    run.evaluate(3)
    assert sum(int(lost.sum()) for lost, _ in seen) >= 2 * 3 * 2
    assert not any(before[lost].any() for lost, before in seen)


def test_so_does_an_agent_that_is_filmed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL", reason="the extra `play` is not installed")
    run, begun, lives = train(CONFIG, TRICKS, env=Lives).only(1), list[bool](), list[int]()
    act, env = Agent.act, Lives()

    def noted(agent: Agent, obs: Any, legal: Any, rng: Any, begins: bool) -> np.ndarray:
        begun.append(begins)
        lives.append(env.lives)
        return act(agent, obs, legal, rng, begins)

    monkeypatch.setattr(Agent, "act", noted)
    monkeypatch.setattr(film, "_drawn", lambda *_: np.zeros((2, 2, 3), np.uint8))
    film.watch(run, env, greedy=False)
    assert begun == [True, *(after < before for before, after in itertools.pairwise(lives))]
    assert sum(begun) == 3

"""recurrent: states begin at zero, end with their episode, and come back in training; what agents with them do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import Capture, Patch, refusal
from support.probes import Endless
from support.training import interrupted, spied
from torch import Tensor, nn

from tricks import PPO, Config, load, named, resume, train
from tricks.core.agent import RecurrentState
from tricks.core.nets import Layer
from tricks.core.sequences import goes_on
from tricks.envs.make import make_env
from tricks.loop import build_agent
from tricks.recurrent import Cell, Recurrent

TRICKS = replace(PPO, recurrent=True)
CONFIG = Config("Restless-v0", seeds=2, steps=300, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])


@KINDS
def test_a_cell_begins_orthogonal(kind: str) -> None:
    cell = Cell((0,), 0, 30, Config(recurrent_cell=kind, recurrent_size=4))
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


class Lives(Endless):
    """Random observations; a game has three lives of three to five steps each."""

    observation_space = gym.spaces.Box(-9, 9, (3,), np.float32)

    def begin(self) -> None:
        self.lives, self.left, self.length = 3, self.np_random.integers(3, 6), 0

    def see(self) -> np.ndarray:
        return self.np_random.normal(size=3).astype(np.float32)

    def pay(self, action: int) -> float:
        self.left -= 1
        if self.left == 0:
            self.lives, self.left = self.lives - 1, self.np_random.integers(3, 6)
        self.length = (self.t + 1) * (self.lives == 0)
        return 1.0

    def info(self) -> dict[str, Any]:
        return {"lives": self.lives}


LIVES = replace(CONFIG, env="CartPole-v1", life_ends=True)


def test_rows_after_which_a_state_goes_on_by_hand_and_what_it_cannot_go_with() -> None:
    valid = torch.tensor([True, True, True, False, True, True]).view(1, -1, 1)
    done = torch.tensor([False, True, True, False, False, True]).view(1, -1, 1)
    # a life ends in row 1, the game in row 2, whose state row 3 still sees before the reset; then comes another game
    assert goes_on(valid, done).flatten().tolist() == [True, False, True, False, True, True]
    said = "whole lanes, and 4 minibatches are more than 2 lanes: lower --minibatches"
    refusal(said, train, replace(CONFIG, lanes=2, minibatches=4), TRICKS)
    for other in ("ppg", "separate_optimizers"):
        refusal(f"recurrent cannot be combined with {other}", replace, named(other), recurrent=True)


@pytest.mark.parametrize("env", ["lives", "tricks/Bricks-v0"])
@pytest.mark.parametrize("tricks", [TRICKS, replace(TRICKS, shared_trunk=True)], ids=["apart", "shared"])
def test_the_first_ratio_is_one_though_lives_are_lost_and_on_images(tricks: Any, env: str) -> None:
    config, make = replace(CONFIG, env=env, epochs=1, minibatches=1), None
    if env == "lives":
        config, make = replace(config, life_ends=True), Lives
    np.testing.assert_allclose(train(config, tricks, env=make).curve["max_ratio"], 1, atol=1e-5)


def test_an_evaluation_forgets_with_a_life_too(monkeypatch: Patch) -> None:
    lives_lost = lambda state: (state.env.now.terminated & ~state.env.now.resetting, state.before())  # noqa: E731
    seen = spied(monkeypatch, RecurrentState, "look", lives_lost)
    train(LIVES, TRICKS, env=Lives).evaluate(3)
    assert sum(int(lost.sum()) for lost, _ in seen) >= 2 * 3 * 2
    assert not any(before[lost].any() for lost, before in seen)


UNANNEALED = replace(PPO, recurrent=True, lr_anneal=False)
CARTPOLE = Config(seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
RECALL = Config(
    "tricks/Recall2-v0", seeds=3, steps=12_000, lanes=16, horizon=20, lr=0.01, hidden=(16,), recurrent_size=16
)


@KINDS
def test_it_learns_to_remember_and_acts_by_its_state_until_an_episode_begins(kind: str, tmp_path: Path) -> None:
    run = train(replace(RECALL, recurrent_cell=kind), replace(PPO, recurrent=True))
    assert run.evaluate(20, greedy=True).mean() > 0.9
    run.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).evaluate(5), run.evaluate(5))
    agent, nothing, choice = run.agent[0], np.zeros((3, 2)), np.tile([0.0, 1.0], (3, 1))
    for cue in (0, 1):
        agent.act([2.0 * cue - 1, 0.0], begins=True)
        agent.act(nothing[0])
        assert agent.act(choice[0]) == cue
    cues = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])
    agent.act(cues, begins=True)
    agent.act(nothing)
    assert agent.act(choice).tolist() == [1, 0, 1]
    refusal("go on in 1 × 3 lanes; with other lanes, say begins=True", agent.act, nothing[:2])
    refusal(r"one for each of \[1, 3\] rows, not \[2\]", agent.act, nothing, begins=[True, False])
    agent.act(cues, begins=[False, True, False])  # the others go on
    again = agent.acting_state
    agent.act(cues[1:2], begins=True)
    alone = agent.acting_state
    assert again is not None
    assert alone is not None
    torch.testing.assert_close(again[:, 1], alone[:, 0])


def test_if_no_episode_is_resumed_every_state_begins_anew(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    interrupted(tmp_path, replace(CARTPOLE, env="Acrobot-v1", backend="gymnasium"), UNANNEALED, 2, monkeypatch)
    seen, begin = list[Tensor](), RecurrentState.end_rollout

    def noting(state: RecurrentState) -> Tensor:
        seen.append(begin(state))
        return seen[-1]

    monkeypatch.setattr(RecurrentState, "end_rollout", noting)
    run = resume(tmp_path)
    assert "cannot resume in mid-episode" in capsys.readouterr().err
    assert not seen[0].any() and seen[1].any()
    assert run.curve.step.max() >= 600


def test_a_training_starts_from_its_agents_only_if_the_layers_are_the_same(tmp_path: Path) -> None:
    train(CARTPOLE, UNANNEALED).save(tmp_path)
    start, said = load(tmp_path).agent, "cell.*here; train with the same --recurrent-size and --recurrent-cell"
    for other in (replace(CARTPOLE, recurrent_size=6), replace(CARTPOLE, recurrent_cell="gru")):
        refusal(said, train, other, UNANNEALED, start=start)
    refusal("train with the same tricks", train, CARTPOLE, replace(UNANNEALED, recurrent=False), start=start)


class Doubled(nn.Module):
    """A body without weights, which shows an observation twice."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.width, self.layers = 2 * features, list[Layer]()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, x], -1)


def test_what_a_body_of_ones_own_computes_goes_into_the_recurrent_layer() -> None:
    run = train(CARTPOLE, UNANNEALED, body=lambda generators, spaces: Doubled(spaces.features))
    agent, obs, states = run.agent[0], np.array([0.1, 0, 0.2, 0], np.float32), list[Tensor]()
    body = agent.policy_net.body
    assert isinstance(body, Recurrent) and body.cell.inward.shape == (1, 2 * 4, 4 * 5)
    for begins in (True, False, True):
        agent.act(obs, begins=begins)
        assert agent.acting_state is not None
        states.append(agent.acting_state)
    twice = torch.from_numpy(np.tile(obs, 2)).view(1, 1, 8)
    expected = body.cell(body.cell.contribution(twice), torch.zeros(1, 1, 10))
    torch.testing.assert_close(states[0][:, :, 0], expected)
    assert states[0].equal(states[2]) and not states[0].equal(states[1])

"""recurrent: what agents that remember do: learn, act, and are saved, resumed, continued, started from, played."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.training import interrupted, same
from torch import Tensor, nn

from ablations import compare
from tricks import PPO, Config, InputError, load, resume, train
from tricks.cli.main import main
from tricks.core.nets import Layer
from tricks.core.recurrent_state import RecurrentState
from tricks.recurrent import Recurrent

TRICKS = replace(PPO, recurrent=True, lr_anneal=False)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
CONFIG = Config(seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)
SMALL = ["--seeds", "2", "--lanes", "4", "--horizon", "16", "--hidden", "8", "--minibatches", "2"]


class Recall(gym.Env):
    """The first observation of an episode is ±1 and the others are 0; the last action pays if it matches the first."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.cue, self.time = int(self.np_random.integers(2)), 0
        return np.array([2.0 * self.cue - 1], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.time += 1
        over = self.time == 4
        return np.zeros(1, np.float32), float(over and action == self.cue), over, False, {}


RECALL = Config(seeds=3, steps=12_000, lanes=16, horizon=20, lr=0.01, hidden=(16,), recurrent_size=16)


@KINDS
def test_it_learns_what_has_to_be_remembered_and_acts_by_its_state_until_an_episode_begins(
    kind: str, tmp_path: Path
) -> None:
    run = train(replace(RECALL, recurrent_cell=kind), replace(PPO, recurrent=True), env=Recall)
    assert run.evaluate(20, greedy=True).mean() > 0.9
    run.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, env=Recall).evaluate(5), run.evaluate(5))
    agent = run.agent[0]
    for cue in (0, 1):
        agent.act([2.0 * cue - 1], begins=True)
        for _ in range(2):
            agent.act([0.0])
        assert agent.act([0.0]) == cue
    cues, zeros = np.array([[1.0], [-1.0], [1.0]]), np.zeros((3, 1))
    agent.act(cues, begins=True)
    for _ in range(2):
        agent.act(zeros)
    assert agent.act(zeros).tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="go on in 1 × 3 lanes; with other lanes, say begins=True"):
        agent.act(zeros[:2])
    with pytest.raises(InputError, match=r"one for each of \[1, 3\] rows, not \[2\]"):
        agent.act(zeros, begins=[True, False])
    agent.act(cues, begins=[False, True, False])  # the others go on
    again = agent.acting_state
    agent.act(cues[1:2], begins=True)
    alone = agent.acting_state
    assert again is not None
    assert alone is not None
    torch.testing.assert_close(again[:, 1], alone[:, 0])


def test_without_a_memory_it_is_a_coin() -> None:
    assert train(RECALL, PPO, env=Recall).evaluate(20, greedy=True).mean() < 0.75


def test_a_resumed_run_goes_on_with_its_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    annealed = replace(TRICKS, lr_anneal=True)
    interrupted(tmp_path, CONFIG, annealed, 2, monkeypatch)
    same(resume(tmp_path), train(CONFIG, annealed))


def test_where_no_episode_can_be_resumed_in_the_middle_every_state_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(tmp_path, replace(CONFIG, env="Acrobot-v1", backend="gymnasium"), TRICKS, 2, monkeypatch)
    seen, begin = list[Tensor](), RecurrentState.end_rollout

    def noting(state: RecurrentState) -> Tensor:
        seen.append(begin(state))
        return seen[-1]

    monkeypatch.setattr(RecurrentState, "end_rollout", noting)
    run = resume(tmp_path)
    assert "cannot resume in mid-episode" in capsys.readouterr().err
    assert not seen[0].any()
    assert seen[1].any()
    assert run.curve.step.max() >= 600


def test_a_training_starts_from_its_agents_only_if_the_layers_are_the_same(tmp_path: Path) -> None:
    train(CONFIG, TRICKS).save(tmp_path)
    for other in (replace(CONFIG, recurrent_size=6), replace(CONFIG, recurrent_cell="gru")):
        with pytest.raises(InputError, match=r"cell.*here; train with the same --recurrent-size and --recurrent-cell"):
            train(other, TRICKS, start=load(tmp_path).agent)
    with pytest.raises(InputError, match="train with the same tricks"):
        train(CONFIG, replace(TRICKS, recurrent=False), start=load(tmp_path).agent)


@KINDS
def test_the_shell_evaluates_saves_and_films_it(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    words = ["train", "ppo", "--recurrent", "--recurrent-cell", kind, "--recurrent-size", "5", *SMALL, "--steps", "300"]
    assert main([*words, "--eval-every", "100", "--eval-episodes", "2", "--out", out]) == 0
    assert load(out).curve["eval_return"].notna().any()
    pytest.importorskip("pygame", reason="the extra `play` is not installed")
    assert main(["play", out, "--seed", "1"]) == 0
    assert main(["play", out, "--greedy", "--no-gif"]) == 0
    assert "play.gif: an episode of" in capsys.readouterr().out
    assert main(["play", out, "--episode-limit", "3", "--no-gif"]) == 2
    assert "an episode has not ended after 3 steps" in capsys.readouterr().err


def test_it_can_be_compared_and_needs_a_lane_for_each_minibatch(tmp_path: Path) -> None:
    config = replace(CONFIG, env="tricks/Corridor-v0", steps=200)
    found = compare(["ppo", "ppo+recurrent"], config, seeds=2, out=tmp_path, workers=1)
    assert {*found.table.arm} == {"ppo", "ppo+recurrent"}
    with pytest.raises(InputError, match=r"arm 'ppo\+recurrent': .* 5 minibatches are more than 4 lanes"):
        compare(["ppo", "ppo+recurrent"], replace(config, minibatches=5), out=tmp_path)


class Doubled(nn.Module):
    """A body without weights, which shows an observation twice."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.width, self.layers = 2 * features, list[Layer]()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, x], -1)


def test_what_a_body_of_ones_own_computes_goes_into_the_recurrent_layer() -> None:
    run = train(CONFIG, TRICKS, body=lambda generators, spaces: Doubled(spaces.features))
    agent, obs, states = run.agent[0], np.array([0.1, 0, 0.2, 0], np.float32), list[Tensor]()
    body = agent.policy_net.body
    assert isinstance(body, Recurrent)
    assert body.cell.inward.shape == (1, 2 * 4, 4 * 5)
    for begins in (True, False, True):
        agent.act(obs, begins=begins)
        assert agent.acting_state is not None
        states.append(agent.acting_state)
    twice = torch.from_numpy(np.tile(obs, 2)).view(1, 1, 8)
    expected = body.cell(body.cell.contribution(twice), torch.zeros(1, 1, 10))
    torch.testing.assert_close(states[0][:, :, 0], expected)
    assert states[0].equal(states[2])
    assert not states[0].equal(states[1])

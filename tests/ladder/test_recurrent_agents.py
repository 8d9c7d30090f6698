"""recurrent: what agents that remember do: learn, act, are saved, and go on."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.training import interrupted, same

from tricks import PPO, Config, InputError, load, resume, train

TRICKS = replace(PPO, recurrent=True)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
CONFIG = Config(seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), recurrent_size=5, minibatches=2)


class Recall(gym.Env):
    """The first observation of an episode is ±1 and the others are 0; the last action pays if it matches the first."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

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
def test_it_learns_what_has_to_be_remembered(kind: str) -> None:
    config = replace(RECALL, recurrent_cell=kind)
    assert train(config, TRICKS, env=Recall).evaluate(20, greedy=True).mean() > 0.9
    assert train(config, PPO, env=Recall).evaluate(20, greedy=True).mean() < 0.75  # a coin


def test_an_agent_acts_by_its_state_until_an_episode_begins() -> None:
    run = train(replace(RECALL, seeds=1), TRICKS, env=Recall)
    for cue in (0, 1):
        agent = run.agent
        agent.act([2.0 * cue - 1], begins=True)
        for _ in range(2):
            agent.act([0.0])
        assert agent.act([0.0]) == cue
    cues, zeros = np.array([[1.0], [-1.0], [1.0]]), np.zeros((3, 1))
    run.agent.act(cues, begins=True)
    for _ in range(2):
        run.agent.act(zeros)
    assert run.agent.act(zeros).tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="go on in 1 × 3 lanes; with other lanes, say begins=True"):
        run.agent.act(zeros[:2])
    with pytest.raises(InputError, match=r"one for each of \[1, 3\] rows, not \[2\]"):
        run.agent.act(zeros, begins=[True, False])
    before = run.agent.acting_state
    run.agent.act(cues, begins=[False, True, False])  # the others go on
    again = run.agent.acting_state
    assert before is not None
    assert again is not None
    run.agent.act(cues[1:2], begins=True)
    alone = run.agent.acting_state
    assert alone is not None
    torch.testing.assert_close(again[:, 1], alone[:, 0])


def test_a_saved_run_plays_on(tmp_path: Path) -> None:
    run = train(replace(RECALL, steps=2000), TRICKS, env=Recall)
    run.save(tmp_path / "run")
    loaded = load(tmp_path / "run", env=Recall)
    np.testing.assert_array_equal(run.evaluate(5), loaded.evaluate(5))


def test_a_resumed_run_goes_on_with_its_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(CONFIG, TRICKS)
    interrupted(tmp_path, CONFIG, TRICKS, 2, monkeypatch)
    same(resume(tmp_path), whole)

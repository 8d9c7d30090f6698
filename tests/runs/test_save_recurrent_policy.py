"""A recurrent policy that is saved remembers and forgets as the agent does, over sequences with ends inside."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from support.any_space import AnySpace

from tricks import PPO, Config, Run, train
from tricks.cli.main import main
from tricks.core.agent import Agent
from tricks.ladder import named
from tricks.runs.save_policy import plain_module, save_policy

TRICKS = replace(PPO, recurrent=True)
CONFIG = Config(seeds=2, lanes=2, horizon=8, minibatches=2, steps=64, hidden=(16, 8), recurrent_size=7)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
VECTOR, CHOICE = Box(-3, 3, (3,)), Discrete(3, start=-1)
PICTURE, UNIT = Box(0, 255, (9, 8, 3), np.uint8), Box(0, 1, (40, 42, 3), np.float32)
SPACES: dict[str, tuple[gym.Space[Any], gym.Space[Any]]] = {
    "vectors": (VECTOR, CHOICE),
    "a Box action": (VECTOR, Box(-2, np.array([3, 5], np.float32))),
    "several choices": (VECTOR, MultiDiscrete(np.array([[2, 4], [3, 2]]))),
    "a picture": (UNIT, CHOICE),
    "a picture and more": (Dict(b=Tuple((VECTOR, Discrete(3))), a=PICTURE), Box(-2, 3, (2,))),
}
BEGINS = [True, False, False, False, True, True, False, False, False]


def trained(name: str, kind: str) -> Run:
    """A run whose agents react strongly to what they remember."""
    run = train(replace(CONFIG, recurrent_cell=kind), TRICKS, env=lambda: AnySpace(*SPACES[name]))
    return loud(run)


def loud(run: Run) -> Run:
    for parameter in (run.agent.policy_net.body.cell.onward, run.agent.policy_net.head.weight):  # type: ignore[attr-defined]
        parameter.data *= 4
    return run


def sequence(agent: Agent) -> list[Any]:
    space = agent.spaces.observation
    space.seed(0)
    return [space.sample() for _ in BEGINS]


@KINDS
@pytest.mark.parametrize("name", SPACES)
def test_a_plain_module_remembers_as_the_agent(name: str, kind: str) -> None:
    agent, policy = (run := trained(name, kind)).agent[1], plain_module(run.only(1))
    for obs, begins in zip(sequence(agent), BEGINS, strict=True):
        mine, right = policy.act(obs, begins=begins), agent.act(obs, begins=begins)
        assert (mine.dtype, mine.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(mine, right, atol=1e-5)
        assert agent.acting_state is not None
        np.testing.assert_allclose(policy.state, agent.acting_state[0, 0], atol=1e-5)


@KINDS
@pytest.mark.parametrize(
    ("env", "tricks"), [("tricks/Grid10-v0", replace(TRICKS, action_mask=True)), ("Pendulum-v1", named("continuous"))]
)
def test_masks_and_normalized_observations_go_with_it(env: str, tricks: Any, kind: str) -> None:
    config, masked = replace(CONFIG, env=env, recurrent_cell=kind), tricks.action_mask
    agent = (run := loud(train(config, replace(tricks, recurrent=True)))).agent[0]
    policy, rng = plain_module(run.only()), np.random.default_rng(0)
    for begins in BEGINS:
        obs = rng.normal(size=agent.spaces.shape).astype(np.float32)
        legal = rng.random(agent.spaces.actions) < 0.5
        legal[0] = True
        mask = legal if masked else None
        mine, right = policy.act(obs, mask, begins), agent.act(obs, mask, begins=begins)
        np.testing.assert_allclose(mine, right, atol=1e-4)


@KINDS
@pytest.mark.parametrize("name", ["a Box action", "a picture and more"])
def test_a_graph_takes_its_state_and_returns_the_next(name: str, kind: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    (path,) = save_policy(run := trained(name, kind), tmp_path / "p.onnx", "onnx", seed=1)
    session, agent = runtime.InferenceSession(str(path)), run.agent[1]
    numbers = agent.state_size
    assert session.get_modelmeta().custom_metadata_map["state"].startswith(f"[batch, {numbers}]: zeros")
    state, seen = np.zeros((2, numbers), np.float32), sequence(agent)
    for k, begins in enumerate(BEGINS):  # two lanes: in the second, no episode ends
        if begins:
            state[0] = 0
        lanes = seen[k], seen[-k]
        given = {
            ".".join(["observation", *map(str, leaf.path)]): np.stack([leaf.of(obs) for obs in lanes])
            for leaf in agent.spaces.leaves
        }
        action, state = session.run(["action", "next_state"], given | {"state": state})
        space = agent.spaces.observation
        both: Any = gym.vector.utils.create_empty_array(space, 2)
        gym.vector.utils.concatenate(space, lanes, both)
        right = agent.act(both, begins=[begins, k == 0])
        np.testing.assert_allclose(action, right, atol=1e-4)


def test_from_the_shell_it_says_how_the_state_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(replace(CONFIG, env="CartPole-v1"), TRICKS).save(tmp_path / "run")
    words = ["save-policy", str(tmp_path / "run"), "--out"]
    assert main([*words, str(tmp_path / "p.pt")]) == 0
    assert capsys.readouterr().out.endswith("takes begins=True in the first step of each episode\n")
    assert "act(observation, begins=first_of_an_episode)" in (tmp_path / "p.py").read_text()
    pytest.importorskip("onnxruntime")
    assert main([*words, str(tmp_path / "p.onnx")]) == 0
    assert "the input state is [batch, 14]: zeros where an episode begins, and next_state" in capsys.readouterr().out

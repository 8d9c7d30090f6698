"""A saved policy acts as the agent does, without this package: as a plain torch module, and as an ONNX graph."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from support.any_space import BOOL, AnySpace

from tricks import PPO, Config, InputError, Run, train
from tricks.core.agent import Agent
from tricks.core.nets import Dense
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.runs import save_policy as saving
from tricks.runs.plain_policy import Policy
from tricks.runs.save_policy import plain_module, save_policy

SMALL: dict[str, Any] = {"seeds": 2, "lanes": 2, "horizon": 8, "minibatches": 2, "steps": 64, "hidden": (16, 8)}
MASKED = switched([*PPO.on, "action_mask"])
VECTOR, CHOICE = Box(-3, 3, (3,)), Discrete(3, start=-1)
PICTURES: tuple[gym.Space[Any], ...] = (
    Box(0, 255, (9, 8, 3), np.uint8),
    Box(0, 255, (3, 40, 42), np.uint8),
    Box(0, 1, (40, 42, 3), np.float32),
    Box(0, 1, (4, 10, 10), BOOL),
)
SPACES: dict[str, tuple[gym.Space[Any], gym.Space[Any]]] = {
    "vectors": (VECTOR, CHOICE),
    "a number": (Box(-1, 1, ()), Box(-2, np.array([3, 5], np.float32))),
    "choices": (MultiDiscrete([2, 3], start=[1, -1]), MultiDiscrete(np.array([[2, 4], [3, 2]]))),
    "bits": (MultiBinary(4), MultiBinary((2, 2))),
    "whole numbers": (Discrete(5, start=3), Box(-2, 3, (2,), np.int32)),
    "yes or no": (VECTOR, Box(0, 1, (3,), BOOL)),
    "nested": (Dict(b=Tuple((VECTOR, Discrete(3))), a=PICTURES[0]), CHOICE),
    **{f"picture {k}": (picture, CHOICE) for k, picture in enumerate(PICTURES)},
}


def trained(name: str, **more: Any) -> Run:
    return train(Config(**{**SMALL, **more}), PPO, env=lambda: AnySpace(*SPACES[name]))


def agrees(policy: Policy, run: Run, count: int) -> None:
    space = run.agent.spaces.observation
    space.seed(0)
    for _ in range(count):
        obs = space.sample()
        mine, right = policy.act(obs), run.agent.act(obs)
        assert (mine.dtype, mine.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(mine, right, atol=1e-5)


@pytest.mark.parametrize("name", SPACES)
def test_a_plain_module_acts_as_the_agent(name: str) -> None:
    run = trained(name).only(1)
    agrees(plain_module(run), run, 1000 if name == "vectors" else 30)


def test_rescaled_actions_come_out_in_the_environments_own_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(Config("Pendulum-v1", **SMALL, rescale_actions=True), PPO).only()
    obs, maker = np.array([1, 0, 0.5], np.float32), Mock(wraps=make_env)
    monkeypatch.setattr(saving, "make_env", maker)
    policy = plain_module(run)
    assert (policy.weights["high"].tolist(), maker.call_count) == ([2], 1)  # made once for its bounds
    np.testing.assert_allclose(policy.act(obs), 2 * run.agent.act(obs).clip(-1, 1), rtol=1e-5)


VECTORS = "observation must be float32 [{}3], not "


@pytest.mark.parametrize(
    ("name", "obs", "said"),
    [
        ("vectors", np.zeros(4), VECTORS.format("") + "float64 [4]"),
        ("vectors", np.zeros((1, 3)), VECTORS.format("") + "float64 [1, 3]"),
        ("vectors", "up", "observation must be float32 [3], and is missing or no array"),
        ("vectors", [0, np.nan, 0], "observation must be finite, not [0.0, nan, 0.0]"),
        ("whole numbers", 9, "observation must be from [3] to [7], not [9]"),
        ("whole numbers", 3.5, "observation must be int64 [], not float64 []"),
        ("choices", [1, 5], "observation must be from [1, -1] to [2, 1], not [1, 5]"),
        ("nested", {"a": PICTURES[0].sample(), "b": (np.zeros(3),)}, "observation['b'][1] must be int64 [], and is"),
        ("picture 0", np.zeros((9, 8, 3)), "observation must be uint8 [9, 8, 3], not float64 [9, 8, 3]"),
        ("picture 0", np.zeros((3, 9, 8), np.uint8), "observation must be uint8 [9, 8, 3], not uint8 [3, 9, 8]"),
    ],
)
def test_an_observation_that_is_not_in_the_space_is_one_clear_error(name: str, obs: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        plain_module(trained(name).only()).act(obs)


def test_a_batch_or_a_mask_that_does_not_fit_is_one_clear_error() -> None:
    policy, two = plain_module(trained("vectors").only()), torch.zeros(2, 3)
    for given, more, said in (
        ((torch.zeros(3),), {}, VECTORS.format("B, ") + "float32 [3]"),
        ((two, two), {}, "a policy takes 1 tensors, observation; not 2"),
        ((two,), {"legal": torch.ones(2, 2) > 0}, "legal is for discrete actions, [B, 3]; not [2, 2]"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            policy(*given, **more)


def test_noise_makes_a_policy_sample_and_numbers_take_no_mask() -> None:
    run = trained("a number").only()
    policy, obs = plain_module(run), torch.zeros(2)
    apart = policy(obs, noise=torch.tensor([[0.0, 0.0], [0.1, 0.2]])).diff(dim=0)
    std = run.agent.log_std.exp().flatten()
    torch.testing.assert_close(apart, (std * torch.tensor([0.1, 0.2]))[None], atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="legal is for discrete actions"):
        policy.act(0.0, [True, True])


def test_two_files_are_all_that_a_policy_needs() -> None:
    named = {"my-policy": "my_policy", "7": "policy_7", "class": "policy_class", "torch": "policy_torch"}
    run, code = trained("vectors"), ["observation = [0, 0, 0]"]
    for stem, name in named.items():
        files = save_policy(run, f"{stem}.pt")
        assert [file.name for file in files] == [f"{stem}.pt", f"{name}.py"]
        told = files[1].read_text().splitlines()[:12]  # how it is used
        code += [line.strip() for line in told if line.startswith("    ")]
        assert f"from {name} import PLAN, load" in code
    run, (picture, vector) = trained("nested"), (PICTURES[0].sample(), VECTOR.sample())
    files = save_policy(run, "mine.pt", seed=1)
    assert [file.name for file in files] == ["mine.pt", "mine.py"]
    assert 'policy = load("mine.pt", PLAN)' in files[1].read_text()
    np.savez("obs.npz", a=picture, b=vector)
    code += [
        "import sys, numpy as np, mine; seen = np.load('obs.npz'); policy = mine.load('mine.pt', mine.PLAN)",
        "assert not {'tricks', 'gymnasium'} & set(sys.modules)",
        "print(policy.act({'a': seen['a'], 'b': (seen['b'], 2)}))",
    ]
    run_it = [sys.executable, "-c", "\n".join(code)]
    said = subprocess.run(run_it, check=True, capture_output=True, text=True).stdout.split()
    assert int(said[-1]) == run.agent[1].act({"a": picture, "b": (vector, 2)})


@pytest.mark.parametrize("name", ["vectors", "choices", "whole numbers", "nested", "picture 1"])
def test_a_graph_computes_the_same(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    run = trained(name)
    (path,) = save_policy(run, "p.onnx", "onnx", seed=1, noise=True)
    session, agent = runtime.InferenceSession(str(path)), run.agent[1]
    agent.spaces.observation.seed(1)
    for _ in range(20):
        obs = agent.spaces.observation.sample()
        inputs = {f"{'.'.join(['observation', *map(str, leaf.path)])}": leaf.of(obs) for leaf in agent.spaces.leaves}
        given = {key: np.asarray(part)[None] for key, part in inputs.items()}
        (action,) = session.run(None, given | {"noise": np.zeros((1, agent.spaces.actions), np.float32)})
        np.testing.assert_allclose(action[0], agent.act(obs), atol=1e-5)


def test_a_saved_run_becomes_a_policy_from_the_shell(told: Callable[..., str]) -> None:
    train(Config("CartPole-v1", **SMALL), PPO).save("run")
    assert told("save-policy run --seed 1 --out p.pt") == "wrote p.pt and p.py\n"
    for words, said in {
        "run --seed 1 --out p.pt": "p.pt exists; name another file",
        "run --seed 1 --out p.py/p.pt": "a file is in its place",
        "run --seed 1 --out p.py": "would be the code; name the weights",
        "run --seed 1 --out q.pt --format tf": "format must be torch or onnx, not 'tf'",
        "run --seed 1 --out q.pt --noise": "leave out noise",
        "run --seed 7 --out x.pt": "the run has no seed 7",
        "run": "save-policy takes a saved run and a file",
    }.items():
        assert said in told(f"save-policy {words}", 2)
    wrap = "support.contracts:Halved"  # bounds that only the user's wrappers know are found if these are named
    train(Config("Pendulum-v1", **SMALL, wrap=(wrap,), rescale_actions=True), PPO).save("wrapped")
    assert f"--wrap {wrap}" in told("save-policy wrapped --out w.pt", 2)
    told(f"save-policy wrapped --out w.pt --wrap {wrap}")


def test_a_body_of_ones_own_is_refused() -> None:
    class Mine(Dense):
        """A body like ours, and yet not ours."""

    run = train(Config("CartPole-v1", **SMALL), PPO, body=lambda generators, _: Mine(generators, (4, 8)))
    with pytest.raises(InputError, match="only this package's own nets become a plain module"):
        plain_module(run.only())


TRICKS = replace(PPO, recurrent=True)
RECURRENT = Config(**SMALL, recurrent_size=7)
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
SEEN = ("vectors", "a number", "choices", "picture 2", "nested")
BEGINS = [True, False, False, False, True, True, False, False, False]


def remembering(name: str, kind: str) -> Run:
    return loud(train(replace(RECURRENT, recurrent_cell=kind), TRICKS, env=lambda: AnySpace(*SPACES[name])))


def loud(run: Run) -> Run:
    """A run whose agents react strongly to what they remember."""
    for parameter in (run.agent.policy_net.body.cell.onward, run.agent.policy_net.head.weight):  # type: ignore[attr-defined]
        parameter.data *= 4
    return run


def sequence(agent: Agent) -> list[Any]:
    space = agent.spaces.observation
    space.seed(0)
    return [space.sample() for _ in BEGINS]


@KINDS
@pytest.mark.parametrize("name", SEEN)
def test_a_plain_module_remembers_as_the_agent(name: str, kind: str) -> None:
    agent, policy = (run := remembering(name, kind)).agent[1], plain_module(run.only(1))
    for obs, begins in zip(sequence(agent), BEGINS, strict=True):
        mine, right = policy.act(obs, begins=begins), agent.act(obs, begins=begins)
        assert (mine.dtype, mine.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(mine, right, atol=1e-5)
        assert agent.acting_state is not None
        np.testing.assert_allclose(policy.state, agent.acting_state[0, 0], atol=1e-5)


@pytest.mark.parametrize("kind", ["", "lstm", "gru"])
@pytest.mark.parametrize(
    ("env", "tricks"), [("tricks/Grid10-v0", replace(PPO, action_mask=True)), ("Pendulum-v1", named("continuous"))]
)
def test_masks_and_normalized_observations_go_with_it(env: str, tricks: Any, kind: str) -> None:
    config, masked = replace(RECURRENT, env=env, recurrent_cell=kind or "lstm"), tricks.action_mask
    run = train(config, replace(tricks, recurrent=bool(kind)))
    agent, policy, rng = (loud(run) if kind else run).agent[0], plain_module(run.only()), np.random.default_rng(0)
    for begins in BEGINS * (1 if kind else 5):
        obs = rng.normal(size=agent.spaces.shape).astype(np.float32)
        legal = rng.random(agent.spaces.actions) < 0.5
        legal[0] = True
        mask = legal if masked else None
        mine, right = policy.act(obs, mask, begins), agent.act(obs, mask, begins=begins)
        np.testing.assert_allclose(mine, right, atol=1e-4)


@KINDS
@pytest.mark.parametrize("name", ["a number", "nested"])
def test_a_graph_takes_its_state_and_returns_the_next(name: str, kind: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    (path,) = save_policy(run := remembering(name, kind), "p.onnx", "onnx", seed=1)
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


def test_from_the_shell_it_says_how_the_state_goes_on(told: Callable[..., str]) -> None:
    train(replace(RECURRENT, env="CartPole-v1"), TRICKS).save("run")
    said = told("save-policy run --out p.pt")
    assert said.endswith("takes begins=True in the first step of each episode\n")
    assert "act(observation, begins=first_of_an_episode)" in Path("p.py").read_text()
    pytest.importorskip("onnxruntime")
    said = told("save-policy run --out p.onnx")
    assert "the input state is [batch, 14]: zeros where an episode begins, and next_state" in said

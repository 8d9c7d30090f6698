"""A saved policy acts as the agent does, without this package: as a graph for PyTorch, and as one for ONNX Runtime."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from support.fixtures import Told, refusal
from support.probes import BOOL, AnySpace

from tricks import PPO, Agent, Config, Run, named, train
from tricks.core.nets import Dense
from tricks.runs.save_policy import Graph, Policy, as_onnx, as_program, inputs, save_policy

SMALL: dict[str, Any] = {"seeds": 2, "lanes": 2, "horizon": 8, "minibatches": 2, "steps": 64, "hidden": (16, 8)}
VECTOR, CHOICE = Box(-3, 3, (3,)), Discrete(3, start=-1)
PICTURES: list[Any] = [Box(0, 255, shape, np.uint8) for shape in ((9, 8, 3), (3, 40, 42))]
PICTURES += [Box(0, 1, (40, 42, 3), np.float32), Box(0, 1, (4, 10, 10), BOOL)]
SPACES: dict[str, Any] = {
    "vectors": (VECTOR, CHOICE),
    "a number": (Box(-1, 1, ()), Box(-2, np.array([3, 5], np.float32))),
    "choices": (MultiDiscrete([2, 3], start=[1, -1]), MultiDiscrete(np.array([[2, 4], [3, 2]]))),
    "bits": (MultiBinary(4), MultiBinary((2, 2))),
    "whole numbers": (Discrete(5, start=3), Box(-2, 3, (2,), np.int32)),
    "yes or no": (VECTOR, Box(0, 1, (3,), BOOL)),
    "nested": (Dict(b=Tuple((VECTOR, Discrete(3))), a=PICTURES[0]), CHOICE),
    **{f"picture {k}": (picture, CHOICE) for k, picture in enumerate(PICTURES)},
}
BEGINS = [True, False, False, False, True, True, False]
FORMS = {"torch": as_program, "onnx": as_onnx}


def graph_of(run: Run, form: str) -> Graph:
    """The graph of a run's only agent, as it is read back from its file."""
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    policy = Policy(run.only())
    graph, _ = FORMS[form](policy, *inputs(policy, noise=False))
    return graph


def agrees(graph: Graph, agent: Agent, seen: list[tuple[Any, Any, bool]]) -> None:
    """The graph and the agent act alike on observations with masks, which may begin an episode."""
    state = torch.zeros(1, agent.state_size)
    for obs, legal, begins in seen:
        parts = [torch.from_numpy(np.asarray(leaf.of(obs), leaf.space.dtype)[None]) for leaf in agent.spaces.leaves]
        more = {"state": state * (not begins)} if agent.state_size else {}
        more |= {} if legal is None else {"legal": torch.from_numpy(legal)[None]}
        action, *after = graph(parts, more)
        right = agent.act(obs, legal, begins=begins)
        assert (action.dtype, action.shape[1:]) == (right.dtype, right.shape)
        np.testing.assert_allclose(action[0], right, atol=1e-4)
        state = torch.from_numpy(after[0]) if after else state


def loud(run: Run) -> Run:
    """A run whose agents react strongly to what they remember."""
    for parameter in (run.agent.policy_net.body.cell.onward, run.agent.policy_net.head.weight):  # type: ignore[attr-defined]
        parameter.data *= 4
    return run


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "kind"), [*((name, "") for name in SPACES), ("nested", "lstm"), ("nested", "gru")])
def test_a_graph_acts_as_the_agent(name: str, kind: str, form: str) -> None:
    config = Config(**SMALL, recurrent_size=7, recurrent_cell=kind or "lstm")
    run = train(config, replace(PPO, recurrent=bool(kind)), env=lambda: AnySpace(*SPACES[name])).only(1)
    space = run.agent.spaces.observation
    space.seed(0)
    seen = [(space.sample(), None, begins) for begins in BEGINS]
    agrees(graph_of(loud(run) if kind else run, form), run.agent, seen)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize(
    ("env", "tricks"), [("tricks/Grid10-v0", replace(PPO, action_mask=True)), ("Pendulum-v1", named("continuous"))]
)
def test_masks_and_normalized_observations_go_with_it(env: str, tricks: Any, recurrent: bool, form: str) -> None:
    run = train(Config(**SMALL, recurrent_size=7, env=env), replace(tricks, recurrent=recurrent)).only()
    agent, rng = (loud(run) if recurrent else run).agent, np.random.default_rng(0)
    seen = []
    for begins in BEGINS:
        legal = rng.random(agent.spaces.actions) < 0.5
        legal[0] = True
        obs = rng.normal(size=agent.spaces.shape).astype(np.float32)
        seen.append((obs, legal if tricks.action_mask else None, begins))
    agrees(graph_of(run, form), agent, seen)


@pytest.mark.parametrize("name", ["p.pt2", "p.onnx"])
def test_noise_makes_a_policy_sample(name: str) -> None:
    if name.endswith("onnx"):
        pytest.importorskip("onnxruntime")
    save_policy(train(Config("Pendulum-v1", **SMALL), PPO), name, noise=True)  # which checks what it samples


def test_one_file_is_all_that_a_policy_needs() -> None:
    run = train(Config(**SMALL), PPO, env=lambda: AnySpace(*SPACES["nested"]))
    picture, vector = PICTURES[0].sample(), VECTOR.sample()
    assert save_policy(run, "mine.pt2", seed=1).name == "mine.pt2"
    np.savez("obs.npz", a=picture, b=vector)
    code = (
        "import sys, numpy as np, torch; seen = np.load('obs.npz')",
        "policy = torch.export.load('mine.pt2').module()",
        "parts = [torch.from_numpy(np.stack([x])) for x in (seen['b'], np.int64(2), seen['a'])]",
        "print(int(policy(*parts)))",
        "assert not {'tricks', 'gymnasium'} & set(sys.modules)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], check=True, capture_output=True, text=True)
    assert int(done.stdout) == run.agent[1].act({"a": picture, "b": (vector, 2)})


def test_a_saved_run_becomes_a_policy_from_the_shell(told: Told) -> None:
    train(Config("CartPole-v1", **SMALL), PPO).save("run")
    assert told("save-policy run --seed 1 --out p.pt2") == "wrote p.pt2\n"
    for words, said in {
        "run --seed 1 --out p.pt2": "p.pt2 exists; name another file",
        "run --seed 1 --out p.pt2/p.pt2": "a file is in its place",
        "run --seed 1 --out p.pt": "a policy's file ends in .pt2 (for PyTorch) or .onnx, not 'p.pt'",
        "run --seed 7 --out x.pt2": "the run has no seed 7",
        "run": "save-policy takes a saved run and a file",
    }.items():
        assert said in told(f"save-policy {words}", 2)
    wrap = "support.contracts:Halved"  # bounds that only the user's wrappers know are found if these are named
    train(Config("Pendulum-v1", **SMALL, wrap=(wrap,), rescale_actions=True), PPO).save("wrapped")
    assert f"--wrap {wrap}" in told("save-policy wrapped --out w.pt2", 2)
    told(f"save-policy wrapped --out w.pt2 --wrap {wrap}")
    train(Config(**SMALL), replace(PPO, recurrent=True)).save("remembers")
    assert "the input state is [batch, 128]: zeros where an episode begins" in told("save-policy remembers --out r.pt2")


def test_bounds_that_float32_does_not_have_are_kept() -> None:
    wide = AnySpace(VECTOR, Box(-(2**31), 2**31 - 1, (1,), np.int32))
    policy = Policy(train(Config(**SMALL | {"seeds": 1, "lanes": 1}), PPO, env=lambda: wide))
    assert policy.decoded(torch.tensor([[3e9]])).tolist() == [[2**31 - 1]]


def test_a_body_that_pytorch_cannot_export_is_one_line() -> None:
    class Mine(Dense):
        """It calls what cannot be traced."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * (1 if x.isfinite().all() else 0)

    run = train(Config("CartPole-v1", **SMALL), PPO, body=lambda generators, _: Mine(generators, (4, 8)))
    refusal("PyTorch cannot export this policy's nets", save_policy, run, "q.pt2")

"""What an environment owes its agent; a breach, or what else goes wrong in it, is one line with its place."""

import itertools
import re
import warnings
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import support.contracts as own
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from support.commands import linux
from support.contracts import Counting
from support.fixtures import Capture, refusal
from support.misbehaving import Misbehaving, play, processes
from support.probes import AnySpace, register

from tricks import PPO, Config, switched, train
from tricks.cli.main import main
from tricks.envs.contract import Contract
from tricks.envs.make import make_env
from tricks.errors import in_words
from tricks.worlds import WORLDS

CONFIG = Config("own", seeds=(3,), steps=200, lanes=2, horizon=16)
SMALL = Config(seeds=(3,), steps=40, lanes=2, horizon=10, hidden=(4,))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no reward", "own: the reward is not finite"),
        ("exit", r"own: SystemExit: 3, in misbehaving.py, line \d+ \(seed 3\)"),
        ("does nothing", "own has an empty action space"),
        ("no info", r"own: the info of step\(\) must be a dict, not None"),
    ],
)
def test_an_environment_that_breaks_its_contract_is_one_line(how: str, message: str) -> None:
    tricks = switched(["baseline", "reuse", "action_mask", "segments"])
    refusal(f"^{message}", train, CONFIG, tricks, env=lambda: Misbehaving(how))


def limited(env: gym.Env) -> gym.Env:
    return gym.wrappers.TimeLimit(env, 3)


@pytest.mark.parametrize(("around", "backend"), [(None, "processes"), (None, "gymnasium"), (limited, "gymnasium")])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (own.FourValues, r"step\(\) must .*return 5 values .*\)(; this returned 4, as before Gymnasium| \(not enough)"),
        (own.OnlyAnObservation, r"reset\(\) must return \(observation, info\); .* of shape \(3,\), as before Gym"),
        (own.TakesNoSeed, r"reset\(\) must take seed and options \(def reset\(self, \*, seed=None, options=None\)\)"),
        (own.TwoRewards, r"the reward of step\(\) must be a number, not array\(\[[\d., ]+\]"),
        (own.TooShort, r"the observation of reset\(\) is float32 \[2\], but its space has float32 \[3\]"),
        (own.Fractions, r"the observation of reset\(\) is float32 \[3\], but its space has uint8 \[3\]"),
    ],
)
def test_a_breach_says_what_came_and_was_expected(kind: type[gym.Env], message: str, backend: str, around: Any) -> None:
    pattern = f"^{kind.__name__}: {message}.*; gymnasium.utils.env_checker.check_env finds such faults \\(seed 3\\)$"
    refusal(pattern, train, replace(SMALL, backend=backend), PPO, env=lambda: around(kind()) if around else kind())


def test_what_keeps_the_contract_passes_through_and_what_is_no_space_is_named() -> None:
    refusal(r"observation_space must be a gymnasium.Space, not 'Box\(3\)'", train, SMALL, PPO, env=own.OldNames)
    raised = r"^BreaksInAWorker: ValueError: the floor .+, in contracts.py, line \d+ \(seed 3\)$"
    refusal(raised, train, SMALL, PPO, env=lambda: limited(own.BreaksInAWorker()))
    lane, bare = Contract(Counting()), Counting()
    assert np.array_equal(lane.reset(seed=1)[0], bare.reset(seed=1)[0])
    for _ in range(3):
        came, expected = lane.step(0), bare.step(0)
        assert np.array_equal(came[0], expected[0]) and came[1:] == expected[1:]


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_reward_in_an_array_of_one_is_a_number(backend: str) -> None:
    config = replace(SMALL, env="RewardArray-v0", backend=backend)
    assert train(config, PPO).curve["return"].unique().tolist() == [5]


@pytest.mark.parametrize(
    ("space", "obs", "message"),
    [
        (Dict({"a": Discrete(3)}), {"b": 1}, r"the observation of reset\(\) is {'b': 1}, without observation\['a'\]"),
        (Dict(a=Box(0, 1, (2,))), {"a": np.zeros(3)}, r"observation\['a'\] .*64 \[3\], but its space has .*32 \[2\]"),
        (MultiBinary(3), None, r"the observation of reset\(\) is None, but its space has int8 \[3\]"),
    ],
)
def test_parts_of_an_observation_are_named(space: gym.Space[Any], obs: Any, message: str) -> None:
    class Seen(Counting):
        observation_space = space

        def see(self) -> Any:
            return obs

    refusal(f"^Seen: {message}", train, SMALL, PPO, env=Seen)


def test_a_failing_close_loses_no_training(capsys: Capture) -> None:
    assert len(train(CONFIG, replace(PPO, action_mask=True), env=lambda: Misbehaving("close raises")).curve)
    message = r"own: close\(\) failed, which changes no result: OSError: already gone, in misbehaving.py, line \d+\n"
    assert re.fullmatch(message, capsys.readouterr().err)


def test_an_environment_that_is_wrong_from_the_start_is_closed() -> None:
    lane, config = AnySpace(Discrete(3)), replace(CONFIG, lanes=1)
    lane.see = lambda: 7  # type: ignore[method-assign]
    refusal("7", train, config, PPO, env=lambda: lane)
    del lane.see
    assert len(train(config, PPO, env=lambda: lane).curve)  # which refuses a lane that is open elsewhere


PACKAGES = {"envpool": "envpool", "ALE/Breakout-v5": "ale_py"}  # which a backend or an id needs
ELSEWHERE = [
    *itertools.product(["gymnasium", "processes"], ["CartPole-v1", "ShortCartPole-v0", "tricks/Tasks-v0"]),
    *[("gymnasium", id) for id in ("Pendulum-v1", "ALE/Breakout-v5")],
    *[("envpool", id) for id in ("CartPole-v1", "Pendulum-v1", "Breakout-v5")],
]


@pytest.mark.parametrize(("backend", "id"), [*[("tensor", id) for id in WORLDS], *ELSEWHERE])
def test_a_row_that_only_resets_pays_nothing_and_ends_nothing(backend: str, id: str) -> None:
    for needed in PACKAGES.keys() & {backend, id}:
        pytest.importorskip(PACKAGES[needed])
    env = make_env(Config(id, backend=backend, seeds=2, lanes=4))
    rng, everyone, resets = np.random.default_rng(0), torch.ones(2) > 0, 0
    for _ in range(2010):  # the longest world has 2,000
        before = env.now.resetting
        if env.spaces.discrete:
            action = torch.from_numpy(rng.integers(env.spaces.actions, size=(2, 4)))
        else:
            action = torch.from_numpy(rng.integers(-1, 2, (2, 4, env.spaces.actions))).float()
        step = env.step(action, everyone)
        for column in (step.reward, step.score, step.terminated, step.truncated, step.resetting, step.over):
            assert not column[before].any()
        resets += int(before.sum())
        if resets >= 5:
            break
    env.close()
    assert resets


HERE = r", in misbehaving\.py, line \d+"
RAISED = rf"^Failing-raise-v0: Stubborn: the floor gave way{HERE} \(seed 3\)$"
LOST = rf"^BadReset-v0: FileNotFoundError: \[Errno 2\] the map is lost{HERE} \(seed 3\)$"
UNMADE = f"^cannot make the environment 'Unmade-v0': ValueError: no such map{HERE}$"
DIED = r"^Failing-{}-v0: the worker process of lane 0 has died \({}\) \(seed 3\)$"


@linux
@pytest.mark.usefixtures("_nobody_left")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("id", "backend", "message"),
    [
        *[("Failing-raise-v0", backend, RAISED) for backend in ("processes", "gymnasium")],
        *[("BadReset-v0", backend, LOST) for backend in ("processes", "gymnasium")],
        *[("Unmade-v0", backend, UNMADE) for backend in ("processes", "gymnasium")],
        ("Failing-die-v0", "processes", DIED.format("die", "killed by SIGKILL")),
        ("Failing-quit-v0", "processes", DIED.format("quit", "exit status 3")),
        ("Nonsense-v0", "processes", "^cannot make the environment 'Nonsense-v0'"),
    ],
)
def test_what_goes_wrong_in_an_environment_is_one_line(id: str, backend: str, message: str) -> None:
    refusal(message, lambda: [*play(make_env(processes(id, backend)), 40)])


@linux
@pytest.mark.usefixtures("_nobody_left")
@pytest.mark.parametrize(
    ("rung", "id", "said"),
    [
        ("ppo+action_mask", "Failing-die", "the worker process of lane 0 has died"),
        ("ppo", "BreaksInAWorker", "ValueError: the floor gave way, in contracts.py, line "),
    ],
)
def test_the_shell_prints_that_line_alone(rung: str, id: str, said: str, capfd: Capture) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(f"train {rung} --env {id}-v0 --backend processes --seeds 1 --lanes 2".split()) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"error: {id}-v0: {said}") and error.count("\n") == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_fails_in_a_constructor_has_its_place_and_no_wrong_suggestion() -> None:
    assert in_words(KeyError("lr")) == "KeyError: 'lr'"  # what no code of the user's raises has no place
    refusal(r"unexpected keyword argument 'gravity'[^,]*$", train, Config(env_args=("gravity=9",), seeds=1), PPO)

    def failing() -> gym.Env:
        raise ValueError("no map")

    register("Mapless-v3", failing)
    refusal(r"'Mapless': ValueError: no map, in test_contract.py, line \d+$", train, Config("Mapless", seeds=1), PPO)

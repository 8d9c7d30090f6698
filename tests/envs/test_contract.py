"""What an environment owes its agent, and that a breach is one line."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.misbehaving import Misbehaving
from support.register import register

from tricks import PPO, Config, InputError, train
from tricks.envs.make import make_env
from tricks.ladder import switched
from tricks.worlds import WORLDS

CONFIG = Config("own", seeds=(3,), steps=200, lanes=2, horizon=16)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no reward", "own: the reward is not finite"),
        ("a word", r"own: the reward of step\(\) must be a number, not 'one'; gymnasium.utils.env_checker"),
        ("wrong shape", r"own: the observation of step\(\) has shape \(3,\), but its space has \(1,\)"),
        ("too large", r"own: the observation 3 is not in Discrete\(3\)"),
        ("too small", r"own: the observation -1 is not in Discrete\(3\)"),
        ("short mask", r'own: info\["action_mask"\] has shape \(3,\), not \(2,\): one entry per action'),
        ("exit", r"own: SystemExit: 3, in misbehaving.py, line \d+ \(seed 3\)"),
        ("exit in reset", r"own: SystemExit: 3, in misbehaving.py, line \d+ \(seed 3\)"),
        ("exit when made", "cannot make the environment that env= makes: SystemExit: no display"),
        ("sees nothing", "own has an empty observation space"),
        ("does nothing", "own has an empty action space"),
        ("no info", r"own: the info of step\(\) must be a dict, not None"),
    ],
)
def test_an_environment_that_breaks_its_contract_is_one_line(how: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        train(
            CONFIG,
            switched(["baseline", "reuse", "action_mask", "segments"]),
            env=lambda: Misbehaving(how),
        )
    assert "\n" not in str(caught.value)


def test_a_failing_close_loses_no_training(capsys: pytest.CaptureFixture[str]) -> None:
    run = train(CONFIG, replace(PPO, action_mask=True), env=lambda: Misbehaving("close raises"))
    assert len(run.curve)
    message = r"own: close\(\) failed, which changes no result: OSError: already gone, in misbehaving.py, line \d+\n"
    assert re.fullmatch(message, capsys.readouterr().err)


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
    low, high = (0, env.spaces.actions - 1) if env.spaces.discrete else (-1, 1)
    for _ in range(2010):  # the longest world has 2,000
        before = env.now.resetting
        shape = (2, 4) if env.spaces.discrete else (2, 4, env.spaces.actions)
        action = torch.from_numpy(rng.integers(low, high, shape, endpoint=True))
        action = action if env.spaces.discrete else action.float()
        step = env.step(action, everyone)
        for column in (step.reward, step.score, step.terminated, step.truncated, step.resetting, step.over):
            assert not column[before].any()
        resets += int(before.sum())
        if resets >= 5:
            break
    env.close()
    assert resets


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_constructor_that_fails_brings_no_wrong_suggestion() -> None:
    def failing() -> None:
        raise ValueError("no map")

    register("Mapless-v3", failing)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"'Mapless': ValueError: no map, in test_contract.py, line \d+$"):
        train(Config("Mapless", seeds=1), PPO)

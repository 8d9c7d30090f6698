"""What goes wrong in an environment is one line, with file and line of the user's code, in whatever process it is."""

import re
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import pytest
from support.failing import play, processes
from support.register import register
from support.waiting import linux

from tricks import PPO, Config, InputError, train
from tricks.cli.main import main
from tricks.envs.make import make_env
from tricks.errors import in_words

HERE = r", in failing\.py, line \d+"
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
        ("Failing-exit-v0", "processes", DIED.format("exit", "exit status 3")),
        ("Nonsense-v0", "processes", "^cannot make the environment 'Nonsense-v0'"),
    ],
)
def test_what_goes_wrong_in_an_environment_is_one_line(id: str, backend: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        for _ in play(make_env(processes(id, backend)), 40):
            pass
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)


@linux
@pytest.mark.usefixtures("_nobody_left")
@pytest.mark.parametrize(
    ("rung", "id", "said"),
    [
        ("ppo+action_mask", "Failing-raise", "Stubborn: "),
        ("ppo+action_mask", "Failing-die", "the worker process of lane 0 has died"),
        ("ppo", "BreaksInAWorker", "ValueError: the floor gave way, in contracts.py, line "),
    ],
)
def test_the_command_line_prints_that_line_and_nothing_else(
    rung: str, id: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(f"train {rung} --env {id}-v0 --backend processes --seeds 1 --lanes 2".split()) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"error: {id}-v0: {said}")
    assert error.count("\n") == 1


CODE = """import random
import gymnasium as gym
import numpy as np

class Mine(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(3), gym.spaces.Discrete(2)
    def __init__(self, how="make"):
        self.how = how
        if how == "make":
            1 / 0
    def reset(self, *, seed=None, options=None):
        if self.how == "reset":
            random.choice([])
        return 0, {}
    def step(self, action):
        np.linalg.inv(np.zeros((2, 2)))

for how in ("reset", "step"):
    gym.register(f"Mine-{how}-v0", Mine, kwargs={"how": how})
gym.register("Mine-make-v0", Mine)
"""
LINES = {"make": 10, "reset": 13, "step": 16}


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
@pytest.mark.parametrize("how", LINES)
def test_the_message_names_the_line_of_the_users_own_code(
    how: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("my_env.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_env", None)
    for each in LINES:
        gym.registry.pop(f"Mine-{each}-v0", None)
    with pytest.raises(InputError, match=rf"Error: .+, in my_env\.py, line {LINES[how]}\b") as caught:
        train(Config(f"my_env:Mine-{how}-v0", backend=backend, seeds=1, lanes=1, steps=10), PPO)
    assert "\n" not in str(caught.value)


def test_a_file_is_named_as_its_reader_knows_it() -> None:
    for file, name in {
        "/home/me/maze/__init__.py": "maze/__init__.py",
        "/tmp/ipykernel_12/345.py": "a notebook's cell",
        "<stdin>": "<stdin>",
    }.items():
        with pytest.raises(ZeroDivisionError) as caught:
            exec(compile("\n1 / 0", file, "exec"), {"__name__": "theirs"})
        caught.value.__traceback__ = caught.tb.tb_next  # without this test's own frame
        assert in_words(caught.value) == f"ZeroDivisionError: division by zero, in {name}, line 2"
    assert in_words(KeyError("lr")) == "KeyError: 'lr'"  # what no code of the user's raises has no place
    with pytest.raises(InputError, match=r"unexpected keyword argument 'gravity'[^,]*$"):
        train(Config("CartPole-v1", env_args=("gravity=9",), seeds=1, steps=10), PPO)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_constructor_that_fails_brings_no_wrong_suggestion() -> None:
    def failing() -> gym.Env:
        raise ValueError("no map")

    register("Mapless-v3", failing)
    with pytest.raises(InputError, match=r"'Mapless': ValueError: no map, in test_faults.py, line \d+$"):
        train(Config("Mapless", seeds=1), PPO)

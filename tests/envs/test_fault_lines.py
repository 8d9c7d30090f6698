"""What the user's own environment raises is said with the file and line of their code, in whatever process it is."""

import sys
from pathlib import Path

import gymnasium as gym
import pytest

from tricks import PPO, Config, InputError, train
from tricks.errors import in_words

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
    (tmp_path / "my_env.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_env", None)
    for each in LINES:
        gym.registry.pop(f"Mine-{each}-v0", None)
    with pytest.raises(InputError, match=rf"Error: .+, in my_env\.py, line {LINES[how]}\b") as caught:
        train(Config(f"my_env:Mine-{how}-v0", backend=backend, seeds=1, lanes=1, steps=10), PPO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/home/me/maze/__init__.py", "maze/__init__.py"),
        ("/tmp/ipykernel_12/345.py", "a notebook's cell"),
        ("<stdin>", "<stdin>"),
    ],
)
def test_a_file_is_named_as_its_reader_knows_it(file: str, name: str) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("\n1 / 0", file, "exec"), {"__name__": "theirs"})
    caught.value.__traceback__ = caught.tb.tb_next  # without this test's own frame
    assert in_words(caught.value) == f"ZeroDivisionError: division by zero, in {name}, line 2"


def test_what_no_code_of_the_users_raises_has_no_place() -> None:
    assert in_words(KeyError("lr")) == "KeyError: 'lr'"
    with pytest.raises(InputError, match=r"unexpected keyword argument 'gravity'[^,]*$"):
        train(Config("CartPole-v1", env_args=("gravity=9",), seeds=1, steps=10), PPO)

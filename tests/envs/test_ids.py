"""Ids that bring their module, as Gymnasium writes them: module:Id."""

import re
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from support.fixtures import Patch, refusal

from tricks import PPO, Config, train
from tricks.envs.ids import call_plugins, make_named
from tricks.envs.make import make_env

MODULES = {
    "bringing.py": """
import gymnasium as gym
from support.probes import Endless
gym.register("Brought-v0", entry_point=Endless, max_episode_steps=5)
""",
    "rooms.py": """
import gymnasium as gym
from support.probes import Endless
SIZE = 3
class Room(Endless): pass
class Rooms:
    make = staticmethod(lambda limit=5: gym.wrappers.TimeLimit(Endless(), limit))
make = Rooms.make
def needy(limit): return make(limit)
def forgetful(): make()
def three(): return 3
only = Endless()
def one(): return only
def several(): return gym.vector.SyncVectorEnv([Endless])
gym.register("Room-v0", entry_point=Endless, max_episode_steps=5)
""",
    "calling/__init__.py": "",
    "calling/games.py": """
import gymnasium as gym
from support.probes import Endless
def register():
    gym.register("Called-v0", entry_point=Endless, max_episode_steps=5)
""",
    "calling-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: calling\nVersion: 1\n",
    "calling-1.dist-info/entry_points.txt": """[gymnasium.envs]
__root__ = calling.games:register
Room = calling.games:register
""",
    "broken_one.py": 'raise ValueError("no such\\nmap")',
}


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: Patch) -> None:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rooms", raising=False)  # of another file of tests


def test_an_id_with_its_module_is_played_and_its_class_comes_before_an_id_without_version() -> None:
    env = make_env(Config(env="tricks.worlds:tricks/Corridor-v0", seeds=1, lanes=1))
    assert env.now.obs.argmax().item() == 2
    assert type(make_named("rooms:Room")).__name__ == "Room"
    assert type(make_named("rooms:Room-v0").unwrapped).__name__ == "Endless"
    refusal(r"got an unexpected keyword argument 'x'; it takes \(limit=5\)", make_named, "rooms:make", x=1)
    assert isinstance(make_named("rooms:make", limit=2), gym.wrappers.TimeLimit)


@pytest.mark.parametrize("backend", ["auto", "processes"])
@pytest.mark.parametrize("id", ["calling:Called-v0", "calling.games:Room/Called-v0"])
def test_a_package_may_register_its_ids_by_a_function_that_its_metadata_names(id: str, backend: str) -> None:
    for known in ("Called-v0", "Room/Called-v0"):
        gym.registry.pop(known, None)
    call_plugins.cache_clear()
    make_env(Config(env=id, backend=backend, seeds=1, lanes=1)).close()


@pytest.mark.parametrize("backend", ["auto", "processes"])
@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("no_such_module:Any-v0", "cannot make the environment 'no_such_module:Any-v0': No module named 'no_such"),
        ("broken_one:Any-v0", "'broken_one:Any-v0': ValueError: no such map, in broken_one.py, line 1"),
        ("bringing:Brought-v7", "(did you mean bringing:Brought-v0?)"),
        ("Script-v0", "Environment `Script` doesn't exist"),  # what all ids end with is no likeness
        ("rooms:mak", "rooms has no class or function 'mak' and registers no such id (did you mean rooms:make?)"),
        ("rooms:SIZE", "it must be a class or function that makes an environment, not 3"),
        ("rooms:needy", "missing a required argument: 'limit'; it takes (limit) as arguments of the environment, "),
        ("rooms:forgetful", "'rooms:forgetful' must make a gymnasium.Env, not None: does it return what it makes?"),
        ("rooms:several", "not SyncVectorEnv; each lane is one environment, and --lanes says how many"),
        ("rooms.nosuch:make", "No module named 'rooms.nosuch'; 'rooms' is not a package; it must be installed, or be "),
        ("./rooms.py:make", "name a module, not a file: rooms:make"),
        ("rooms:", "write module:Id or module:function, such as rooms:make"),
        ("random:make", "if random is a file of yours, give it another name"),
        ("os:system", "this function makes no environment"),
    ],
)
def test_what_is_wrong_with_an_id_is_one_line(id: str, message: str, backend: str) -> None:
    said = refusal(re.escape(message), make_env, Config(env=id, backend=backend, seeds=1, lanes=1))
    assert said.lower().count("did you mean") <= 1


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes"])
@pytest.mark.parametrize(
    ("name", "paid"),
    [
        ("bringing:Brought-v0", [5]),
        ("rooms:make", [5]),
        ("rooms:Rooms.make", [5]),
        ("rooms:Room-v0", [5]),
        ("gymnasium.envs.classic_control:CartPoleEnv", None),
    ],
)
def test_the_module_of_a_name_is_imported_and_registers_or_has_it(name: str, paid: Any, backend: str) -> None:
    run = train(Config(env=name, backend=backend, seeds=1, lanes=2, steps=40, horizon=10, hidden=(4,)), PPO)
    assert run.config.env == name and paid in (None, run.curve["return"].unique().tolist())


def test_a_function_by_name_makes_a_new_one_for_each_lane_and_takes_no_arguments_for_a_library() -> None:
    refusal("made the same Endless object for two lanes", make_env, Config(env="rooms:one", seeds=1, lanes=2))
    for name, arg in {"os:system": "command=touch here", "gymnasium:make": "id=broken_one:Any-v0"}.items():
        refusal("this function makes no environment", make_env, Config(env=name, env_args=(arg,), seeds=1, lanes=1))
    assert not Path("here").exists()

"""Worker processes: the numbers of one process, one line for what goes wrong, and nothing left behind."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from support.probes import Endless

from tricks import PPO, REINFORCE, Config, InputError, Tricks, train
from tricks.cli.main import main
from tricks.core.env import Env, Step
from tricks.envs.make import make_env

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts processes as Linux shows them")
EVERYONE = torch.ones(2, dtype=torch.bool)
PARENT = os.getpid()


class Stubborn(Exception):
    """Neither to be pickled nor to be made anew from its message."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what}\n  {where}")
        self.lock = threading.Lock()


class Failing(Endless):
    """Fails in the third step, in the way that `how` says."""

    def __init__(self, how: str) -> None:
        self.how, self.t = how, 0

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        if self.t == 3 and self.how == "raise":
            raise Stubborn("the floor", "gave way")
        if self.t == 3 and self.how == "die" and os.getpid() != PARENT:
            print("Killed", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.t == 3 and self.how == "exit" and os.getpid() != PARENT:
            os._exit(3)
        if self.t == 3 and self.how == "hang":
            time.sleep(300)
        return super().step(action)


class Unmade(Endless):
    """Raises what no environment should when it is made."""

    def __init__(self) -> None:
        raise ValueError("no such\nmap")


class BadReset(Endless):
    """Its second reset fails."""

    resets = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self.resets += 1
        if self.resets == 2:
            raise OSError(2, "the map is lost")
        return super().reset(seed=seed)


class Closing(Endless):
    """Leaves a file named after its process when it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        (self.folder / str(os.getpid())).touch()


for how in ("raise", "die", "exit", "hang"):
    gym.register(f"Failing-{how}-v0", entry_point=Failing, kwargs={"how": how})
gym.register("Unmade-v0", entry_point=Unmade)
gym.register("BadReset-v0", entry_point=BadReset, max_episode_steps=1)


def processes(id: str, backend: str = "processes") -> Config:
    return Config(env=id, backend=backend, seeds=(3, 8), lanes=2, steps=300, horizon=16)


@pytest.fixture(autouse=True)
def _nobody_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) == before


def play(env: Env, rows: int) -> Iterator[Step]:
    """The steps of all lanes; seed 3 plays always, seed 8 two steps of three; one reset of all on the way."""
    rng, size = np.random.default_rng(0), (len(env.seeds), env.lanes)
    for t in range(rows):
        if t == rows // 2:
            env.reset()
        action = torch.from_numpy(rng.integers(env.spaces.actions, size=size))
        yield env.step(action, torch.tensor([True, t % 3 > 0]))
    env.close()


@pytest.mark.parametrize("id", ["ShortCartPole-v0", "Acrobot-v1", "Forbidding-v0", "ResetMask-v0", "Taxi-v4"])
def test_the_workers_see_what_one_process_would(id: str) -> None:
    ends, masks = 0, 0
    for one, many in zip(
        play(make_env(processes(id, "gymnasium")), 80), play(make_env(processes(id)), 80), strict=True
    ):
        assert one.lives is many.lives is None
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(one[:-1], many[:-1], strict=True))
        ends, masks = ends + int(one.over.sum()), masks + int((~one.legal).sum())
    assert (ends > 0) == (id not in ("Acrobot-v1", "Taxi-v4"))
    assert (masks > 0) == (id in ("Forbidding-v0", "ResetMask-v0", "Taxi-v4"))


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["reinforce", "ppo"])
def test_training_with_workers_gives_the_curve_of_training_without(tricks: Tricks) -> None:
    ours, theirs = (train(processes("ShortCartPole-v0", b), tricks).curve for b in ("processes", "gymnasium"))
    pd.testing.assert_frame_equal(ours, theirs)
    assert ours["return"].notna().any()


def test_every_lane_has_a_process_of_its_own_until_it_is_closed() -> None:
    env = make_env(processes("ShortCartPole-v0"))
    assert len(multiprocessing.active_children()) == 4
    env.close()
    assert not multiprocessing.active_children()
    env.close()


def test_what_the_terminal_sends_to_all_is_for_the_parent_to_answer() -> None:
    env = make_env(processes("ShortCartPole-v0"))
    for worker in multiprocessing.active_children():
        for what in (signal.SIGINT, signal.SIGHUP):
            os.kill(worker.pid or 0, what)
    for _ in play(env, 4):
        assert len(multiprocessing.active_children()) == 4


def test_a_worker_closes_its_environment(tmp_path: Path) -> None:
    gym.register("Closing-v0", entry_point=Closing, kwargs={"folder": tmp_path})
    make_env(processes("Closing-v0")).close()
    closed = {int(path.name) for path in tmp_path.iterdir()}
    assert len(closed - {os.getpid()}) == 4


def test_closing_ends_a_worker_in_the_middle_of_a_long_step() -> None:
    env = make_env(processes("Failing-hang-v0"))
    action, begun = torch.zeros(2, 2, dtype=torch.int64), time.monotonic()

    def interrupt() -> None:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    for _ in range(2):
        env.step(action, EVERYONE)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        env.step(action, EVERYONE)
    env.close()
    assert time.monotonic() - begun < 5


FAULTS = [
    ("Failing-raise-v0", "processes", r"^Failing-raise-v0: Stubborn: the floor gave way \(seed 3\)$"),
    ("Failing-raise-v0", "gymnasium", r"^Failing-raise-v0: Stubborn: the floor gave way \(seed 3\)$"),
    ("BadReset-v0", "processes", r"^BadReset-v0: FileNotFoundError: \[Errno 2\] the map is lost \(seed 3\)$"),
    ("BadReset-v0", "gymnasium", r"^BadReset-v0: FileNotFoundError: \[Errno 2\] the map is lost \(seed 3\)$"),
    (
        "Failing-die-v0",
        "processes",
        r"^Failing-die-v0: the worker process of lane 0 has died \(killed by SIGKILL\) \(seed 3\)$",
    ),
    (
        "Failing-exit-v0",
        "processes",
        r"^Failing-exit-v0: the worker process of lane 0 has died \(exit status 3\) \(seed 3\)$",
    ),
    ("Unmade-v0", "processes", "^cannot make the environment 'Unmade-v0': no such map$"),
    ("Unmade-v0", "gymnasium", "^cannot make the environment 'Unmade-v0': no such map$"),
    ("Nonsense-v0", "processes", "^cannot make the environment 'Nonsense-v0'"),
    ("Blackjack-v1", "processes", "^Blackjack-v1 has a Tuple observation space"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("id", "backend", "message"), FAULTS)
def test_what_goes_wrong_in_an_environment_is_one_line(id: str, backend: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        for _ in play(make_env(processes(id, backend)), 40):
            pass
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("how", ["raise", "die"])
def test_the_command_line_prints_that_line_and_nothing_else(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        assert main(["train", "ppo", "--env", f"Failing-{how}-v0", "--backend", "processes", "--seeds", "1"]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"error: Failing-{how}-v0: ")
    assert error.count("\n") == 1


SCRIPT = """
import multiprocessing, signal, sys, gymnasium as gym, torch
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup pytest` has it ignored
sys.path[:0] = {paths!r}
import test_processes
from tricks.envs.make import make_env
env = make_env(test_processes.processes({id!r}))
print(*(process.pid for process in multiprocessing.active_children()), flush=True)
while True:
    env.step(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2) > 0)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def within(seconds: float, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


@pytest.mark.parametrize("id", ["ShortCartPole-v0", "Failing-hang-v0"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP], ids=lambda how: how.name)
def test_no_worker_outlives_a_parent_that_was_killed(id: str, how: signal.Signals) -> None:
    script = SCRIPT.format(paths=[str(path) for path in Path(__file__).parents[:2]], id=id).replace(
        "ShortCartPole-v0", "CartPole-v1"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 4
    time.sleep(0.3)
    assert all(map(alive, workers))
    parent.send_signal(how)
    parent.wait(5)
    assert within(4, lambda: not any(map(alive, workers)))
    parent.stdout.close()

"""Worker processes: the numbers of one process, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Tuple
from support.commands import alive, linux, until
from support.misbehaving import play, processes
from support.probes import AnySpace, Endless, register

from tricks.envs.make import make_env

pytestmark = [pytest.mark.usefixtures("_nobody_left"), linux]
EVERYONE = torch.ones(2, dtype=torch.bool)


class Closing(Endless):
    """Leaves a file named after its process when it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        (self.folder / str(os.getpid())).touch()


register("Nested-v0", AnySpace, observation=Dict(at=Tuple((Box(-1, 1, ()), Discrete(2))), kind=MultiBinary(3)))


@pytest.mark.parametrize(
    "id", ["Nested-v0", "ShortCartPole-v0", "Acrobot-v1", "Forbidding-v0", "ResetMask-v0", "Taxi-v4"]
)
def test_the_workers_see_what_one_process_would(id: str) -> None:
    ends, masks = 0, 0
    both = (play(make_env(config), 80) for config in (processes(id, "gymnasium"), processes(id)))
    for one, many in zip(*both, strict=True):
        assert one[-2:] == many[-2:] == (None, None)  # lives and record
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(one[:-2], many[:-2], strict=True))
        ends, masks = ends + int(one.over.sum()), masks + int((~one.legal).sum())
    assert (ends > 0) == (id not in ("Acrobot-v1", "Taxi-v4"))
    assert (masks > 0) == (id in ("Forbidding-v0", "ResetMask-v0", "Taxi-v4"))


def test_every_lane_has_a_process_of_its_own_which_closes_its_environment(tmp_path: Path) -> None:
    env = make_env(processes("ShortCartPole-v0"))
    assert len(multiprocessing.active_children()) == 4
    for worker in multiprocessing.active_children():  # what the terminal sends to all is for the parent to answer
        for what in (signal.SIGINT, signal.SIGHUP):
            os.kill(worker.pid or 0, what)
    for _ in play(env, 4):
        assert len(multiprocessing.active_children()) == 4
    for _ in range(2):
        env.close()
        assert not multiprocessing.active_children()
    register("Closing-v0", Closing, folder=tmp_path)
    make_env(processes("Closing-v0")).close()
    assert len({int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}) == 4


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


SCRIPT = """
import multiprocessing, signal, sys, torch
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup pytest` has it ignored
sys.path[:0] = [{tests!r}]
from support.misbehaving import processes
from tricks.envs.make import make_env
env = make_env(processes({id!r}))
print(*(process.pid for process in multiprocessing.active_children()), flush=True)
while True:
    env.step(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2) > 0)
"""


@pytest.mark.parametrize(("id", "how"), [("Failing-hang-v0", signal.SIGKILL), ("CartPole-v1", signal.SIGHUP)])
def test_no_worker_outlives_a_parent_that_was_killed(id: str, how: signal.Signals) -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parents[1]), id=id)
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(workers) == 4
    time.sleep(0.3)
    assert all(map(alive, workers))
    parent.send_signal(how)
    parent.wait(5)
    until(lambda: not any(map(alive, workers)), seconds=4)
    parent.stdout.close()

"""Notebooks' kernels, forked from the server that also forks workers: none of them imports PyTorch again."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from ipykernel.kernelapp import launch_new_instance
from jupyter_client.provisioning import local_provisioner
from support.commands import until

from tricks.core.machine import follow_parent

# What every chapter imports, and what a kernel consists of.
PRELOAD = ("ipykernel.ipkernel", "ipykernel.kernelapp", "matplotlib.pyplot", "ablations.findings.take_home")


class Forked:
    """A kernel's process, with what Jupyter asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: Sequence[str], folder: str, settings: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        self.process = context.Process(target=serve, args=(list(arguments), folder, dict(settings)))
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid
        until(lambda: os.getpgid(self.pid) == self.pid)  # Jupyter signals this group, so it must not be the tests' own

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def serve(arguments: list[str], folder: str, settings: dict[str, str]) -> None:
    """Be the kernel that `python -m ipykernel_launcher arguments` would be. settings: its environment."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP})  # workers leave both to their parent
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(settings)
    mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"  # the kernel's variable would come too late
    sys.argv = ["ipykernel_launcher", *arguments]
    follow_parent()  # the kernel's own watch would be over the server, which lives as long as its last child
    launch_new_instance(argv=arguments)


def fork_kernels() -> None:
    """From now on, the kernels that Jupyter starts from this process are forked."""

    def launch(cmd: list[str], env: Mapping[str, str], cwd: str = ".", **rest: Any) -> Forked:
        return Forked(cmd[cmd.index("ipykernel_launcher") + 1 :], cwd, env)

    local_provisioner.launch_kernel = launch  # type: ignore[assignment] # of a Popen, only what `Forked` has is used

"""What this machine has: devices, a compiler, and memory. A training that can't fit is refused before it takes any."""

import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from tricks.config import Config
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.flags import switch

WEIGHT = 16  # bytes of a weight, its gradient and Adam's two moments
NUMBERS = 24  # bytes of a row's reward, value, log-probability, advantage, target and action
COPIES = 2  # of a row at a time, at least: as played, and as a batch


def find_device(name: str) -> torch.device:
    """The device with this name. Raises InputError if PyTorch does not know it or this machine does not have it."""
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):  # others lack float64, or hold no data (meta)
            raise NotImplementedError
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        known = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        raise InputError(f"no device {name!r}; PyTorch {torch.__version__} finds {', '.join(known)}") from error
    return device


def find_compiler(device: str) -> None:
    """Raise InputError if torch.compile would not find CXX, or else the usual C++ compiler; a GPU needs none."""
    name = os.environ.get("CXX") or {"win32": "cl", "darwin": "clang++"}.get(sys.platform, "g++")
    if not device.startswith("cuda") and shutil.which(name) is None and shutil.which(shlex.split(name)[0]) is None:
        raise InputError(f"compile needs the C++ compiler {name}, which is not installed: install it, or set CXX")


class Need(NamedTuple):
    """What takes memory, how many bytes, and the numbers of the config that decide how many, the largest first."""

    what: str
    bytes: int
    numbers: tuple[str, ...]
    on_device: bool = True  # that of the agents; the curve and the lanes are not


def row_bytes(spaces: Spaces | None = None) -> int:
    """Bytes of a row of a rollout; without spaces, of one feature and one action."""
    return COPIES * (NUMBERS + (prod(spaces.shape) * spaces.dtype.itemsize + spaces.actions if spaces else 5))


def largest(config: Config, *names: str) -> tuple[str, ...]:
    """Those of these numbers that are larger than by default, the most exceptional one first; all if none is."""

    def times(name: str) -> float:
        own, usual = (sum(x) if isinstance(x, tuple) else x for x in (getattr(config, name), getattr(Config, name)))
        return float((len(config.seed_list) if name == "seeds" else own) / usual)

    return tuple(name for name in sorted(names, key=times, reverse=True) if times(name) > 1) or names


def on_host(found: Sequence[Need], device: str) -> list[Need]:
    """The needs that take memory of the host when the agents are on this device."""
    return [need for need in found if not (device.startswith("cuda") and need.on_device)]


def refuse_too_large(found: Sequence[Need], device: str = "cpu") -> None:
    """Raise InputError, with the options that would help most, if a training on this device needs more than is free."""
    places = {"this machine": on_host(found, device)}
    if device.startswith("cuda"):
        places[device] = [need for need in found if need.on_device]
    for where, some in places.items():
        free = free_memory(device if where == device else "cpu")
        if sum(need.bytes for need in some) > free:
            numbers = " or ".join(map(switch, max(some, key=lambda need: need.bytes).numbers))
            raise InputError(f"{in_total(some)}, and {where} has {in_words(free)} free; lower {numbers}")


def in_total(found: Sequence[Need]) -> str:
    """`this needs at least 6.4 TB of memory, most of it for 8 stored rollouts`."""
    total, most = sum(need.bytes for need in found), max(found, key=lambda need: need.bytes).what
    return f"this needs at least {in_words(total)} of memory, most of it for {most}"


def free_memory(device: str = "cpu") -> int:
    """Bytes that this process can still take, on a GPU or in a control group with a limit of its own, too."""
    if device.startswith("cuda"):
        reusable = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + reusable
    return min([psutil.virtual_memory().available, *left_in_groups()])


def left_in_groups(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Bytes below the limit of each control group (cgroup v2) that this process is in, besides the cache of files."""
    own = process.read_text(encoding="utf-8").partition("0::")[2].strip() if process.exists() else ""
    here = root / own.strip("/")
    for folder in (here, *here.parents):
        with suppress(OSError, ValueError):  # no group, or none with a limit
            files = (folder / f"memory.{name}" for name in ("max", "current", "stat"))
            limit, used, stat = (path.read_text(encoding="utf-8") for path in files)
            cache = dict(line.split() for line in stat.splitlines()).get("file", 0)
            yield max(0, int(limit) - int(used) + int(cache))


def in_words(size: float) -> str:
    """`6.4 TB`."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:,.3g} {units[0]}" if size < 1000 else f"{size:.1e} {units[0]}"


def follow_parent(patience: float = 0.0) -> None:
    """Make this worker process exit when its parent does; with `patience`, after SIGTERM and that many seconds."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "follow_parent is for worker processes"

    def follow() -> None:  # forked workers hold each other's ends of the pipe open, which would say it: so poll, too
        while parent.is_alive() and psutil.pid_exists(parent.pid or 0):
            parent.join(0.5)
        if patience:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            time.sleep(patience)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()

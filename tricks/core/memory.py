"""The memory that a training needs at least, and what this machine has: what cannot fit is refused before any is taken.

The bounds are coarse and low on purpose: what fits is never refused.
"""

from collections.abc import Sequence
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


class Need(NamedTuple):
    """What takes memory, how many bytes, and the numbers of the config that decide how many, the largest first."""

    what: str
    bytes: int
    numbers: tuple[str, ...]
    on_device: bool = True
    """Whether it is on the device of the agents; the curve and the lanes are not."""


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
    """The needs that take memory of the host when the agents are on this device: on a GPU, fewer."""
    return [need for need in found if not (device.startswith("cuda") and need.on_device)]


def refuse_too_large(found: Sequence[Need], device: str = "cpu") -> None:
    """Raise InputError if the needs of a training on this device exceed the memory that is free, there or on the host.

    It names the options that would help most.
    """
    on_gpu = [need for need in found if need.on_device] if device.startswith("cuda") else []
    for where, some, free in (
        ("this machine", on_host(found, device), free_memory()),
        (device, on_gpu, free_memory(device) if on_gpu else 0),
    ):
        if sum(need.bytes for need in some) > free:
            numbers = " or ".join(map(switch, max(some, key=lambda need: need.bytes).numbers))
            raise InputError(f"{in_total(some)}, and {where} has {in_words(free)} free; lower {numbers}")


def in_total(found: Sequence[Need]) -> str:
    """`this needs at least 6.4 TB of memory, most of it for 8 stored rollouts`."""
    total, most = in_words(sum(need.bytes for need in found)), max(found, key=lambda need: need.bytes).what
    return f"this needs at least {total} of memory, most of it for {most}"


def free_memory(device: str = "cpu") -> int:
    """Bytes that this process can still take, on a GPU or in a control group with a limit of its own, too."""
    if device.startswith("cuda"):
        reusable = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + reusable
    limits = [left for folder in control_groups() if (left := left_in(folder)) is not None]
    return min([psutil.virtual_memory().available, *limits])


def control_groups(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """The folders of the control groups (cgroup v2) that may limit this process: its own, those above, and the root."""
    own = process.read_text(encoding="utf-8").partition("0::")[2].strip() if process.exists() else ""
    here = root / own.strip("/")
    return [folder for folder in (here, *here.parents) if folder.is_relative_to(root)]


def left_in(folder: Path) -> int | None:
    """Bytes below the limit of a control group, not counting the cache of files; None if it has no limit."""
    try:
        files = (folder / f"memory.{name}" for name in ("max", "current", "stat"))
        limit, used, stat = (path.read_text(encoding="utf-8") for path in files)
        cache = dict(line.split() for line in stat.splitlines()).get("file", 0)
        return max(0, int(limit) - int(used) + int(cache))
    except (OSError, ValueError):
        return None


def in_words(size: float) -> str:
    """`6.4 TB`."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:,.3g} {units[0]}" if size < 1000 else f"{size:.1e} {units[0]}"

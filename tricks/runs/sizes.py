"""The least memory that a run needs, so that numbers which cannot fit are refused before any is taken.

The bound is coarse and low on purpose: what fits is never refused.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from tricks.config import Config
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import Tricks
from tricks.ppg import stored_rollouts
from tricks.recurrent import GATES

NUMBERS = 24  # bytes of a row's reward, value, log-probability, advantage, target and action
COPIES = 2  # of a row at a time, at least: as played, and as a batch
WEIGHT = 16  # bytes of a weight, its gradient and Adam's two moments
CURVE_ROW = 300  # bytes of a row of the curve
LONG = 1000  # steps: a batch of whole episodes may be this long, so that there are fewer updates


class Need(NamedTuple):
    """What takes memory, how many bytes, and the numbers of the config that decide how many, the largest first."""

    what: str
    bytes: int
    numbers: tuple[str, ...]
    on_device: bool = True
    """Whether it is on the device of the agents; the curve and the lanes are not."""


def needs(config: Config, tricks: Tricks, spaces: Spaces | None = None, own_body: bool = False) -> list[Need]:
    """What a training holds at its peak, at least. Without spaces: with one feature and one action."""
    seeds, segment = len(config.seed_list), config.lanes * config.horizon
    rows, updates = seeds * segment, -(-config.steps // segment)
    dense = not own_body and not (spaces and spaces.images)  # the net has the layers of --hidden
    widths = [spaces.features if spaces else 1, *config.hidden] if dense else []
    names = stored_rollouts(tricks)
    stored = sum(min(getattr(config, name), updates) for name in names)
    nets = seeds * 2 * WEIGHT * sum(a * b for a, b in pairwise(widths))
    curve = seeds * -(-config.steps // (config.lanes * max(config.horizon, LONG)))
    return [
        Need(
            f"rollouts of {rows:,} rows",
            rollout_bytes(rows, spaces),
            largest(config, "lanes", "horizon", "seeds"),
        ),
        Need("nets", nets, largest(config, "hidden", "seeds")),
        recurrent_need(config, tricks, rows, widths[-1] if widths else 1),
        Need(
            f"{stored:,} stored rollouts",
            rollout_bytes(stored * rows, spaces),
            largest(config, *names, "lanes", "horizon", "seeds"),
        ),
        Need(f"a curve of {curve:,} rows", curve * CURVE_ROW, largest(config, "steps", "seeds"), on_device=False),
    ]


def recurrent_need(config: Config, tricks: Tricks, rows: int, features: int) -> Need:
    """The weights of both nets' recurrent layers, and what they hold of the rows that they see at once."""
    size = config.recurrent_size * tricks.recurrent
    gates = GATES[config.recurrent_cell] * size
    weights = len(config.seed_list) * 2 * WEIGHT * (features + size) * gates
    at_once = max(rows, 2 * rows // config.minibatches)  # a whole rollout in one net; in both, also for gradients
    return Need(
        f"recurrent layers of size {size:,}",
        weights + at_once * 4 * (gates + size),
        largest(config, "recurrent_size", "lanes", "horizon", "seeds"),
    )


def rollout_bytes(rows: int, spaces: Spaces | None = None) -> int:
    """Bytes of so many rows of a rollout."""
    seen = prod(spaces.shape) * spaces.dtype.itemsize + spaces.actions if spaces else 5
    return COPIES * rows * (seen + NUMBERS)


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
    """Raise InputError if these needs exceed the memory that is free; it names the options that would help most."""
    total, free = sum(need.bytes for need in found), free_memory(device)
    if total > free:
        where = device if device.startswith("cuda") else "this machine"
        numbers = " or ".join(map(switch, _most(found).numbers))
        raise InputError(f"{in_total(found)}, and {where} has {in_words(free)} free; lower {numbers}")


def in_total(found: Sequence[Need]) -> str:
    """`this needs at least 6.4 TB of memory, most of it for 8 stored rollouts`."""
    total = in_words(sum(need.bytes for need in found))
    return f"this needs at least {total} of memory, most of it for {_most(found).what}"


def _most(found: Sequence[Need]) -> Need:
    return max(found, key=lambda need: need.bytes)


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

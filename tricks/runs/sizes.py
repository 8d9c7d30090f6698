"""How much memory a run needs, before it is taken, and whether the machine has as much.

The estimates count tensors: rows, weights, stored rollouts, lanes. They are meant to be between half of the measured
peak and the peak itself, so that what fits is never refused.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from tricks.config import Config
from tricks.core.images import CHANNELS, KERNEL, WIDTH, is_small
from tricks.core.nets import NATURE, NATURE_WIDTH
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.fast.kernels import CACHED, FEWEST
from tricks.flags import switch
from tricks.ladder import Tricks

ROW = 29  # bytes of a rollout's row besides its observation, its action and its mask
STORED = 49  # the same in `Memory`
COPIES = 4  # of a row at a time: as played, as a rollout, as a batch, in a minibatch; measured
STORED_COPIES = 5  # of a stored row in an auxiliary phase; measured
PER_WEIGHT = 28  # bytes: the draw in float64, the weight, its gradient, Adam's moments and step
CURVE_ROW = 700  # bytes of a row of the curve, which is copied into a table at the end
LONG = 1000  # steps: episodes are assumed to be no longer in a batch of whole episodes


class Need(NamedTuple):
    """What takes memory, how many bytes, and the numbers of the config that decide how many, the largest first."""

    what: str
    bytes: int
    numbers: tuple[str, ...]
    on_device: bool = True
    """Whether it is on the device of the agents; the curve and the lanes are not."""


def needs(config: Config, tricks: Tricks, spaces: Spaces | None = None, own_body: bool = False) -> list[Need]:
    """What a training holds at its peak. Without spaces: at least, with one feature and one action.

    On CartPole, with up to 1,000,000 rows of the default nets, with nets of 2·10⁶ weights, and with ppg's stored
    rollouts, measured peaks were 1.0 to 1.7 times the sum.
    """
    seeds, rows = len(config.seed_list), len(config.seed_list) * config.lanes * config.horizon
    shape, actions = (spaces.shape, spaces.actions) if spaces else ((1,), 1)
    pixels = spaces is not None and spaces.pixels
    seen = prod(shape) * (1 if pixels else 4) + actions
    widths = [prod(shape)] if own_body else layers(config, shape, pixels)
    nets = 2 if tricks.baseline else 1
    learned = nets * 2 * 4 * sum(widths[1:])  # bytes of a row's activations and their gradients
    judged = 6 * max((a + b for a, b in pairwise(widths)), default=0)  # of a pass without gradients
    judged = judged // seeds if pixels else judged  # convolutions run one seed at a time
    pieces = config.minibatches if tricks.reuse else 1
    passed = min(rows, max(FEWEST * seeds, CACHED // widths[-1]))  # rows of a pass without gradients
    rollout = rows * COPIES * (seen + ROW) + max(passed * judged, rows * learned // pieces)
    found = [
        Need(f"rollouts of {rows:,} rows", rollout, largest(config, "lanes", "horizon", "hidden", "seeds")),
        Need(
            "nets",
            0 if own_body else seeds * net_bytes(config, shape, pixels, actions),
            largest(config, "hidden", "seeds"),
        ),
    ]
    length = config.horizon if tricks.segments else max(config.horizon, LONG)
    updates = -(-config.steps // (config.lanes * length))
    if tricks.ppg:
        names = ("policy_rollouts", "value_rollouts") if tricks.ppg_buffers else ("aux_every",)
        kept = sum(min(getattr(config, name), updates) for name in names)
        stored = kept * rows * STORED_COPIES * (seen + 4 * actions + STORED)
        found.append(Need(f"{kept:,} stored rollouts", stored, largest(config, *names, "lanes", "horizon", "seeds")))
    curve = Need(
        f"a curve of {updates * seeds:,} rows",
        updates * seeds * CURVE_ROW,
        largest(config, "steps", "seeds"),
        on_device=False,
    )
    return [*found, curve]


def largest(config: Config, *names: str) -> tuple[str, ...]:
    """Those of these numbers that are larger than by default, the most exceptional one first; all if none is."""

    def times(name: str) -> float:
        own, usual = (sum(x) if isinstance(x, tuple) else x for x in (getattr(config, name), getattr(Config, name)))
        return float((len(config.seed_list) if name == "seeds" else own) / usual)

    more = [name for name in names if times(name) > 1]
    return tuple(sorted(more, key=times, reverse=True)) or names


def playing_bytes(rows: int, spaces: Spaces | None = None) -> int:
    """Bytes of a rollout of so many rows that nobody learns from, as played and as a rollout."""
    seen = prod(spaces.shape) * (1 if spaces.pixels else 4) + spaces.actions if spaces else 5
    return 2 * rows * (seen + ROW)


def layers(config: Config, shape: Sequence[int], pixels: bool) -> list[int]:
    """Numbers per row in the input and in each hidden layer of a net."""
    if not pixels:
        return [prod(shape), *config.hidden]
    if is_small(shape):
        return [prod(shape), CHANNELS * prod(side - KERNEL + 1 for side in shape[1:]), WIDTH]
    sizes, sides = [prod(shape)], list(shape[1:])
    for out, kernel, stride in NATURE:
        sides = [(side - kernel) // stride + 1 for side in sides]
        sizes.append(out * prod(sides))
    return [*sizes, NATURE_WIDTH]


def net_bytes(config: Config, shape: Sequence[int], pixels: bool, actions: int) -> int:
    """Bytes that the two nets of a seed take with their gradients and Adam's moments."""
    widths = layers(config, shape, pixels)
    body = sum(a * b for a, b in pairwise(widths[-2:] if pixels else widths))  # of images, the dense layer is the most
    return PER_WEIGHT * (2 * body + widths[-1] * (actions + 1))


def on_host(found: Sequence[Need], device: str) -> list[Need]:
    """The needs that take memory of the host when the agents are on this device: on a GPU, fewer."""
    return [need for need in found if not (device.startswith("cuda") and need.on_device)]


def refuse_too_large(found: Sequence[Need], device: str = "cpu") -> None:
    """Raise InputError if these needs exceed the memory that is free; it names the options that would help most."""
    total, free = sum(need.bytes for need in found), free_memory(device)
    if total <= free or not found:
        return
    numbers = " or ".join(switch(name) for name in _largest(found).numbers)
    raise InputError(
        f"{in_total(found)}, and {device if device.startswith('cuda') else 'this machine'} has {in_words(free)} free; "
        f"lower {numbers}"
    )


def in_total(found: Sequence[Need]) -> str:
    """`this needs about 6.4 TB of memory, most of it for 8 stored rollouts`."""
    total = in_words(sum(need.bytes for need in found))
    return f"this needs about {total} of memory, most of it for {_largest(found).what}"


def _largest(found: Sequence[Need]) -> Need:
    return max(found, key=lambda need: need.bytes)


def free_memory(device: str = "cpu") -> int:
    """Bytes that this process can still take, on a GPU or in a control group with a limit of its own, too."""
    if device.startswith("cuda"):
        reusable = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + reusable
    free: int = psutil.virtual_memory().available
    return min([free, *(left for folder in control_groups() if (left := left_in(folder)) is not None)])


def control_groups(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """The folders of the control groups (cgroup v2) that may limit this process: its own, those above, and the root."""
    try:
        (own,) = (line[3:] for line in process.read_text(encoding="utf-8").splitlines() if line.startswith("0::"))
    except (OSError, ValueError):
        return [root]
    here = root / own.strip("/")
    return [folder for folder in (here, *here.parents) if folder.is_relative_to(root)]


def left_in(folder: Path) -> int | None:
    """Bytes below the limit of a control group, not counting the cache of files; None if it has no limit."""
    names = ("memory.max", "memory.current", "memory.stat")
    try:
        limit, used, stat = ((folder / name).read_text(encoding="utf-8") for name in names)
        files = dict(line.split() for line in stat.splitlines()).get("file", 0)
        return max(0, int(limit) - int(used) + int(files))
    except (OSError, ValueError):
        return None


def in_words(size: float) -> str:
    """`6.4 TB`."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:,.3g} {units[0]}" if size < 1000 else f"{size:.1e} {units[0]}"

"""`python -m ablations speed`: environment steps per second, and where the time goes.

Every measurement runs in fresh processes with one thread each, after a short warm-up, so that measurements share no
memory or caches.
"""

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.findings.stopwatch import Measured, measure, measure_plain, measure_sb3, together
from ablations.report.tables import markdown
from tricks.config import BACKENDS, Config
from tricks.core.extras import extra
from tricks.errors import InputError
from tricks.ladder import named
from tricks.runs.learning_curve import read_table

PEER: dict[str, type] = {"who": str, "seeds": int, "steps_per_second": float}  # what --beside needs of a row
WORDS = ("who", "backend", "device")


@dataclass(frozen=True)
class Options:
    """What to measure. N, T, epochs and minibatches are the defaults of `python -m tricks train`."""

    rung: str = "ppo"
    """A preset, or a flag for the ladder up to it. Sets only flags: the numbers are the usual ones."""
    env: str = "CartPole-v1"
    """Any environment id."""
    backends: str = ""
    """Backends to compare, such as tensor,envpool,gymnasium (default: all that have the environment)."""
    seeds: str = "1,4,10,32,100"
    """Stack sizes S to compare."""
    devices: str = "cpu"
    """Devices to compare, such as cpu,cuda."""
    steps: int = 200_000
    """Environment steps per measurement, over all seeds together (at least two rollouts)."""
    processes: int = 1
    """Number of identical processes to run at the same time; their speeds add up."""
    compile: bool = False
    """Compile the tensor worlds with torch.compile; compile time is reported separately."""
    plain: bool = False
    """Measure each stack without what numba compiles, too."""
    against: str = ""
    """A peer to measure on the same job in the same call: sb3 (one agent; needs the extra `parity`)."""
    beside: Path | None = None
    """CSV file with measurements of other programs on this machine: who, seeds, steps_per_second, and more."""
    out: Path | None = None
    """CSV file for the table; a figure goes next to it."""


def main(chosen: Options) -> int:
    """Measure, and print the table. Returns the exit status."""
    from ablations.training.store import prepare
    from ablations.training.workers import WORKER
    from tricks.core.memory import Need, refuse_too_large
    from tricks.runs.files import write_whole
    from tricks.runs.provenance import provenance

    if chosen.against not in ("", "sb3"):
        raise InputError(f"unknown peer {chosen.against!r}; the only one is sb3")
    if chosen.against and chosen.rung != "ppo":
        raise InputError(f"--against sb3 needs --rung ppo, not {chosen.rung}")
    if chosen.against:
        extra("parity", "stable_baselines3")
    if chosen.out is not None:  # fail now if the file cannot be written
        prepare(chosen.out.parent)
        write_whole(chosen.out.with_name(f".{chosen.out.name}"), "")
        chosen.out.with_name(f".{chosen.out.name}").unlink()
        if chosen.out.is_dir():
            raise InputError(f"--out must be a file, but {chosen.out} is a folder")
    beside = None if chosen.beside is None else others(chosen.beside)
    for name in ("processes", "steps"):
        if getattr(chosen, name) < 1:
            raise InputError(f"--{name} must be at least 1, not {getattr(chosen, name)}")
    refuse_too_large([Need(f"{chosen.processes:,} processes", chosen.processes * WORKER, ("processes",))])
    tricks, rows = named(chosen.rung), []
    for config in configs(chosen):
        rows.append(together(chosen.processes, measure, config, tricks, chosen.steps))
        print(_line(rows[-1]), flush=True)
        if chosen.plain:
            rows.append(together(chosen.processes, measure_plain, config, tricks, chosen.steps))
            print(_line(rows[-1]), flush=True)
    if chosen.against:
        config = Config(env=chosen.env, seeds=1, steps=chosen.steps)
        rows.append(together(chosen.processes, measure_sb3, config, tricks, min(chosen.steps, 40_000)))
    frame = pd.DataFrame([asdict(row) for row in rows])
    if beside is not None:
        frame = pd.concat([frame, beside], ignore_index=True)
    print(f"\n{speed_text(frame)}\n\n{caption(chosen, frame)}")
    if chosen.out is not None:
        what: dict[str, Any] = {"env": chosen.env, "rung": chosen.rung, "compile": chosen.compile, **provenance()}
        write_whole(chosen.out, frame.assign(**what).to_csv(index=False, float_format="%.4g"))
        from ablations.findings.throughput import speed_figure

        speed_figure(frame, f"{chosen.rung} on {chosen.env}: training many agents at once", chosen.out.with_suffix(""))
    return 0


def others(path: Path) -> pd.DataFrame:
    """What other programs were measured at. Raises InputError if the file cannot be read or lacks a column."""
    try:
        frame = read_table(path, comment="#")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read --beside {path}: {getattr(error, 'strerror', None) or error}") from None
    if lacking := [name for name in PEER if name not in frame]:
        raise InputError(f"--beside {path} lacks the column {lacking[0]}; it needs {', '.join(PEER)}")
    try:
        frame = frame.astype(PEER)
        known = {field.name: frame[field.name] for field in fields(Measured) if field.name in frame}
        frame = pd.DataFrame({name: x if name in WORDS else pd.to_numeric(x) for name, x in known.items()})
    except ValueError as error:
        raise InputError(f"--beside {path} has a number that is none: {error}") from None
    if not ((frame.seeds >= 1) & (frame.steps_per_second > 0) & np.isfinite(frame.steps_per_second)).all():
        raise InputError(f"--beside {path} needs seeds of at least 1 and steps_per_second above 0, and finite")
    missing: dict[str, Any] = {"backend": "", "device": "cpu", "processes": 1}
    return frame.assign(**{name: x for name, x in missing.items() if name not in frame})


def configs(chosen: Options) -> list[Config]:
    """The configs to measure, in order. Raises InputError if one of them is impossible."""
    from tricks.core.devices import find_device
    from tricks.envs.make import make_env

    try:
        sizes = list(dict.fromkeys(int(part) for part in chosen.seeds.split(",")))
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise InputError(f"--seeds must be stack sizes of at least 1, such as 1,10,100, not {chosen.seeds!r}")
    backends = [part for part in chosen.backends.split(",") if part]
    asked = backends or [name for name in BACKENDS if name != "auto"]
    found = []
    for device in chosen.devices.split(","):
        find_device(device)
        for backend in asked:
            base = Config(env=chosen.env, backend=backend, device=device, compile=chosen.compile)
            try:
                make_env(replace(base, seeds=1, lanes=1, compile=False)).close()
            except InputError as error:
                if backends:
                    raise
                print(f"skipping {backend}: {error}")
                continue
            found += [replace(base, seeds=size) for size in sizes]
    if not found:
        raise InputError(f"no backend has {chosen.env!r}")
    return found


def speed_text(frame: pd.DataFrame) -> str:
    """The table as Markdown."""
    peers = frame[frame.who != "tricks"].groupby("who", sort=False).steps_per_second.max()  # at their best
    lines: list[tuple[str, ...]] = [
        ("", "backend", "device", "S", "processes", "steps/s", "environment", "rollout", "update", "peak", "cost")
    ]
    lines[0] += tuple(f"× {name}" for name in peers.index)
    for row in frame.to_dict("records"):
        first = frame[(frame[["who", "backend", "device"]] == [row["who"], row["backend"], row["device"]]).all(axis=1)]
        alone = (first.seeds / first.steps_per_second).min()  # of the smallest stack
        micro = [f"{x:.1f} µs" if x == x else "" for x in (row["environment"], row["rollout"], row["update"])]
        cells = [str(row[name]) for name in ("who", "backend", "device", "seeds", "processes")]
        peak = f"{row['megabytes']:.0f} MB" if row["megabytes"] == row["megabytes"] else ""
        cells += [f"{row['steps_per_second']:,.0f}", *micro, peak]
        cells += [f"{row['seeds'] / row['steps_per_second'] / alone:.2f}"]
        lines.append((*cells, *(f"{row['steps_per_second'] / peer:.1f}" for peer in peers)))
    return markdown(lines)


def caption(chosen: Options, frame: pd.DataFrame) -> str:
    """What the table shows, in words."""
    text = f"{chosen.rung} on {chosen.env}, one thread per process. steps/s: all seeds and processes together."
    text += " environment, rollout (the rest of the rollout: policy and storage) and update: wall time of one process"
    text += " per environment step, counting the steps of all its seeds. peak: memory of one process, with PyTorch;"
    text += " on a GPU, of its tensors. cost: time of a run relative to the smallest S."
    if chosen.plain:
        text += " plain: the same in plain PyTorch, without what numba compiles."
    if frame.who.eq("sb3").any():
        text += " × sb3: relative to stable-baselines3's PPO, measured in the same call: one agent with the same"
        text += " numbers, which steps its environments one by one, as is its default."
    if chosen.beside is not None:
        text += f" The rows of {chosen.beside.name} were measured by other means; × is relative to a peer's best row."
    if chosen.compile:
        text += f" Compiling and warming up took up to {frame.warm_up.max():.0f} s."
    return text


def in_words(table: pd.DataFrame) -> str:
    """What a stored table says about one agent and many, and about the peers in it."""
    from ablations.findings.throughput import NAMES

    ours = table[table.who == "tricks"].sort_values("seeds").drop_duplicates("seeds")
    speeds = dict(zip(ours.seeds, ours.steps_per_second, strict=True))
    one, few = min(speeds), min(speeds, key=lambda seeds: abs(seeds - 10))
    large = [speed for seeds, speed in speeds.items() if seeds > 30]
    cost = few / one * speeds[one] / speeds[few]
    said = f"On one core, {_agents(one)} takes {speeds[one]:,.0f} environment steps per second, and {_agents(few)}"
    said += f" together take {speeds[few]:,.0f}: a run of {few} takes {cost:.1f} times as long as a run of one."
    if large:
        said += f" Beyond about 30, the total stays between {min(large):,.0f} and {max(large):,.0f}."
    for who, rows in table[table.who != "tricks"].sort_values("seeds", kind="stable").groupby("who", sort=False):
        ends = rows.iloc[[0, -1]].drop_duplicates("seeds").to_dict("records")
        rates = " and ".join(f"{row['steps_per_second']:,.0f} with {_agents(row['seeds'])}" for row in ends)
        name = "Without numba, the package" if who == "plain" else NAMES.get(str(who), str(who))
        warm_up = f", after {rows.warm_up.min():.0f} to {rows.warm_up.max():.0f} s of compiling"
        said += f" {name} takes {rates}{warm_up if who == 'purejaxrl' else ''}."
    return said


def _agents(seeds: int) -> str:
    return "one agent" if seeds == 1 else f"{seeds:,} agents"


def _line(row: Measured) -> str:
    form = "" if row.who == "tricks" else f" {row.who}"
    return f"{row.backend} {row.device}{form} S={row.seeds}: {row.steps_per_second:,.0f} steps/s"

"""`python -m ablations speed`: environment steps per second, and where the time goes.

Every measurement runs in a fresh process with one thread, after a short warm-up, so that measurements share no memory
or caches.
"""

from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator

from ablations.report import style
from ablations.report.multiples import DASHED, title
from ablations.report.style import save
from ablations.report.tables import markdown
from ablations.tools.stopwatch import Measured, measure, measure_plain, measure_sb3
from ablations.training.jobs import Job
from ablations.training.store import prepare
from ablations.training.workers import in_pool
from tricks.config import BACKENDS, Config
from tricks.core.extras import extra
from tricks.core.machine import find_device
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import named
from tricks.runs.files import write_whole
from tricks.runs.learning_curve import read_table
from tricks.runs.provenance import provenance

NAMES = {"tricks": "this package", "plain": "Plain PyTorch", "sb3": "stable-baselines3", "purejaxrl": "PureJaxRL"}


def speed_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save the figure. table: as `speed` stores it; path: without suffix.

    A program with one measurement is a level. The time of a run is relative to that of one agent, if that was measured.
    """
    style.use()
    figure, (speed, cost) = plt.subplots(1, 2, figsize=(style.WIDTH * 0.75, 3.8), layout="constrained")
    kinds = list(table.groupby(["who", "backend", "device"], sort=False, dropna=False))
    for color, (kind, rows) in zip(style.OTHERS[1:] * len(kinds), kinds, strict=False):
        rows, name = rows.sort_values("seeds"), called(*map(str, kind))
        rates = rows.steps_per_second
        if len(rows) == 1:
            speed.axhline(rates.iloc[0], color=color, lw=1.4, ls=DASHED, label=f"{name}, {_agents(rows.seeds.iloc[0])}")
            continue
        speed.plot(rows.seeds, rates, color=color, marker="o", ms=4, label=name)
        if rows.seeds.iloc[0] == 1:
            cost.plot(rows.seeds, rows.seeds * rates.iloc[0] / rates, color=color, marker="o", ms=4)
    most = table.seeds.max()
    cost.plot([1, most], [1, most], color=style.SOFT, lw=1.4, ls=DASHED, label="one after the other")
    names = ("environment steps per second, all agents", "time, relative to its own single agent")
    for axis, name in zip((speed, cost), names, strict=True):
        axis.set(xscale="log", yscale="log", xlabel="agents trained at once", ylabel=name)
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_locator(LogLocator(subs=(1, 2, 5) if scale is speed.yaxis else (1, 3)))
            scale.set_major_formatter("{x:,.0f}")
        axis.minorticks_off()
        axis.grid(color=style.FAINT, lw=0.6)
        axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    title(figure, about)
    return save(figure, path)


def called(who: str, backend: str, device: str) -> str:
    """What a line is called: the program, and for ours how it runs, if that is not the usual way."""
    unusual = [word for word in (backend, device) if who == "tricks" and word not in ("auto", "tensor", "cpu")]
    return NAMES.get(who, who) + (f" ({', '.join(unusual)})" if unusual else "")


PEER = "it needs the columns who, seeds of at least 1, and steps_per_second above 0 and finite"
KINDS: dict[str, Any] = {field.name: field.type for field in fields(Measured)}
CAPTION = """\
steps/s: all seeds together. environment, rollout (the rest of it: policy and storage) and update: wall time per
environment step, counting the steps of all seeds. peak: memory of the process; on a GPU, of its tensors. cost: time of
a run relative to the smallest S. ×: relative to a peer at its best. plain: without what numba compiles. sb3:
stable-baselines3's PPO, one agent with the same numbers, which steps its environments one by one, as is its default."""
UNSAID = {"backend": "", "device": "cpu"}  # of others' rows


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
    device: str = "cpu"
    """Where to train: cpu, cuda, cuda:1, ..."""
    steps: int = 200_000
    """Environment steps per measurement, over all seeds together (at least two rollouts)."""
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
    if chosen.against not in ("", "sb3"):
        raise InputError(f"unknown peer {chosen.against!r}; the only one is sb3")
    if chosen.against and chosen.rung != "ppo":
        raise InputError(f"--against sb3 needs --rung ppo, not {chosen.rung}")
    if chosen.against:
        extra("parity", "stable_baselines3")
    if chosen.out is not None:  # fail now if it cannot be written
        prepare(chosen.out.parent)
        if chosen.out.is_dir():
            raise InputError(f"--out must be a file, but {chosen.out} is a folder")
    beside = None if chosen.beside is None else others(chosen.beside)
    if chosen.steps < 1:
        raise InputError(f"--steps must be at least 1, not {chosen.steps}")
    tricks, rows = named(chosen.rung), []
    asked = [(how, config) for config in configs(chosen) for how in (measure, *[measure_plain] * chosen.plain)]
    asked += [(measure_sb3, Config(env=chosen.env, seeds=1, steps=chosen.steps))] if chosen.against else []
    for how, config in asked:
        steps = min(chosen.steps, 40_000) if how is measure_sb3 else chosen.steps
        ((_, row),) = in_pool([Job(config, tricks)], 1, partial(how, steps=steps))  # in a process of its own
        rows.append(row)
        print(_line(row), flush=True)
    frame = pd.DataFrame([asdict(row) for row in rows])
    if beside is not None:
        frame = pd.concat([frame, beside], ignore_index=True)
    print(f"\n{speed_text(frame)}\n\n{chosen.rung} on {chosen.env}, one thread. {CAPTION}")
    if chosen.out is not None:
        what: dict[str, Any] = {"env": chosen.env, "rung": chosen.rung, **provenance()}
        write_whole(chosen.out, frame.assign(**what).to_csv(index=False, float_format="%.4g"))
        speed_figure(frame, f"{chosen.rung} on {chosen.env}: training many agents at once", chosen.out.with_suffix(""))
    return 0


def others(path: Path) -> pd.DataFrame:
    """What other programs were measured at. Raises InputError if the file cannot be read or lacks a column."""
    try:
        given = read_table(path, comment="#")
        frame = given.assign(**{name: x for name, x in UNSAID.items() if name not in given})
        frame = frame.reindex(columns=[*KINDS]).astype(KINDS)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read --beside {path}: {getattr(error, 'strerror', None) or error}; {PEER}") from None
    if not ((frame.seeds >= 1) & (frame.steps_per_second > 0) & np.isfinite(frame.steps_per_second)).all():
        raise InputError(f"--beside {path} is no table of speeds; {PEER}")
    return frame


def configs(chosen: Options) -> list[Config]:
    """The configs to measure, in order. Raises InputError if one of them is impossible."""
    try:
        sizes = list(dict.fromkeys(int(part) for part in chosen.seeds.split(",")))
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise InputError(f"--seeds must be stack sizes of at least 1, such as 1,10,100, not {chosen.seeds!r}")
    find_device(chosen.device)
    backends, found = [part for part in chosen.backends.split(",") if part], list[Config]()
    for backend in backends or [name for name in BACKENDS if name != "auto"]:
        base = Config(env=chosen.env, backend=backend, device=chosen.device)
        try:
            make_env(replace(base, seeds=1, lanes=1)).close()
        except InputError as error:
            if backends:
                raise
            print(f"skipping {backend}: {error}")
        else:
            found += [replace(base, seeds=size) for size in sizes]
    if not found:
        raise InputError(f"no backend has {chosen.env!r}")
    return found


def speed_text(frame: pd.DataFrame) -> str:
    """The table as Markdown."""
    peers = frame[frame.who != "tricks"].groupby("who", sort=False).steps_per_second.max()  # at their best
    heads = ("", "backend", "device", "S", "steps/s", "environment", "rollout", "update", "peak", "cost")
    lines: list[tuple[str, ...]] = [(*heads, *(f"× {name}" for name in peers.index))]
    times = (frame.seeds / frame.steps_per_second).groupby([frame.who, frame.backend, frame.device])
    costs = frame.seeds / frame.steps_per_second / times.transform("min")
    for cost, row in zip(costs, frame.to_dict("records"), strict=True):
        cells = [str(row[name]) for name in ("who", "backend", "device", "seeds")]
        cells += [f"{row['steps_per_second']:,.0f}"]
        cells += [f"{x:.1f} µs" if x == x else "" for x in (row["environment"], row["rollout"], row["update"])]
        cells += [f"{row['megabytes']:.0f} MB" if row["megabytes"] == row["megabytes"] else "", f"{cost:.2f}"]
        lines.append((*cells, *(f"{row['steps_per_second'] / peer:.1f}" for peer in peers)))
    return markdown(lines)


def in_words(table: pd.DataFrame) -> str:
    """What a stored table says about one agent and many, and about the peers in it."""
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

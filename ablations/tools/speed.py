"""`python -m ablations speed`: environment steps per second, each measured in a fresh process with one thread."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import nn

from ablations.report.tables import markdown
from ablations.training.jobs import Job
from ablations.training.store import prepare
from ablations.training.workers import in_pool
from tricks import train
from tricks.config import BACKENDS, Config
from tricks.core.extras import extra
from tricks.core.machine import find_device
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.fast.dispatch import plain
from tricks.ladder import named
from tricks.runs.files import write_whole
from tricks.runs.provenance import provenance


class Measured(NamedTuple):
    who: str
    backend: str
    device: str
    seeds: int
    steps_per_second: float
    megabytes: float  # the peak of the process; on a GPU, that of its tensors
    warm_up: float  # seconds of the first, short run


def measure(job: Job, steps: int, who: str = "tricks") -> Measured:
    """Train once to warm up, and once on the clock. who: plain is without what numba compiles."""
    config, size, batch = job.config, len(job.config.seed_list), job.config.lanes * job.config.horizon
    with plain() if who == "plain" else nullcontext():
        warm_up, _ = _timed(train, replace(config, steps=batch), job.tricks)
        seconds, run = _timed(train, replace(config, steps=max(2 * batch, steps // size)), job.tricks)
    speed = int(run.curve.groupby("seed").step.max().sum()) / seconds
    return Measured(who, config.backend, config.device, size, speed, _peak(config.device), warm_up)


def measure_sb3(job: Job, steps: int) -> Measured:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    config = job.config
    make_env(replace(config, seeds=1, lanes=1, backend="gymnasium")).close()  # registers the id, or fails in one line
    batch = config.lanes * config.horizon
    how: Any = {"n_steps": config.horizon, "batch_size": batch // config.minibatches, "n_epochs": config.epochs}
    how |= {"clip_range": config.each("clip_range")[0], "ent_coef": config.each("entropy_coef")[0]}
    nets, lanes = {"net_arch": [*config.hidden], "activation_fn": nn.Tanh}, make_vec_env(config.env, config.lanes)
    model = PPO("MlpPolicy", lanes, learning_rate=config.rates[0], policy_kwargs=nets, device="cpu", **how)
    warm_up, _ = _timed(model.learn, batch)
    seconds, _ = _timed(model.learn, steps)
    speed = -(-steps // batch) * batch / seconds
    return Measured("sb3", "gymnasium", "cpu", 1, speed, _peak("cpu"), warm_up)


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _peak(device: str) -> float:
    """Peak memory of this process so far, in megabytes; on a GPU, that of its tensors there. NaN except on Linux."""
    if torch.device(device).type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    facts = Path("/proc/self/status")
    found = facts.read_text(encoding="utf-8").split("VmHWM:")[1].split()[0] if facts.exists() else math.nan
    return float(found) / 2**10


@dataclass(frozen=True)
class Options:
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
    out: Path | None = None
    """CSV file for the table."""


CAPTION = """\
steps/s: all seeds together. peak: memory of the process; on a GPU, of its tensors. cost: time of a run relative to the
smallest S. ×: relative to a peer at its best. plain: without what numba compiles. sb3: stable-baselines3's PPO, one
agent with the same numbers, with its default DummyVecEnv."""


def main(chosen: Options) -> int:
    if chosen.against not in ("", "sb3"):
        raise InputError(f"unknown peer {chosen.against!r}; the only one is sb3")
    if chosen.against and chosen.rung != "ppo":
        raise InputError(f"--against sb3 needs --rung ppo, not {chosen.rung}")
    if chosen.against:
        extra("parity", "stable_baselines3")
    if chosen.out:  # fail now if it cannot be written
        prepare(chosen.out.parent)
        if chosen.out.is_dir():
            raise InputError(f"--out must be a file, but {chosen.out} is a folder")
    if chosen.steps < 1:
        raise InputError(f"--steps must be at least 1, not {chosen.steps}")
    tricks, rows, forms = named(chosen.rung), [], ("tricks", *["plain"] * chosen.plain)
    asked = [(partial(measure, steps=chosen.steps, who=who), each) for each in configs(chosen) for who in forms]
    peer = Config(env=chosen.env, seeds=1, steps=chosen.steps)
    asked += [(partial(measure_sb3, steps=min(chosen.steps, 40_000)), peer)] * bool(chosen.against)
    for how, config in asked:
        ((_, row),) = in_pool([Job(config, tricks)], 1, how)  # in a process of its own
        rows.append(row)
        form = f" {row.who}" * (row.who != "tricks")
        print(f"{row.backend} {row.device}{form} S={row.seeds}: {row.steps_per_second:,.0f} steps/s", flush=True)
    frame = pd.DataFrame(rows)
    print(f"\n{speed_text(frame)}\n\n{chosen.rung} on {chosen.env}, one thread. {CAPTION}")
    if chosen.out:
        what: dict[str, Any] = {"env": chosen.env, "rung": chosen.rung, **provenance()}
        write_whole(chosen.out, frame.assign(**what).to_csv(index=False, float_format="%.4g"))
    return 0


def configs(chosen: Options) -> list[Config]:
    sizes = [*dict.fromkeys(chosen.seeds.split(","))]
    if not all(size.strip().isdecimal() and int(size) for size in sizes):
        raise InputError(f"--seeds must be stack sizes of at least 1, such as 1,10,100, not {chosen.seeds!r}")
    find_device(chosen.device)
    backends, found = [*filter(None, chosen.backends.split(","))], list[Config]()
    for backend in backends or [name for name in BACKENDS if name != "auto"]:
        base = Config(env=chosen.env, backend=backend, device=chosen.device)
        try:
            make_env(replace(base, seeds=1, lanes=1)).close()
        except InputError as error:
            if backends:
                raise
            print(f"skipping {backend}: {error}")
        else:
            found += [replace(base, seeds=int(size)) for size in sizes]
    if not found:
        raise InputError(f"no backend has {chosen.env!r}")
    return found


def speed_text(frame: pd.DataFrame) -> str:
    """The measurements as a table, with the cost of more seeds, and how each compares to every peer at its best."""
    frame = frame.fillna({"backend": ""})  # others' programs have none
    peers = frame[frame.who != "tricks"].groupby("who", sort=False).steps_per_second.max()  # at their best
    heads = ("", "backend", "device", "S", "steps/s", "peak", "cost")
    lines: list[tuple[str, ...]] = [(*heads, *(f"× {name}" for name in peers.index))]
    times = frame.seeds / frame.steps_per_second
    costs = times / times.groupby([frame.who, frame.backend, frame.device]).transform("min")
    for cost, row in zip(costs, frame.to_dict("records"), strict=True):
        speed, peak = row["steps_per_second"], row["megabytes"]
        cells = [str(row[name]) for name in ("who", "backend", "device", "seeds")]
        cells += [f"{speed:,.0f}", f"{peak:.0f} MB" if peak == peak else "", f"{cost:.2f}"]
        lines.append((*cells, *(f"{speed / peer:.1f}" for peer in peers)))
    return markdown(lines)

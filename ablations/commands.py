"""The commands of `python -m ablations [run|tune|worlds|speed]`."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ablations.designs import DESIGNS, Design
from ablations.rates import GRID, TUNING_SEEDS, best_rate, tune
from ablations.run import blocks, run_jobs
from ablations.store import Job, Store
from tricks.config import Config
from tricks.core.envs import make_env
from tricks.core.errors import InputError
from tricks.shell import guarded, options

USAGE = """usage: python -m ablations [COMMAND] ...

  run     train a design's arms over many seeds; ends with a table and a figure (the default)
  tune    choose each arm's learning rate on tuning seeds
  worlds  try each trick in the world that was made for it, with and without
  speed   environment steps a second, and where the time goes

Without arguments: the ladder on CartPole-v1, 10 seeds, 100,000 steps. `python -m ablations run --help` shows all
options. An interrupted run goes on where it was when the same command is given again."""


@dataclass(frozen=True)
class Options:
    """What to train, and where the results go."""

    design: str = "ladder"
    """Which combinations of flags."""
    env: str = "CartPole-v1"
    """Any Gymnasium id."""
    seeds: str = "10"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    steps: int = 100_000
    """Budget of environment steps for each seed."""
    workers: int = 0
    """Worker processes; 0 is one a core."""
    out: Path = Path("runs/ablations")
    """Folder for results, tables and figures."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 if jobs failed, 2 for a bad request, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    kept = "" if "speed" in given[:1] else "; finished jobs are kept, and the same command goes on from there"
    return guarded(_dispatch, given, kept)


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "run"
    if name not in COMMANDS:
        raise InputError(f"unknown command {name!r}; the commands are {', '.join(COMMANDS)}")
    return COMMANDS[name](arguments)


def _design(arguments: list[str], name: str) -> tuple[Options, Design]:
    chosen = options(Options, arguments, f"python -m ablations {name}")
    if chosen.design not in DESIGNS:
        raise InputError(f"unknown design {chosen.design!r}; the designs are {', '.join(DESIGNS)}")
    # what is impossible should fail here, once, and not in every job
    make_env(Config(env=chosen.env, seeds=1, lanes=1, steps=chosen.steps)).close()
    return chosen, DESIGNS[chosen.design](chosen.env)


def _run(arguments: list[str]) -> int:
    from ablations import report
    from ablations.plot import ladder_figure

    chosen, design = _design(arguments, "run")
    processes, base = worker_count(chosen.workers), Config(env=chosen.env, steps=chosen.steps)
    store, seeds = Store(chosen.out / "jobs"), parse_seeds(chosen.seeds)
    rates = {arm: best_rate(base, arm.tricks) for arm in design.arms}
    jobs = {
        arm: [Job(replace(base, seeds=block, lr=rates[arm][0]), arm.tricks) for block in blocks(seeds)]
        for arm in design.arms
    }
    every = [job for of_arm in jobs.values() for job in of_arm]
    start, done = time.perf_counter(), sum(store.read(job) is not None for job in every)
    print(f"{chosen.design} on {chosen.env}: {len(design.arms)} arms × {len(seeds)} seeds × {chosen.steps:,} steps")
    print(f"{len(every)} jobs, {done} of them done before; results in {store.folder}", flush=True)
    failed = run_jobs(every, store, processes)
    trained: dict[str, report.Trained] = {}
    missing = []
    for arm in design.arms:
        results = [result for job in jobs[arm] if (result := store.read(job)) is not None]
        if results:
            trained[arm.name] = report.Trained(arm.tricks, *rates[arm], results)
        if len(results) < len(jobs[arm]):
            missing.append(arm.name)
    for job, error in failed.items():
        print(f"failed: {' '.join(job.tricks.on) or 'reinforce'}, seeds {job.config.seeds}: {error}", file=sys.stderr)
    if not trained:
        raise InputError("no arm could be trained")
    frame = report.table(trained, chosen.env, chosen.steps)
    text = report.as_text(frame, chosen.env)
    words = report.caption(frame, chosen.env, chosen.steps, design.dropped)
    path = chosen.out / f"{chosen.design}_{chosen.env.replace('/', '_')}"
    paths = report.save(frame, f"{text}\n\n{words}", path)
    curves = {name: arm.grid(chosen.steps) for name, arm in trained.items()}
    own = "each rung at its own learning rate" if frame.tuned.eq("").all() else "learning rates not tuned for this"
    paths += ladder_figure(curves, chosen.env, own, missing, path)
    print(f"\n{text}\n\n{words}")
    print(f"{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in paths)}")
    return 1 if failed else 0


def _tune(arguments: list[str]) -> int:
    chosen, design = _design(arguments, "tune")
    base = Config(env=chosen.env, steps=chosen.steps)
    settings = [(base, arm.tricks) for arm in design.arms]
    scores = tune(settings, Store(chosen.out / "jobs"), worker_count(chosen.workers))
    print(f"{chosen.env}, seeds {TUNING_SEEDS[0]} to {TUNING_SEEDS[-1]}: area under the curve by learning rate")
    for arm in design.arms:
        row = scores[scores.tricks == " ".join(arm.tricks.on)].set_index("lr").area
        print(f"{arm.name:18s}" + "".join(f"  {lr:g}: {row[lr]:.1f}" for lr in GRID))
    return 0


def _worlds(arguments: list[str]) -> int:
    from ablations import worlds

    chosen = options(worlds.Options, arguments, "python -m ablations worlds")
    return worlds.main(chosen, parse_seeds(chosen.seeds), worker_count(chosen.workers))


def _speed(arguments: list[str]) -> int:
    from ablations import speed

    return speed.main(options(speed.Options, arguments, "python -m ablations speed"))


COMMANDS = {"run": _run, "tune": _tune, "worlds": _worlds, "speed": _speed}


def parse_seeds(text: str) -> tuple[int, ...]:
    """ "10" is 0 to 9, "10:30" is 10 to 29. Raises InputError for anything else."""
    try:
        first, last = (int(part) for part in (text.split(":") if ":" in text else ("0", text)))
    except ValueError:
        raise InputError(f"--seeds must be a count (10) or a range (10:30), not {text!r}") from None
    if not 0 <= first < last:
        raise InputError(f"--seeds must name at least one seed, not {text!r}")
    if last > TUNING_SEEDS[0]:
        raise InputError(f"seeds from {TUNING_SEEDS[0]} are for tuning only, so --seeds {text} cannot be reported")
    return tuple(range(first, last))


def worker_count(asked: int) -> int:
    """How many worker processes: as asked for, or, for 0, one a core. Raises InputError for a negative number."""
    if asked < 0:
        raise InputError(f"--workers must be at least 1 (or 0: one a core), not {asked}")
    return asked or os.cpu_count() or 1

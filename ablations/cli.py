"""The commands of `python -m ablations [run|report|tune|worlds|games|speed]`."""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ablations.analysis.studies import SUFFIX, Study, load_all, refuse_another, save, study_of
from ablations.report.sentences import spoken
from ablations.training.jobs import Job
from ablations.training.plan import Plan, What, parse_seeds, plans
from ablations.training.rates import FIRST_TUNING_SEED, GRID, SEEDS_PER_RATE, tune
from ablations.training.store import Store
from ablations.training.workers import BLOCK, run_jobs
from tricks.cli.shell import guarded, options
from tricks.errors import InputError
from tricks.runs.files import make_folder

USAGE = """usage: python -m ablations [COMMAND] ...

  run     train a design's arms over many seeds; ends in tables, figures and a report (the default)
  report  make the tables, figures and the report again, without training
  tune    choose each arm's learning rate on tuning seeds
  worlds  try each trick in the world that was made for it, with and without
  games   what the agents of a saved run score in whole games, beside random actions
  speed   environment steps a second, and where the time goes

Without arguments: the ladder on CartPole-v1, 10 seeds, 100,000 steps. `python -m ablations run --help` shows all
options. An interrupted run goes on where it was when the same command is given again."""
RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Options(What):
    """What to train, and where the results go."""

    seeds: str = ""
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29). Trained in blocks of ten, the seeds that were
    not asked for stay unseen (default: the suite's, or 10)."""
    scheduler: str = ""
    """Address of a Dask scheduler, such as tcp://10.0.0.1:8786, that trains instead of this machine (extra cluster)."""
    dry_run: bool = False
    """Only say what would be trained, and about how long it would take."""


@dataclass(frozen=True)
class TuneOptions(What):
    """Which arms are tuned."""

    seeds_per_rate: int = SEEDS_PER_RATE
    """Tuning seeds for each rate of the grid."""


@dataclass(frozen=True)
class ReportOptions:
    """Where the runs are."""

    out: Path = Path("runs/ablations")
    """Folder with the files of runs that `run` and `worlds` have written, and for the report."""
    from_results: bool = False
    """Take the runs that come with this package instead."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 if jobs failed, 2 for a bad request, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    has_jobs = given[:1] not in (["speed"], ["games"])
    return guarded(_dispatch, given, "; finished jobs are kept, and the same command goes on from there" * has_jobs)


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "run"
    if name not in COMMANDS:
        raise InputError(f"unknown command {name!r}; the commands are {', '.join(COMMANDS)}")
    return COMMANDS[name](arguments)


def _run(arguments: list[str]) -> int:
    command = again("run", arguments) if arguments else "python -m ablations"
    chosen, start = options(Options, arguments, "python -m ablations run"), time.perf_counter()
    if chosen.suite == "worlds":
        return _worlds_suite(chosen)
    made, processes = plans(chosen, chosen.seeds), worker_count(chosen.workers)
    for plan in made:
        refuse_another(chosen.out / f"{plan.name}{SUFFIX}", plan.config)
    store = Store(chosen.out / "jobs", look_only=chosen.dry_run)
    jobs = [job for plan in made for job in plan.jobs]
    left = [job for job in jobs if store.read(job) is None]
    for plan in made:
        print(plan.in_words)
    print(f"{len(jobs)} jobs of up to {BLOCK} seeds, {len(jobs) - len(left)} of them done before; in {store.folder}")
    if chosen.dry_run:
        return _dry_run(made, left, store, processes)
    sys.stdout.flush()
    failed = run_jobs(jobs, store, processes, chosen.scheduler)
    for job, error in failed.items():
        print(
            f"failed: {job.config.env}, {' '.join(job.tricks.on) or 'reinforce'}, seeds {job.config.seed_list[0]} to "
            f"{job.config.seed_list[-1]}: {error}",
            file=sys.stderr,
        )
    studies, paths = [], []
    for plan in made:
        if any(store.read(job) for job in plan.jobs):
            study, path = save(study_of(plan, store, {"command": command}), chosen.out)
            studies.append(study)
            paths.append(path)
    if not studies:
        raise InputError("no arm could be trained")
    print(f"{time.perf_counter() - start:.0f} seconds")
    return max(_document(studies, chosen.out, paths, command), int(bool(failed)))


def _dry_run(made: Sequence[Plan], left: Sequence[Job], store: Store, processes: int) -> int:
    from ablations.training.estimate import estimate

    for plan in made:
        for design in plan.designs:
            print(f"\n{design.name} on {plan.config.env}: {len(design.arms)} arms")
            for arm in design.arms:
                jobs = [job for job in plan.jobs if job.tricks == arm.tricks]
                done = sum(job not in left for job in jobs)
                print(f"  {arm.name}" + (f" ({done} of {len(jobs)} jobs done)" if done else ""))
            print("".join(f"  dropped: {name} ({reason})\n" for name, reason in design.dropped), end="")
    print(f"\n{len(left)} jobs to train; measuring ...", flush=True)
    print(f"about {spoken(estimate(left, store, processes))} with {processes} workers")
    return 0


def again(command: str, arguments: Sequence[str]) -> str:
    """The command line that makes the same results again, wherever they go and however many train them."""
    elsewhere, kept, values = ("--out", "--workers", "--scheduler"), [], iter(arguments)
    for argument in values:
        if argument in elsewhere:
            next(values, None)
        elif argument.split("=")[0] not in elsewhere:
            kept.append(argument)
    return shlex.join(["python", "-m", "ablations", command, *kept])


def _document(studies: Sequence[Study], folder: Path, paths: Sequence[Path], made_by: str) -> int:
    """Print the tables, write the report; the exit status: 1 if runs are missing."""
    from ablations.report import page, tables

    for study in studies:
        for design in study.designs:
            print(f"\n{design.name} on {study.env}\n\n{tables.arms_text(tables.arms_table(study, design), study)}")
    files = [*paths, *page.write(studies, folder, made_by)]
    print(f"\nwrote {files[-1]}, {files[-2].name}, and the {len(files) - 2} files that they are made of")
    return int(any(study.missing(design) for study in studies for design in study.designs))


def _report(arguments: list[str]) -> int:
    chosen = options(ReportOptions, arguments, "python -m ablations report")
    source = RESULTS if chosen.from_results else chosen.out
    studies = load_all(source)
    if not studies:
        raise InputError(f"no files of runs (*{SUFFIX}) in {source}; `python -m ablations run` writes them")
    make_folder(chosen.out)
    return _document(studies, chosen.out, [], again("report", arguments))


def _tune(arguments: list[str]) -> int:
    chosen = options(TuneOptions, arguments, "python -m ablations tune")
    if chosen.seeds_per_rate < 1:
        raise InputError(f"--seeds-per-rate must be at least 1, not {chosen.seeds_per_rate}")
    if chosen.suite == "worlds":
        raise InputError("the worlds are tuned by `python -m ablations worlds --tune`")
    settings = [(plan, tricks) for plan in plans(chosen) if not plan.fixed for tricks in plan.arms]
    if not settings:
        raise InputError(f"the suite {chosen.suite} has fixed learning rates")
    store, arms, each = Store(chosen.out / "jobs"), [(p.config, t) for p, t in settings], chosen.seeds_per_rate
    scores = tune(arms, store, worker_count(chosen.workers), each)
    print(f"seeds from {FIRST_TUNING_SEED} on, {each} for each rate: area under the curve by learning rate")
    for plan, tricks in settings:
        row = scores[(scores.env == plan.config.env) & (scores.tricks == " ".join(tricks.on))].set_index("lr").area
        print(
            f"{plan.config.env}  {' '.join(tricks.on) or 'reinforce'}"
            + "".join(f"  {lr:g}: {row[lr]:.1f}" for lr in GRID)
        )
    return 0


def _worlds(arguments: list[str]) -> int:
    from ablations.experiments import worlds

    command = again("worlds", arguments)
    chosen = options(worlds.Options, arguments, "python -m ablations worlds")
    return worlds.main(chosen, parse_seeds(chosen.seeds), worker_count(chosen.workers), {"command": command})


def _worlds_suite(chosen: Options) -> int:
    given = [f"--{name}={x}" for name in ("tricks", "seeds", "workers", "out") if (x := getattr(chosen, name))]
    for name in ("env", "backend", "design", "steps", "scheduler", "dry_run"):
        if getattr(chosen, name) != getattr(Options, name):
            raise InputError(f"--suite worlds has designs and budgets of its own; leave out --{name.replace('_', '-')}")
    return _worlds(given)


def _games(arguments: list[str]) -> int:
    from ablations.experiments import games

    chosen = options(games.Options, arguments, "python -m ablations games")
    return games.main(chosen, {"command": again("games", arguments)})


def _speed(arguments: list[str]) -> int:
    from ablations.experiments import speed

    return speed.main(options(speed.Options, arguments, "python -m ablations speed"))


COMMANDS = {"run": _run, "report": _report, "tune": _tune, "worlds": _worlds, "games": _games, "speed": _speed}


def worker_count(asked: int) -> int:
    """How many worker processes: as asked for, or, for 0, one a core. Raises InputError for a negative number."""
    if asked < 0:
        raise InputError(f"--workers must be at least 1 (or 0: one a core), not {asked}")
    return asked or os.cpu_count() or 1

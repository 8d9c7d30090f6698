"""`python -m ablations run` and `tune`: designs over many seeds, and the learning rates of their arms."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ablations.analysis.effects import detected_arms
from ablations.analysis.studies import Study, study_of
from ablations.analysis.study_files import SUFFIX, refuse_another, refuse_others, save, save_again
from ablations.design.flag_sets import flags, in_words
from ablations.report import page
from ablations.report.sentences import spoken
from ablations.training.jobs import Job, job_of
from ablations.training.plan import Plan, plans
from ablations.training.rate_table import FINALISTS, target, use
from ablations.training.rates import best_rate
from ablations.training.seed_ranges import FIRST_TUNING_SEED, following
from ablations.training.store import Store, prepare
from ablations.training.tuning import MOST_SEEDS_PER_RATE, SEEDS_PER_RATE, tune
from ablations.training.what import What
from ablations.training.workers import run_jobs, worker_count
from tricks.errors import InputError

NEXT = """\
The report explains every column. To ask a question of your own: python -m ablations compare "ppo" "ppo --no-gae\""""


@dataclass(frozen=True)
class Options(What):
    """What to train, and where the results go."""

    seeds: str = ""
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29); by default 30:60, or the suite's.
    Training covers whole blocks (0 to 9, 10 to 29, 30 to 39, ...), but only these seeds are reported."""
    scheduler: str = ""
    """Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to train there instead of here (extra cluster)."""
    confirm: bool = False
    """Then repeat the arms of every detected effect on the same number of seeds right after these."""
    dry_run: bool = False
    """Only print what would be trained, and roughly how long it would take."""


@dataclass(frozen=True)
class TuneOptions(What):
    """Which arms to tune."""

    seeds_per_rate: int = SEEDS_PER_RATE
    """Tuning seeds per rate of the grid; the best three get as many again. The scores go into --rates-file and
    replace any that these arms have there."""


def main(chosen: Options, command: str) -> int:
    """Train what is missing, print the tables, and write the report. Returns the exit status."""
    start, processes = time.perf_counter(), worker_count(chosen.workers, chosen.device, chosen.scheduler)
    use(chosen.own_rates)
    made = plans(chosen, chosen.seeds)
    for plan in made:
        refuse_another(chosen.out / f"{plan.name}{SUFFIX}", plan.config, plan.arms)
    store = Store(chosen.out / "jobs", look_only=chosen.dry_run)
    for plan in made:
        refuse_others(chosen.out / f"{plan.name}{SUFFIX}", plan.jobs)
    jobs = [job for plan in made for job in plan.jobs]
    left = [job for job in jobs if not store.has(job)]
    for plan in made if chosen.confirm else ():
        refuse_reserved(plan)
    for plan in made:
        print(plan.in_words)
    whole = ", ".join(dict.fromkeys(_span(job) for job in jobs))
    print(f"{len(jobs)} jobs, {len(jobs) - len(left)} of them done before; each arm trains seeds {whole}")
    print(f"results in {store.folder}")
    if chosen.dry_run:
        return _dry_run(made, left, store, processes, chosen.scheduler)
    prepare(chosen.out)
    sys.stdout.flush()
    failed = run_jobs(jobs, store, processes, chosen.scheduler)
    for job, error in failed.items():
        print(f"failed: {job.config.env}, {in_words(job.tricks)}, seeds {_span(job)}: {error}", file=sys.stderr)
    done = [plan for plan in made if any(store.has(job) for job in plan.jobs)]
    saved = [save(study_of(plan, store, command), chosen.out) for plan in done]
    if not saved:
        raise InputError("no arm could be trained")
    studies, paths = [study for study, _ in saved], [path for _, path in saved]
    if chosen.confirm:
        seconds = [confirm(plan, study, store, chosen, command) for plan, study in zip(done, studies, strict=True)]
        studies = [replace(study, again=again) for study, again in zip(studies, seconds, strict=True)]
    print(f"{time.perf_counter() - start:.0f} seconds")
    status = page.document(studies, chosen.out, paths, command, questions=page.questions_in(chosen.out))
    print(NEXT)
    return max(status, int(bool(failed)))


def refuse_reserved(plan: Plan) -> None:
    """Raise InputError, before anything is trained, if a second try would need seeds that are for tuning."""
    later = replace(plan, seeds=following(plan.seeds))
    for arm in later.arms:
        later.seeds_of(arm)


def confirm(plan: Plan, study: Study, store: Store, chosen: Options, command: str) -> Study | None:
    """Try the arms of the detected effects again, and save them beside the study. None if nothing was detected.

    Raises InputError if a job fails.
    """
    arms = detected_arms(study)
    if not arms:
        print(f"{study.name}: no effect was detected, so there is none to confirm")
        return None
    again = replace(plan, seeds=following(plan.seeds), only=arms)
    jobs = list(again.jobs)
    print(f"{study.name}: {len(arms)} arms of detected effects again, on seeds {again.seeds[0]} to {again.seeds[-1]}")
    workers = worker_count(chosen.workers, chosen.device, chosen.scheduler)
    failed = run_jobs(jobs, store, workers, chosen.scheduler)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    return save_again(study_of(again, store, command), study, chosen.out)


def _span(job: Job) -> str:
    return f"{job.config.seed_list[0]} to {job.config.seed_list[-1]}"


def _dry_run(made: Sequence[Plan], left: Sequence[Job], store: Store, processes: int, scheduler: str) -> int:
    from ablations.training.estimate import PROBES, estimate

    waiting = set(left)
    for plan in made:
        for design in plan.designs:
            print(f"\n{design.name} on {plan.config.env}: {len(design.arms)} arms")
            for arm in design.arms:
                jobs = [job for job in plan.jobs if job.tricks == arm.tricks]
                done = sum(job not in waiting for job in jobs)
                print(f"  {arm.name}" + (f" ({done} of {len(jobs)} jobs done)" if done else ""))
            print("".join(f"  dropped: {name} ({reason})\n" for name, reason in design.dropped), end="")
    if scheduler:
        print(f"\n{len(left)} jobs to train; how long that takes depends on the cluster")
        return 0
    print(f"\n{len(left)} jobs to train; measuring the start of {min(len(left), PROBES)} of them ...", flush=True)
    print(f"about {spoken(estimate(left, store, processes))} with {processes} workers")
    return 0


def choose_rates(chosen: TuneOptions) -> int:
    """Train every arm at every rate of the grid, and print the scores. Returns the exit status."""
    if not 1 <= chosen.seeds_per_rate <= MOST_SEEDS_PER_RATE:
        raise InputError(
            f"--seeds-per-rate must be at least 1 and at most {MOST_SEEDS_PER_RATE:,}, not {chosen.seeds_per_rate}"
        )
    if chosen.suite == "worlds":
        raise InputError("to tune the worlds, run `python -m ablations worlds --tune`")
    workers = worker_count(chosen.workers, chosen.device)
    use(chosen.own_rates)
    if "lr" in dict(chosen.numbers):
        raise InputError("tune tries the rates of its own grid; leave out --lr")
    free = [replace(plan, fixed=False) if not chosen.suite else plan for plan in plans(chosen)]
    settings = [(plan, tricks) for plan in free if not plan.fixed for tricks in plan.arms]
    if not settings:
        raise InputError(f"the suite {chosen.suite} has fixed learning rates")
    store, arms, each = Store(chosen.out / "jobs"), [job_of(p.config, t) for p, t in settings], chosen.seeds_per_rate
    prepare(chosen.out)
    scores = tune(arms, store, workers, each)
    print(
        f"area under the curve by learning rate ({each} seeds per rate, {2 * each} for the best {FINALISTS}, "
        f"from seed {FIRST_TUNING_SEED} on)"
    )
    for plan, tricks in settings:
        row = scores[(scores.env == plan.config.env) & (scores.tricks == flags(tricks))].sort_values("lr")
        shown = "".join(f"  {lr:g}: {area:.1f}" for lr, area in zip(row.lr, row.area, strict=True))
        print(f"{plan.config.env}  {in_words(tricks)}{shown}; best {best_rate(plan.config, tricks).value:g}")
    print(f"wrote {target()}, which `run` uses if --out or --rates-file is the same")
    return 0

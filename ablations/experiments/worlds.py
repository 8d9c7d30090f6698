"""`python -m ablations worlds`: train with and without each trick in the world made for it, paired by seed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ablations.analysis.outcomes import outcome, trial_table
from ablations.analysis.studies import Done, Study, about_runs, gather
from ablations.analysis.study_files import SUFFIX, refuse_others, save, save_again
from ablations.design.choice import tricks_named
from ablations.design.registry import TRIALS
from ablations.design.trial import Dose, Trial
from ablations.report.trials_section import write_trials
from ablations.training import jobs as current
from ablations.training.gpus import Device
from ablations.training.jobs import Job
from ablations.training.rate_table import use
from ablations.training.rates import FIXED, Rate, best_rate, refuse_tuned_on
from ablations.training.seed_ranges import blocks, following
from ablations.training.store import Store, name_of, prepare
from ablations.training.tuning import tune
from ablations.training.workers import run_jobs
from tricks import Tricks
from tricks.errors import InputError
from tricks.flags import meant


@dataclass(frozen=True)
class Options:
    """Which trials, and where the results go."""

    tricks: str = ""
    """Run only the trials of these tricks, such as baseline,clip (default: all)."""
    env: str = ""
    """Run only the trials with a dose in this environment, such as tricks/Mail6-v0, at all doses (default: all)."""
    seeds: str = "10"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    tune: bool = False
    """First choose the learning rates, on tuning seeds, of the arms that have none here yet."""
    confirm: bool = False
    """Then repeat every trial that shows an effect, at its largest dose, on the same number of seeds right after
    these."""
    device: Device = "cpu"
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    out: Path = Path("runs/ablations")
    """Folder for the results, the table and the figure."""
    rates_file: Path | None = None
    """The table of learning rates that --tune writes, and that stands beside this package's own (default:
    learning_rates.csv in --out)."""


def main(chosen: Options, seeds: Sequence[int], workers: int, command: str) -> int:
    """Train what is missing, then print and save the table and the figure. Returns the exit status."""
    use(chosen.rates_file or chosen.out / "learning_rates.csv")
    trials = [placed(trial, chosen.device) for trial in picked(chosen.tricks, chosen.env)]
    store, start = Store(chosen.out / "jobs"), time.perf_counter()
    later = following(seeds) if chosen.confirm else ()
    prepare(chosen.out)
    free = [t for t in trials if t.rate is None]
    arms = [(dose.config, arm) for t in free for dose in t.doses for arm in (t.without, t.having)]
    for config, arm in arms:
        refuse_tuned_on(config, arm, (*seeds, *later))
    untuned = [(config, arm) for config, arm in arms if best_rate(config, arm).reservation]
    if chosen.tune and untuned:
        tune([Job(config, arm) for config, arm in untuned], store, workers)
    chosen_tricks = dict.fromkeys(trial.trick for trial in trials) if chosen.tricks else ()
    name = name_of("worlds", "-".join(chosen_tricks), chosen.env.replace("/", "_"), first=seeds[0])
    doses = {trial: trial.doses for trial in trials}
    refuse_others(chosen.out / f"{name}{SUFFIX}", rated(doses, seeds))
    study, path = save(trained(doses, seeds, store, workers, command, name), chosen.out)
    if chosen.confirm:
        found = [each for trial in trials if (each := outcome(trial, study.runs))]
        seen = [each.trial for each, sign in zip(found, trial_table(found).seen, strict=True) if sign]
        if seen:
            largest = {trial: trial.doses[-1:] for trial in seen}
            again = trained(largest, later, store, workers, command, study.name)
            study = replace(study, again=save_again(again, study, chosen.out))
    text, paths = write_trials(study, chosen.out)
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in [path, *paths])}")
    return 0


def rated(doses: Mapping[Trial, Sequence[Dose]], seeds: Sequence[int]) -> dict[Job, Rate]:
    """The jobs of both arms of each trial at these doses, each with its learning rate."""
    found: dict[Job, Rate] = {}
    for trial, some in doses.items():
        for dose in some:
            for arm in (trial.without, trial.having):
                for job, rate in _jobs(trial, dose, arm, seeds):
                    if job not in found or found[job].reservation == FIXED:  # one that another trial chose was tuned
                        found[job] = rate
    return found


def trained(
    doses: Mapping[Trial, Sequence[Dose]], seeds: Sequence[int], store: Store, workers: int, command: str, name: str
) -> Study:
    """Train both arms of each trial at these doses, unless they are stored. Raises InputError if a job fails."""
    asked = rated(doses, seeds)
    jobs = list(asked)
    done = sum(store.has(job) for job in jobs)
    print(f"{len(doses)} trials, {len(seeds)} seeds: {len(jobs)} jobs, {done} of them done before", flush=True)
    failed = run_jobs(jobs, store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    results = [Done(job, rate.reservation, result) for job, rate in asked.items() if (result := store.scored(job))]
    return Study(name, (), gather(results, seeds), about_runs(command, results, seeds, current.ALGORITHM))


def picked(names: str, env: str = "") -> list[Trial]:
    """The trials of the tricks in a comma-separated list (empty: of all) in an environment (empty: in any).

    Raises InputError for an unknown trick, one without a trial, or an environment without a trial of them.
    """
    wanted, known = tricks_named(names) if names else [], list(dict.fromkeys(trial.trick for trial in TRIALS))
    if without := [name for name in wanted if name not in known]:
        raise InputError(f"there is no trial for {', '.join(without)}; the tricks with trials are {', '.join(known)}")
    found = [trial for trial in TRIALS if not wanted or trial.trick in wanted]
    envs = dict.fromkeys(dose.config.env for trial in found for dose in trial.doses)
    if env and env not in envs:
        whose = f" of {names}" if names else ""
        few, more = list(envs)[:3], f" and {len(envs) - 3} others" if len(envs) > 3 else ""
        near = meant(env, envs) or f"; there are trials{whose} in {', '.join(few)}{more}"
        raise InputError(f"there is no trial{whose} in {env}{near}")
    return [trial for trial in found if not env or env in [dose.config.env for dose in trial.doses]]


def placed(trial: Trial, device: str) -> Trial:
    """The trial with its agents and worlds on this device."""
    doses = (dose._replace(config=replace(dose.config, device=device)) for dose in trial.doses)
    return replace(trial, doses=tuple(doses))


def _jobs(trial: Trial, dose: Dose, arm: Tricks, seeds: Sequence[int]) -> list[tuple[Job, Rate]]:
    own = best_rate(dose.config, arm, trial.score) if trial.rate is None else Rate(trial.rate, FIXED)
    return [(Job(replace(dose.config, seeds=block, lr=own.value), arm), own) for block in blocks(seeds)]

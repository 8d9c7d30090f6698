"""`python -m ablations worlds`: train with and without each trick in the world made for it, paired by seed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ablations.analysis.outcomes import outcome, trial_table
from ablations.analysis.records import Done, Study, about_runs, gather, question_of, save, save_again
from ablations.experiments.compare import design_of
from ablations.experiments.options import Machine
from ablations.question.arms import Arm
from ablations.question.designs import TRIALS
from ablations.question.trial import Dose, Trial
from ablations.question.words import tricks_named
from ablations.report.trials_section import write_trials
from ablations.training.question import TABLE, Question, train
from ablations.training.rates import OWN_RATES, best_rate, use
from ablations.training.seed_ranges import following, parse_seeds
from ablations.training.store import Store, name_of
from ablations.training.tuning import tune
from tricks.errors import InputError
from tricks.flags import meant


@dataclass(frozen=True)
class Options(Machine):
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
    rates_file: Path | None = None
    """The table of learning rates that --tune writes, and that stands beside this package's own (default:
    learning_rates.csv in --out)."""


def main(chosen: Options, command: str) -> int:
    seeds, processes = parse_seeds(chosen.seeds), chosen.processes
    use(chosen.rates_file or chosen.out / OWN_RATES)
    trials, store, start = picked(chosen.tricks, chosen.env), Store(chosen.out), time.perf_counter()
    later = following(seeds) if chosen.confirm else ()
    every = [asked(trial, dose, seeds, chosen.device) for trial in trials for dose in trial.doses]
    free = [each.job(arm) for each in every for arm in each.arms if each.rates == TABLE]
    untuned = [arm for arm in free if best_rate(arm.config, arm.tricks).reservation]
    if chosen.tune and untuned:
        tune(untuned, store, processes)
    tricks = dict.fromkeys(trial.trick for trial in trials) if chosen.tricks else ()
    name = name_of("worlds", "-".join(tricks), chosen.env.replace("/", "_"), first=seeds[0])

    def trained(every: Sequence[Question], what: str) -> Study:
        in_order = sorted(every, key=lambda each: each.rates == TABLE)  # of two trials with a job, the tuned counts
        jobs = train([(each, each.table_rates) for each in in_order], store, processes, what)
        results = [Done(job, rate.reservation, result) for job, rate in jobs.items() if (result := store.scored(job))]
        about = about_runs(command, results, every[0].seeds)
        return Study(name, (), gather(results, every[0].seeds), about | {"question": question_of(jobs)})

    study, path = save(trained(every, f"{len(trials)} trials, {len(seeds)} seeds"), chosen.out)
    if chosen.confirm:
        found = [each for trial in trials if (each := outcome(trial, study.runs))]
        seen = [each.trial for each, sign in zip(found, trial_table(found).seen, strict=True) if sign]
        if seen:
            again = [asked(trial, trial.doses[-1], later, chosen.device) for trial in seen]
            study = replace(study, again=save_again(trained(again, f"{len(seen)} trials again"), study, chosen.out))
    text, paths = write_trials(study, chosen.out)
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in [path, *paths])}")
    return 0


def asked(trial: Trial, dose: Dose, seeds: tuple[int, ...], device: str = "cpu") -> Question:
    """A trial at a dose as a question: its arms without and with the trick, at their own rates or at the given one."""
    config = replace(dose.config, device=device, lr=dose.config.lr if trial.rate is None else trial.rate)
    design = design_of([Arm("without", trial.without), Arm("with", trial.having)])
    return Question(config, (design,), seeds, TABLE if trial.rate is None else (), score=trial.score)


def picked(names: str, env: str = "") -> list[Trial]:
    """The trials of the tricks in a list (empty: all) in an environment (empty: any). InputError if there are none."""
    wanted, known = tricks_named(names) if names else [], list(dict.fromkeys(trial.trick for trial in TRIALS))
    if without := [name for name in wanted if name not in known]:
        raise InputError(f"there is no trial for {', '.join(without)}; the tricks with trials are {', '.join(known)}")
    found = [trial for trial in TRIALS if not wanted or trial.trick in wanted]
    envs = dict.fromkeys(dose.config.env for trial in found for dose in trial.doses)
    if env and env not in envs:
        whose = f" of {names}" * bool(names)
        near = meant(env, envs) or f"; there are trials{whose} in {', '.join([*envs][:4])}"
        raise InputError(f"there is no trial{whose} in {env}{near}")
    return [trial for trial in found if not env or env in [dose.config.env for dose in trial.doses]]

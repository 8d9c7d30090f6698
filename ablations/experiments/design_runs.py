"""`python -m ablations run` and `tune`: designs over many seeds, and the learning rates of their arms."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from ablations.analysis.effects import decided_arms, joint
from ablations.analysis.records import Study, save, save_again, study_of
from ablations.experiments.options import Numbered
from ablations.question.arms import Arm, Design, in_words
from ablations.question.designs import DESIGNS, SUITES, Setting, Suite, suite_named
from ablations.question.words import refuse_idle, tricks_named, usable
from ablations.report import page
from ablations.report.sentences import spoken
from ablations.training.jobs import Job
from ablations.training.question import TABLE, Question, train
from ablations.training.rates import FINALISTS, KEY, OWN_RATES, Rate, best_of, target, use
from ablations.training.seed_ranges import FIRST_TUNING_SEED, following, parse_seeds
from ablations.training.store import Store, as_file_name
from ablations.training.tuning import MOST_SEEDS_PER_RATE, SEEDS_PER_RATE, tune
from ablations.training.workers import estimate, run_jobs
from tricks.config import Config
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import LADDER

ABOUT_DESIGNS = (
    f"Which combinations of flags: {', '.join(DESIGNS)}, or several of them, separated by commas "
    "(default: the suite's own, or ladder)."
)


@dataclass(frozen=True)
class What(Numbered):
    suite: Annotated[str, f"{', '.join(SUITES)}."] = ""
    env: str = ""
    """Any Gymnasium id; with --suite, one of its environments (default: all of the suite's, or CartPole-v1)."""
    backend: str = "auto"
    """The backend that steps the environment of --env: auto, gymnasium, processes, tensor or envpool."""
    design: Annotated[str, ABOUT_DESIGNS] = ""
    tricks: str = ""
    """The tricks that the design is about, such as clip,gae,entropy (default: all; required for a factorial)."""
    steps: int = 0
    """Budget of environment steps per seed (0: the suite's, or 100,000)."""
    rates_file: Path | None = None
    """The table of rates that `tune` writes, beside this package's own (default: learning_rates.csv in --out)."""


@dataclass(frozen=True)
class Options(What):
    seeds: str = ""
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29); by default 30:60, or the suite's.
    Training covers whole blocks (0 to 9, 10 to 29, 30 to 39, ...), but only these seeds are reported."""
    confirm: bool = False
    """Then rerun, on as many new seeds, every arm whose effect was detected or practically nothing, plus the full set
    without all the practically-nothing tricks."""
    dry_run: bool = False
    """Only print what would be trained, and roughly how long it would take."""


@dataclass(frozen=True)
class TuneOptions(What):
    seeds_per_rate: int = SEEDS_PER_RATE
    """Tuning seeds per rate of the grid; the best three get as many again. The scores go into --rates-file and
    replace any that these arms have there."""


def questions(chosen: What, seeds: str = "") -> list[Question]:
    """One per environment. Raises InputError for unknown or impossible requests before anything is trained."""
    suite, found, left_out = _suite(chosen), list[Question](), list[str]()
    asked = list(dict.fromkeys(name.strip() for name in chosen.design.split(","))) if chosen.design else []
    usual = [(setting, [*(setting.designs or suite.designs), *setting.more]) for setting in suite.settings]
    meant = [each for each in usual if {*asked} & {*each[1]}]  # in some settings, these designs are the usual ones
    for setting, names in meant or usual:
        config = replace(setting.config, steps=chosen.steps or setting.config.steps, device=chosen.device)
        try:
            make_env(replace(config.only(0), lanes=1, device="cpu")).close()
        except InputError as error:
            if len(suite.settings) == 1:
                raise
            left_out.append(f"{config.env} ({error})")
            print(f"left out: {left_out[-1]}", file=sys.stderr)
        else:
            found.append(_question(setting, config, suite.beyond, asked or names, chosen, seeds))
    distinct = {(each.config, each.designs): each for each in found}  # with --steps, two budgets can become one
    return [replace(each, left_out=tuple(left_out)) for each in distinct.values()]


def _suite(chosen: What) -> Suite:
    if not chosen.suite:
        return Suite((Setting(Config(chosen.env or "CartPole-v1", chosen.backend)),))
    if chosen.suite == "worlds":
        raise InputError("the worlds have a command of their own: python -m ablations worlds")
    suite = suite_named(chosen.suite)
    if chosen.backend != "auto":
        raise InputError("a suite has its own backends; leave out --backend")
    settings = tuple(setting for setting in suite.settings if chosen.env in ("", setting.config.env))
    if not settings:
        known = ", ".join(dict.fromkeys(setting.config.env for setting in suite.settings))
        raise InputError(f"the suite {chosen.suite} has no {chosen.env!r}; it has {known}")
    return replace(suite, settings=settings)


def _without(design: Design, given: Mapping[str, Any]) -> Design:
    """The design whose arms have no such numbers of their own."""

    def less(arm: Arm) -> Arm:
        return Arm(arm.label, arm.tricks, [each for each in arm.numbers if each[0] not in given])

    pairs = (replace(pair, without=less(pair.without), having=less(pair.having)) for pair in design.comparisons)
    return replace(design, arms=tuple(map(less, design.arms)), comparisons=tuple(pairs))


def _question(
    setting: Setting, config: Config, beyond: Sequence[str], asked: Sequence[str], chosen: What, seeds: str
) -> Question:
    """The question about these designs in one setting. beyond: the tricks of designs on what is beyond the ladder."""
    able, given = usable(config), chosen.given
    names = tricks_named(chosen.tricks) if chosen.tricks else able
    if further := [name for name in names if name not in LADDER]:
        instead = "leave out --tricks, and use --design beyond to try all such tricks on top of ppo"
        raise InputError(f"{', '.join(further)} {'is' if len(further) == 1 else 'are'} beyond the ladder: {instead}")
    if idle := [name for name in names if name not in able]:
        raise InputError(f"{config.env} gives no action mask, so {', '.join(idle)} has no effect there")
    if unknown := [name for name in asked if name not in DESIGNS]:
        raise InputError(f"unknown design {', '.join(unknown)!r}; the designs are {', '.join(DESIGNS)}")
    designs = [DESIGNS[name](names) for name in asked]
    if any(design.beyond for design in designs):
        others = beyond or usable(config, beyond=True)
        designs = [DESIGNS[made.name](others) if made.beyond else made for made in designs]
    if chosen.tricks and (whole := [design.name for design in designs if design.own_arms]):
        raise InputError(f"the design {whole[0]} has its own arms; leave out --tricks")
    refuse_idle([arm for design in designs for arm in design.arms], given)
    designs = [_without(design, given) for design in designs]
    fixed = setting.fixed or "lr" in given or any("lr" in dict(arm.numbers) for d in designs for arm in d.arms)
    parts = ("" if names == able else "-".join(designs[0].names), as_file_name(chosen.said))
    which = parse_seeds(seeds or setting.seeds)
    return Question(replace(config, **given), tuple(designs), which, () if fixed else TABLE, parts=parts)


def main(chosen: Options, command: str) -> int:
    start, processes = time.perf_counter(), chosen.processes
    use(chosen.rates_file or chosen.out / OWN_RATES)
    made = questions(chosen, chosen.seeds)
    store = Store(chosen.out, look_only=chosen.dry_run)
    jobs = [job for each in made for job in each.jobs(each.table_rates)]
    whole = ", ".join(dict.fromkeys(_span(job) for job in jobs))
    done = f"{len(jobs)} jobs, {sum(map(store.has, jobs))} of them done before; each arm trains seeds {whole}"
    print("\n".join([*(each.in_words for each in made), done, f"results in {store.path}"]), flush=True)
    if chosen.dry_run:
        for env, design in ((each.config.env, design) for each in made for design in each.designs):
            arms = [arm.name for arm in design.arms]
            dropped = [f"dropped: {name} ({reason})" for name, reason in design.dropped]
            print("\n  ".join([f"\n{design.name} on {env}: {len(arms)} arms", *arms, *dropped]))
        print(f"\nabout {spoken(estimate(jobs, store, processes))} with {processes} workers")
        return 0
    failed = run_jobs(jobs, store, processes)
    for job, error in failed.items():
        print(f"failed: {job.config.env}, {in_words(job.tricks)}, seeds {_span(job)}: {error}", file=sys.stderr)
    saved = list[tuple[Study, Path]]()
    for each in made:
        if any(map(store.has, each.jobs(each.table_rates))):
            study, path = save(study_of(each, each.table_rates, {}, store, command), chosen.out)
            again = confirm(each, study, store, chosen, command) if chosen.confirm else None
            saved.append((replace(study, again=again), path))
    if not saved:
        raise InputError("no arm could be trained")
    print(f"{time.perf_counter() - start:.0f} seconds")
    studies, paths = zip(*saved, strict=True)
    status = page.document(studies, chosen.out, paths, command)
    own = 'To ask a question of your own: python -m ablations compare "ppo" "ppo --no-gae"'
    print(f"The report explains every column. {own}")
    return max(status, int(bool(failed)))


def confirm(asked: Question, study: Study, store: Store, chosen: Options, command: str) -> Study | None:
    """Try the arms of decided effects again, and the set without all that do nothing, and save it; None without any."""
    arms, together = decided_arms(study), joint(study)
    if not arms:
        print(f"{study.name}: no effect is decided, so there is nothing to confirm")
        return None
    wanted = arms | {*(together.arms if together else ())}
    again = replace(asked, seeds=following(asked.seeds))
    rates = {arm: rate for arm, rate in asked.table_rates.items() if arm in wanted}
    if together:
        again = replace(again, designs=(*again.designs, together))
        full, without = together.arms
        rates.setdefault(without, Rate(rates[full].value, "that of the full set"))
    what = f"{study.name}: rerunning {len(arms)} arms of decided effects on seeds {again.seeds[0]} to {again.seeds[-1]}"
    train([(again, rates)], store, chosen.processes, what)
    found = study_of(again, rates, {}, store, command)
    found.about["rates"] = study.about.get("rates", asked.rates_in_words)  # those of the first try
    return save_again(found, study, chosen.out)


def _span(job: Job) -> str:
    return f"{job.config.seed_list[0]} to {job.config.seed_list[-1]}"


def choose_rates(chosen: TuneOptions) -> int:
    """Train every arm at every rate of the grid, and print the scores. Returns the exit status."""
    each, workers, most = chosen.seeds_per_rate, chosen.processes, MOST_SEEDS_PER_RATE
    if not 1 <= each <= most:
        raise InputError(f"--seeds-per-rate must be at least 1 and at most {most:,}, not {each}")
    use(chosen.rates_file or chosen.out / OWN_RATES)
    if "lr" in chosen.given:
        raise InputError("tune tries the rates of its own grid; leave out --lr")
    free = [asked for asked in questions(chosen) if asked.rates == TABLE or not chosen.suite]
    arms = [asked.job(arm) for asked in free for arm in asked.arms]
    if not arms:
        raise InputError(f"the suite {chosen.suite} has fixed learning rates")
    scores = tune(arms, Store(chosen.out), workers, each)
    seeds = f"{each} seeds per rate, {2 * each} for the best {FINALISTS}, from seed {FIRST_TUNING_SEED} on"
    print(f"area under the curve by learning rate ({seeds})")
    for (env, _, _, tricks), found in scores.groupby(KEY[:-1], sort=False):
        rows = found.sort_values("lr")
        shown = "".join(f"  {lr:g}: {area:.1f}" for lr, area in zip(rows.lr, rows.area, strict=True))
        print(f"{env}  {tricks or 'reinforce'}{shown}; best {best_of(rows):g}")
    print(f"wrote {target()}, which `run` uses if --out or --rates-file is the same")
    return 0

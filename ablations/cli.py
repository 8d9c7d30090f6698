"""The commands of `python -m ablations`."""

import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablations.analysis.study_files import RESULTS, SUFFIX, load_all
from ablations.training.rate_table import use
from ablations.training.seed_ranges import parse_seeds
from ablations.training.store import prepare
from tricks.cli.shell import answered, guarded, options
from tricks.cli.shell import chosen as command_of
from tricks.errors import InputError

if TYPE_CHECKING:  # each command imports its own modules, because torch is slow to load
    from ablations.experiments.design_runs import Options

USAGE = """usage: python -m ablations [COMMAND] ...

  compare    train any arms over many seeds, and say how they differ
  judge      does this trick matter? A base with and without it, in several environments
  plot       draw learning curves of any runs, ours or others', in one figure
  run        train a design's arms over many seeds, then write tables, figures and a report (the default);
             with --base, around a base of yours, and with --design file.py:function, a design of your own
  report     rebuild the tables, figures and report without training
  tune       choose each arm's learning rate on tuning seeds
  worlds     train with and without each trick in the world made for it
  sweep      train every combination of some numbers, the learning rate among them
  random     train agents with random flags and numbers, and say what each choice does
  calibrate  simulate how often intervals and verdicts are wrong
  games      score the agents of a saved run in whole games, next to random actions
  speed      measure environment steps per second, and where the time goes

Without arguments: the ladder on CartPole-v1, 30 seeds, 100,000 steps. `python -m ablations COMMAND --help`
shows its options, `--version` what is installed, and `--print-completion SHELL` a script with which
bash or zsh completes them. To resume an interrupted run, give the same command again."""


@dataclass(frozen=True)
class ReportOptions:
    """Which runs to report on."""

    out: Path | None = None
    """Folder with the run files, and for the report (default: runs/ablations; with --from-results, runs/results)."""
    from_results: bool = False
    """Report on the runs that ship with this package instead."""
    rates_file: Path | None = None
    """The table of learning rates that `tune` wrote (default: learning_rates.csv in --out)."""
    all_figures: bool = False
    """Draw every figure of every design, also as SVG, which takes several times as long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0, 1 if jobs failed, 2 for a bad request, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    has_jobs = given[:1] not in (["plot"], ["speed"], ["games"], ["calibrate"], ["report"])
    try:
        return guarded(_dispatch, given, "; finished jobs are kept, and the same command resumes from there" * has_jobs)
    finally:
        use(None)


def _dispatch(arguments: list[str]) -> int:
    if answered(arguments, USAGE, "ablations", COMMANDS):
        return 0
    warnings.filterwarnings("ignore", module="gymnasium")  # about old or missing versions of ids
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "run"
    return command_of(name, COMMANDS)(arguments)


def _run(arguments: list[str]) -> int:
    from ablations.experiments import around_base, design_runs
    from ablations.experiments.quoted import numbered

    if around_base.is_asked_for(arguments):
        return around_base.main(arguments, again("run", arguments))
    chosen = numbered(design_runs.Options, arguments, "run")
    if chosen.suite == "worlds":
        return _worlds_suite(chosen)
    return design_runs.main(chosen, again("run", arguments) if arguments else "python -m ablations")


def again(command: str, arguments: Sequence[str]) -> str:
    """The command line that reproduces the results on any machine: without --out, --workers and --scheduler."""
    elsewhere, kept, values = ("--out", "--workers", "--scheduler"), [], iter(arguments)
    for argument in values:
        if argument in elsewhere:
            next(values, None)
        elif argument.split("=")[0] not in elsewhere:
            kept.append(_without_machine(argument))
    return shlex.join(["python", "-m", "ablations", command, *kept])


def _without_machine(argument: str) -> str:
    """Shorten a path outside the working folder to its last name, since the rest exists only on this machine."""
    path = Path(argument)
    leads_out = path.is_absolute() or path.parts[:1] in (("..",), ("~",))
    return (path.name if path.name != ".." else path.resolve().name) if leads_out else argument


def _report(arguments: list[str]) -> int:
    from ablations.report import page

    chosen = options(ReportOptions, arguments, "python -m ablations report")
    out = chosen.out or Path("runs/results" if chosen.from_results else "runs/ablations")
    source = RESULTS if chosen.from_results else out
    use(None if chosen.from_results else chosen.rates_file or source / "learning_rates.csv")
    studies = load_all(source)
    questions = [] if chosen.from_results else page.questions_in(source)
    if not [*studies, *questions]:
        where = source if source.is_dir() else f"{source}, which is no folder"
        raise InputError(f"no run files (*{SUFFIX}) in {where}; `python -m ablations run` writes them")
    if chosen.from_results and (mine := [*out.glob(f"*{SUFFIX}")]):
        raise InputError(
            f"{out} holds runs of your own ({mine[0].name}), whose report this would replace; choose another --out"
        )
    prepare(out)
    command = again("report", arguments)
    command += f" --out {shlex.quote(_without_machine(str(out)))}" * (not chosen.from_results)
    return page.document(studies, out, [], command, not chosen.all_figures, questions, listed=len(studies) > 1)


def _tune(arguments: list[str]) -> int:
    from ablations.experiments import design_runs
    from ablations.experiments.quoted import numbered

    return design_runs.choose_rates(numbered(design_runs.TuneOptions, arguments, "tune"))


def _worlds(arguments: list[str]) -> int:
    from ablations.experiments import worlds
    from ablations.training.workers import worker_count

    chosen = options(worlds.Options, arguments, "python -m ablations worlds")
    command = again("worlds", arguments)
    return worlds.main(chosen, parse_seeds(chosen.seeds), worker_count(chosen.workers, chosen.device), command)


def _worlds_suite(chosen: "Options") -> int:
    shared = ("tricks", "seeds", "device", "workers", "out")
    given = [f"--{name}={x}" for name in shared if (x := getattr(chosen, name))]
    for name in ("env", "backend", "design", "steps", "numbers", "scheduler", "dry_run"):
        if getattr(chosen, name) != getattr(type(chosen), name):
            option = chosen.numbers[0][0] if name == "numbers" else name
            raise InputError(f"--suite worlds has its own designs and budgets; leave out --{option.replace('_', '-')}")
    return _worlds([*given, *["--confirm"] * chosen.confirm])


def _sweep(arguments: list[str]) -> int:
    from ablations.experiments import sweep
    from ablations.experiments.quoted import numbered

    return sweep.main(numbered(sweep.Options, arguments, "sweep"), again("sweep", arguments))


def _random(arguments: list[str]) -> int:
    from ablations.experiments import random_design
    from ablations.experiments.quoted import numbered

    return random_design.main(numbered(random_design.Options, arguments, "random"), again("random", arguments))


def _calibrate(arguments: list[str]) -> int:
    from ablations.findings import calibrate

    return calibrate.main(options(calibrate.Options, arguments, "python -m ablations calibrate"))


def _games(arguments: list[str]) -> int:
    from ablations.findings import games

    chosen = options(games.Options, arguments, "python -m ablations games")
    return games.main(chosen, again("games", arguments))


def _speed(arguments: list[str]) -> int:
    from ablations.findings import speed

    return speed.main(options(speed.Options, arguments, "python -m ablations speed"))


def _compare(arguments: list[str]) -> int:
    from ablations.experiments import compare

    return compare.main(arguments, again("compare", arguments))


def _judge(arguments: list[str]) -> int:
    from ablations.experiments import judge

    return judge.main(arguments, again("judge", arguments))


def _plot(arguments: list[str]) -> int:
    from ablations.experiments import plotting

    return plotting.main(options(plotting.Options, arguments, "python -m ablations plot"))


COMMANDS = {
    "compare": _compare,
    "judge": _judge,
    "plot": _plot,
    "run": _run,
    "report": _report,
    "tune": _tune,
    "worlds": _worlds,
    "sweep": _sweep,
    "random": _random,
    "calibrate": _calibrate,
    "games": _games,
    "speed": _speed,
}

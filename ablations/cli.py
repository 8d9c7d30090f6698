"""The commands of `python -m ablations`."""

import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import get_annotations
from itertools import pairwise
from pathlib import Path
from typing import Any

from ablations.analysis.records import RESULTS, SUFFIX, load_all
from ablations.training.rates import OWN_RATES, use
from ablations.training.store import prepare
from tricks.cli.shell import answered, guarded
from tricks.cli.shell import chosen as command_of
from tricks.errors import InputError
from tricks.ladder import OWN
from tricks.own_trick import load_asked

COMMANDS = {  # where the function of each is, from `ablations.experiments` on, and what it does
    "compare": ("compare.main", "train any arms over many seeds, and say how they differ"),
    "judge": ("compare.main_judge", "does this trick matter? A base with and without it, in several environments"),
    "plot": ("plotting.main", "draw learning curves of any runs, ours or others', in one figure"),
    "run": (
        "design_runs.main",
        """train a design's arms over many seeds, then write tables, figures and a report (the default);
             with --base, around a base of yours, and with --design file.py:function, a design of your own""",
    ),
    "report": (".cli.report", "rebuild the tables, figures and report without training"),
    "tune": ("design_runs.choose_rates", "choose each arm's learning rate on tuning seeds"),
    "worlds": ("worlds.main", "train with and without each trick in the world made for it"),
    "sweep": ("drawn.sweep", "train every combination of some numbers, the learning rate among them"),
    "random": ("drawn.random", "train agents with random flags and numbers, and say what each choice does"),
    "status": ("status.main", "list stored studies and mark the stale ones (exit status 1 if there are any)"),
    "refresh": ("status.refresh", "retrain the stale ones"),
    "pages": (".findings.pages.main", "rewrite the generated regions of this project's docs"),
    "calibrate": (".tools.calibrate.main", "simulate how often intervals and verdicts are wrong"),
    "speed": (".tools.speed.main", "measure environment steps per second"),
}
LISTED = "\n".join(f"  {name:<11}{does}" for name, (_, does) in COMMANDS.items())
USAGE = f"""usage: python -m ablations [COMMAND] ...

{LISTED}

`--trick FILE` turns the trick in your file into a flag, in every command.

Without arguments: the ladder on CartPole-v1, 30 seeds, 100,000 steps. `python -m ablations COMMAND --help`
shows its options, `--version` what is installed. To resume an interrupted run, give the same command
again."""


@dataclass(frozen=True)
class ReportOptions:
    out: Path | None = None
    """Folder with the run files, and for the report (default: runs/ablations; with --from-results, runs/results)."""
    from_results: bool = False
    """Report on the runs that ship with this package instead."""
    rates_file: Path | None = None
    """The table of learning rates that `tune` wrote (default: learning_rates.csv in --out)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0, 1 if jobs failed, 2 for a bad request, 130 if interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    jobless = given[:1] in (["plot"], ["speed"], ["calibrate"], ["report"], ["status"], ["pages"])
    kept = "" if jobless else "; finished jobs are kept, and the same command resumes from there"
    try:
        return guarded(_run, given, kept)
    finally:
        use(None)


def _run(arguments: list[str]) -> int:
    """Run a command; `run` with a base or a design of one's own asks as `compare` does. Returns its exit status."""
    if answered(arguments, USAGE):
        return 0
    from ablations.question.designs import TRIALS

    warnings.filterwarnings("ignore", module="gymnasium")  # about old or missing versions of ids
    arguments = load_asked(arguments)  # files with tricks, and perhaps with trials of them
    trials = (getattr(sys.modules[f"tricks.{path.stem}"], "TRIAL", None) for path, _ in OWN.values())
    TRIALS.extend(trial for trial in trials if trial is not None and trial not in TRIALS)
    # only now, because a number that a trick of one's own adds is an option, too
    from ablations.experiments.options import parsed

    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "run"
    words = [part for word in arguments for part in word.split("=", 1)]
    own = "--base" in words or any(a == "--design" and ".py:" in b for a, b in pairwise(words))
    main, takes = command_at("compare.main_around" if name == "run" and own else command_of(name, COMMANDS)[0])
    told = [again(name, arguments)] if "command" in takes else []
    return main(parsed(takes["chosen"], arguments, name), *told)


def command_at(place: str) -> tuple[Callable[..., int], dict[str, Any]]:
    """A command's function, and what it takes: `chosen`, its class of options, and perhaps `command`, see `again`."""
    module, _, function = place.rpartition(".")
    main = getattr(import_module(f".{module}", "ablations.experiments"), function)
    return main, get_annotations(main)


def again(command: str, arguments: Sequence[str]) -> str:
    """The command line that reproduces the results on any machine: without --out and --workers."""
    elsewhere, kept, values = ("--out", "--workers"), [], iter(arguments)
    for argument in values:
        if argument in elsewhere:
            next(values, None)
        elif argument.split("=")[0] not in elsewhere:
            kept.append(_without_machine(argument))
    here = Path.cwd()
    own = [path.relative_to(here) if path.is_relative_to(here) else path for path, _ in OWN.values()]
    kept += [word for path in own for word in ("--trick", _without_machine(str(path)))]
    return shlex.join(["python", "-m", "ablations", *([command, *kept] if kept or command != "run" else ())])


def _without_machine(argument: str) -> str:
    """Shorten a path outside the working folder to its last name, since the rest exists only on this machine."""
    path = Path(argument)
    leads_out = path.is_absolute() or path.parts[:1] in (("..",), ("~",))
    return (path.name if path.name != ".." else path.resolve().name) if leads_out else argument


def report(chosen: ReportOptions, command: str) -> int:
    from ablations.experiments.options import OUT
    from ablations.report import page

    out = chosen.out or (Path("runs/results") if chosen.from_results else OUT)
    source = RESULTS if chosen.from_results else out
    use(None if chosen.from_results else chosen.rates_file or source / OWN_RATES)
    studies = load_all(source, told=True)
    if not studies:
        where = source if source.is_dir() else f"{source}, which is no folder"
        raise InputError(f"no run files (*{SUFFIX}) in {where}; `python -m ablations run` writes them")
    if chosen.from_results and (mine := [*out.glob(f"*{SUFFIX}")]):
        said = f"{out} holds runs of your own ({mine[0].name}), whose report this would replace"
        raise InputError(f"{said}; choose another --out")
    prepare(out)
    command += f" --out {shlex.quote(_without_machine(str(out)))}" * (not chosen.from_results)
    return page.document(studies, out, [], command, listed=len(studies) > 1)

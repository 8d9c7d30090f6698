"""`python -m tricks train`: train agents, print a summary, and save the run."""

import os
import shlex
import warnings
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricks.cli.evaluations import Evaluations
from tricks.cli.following import BOARD, NAMING, Named, followed, quietly
from tricks.cli.parsing import parse
from tricks.cli.summary import summary
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.run import Run
    from tricks.runs.state import State


@dataclass(frozen=True)
class Output(Evaluations):
    """What to save, and what to measure during training."""

    out: Path | None = None
    """Folder to save the run in: curve.csv grows during training; run.json, agent.pt, last.pt, and curve.png come at
    the end. On Ctrl-C, the training finishes its update and saves what --resume goes on from."""
    checkpoint_every: int | None = None
    """Write checkpoint.pt to the folder each time a seed has taken this many more environment steps, so that even
    `kill -9` costs no more than these."""
    overwrite: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Replace a finished run in the folder of --out. It stays until the first update of the new one."""
    resume: Path | None = None
    """Resume the interrupted run in this folder from its checkpoint, with its own settings. Takes no other options,
    except --env with the run's own environment as module:Id, --wrap with its own wrappers, and --eval-env with its
    evaluations' environment: these name the modules that may be imported."""
    continue_from: Path | None = None
    """--continue DIR: train the finished run in this folder for --steps more environment steps per seed, with its own
    settings. Takes --steps, --schedule, and what --resume takes."""
    schedule: str | None = None
    """With --continue: whether what anneals runs over the new whole budget, or stays at its end: whole (default) or
    end."""
    start_from: Path | None = None
    """Start from the agents of the finished run in this folder, their weights and statistics, one for each seed. The
    task must have the same observations and actions, and the nets and statistics, such as
    those of state_norm, must be of the same kinds."""
    tensorboard: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also log the curve for TensorBoard, in the subfolder tb of the run's folder (needs the extra `tensorboard`)."""
    quiet: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """-q: print errors and warnings only; no progress bar and no summary."""


def train(arguments: list[str]) -> None:
    """Train agents, print a summary, and save the run if --out is given."""
    given = list(arguments)
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    with quietly() if output.quiet else nullcontext():
        _train(given, tricks, config, output)


def _train(given: list[str], tricks: Tricks, config: Config, output: Output) -> None:
    warnings.filterwarnings("ignore", module="gymnasium")
    one_thread()
    if output.schedule is not None and output.continue_from is None:
        raise InputError("--schedule needs --continue, the folder of a finished run")
    if output.continue_from is not None:
        env = named_env(given, config, output, "--continue", "--continue-from", "--steps", "--schedule")
        if not {"--steps"} & {word.split("=")[0] for word in given}:
            raise InputError("--continue needs --steps, how many more environment steps each seed takes")
        run = trained_further(output.continue_from, config.steps, output.schedule or "whole", env)
    elif output.resume is not None:
        run = resumed(output.resume, named_env(given, config, output, "--resume"))
    elif output.out is not None:
        run = trained_into(output.out, config, tricks, output)
    else:
        run = trained(config, tricks, output)
    if len(run.diverged) == len(run.config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def one_thread() -> None:
    """Let PyTorch compute on one thread unless OMP_NUM_THREADS is set. Environments have workers of their own.

    With small nets, a second thread gains little, and while another program is busy it costs a lot.
    """
    import torch

    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)


def trained(config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from scratch, with the requested evaluations, and print the summary."""
    from tricks.loop import train

    for option, asked in {
        "--checkpoint-every": output.checkpoint_every is not None,
        "--tensorboard": output.tensorboard,
        "--overwrite": output.overwrite,
    }.items():
        if asked:
            raise InputError(f"{option} needs --out, the folder to write into")
    evaluation = output.asked()
    run = train(config, tricks, checkpoints=started(output), evaluation=evaluation)
    print(summary(run))
    print("nothing was saved; --out DIR saves a run")
    return run


def trained_into(out: Path, config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from scratch, with the requested checkpoints and evaluations, and save the run in the folder `out`."""
    from tricks.loop import train
    from tricks.runs.checkpoint import Checkpoints
    from tricks.runs.files import as_path

    out, evaluation = as_path(out), output.asked()
    with ExitStack() as stack:
        checkpoints = Checkpoints(out, output.checkpoint_every, overwrite=output.overwrite)
        stack.callback(checkpoints.release)
        own = Named(config.env, config.wrap, output.eval_env)
        with followed(out, own, output.tensorboard) as listener:
            start = started(output, checkpoints)
            run = train(config, tricks, checkpoints=start, on_update=listener, evaluation=evaluation)
        save(run, out, output.overwrite)
    return run


def started(output: Output, checkpoints: "State | None" = None) -> "State | None":
    """The checkpoints; with --start-from, they also give the agents their start."""
    from tricks.continuing import StartFrom

    return checkpoints if output.start_from is None else StartFrom(output.start_from, inner=checkpoints)


def trained_further(folder: Path, steps: int, schedule: str, named: Named) -> "Run":
    """Train the finished run in the folder for so many more steps, and save it there."""
    from tricks.continuing import further
    from tricks.runs.checkpoint import read
    from tricks.runs.files import LAST, as_path, hold

    folder = as_path(folder)
    before = read(folder, LAST).config
    with hold(folder):
        with followed(folder, named, tensorboard=(folder / BOARD).is_dir()) as listener:
            run = further(folder, steps, schedule, on_update=listener, **named._asdict())
        print(f"continued from {before.steps:,} to {run.config.steps:,} steps")
        save(run, folder, overwrite=True)
    return run


def resumed(folder: Path, named: Named) -> "Run":
    """Resume the run in the folder, keep writing its curve and TensorBoard logs, and save it."""
    from tricks.restore import resume
    from tricks.runs.checkpoint import read
    from tricks.runs.files import as_path, hold

    folder = as_path(folder)
    if not folder.is_dir():
        read(folder)  # says what is missing
    with hold(folder):
        with followed(folder, named, tensorboard=(folder / BOARD).is_dir()) as listener:
            run = resume(folder, on_update=listener, **named._asdict())
        save(run, folder, overwrite=True)
    return run


def save(run: "Run", out: Path, overwrite: bool) -> None:
    """Print the summary, and save the run and its figure."""
    from tricks.runs.checkpoint import naming
    from tricks.runs.run import draw_curve
    from tricks.runs.signals import Patience

    print(summary(run))
    try:
        with Patience():
            run.save(out, overwrite)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"; the run is complete and saved in {out}") from stop
    try:
        draw_curve(run, out / "curve.png")
    except InputError as error:
        raise InputError(f"{error}; the run itself is saved in {out}") from error
    apart = "" if run.evaluation is None else str(run.evaluation.env)  # there it plays
    named = naming("" if apart else run.config.env, run.config.wrap, apart)
    play = ["python", "-m", "tricks", "play", str(out), *named]
    print(f"wrote {out}; to watch an agent: {shlex.join(play)}")


def named_env(arguments: list[str], config: Config, output: Output, mode: str, *able: str) -> Named:
    """What is named with --resume or --continue. Raises InputError for an argument that these don't take."""
    options = [argument.split("=")[0].replace("_", "-") for argument in arguments if argument.startswith("--")]
    rung = [] if arguments[0].startswith("-") else [f"rung {arguments[0]!r}"]
    for other in (*rung, *(option for option in options if option not in (mode, *able, *NAMING, "--quiet"))):
        why = ": annealing runs over the original steps" if other == "--steps" else ""
        raise InputError(f"{mode} continues the run with its own settings; it takes no {other}{why}")
    return Named(config.env if "--env" in options else None, config.wrap, output.eval_env)

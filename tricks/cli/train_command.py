"""`python -m tricks train`: train agents, print a summary, and save the run."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricks.cli.following import BOARD, followed
from tricks.cli.parsing import parse
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    import pandas as pd

    from tricks.runs.evaluation import Evaluation
    from tricks.runs.run import Run


@dataclass(frozen=True)
class Output:
    """What to save, and what to measure during training."""

    out: Path | None = None
    """Folder to save the run in: curve.csv grows during training; run.json, agent.pt and curve.png come at the end."""
    checkpoint_every: int | None = None
    """Write checkpoint.pt to the folder each time a seed has taken this many more environment steps."""
    overwrite: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Replace a finished run in the folder of --out. It stays until the first update of the new one."""
    resume: Path | None = None
    """Resume the run in this folder from its checkpoint, with its own settings. Takes no other options, except --env
    with the run's own environment if that is a module:Id, to name the module that may be imported."""
    eval_every: int | None = None
    """Play greedy episodes, with all statistics frozen, each time a seed has taken this many more environment steps.
    Their mean return is the curve's column eval_return. They don't count as steps and don't affect training."""
    eval_episodes: int = 10
    """Number of full episodes per seed in each evaluation."""
    tensorboard: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also log the curve for TensorBoard, in the subfolder tb of the run's folder (needs the extra `tensorboard`)."""


def train(arguments: list[str]) -> None:
    """Train agents, print a summary, and save the run if --out is given."""
    given = list(arguments)
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    warnings.filterwarnings("ignore", module="gymnasium")
    one_thread()
    if output.resume is not None:
        run = resumed(output.resume, named_env(given, config))
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
    evaluation = evaluation_of(output)
    run = train(config, tricks, evaluation=evaluation)
    print(summary(run))
    return run


def trained_into(out: Path, config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from scratch, with the requested checkpoints and evaluations, and save the run in the folder `out`."""
    from tricks.loop import train
    from tricks.runs.checkpoint import Checkpoints, refuse_unfinished
    from tricks.runs.files import as_path
    from tricks.runs.folder import opened

    out, every, evaluation = as_path(out), output.checkpoint_every, evaluation_of(output)
    with opened(out, output.overwrite):  # what cannot be written should fail now, not after training
        refuse_unfinished(out)
        checkpoints = None if every is None else Checkpoints(out, every, overwrite=output.overwrite)
        with followed(out, config.env, output.tensorboard, resumable=every is not None) as listener:
            run = train(config, tricks, checkpoints=checkpoints, on_update=listener, evaluation=evaluation)
        save(run, out, output.overwrite)
    return run


def resumed(folder: Path, env: str | None) -> "Run":
    """Resume the run in the folder, keep writing its curve and TensorBoard logs, and save it."""
    from tricks.restore import resume
    from tricks.runs.checkpoint import read
    from tricks.runs.files import as_path
    from tricks.runs.lock import hold

    folder = as_path(folder)
    if not folder.is_dir():
        read(folder)  # says what is missing
    with hold(folder):
        with followed(folder, env or "", tensorboard=(folder / BOARD).is_dir(), resumable=True) as listener:
            run = resume(folder, env=env, on_update=listener)
        save(run, folder, overwrite=True)
    return run


def save(run: "Run", out: Path, overwrite: bool) -> None:
    """Print the summary, and save the run and its figure."""
    from tricks.runs.plot import draw_curve

    print(summary(run))
    run.save(out, overwrite)
    try:
        draw_curve(run, out / "curve.png")
    except InputError as error:
        raise InputError(f"{error}; the run itself is saved in {out}") from error
    print(f"wrote {out}")


def evaluation_of(output: Output) -> "Evaluation | None":
    """The requested evaluations, or None."""
    from tricks.runs.evaluation import Evaluation

    if output.eval_every is not None:
        return Evaluation(output.eval_every, output.eval_episodes)
    if output.eval_episodes != Output.eval_episodes:
        raise InputError("--eval-episodes needs --eval-every, the steps between two evaluations")
    return None


def named_env(arguments: list[str], config: Config) -> str | None:
    """The --env given with --resume, if any. Raises InputError if there is any other argument."""
    options = [argument.split("=")[0] for argument in arguments if argument.startswith("--")]
    rung = [] if arguments[0].startswith("-") else [f"rung {arguments[0]!r}"]
    for other in (*rung, *(option for option in options if option not in ("--resume", "--env"))):
        why = ": annealing runs over the original steps" if other == "--steps" else ""
        raise InputError(f"--resume continues the run with its own settings; it takes no {other}{why}")
    return config.env if "--env" in options else None


def summary(run: "Run") -> str:
    """The return over the last 10% of the budget, per seed and on average, and the last greedy evaluation's mean."""
    late = run.late()
    known = late.dropna()
    lines = []
    for seed in run.config.seed_list:
        if seed in run.diverged:
            outcome = f"diverged at step {run.diverged[seed]}: {run.reasons[seed]}"
        elif seed not in known:
            outcome = "no episode ended in the last 10% of the budget"
        else:
            outcome = f"return {known[seed]:.1f}"
        lines.append(f"seed {seed}: {outcome}")
    if len(known):
        lines.append(f"mean return over the last 10% of {run.config.steps} steps of {run.config.env}: {over(late)}")
    judged = run.curve.dropna(subset="eval_return").groupby("seed")["eval_return"].last()
    lines += [f"{line}; --as-vector takes it as a vector" for line in run.agent.spaces.seen]
    if len(judged):
        lines.append(f"mean return of the last greedy evaluation: {over(judged.reindex(run.config.seed_list))}")
    return "\n".join(lines)


def over(values: "pd.Series") -> str:
    """The mean of one value per seed, with its 95% interval if none is missing and there are at least FEWEST."""
    from tricks.runs.intervals import FEWEST, students_interval

    known = values.dropna()
    if len(known) < len(values):
        return f"{known.mean():.1f} (of {len(known)} of {len(values)} seeds: no interval)"
    if len(known) < FEWEST:
        return f"{known.mean():.1f} (no interval with fewer than {FEWEST} seeds)"
    low, high = students_interval(known.to_numpy())
    return f"{known.mean():.1f}, 95% interval [{low:.1f}, {high:.1f}] (Student's t over {len(known)} seeds)"

"""`python -m tricks train`: train agents, print a summary, and save the run."""

import io
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tricks.cli.shell import ALIASES, parse
from tricks.config import Config
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import Tricks

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.evaluation import Evaluation
    from tricks.runs.log import Listener
    from tricks.runs.run import Run

BOARD = "tb"  # TensorBoard's subfolder in the run's folder
NAMING = ["--env", "--wrap", "--eval-env", "--quiet"]  # what a run that goes on takes: mostly, what names its modules
NEED = {  # an option, what it is, and the ones that do nothing without it
    "out": ("the folder to write into", "checkpoint_every tensorboard overwrite"),
    "continue_from": ("the folder of a finished run", "schedule"),
    "eval_every": ("the steps between two evaluations", "keep_best keep_best_by eval_env eval_env_args eval_episodes"),
}


@dataclass(frozen=True)
class Output:
    """What to save, and what to measure during training."""

    out: Path | None = None
    """Folder to save the run in: curve.csv grows during training; run.json, agent.pt, last.pt, and curve.png come at
    the end. On Ctrl-C, the training finishes its update and saves what --resume goes on from."""
    checkpoint_every: int | None = None
    """Write checkpoint.pt whenever a seed has taken this many more steps, so that even `kill -9` costs no more."""
    overwrite: bool = False
    """Replace a finished run in the folder of --out. It stays until the first update of the new one."""
    resume: Path | None = None
    """Resume the interrupted run in this folder with its own settings. Takes no other options, except --env, --wrap,
    and --eval-env with the run's own (see `play --help`): these name the modules that may be imported."""
    continue_from: Path | None = None
    """Train the finished run in this folder for --steps more steps, as --resume would. Takes --schedule, too."""
    schedule: str | None = None
    """With --continue: what anneals runs over the whole new budget (whole, the default), or stays at its end (end)."""
    start_from: Path | None = None
    """Start from the agents of the finished run in this folder, their weights and statistics, one for each seed. The
    observations and actions must be the same, and the nets and statistics, such as state_norm's, of the same kinds."""
    tensorboard: bool = False
    """Also log the curve for TensorBoard, in the subfolder tb of the run's folder (needs the extra `tensorboard`)."""
    quiet: bool = False
    """Print errors and warnings only; no progress bar and no summary."""
    eval_every: int | None = None
    """Play greedy episodes, with all statistics frozen, each time a seed has taken this many more environment steps.
    Their mean return is the curve's column eval_return. They don't count as steps and don't affect training."""
    eval_episodes: int = 10
    """Number of full episodes per seed in each evaluation."""
    eval_env: str | None = None
    """Another environment to play them in, named as in --env, with the same spaces; `play` then plays in it, too. It
    takes no --env-arg, and every other option of the training, such as --wrap."""
    eval_env_args: tuple[str, ...] = ()
    """Arguments of that environment, one name=value each. Without --eval-env, they change those of the training's."""
    keep_best: bool = False
    """Also keep each seed's agent at its best evaluation (needs --eval-every); `play --best` plays it."""
    keep_best_by: str | None = None
    """The same, but the best has the highest mean of this number of --record, such as is_success."""

    def asked(self) -> "Evaluation | None":
        """The requested evaluations, or None. Raises InputError for an option that does nothing without another one."""
        from tricks.runs.evaluation import Evaluation

        if self.eval_env == "":
            raise InputError("--eval-env is empty; it takes an environment, named as in --env")
        for need, (what, names) in NEED.items():
            idle = [name for name in names.split() if getattr(self, name) != getattr(Output, name)]
            if idle and getattr(self, need) is None:
                raise InputError("{} needs {}, {}".format(*(ALIASES.get(x, switch(x)) for x in (idle[0], need)), what))
        if self.eval_every is None:
            return None
        best = self.keep_best if self.keep_best_by is None else self.keep_best_by
        return Evaluation(self.eval_every, self.eval_episodes, best, self.eval_env or "", self.eval_env_args)


def train(arguments: list[str]) -> None:
    """Train agents, print a summary, and save the run if --out is given."""
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    import torch

    from tricks.runs import progress

    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)  # a second one gains little with small nets, and costs a lot beside a busy program
    progress.silent = output.quiet
    with redirect_stdout(io.StringIO() if output.quiet else sys.stdout):
        goes_on = output.resume is not None or output.continue_from is not None
        run = gone_on(arguments, config, output) if goes_on else begun(config, tricks, output)
    if len(run.diverged) == len(run.config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def begun(config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from scratch, or from the agents of --start-from, and save the run if there is a folder for it."""
    from tricks.loop import train
    from tricks.restore import load
    from tricks.runs.checkpoint import Checkpoints

    start = load(output.start_from).agent if output.start_from else None
    work = partial(train, config, tricks, evaluation=output.asked(), start=start)
    if output.out is None:
        run = work()
        print(f"{summary(run)}\nnothing was saved; --out DIR saves a run")
        return run
    checkpoints = Checkpoints(output.out, output.checkpoint_every, overwrite=output.overwrite)
    try:
        return kept(partial(work, checkpoints=checkpoints), output.out, output.tensorboard, output.overwrite)
    finally:
        checkpoints.release()


def gone_on(arguments: list[str], config: Config, output: Output) -> "Run":
    """Resume a run, or train it further, and save it in its folder. Raises InputError for what these don't take."""
    from tricks.restore import begun_again, further, resume

    longer, folder = output.continue_from is not None, output.continue_from or output.resume or Path()
    mode, able = ("--continue", ["--continue-from", "--steps", "--schedule"]) if longer else ("--resume", [])
    given = [word.split("=")[0].replace("_", "-") for word in arguments if word.startswith("--")]
    rung = [f"rung {word!r}" for word in arguments[:1] if not word.startswith("-")]
    if others := rung + [name for name in given if name not in (mode, *able, *NAMING)]:
        why = ": annealing runs over the original steps" if others[0] == "--steps" else ""
        raise InputError(f"{mode} continues the run with its own settings; it takes no {others[0]}{why}")
    if longer and "--steps" not in given:
        raise InputError("--continue needs --steps, how many more environment steps each seed takes")

    def work(on_update: "Listener") -> "Run":
        named = config.env if "--env" in given else None, None, on_update, config.wrap, output.eval_env
        if not longer:
            return resume(folder, *named)
        run = further(folder, config.steps, output.schedule or "whole", *named)
        print(f"continued from {run.config.steps - config.steps:,} to {run.config.steps:,} steps")
        return run

    with begun_again(folder):
        return kept(work, folder, (folder / BOARD).is_dir(), overwrite=True)


def kept(work: Callable[..., "Run"], folder: Path, tensorboard: bool, overwrite: bool) -> "Run":
    """Train with a listener that writes to the folder, and save the run there. Ctrl-C's message says what is saved."""
    from tricks.runs.checkpoint import how_to_resume, naming, read
    from tricks.runs.files import CHECKPOINT, PICTURE, write_whole
    from tricks.runs.listeners import CurveFile, TensorBoard
    from tricks.runs.run import curve_png
    from tricks.runs.signals import Patience

    file = CurveFile(folder)
    with closing(TensorBoard(folder / BOARD)) if tensorboard else nullcontext() as board:
        listeners: list[Listener] = [file, *([board] if board else [])]

        def tell(*update: Any) -> None:
            for listener in list(listeners):
                try:
                    listener(*update)
                except (InputError, OSError) as error:  # a full disk must not end the training
                    listeners.remove(listener)
                    print(f"{error}; the training goes on and will be saved at its end", file=sys.stderr)

        try:
            run = work(on_update=tell)
        except KeyboardInterrupt as stop:
            said = f" before the first checkpoint; the curve so far is in {file.path}" if file.begun else ""
            if (folder / CHECKPOINT).is_file():
                saved, how = read(folder), how_to_resume(folder)
                said = f" at step {saved.step:,} of {saved.config.steps:,}, which is saved; resume with: {how}"
            raise KeyboardInterrupt(said) from stop
    try:
        with Patience():
            run.save(folder, overwrite)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"; the run is complete and saved in {folder}") from stop
    try:
        write_whole(folder / PICTURE, curve_png(run))
    except InputError as error:
        raise InputError(f"{error}; the run itself is saved in {folder}") from error
    print(summary(run))  # which may fail, on a full disk or without a reader
    apart = "" if run.evaluation is None else str(run.evaluation.env)  # there it plays
    named = naming("" if apart else run.config.env, run.config.wrap, apart)
    print(f"wrote {folder}; to watch an agent: {shlex.join(['python', '-m', 'tricks', 'play', str(folder), *named])}")
    return run


def summary(run: "Run") -> str:
    """What each seed came to over the last 10% of the budget, the mean over seeds, and what evaluations found."""
    from tricks.runs.learning_curve import late_return, over
    from tricks.texts import recorded

    curve, steps, seeds, late = run.curve, run.config.steps, run.config.seed_list, run.late()
    reward = curve[curve["step"] > 0.9 * steps].groupby("seed")["reward"].mean().reindex(seeds)
    why = "no episode ended in the last 10% of the budget; mean reward per step there"
    rare = {seed: f"{why} {reward[seed]:.3g}" for seed in seeds if late.isna()[seed]}
    rare |= {seed: f"diverged at step {step}: {run.reasons[seed]}" for seed, step in run.diverged.items()}
    lines = [f"seed {seed}: {rare.get(seed, f'return {late[seed]:.1f}')}" for seed in seeds]
    taken = curve[~curve["seed"].isin(list(run.diverged))].groupby("seed")["step"].last()
    if (taken != steps).any():
        between = " to ".join(f"{count:,}" for count in sorted({taken.min(), taken.max()}))
        lines.append(f"steps taken per seed: {between} (the last batch is always completed)")
    if late.notna().any():
        lines.append(f"mean return over the last 10% of {steps:,} steps of {run.config.env}: {over(late)}")
    for name in recorded(run.config.record):
        numbers = late_return(curve, steps, column=name)
        mean = f"{numbers.mean():.3g}" if numbers.notna().any() else "no episode gave it"
        lines.append(f"mean {name} over the last 10%: {mean}")
    lines += [f"{line}; --as-vector takes it as a vector" for line in run.agent.spaces.seen]
    judged = curve.dropna(subset="eval_return").groupby("seed")["eval_return"]
    if len(judged):
        place = run.as_evaluated().config
        where = "" if place is run.config else f" in {' '.join([place.env, *place.env_args])}"
        lines.append(f"mean return of the last greedy evaluation{where}: {over(judged.last().reindex(seeds))}")
    if run.best is not None and run.evaluation is not None and isinstance(run.evaluation.keep_best, str):
        lines.append(f"each agent's best evaluation is the one with the highest mean {run.evaluation.keep_best}")
    elif run.best is not None:
        best = over(curve.groupby("seed")["eval_return"].max().reindex(seeds))
        lines.append(f"mean return of each agent's best one: {best}; as the best of several, a little too good")
    return "\n".join(lines)

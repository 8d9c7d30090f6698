"""`python -m tricks train`: train agents, print a summary, and save the run."""

import io
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tricks.cli.shell import ALIASES, parse
from tricks.cli.summary import summary
from tricks.config import Config
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import Tricks

if TYPE_CHECKING:  # whatever needs torch is imported on use, so that --help does not wait for it
    from tricks.runs.evaluation import Evaluation
    from tricks.runs.log import Listener, Rows
    from tricks.runs.run import Run

BOARD = "tb"  # TensorBoard's subfolder in the run's folder
EVALUATING = ("keep_best", "keep_best_by", "eval_env", "eval_env_args", "eval_episodes")
NEED = {  # what does nothing without an option
    ("out", "the folder to write into"): ("checkpoint_every", "tensorboard", "overwrite"),
    ("continue_from", "the folder of a finished run"): ("schedule",),
    ("eval_every", "the steps between two evaluations"): EVALUATING,
}
NAMING = ("--env", "--wrap", "--eval-env")  # options that name modules that may be imported


@dataclass(frozen=True)
class Output:
    """What to save, and what to measure during training."""

    out: Path | None = None
    """Folder to save the run in: curve.csv grows during training; run.json, agent.pt, last.pt, and curve.png come at
    the end. On Ctrl-C, the training finishes its update and saves what --resume goes on from."""
    checkpoint_every: int | None = None
    """Write checkpoint.pt to the folder each time a seed has taken this many more environment steps, so that even
    `kill -9` costs no more than these."""
    overwrite: bool = False
    """Replace a finished run in the folder of --out. It stays until the first update of the new one."""
    resume: Path | None = None
    """Resume the interrupted run in this folder from its checkpoint, with its own settings. Takes no other options,
    except --env with the run's own environment as module:Id, --wrap with its own wrappers, and --eval-env with its
    evaluations' environment: these name the modules that may be imported."""
    continue_from: Path | None = None
    """Train the finished run in this folder for --steps more environment steps per seed, with its own settings. Takes
    --steps, --schedule, and what --resume takes."""
    schedule: str | None = None
    """With --continue: whether what anneals runs over the new whole budget, or stays at its end: whole (default) or
    end."""
    start_from: Path | None = None
    """Start from the agents of the finished run in this folder, their weights and statistics, one for each seed. The
    task must have the same observations and actions, and the nets and statistics, such as
    those of state_norm, must be of the same kinds."""
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
    """Arguments of that environment, one name=value each. Without --eval-env, they are changes to those of the
    training's environment."""
    keep_best: bool = False
    """Also keep each seed's agent at its best evaluation (needs --eval-every); `play --best` plays it."""
    keep_best_by: str | None = None
    """The same, but the best is the one whose episodes have the highest mean of this number of --record, such as
    is_success."""

    def asked(self) -> "Evaluation | None":
        """The requested evaluations, or None. Raises InputError for an option that does nothing without another one."""
        from tricks.runs.evaluation import Evaluation

        if self.eval_env == "":
            raise InputError("--eval-env is empty; it takes an environment, named as in --env")
        for (need, what), names in NEED.items():
            for name in names if getattr(self, need) is None else ():
                if getattr(self, name) != getattr(Output, name):
                    raise InputError(
                        f"{ALIASES.get(name, switch(name))} needs {ALIASES.get(need, switch(need))}, {what}"
                    )
        if self.eval_every is None:
            return None
        best = self.keep_best if self.keep_best_by is None else self.keep_best_by
        return Evaluation(self.eval_every, self.eval_episodes, best, self.eval_env or "", self.eval_env_args)


def train(arguments: list[str]) -> None:
    """Train agents, print a summary, and save the run if --out is given."""
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    from tricks.runs.progress import unseen

    warnings.filterwarnings("ignore", module="gymnasium")
    if not os.environ.get("OMP_NUM_THREADS"):
        import torch

        torch.set_num_threads(1)  # a second one gains little with small nets, and costs a lot beside a busy program
    with ExitStack() as stack:
        for quiet in (unseen(), redirect_stdout(io.StringIO())) if output.quiet else ():
            stack.enter_context(quiet)
        goes_on = output.resume is not None or output.continue_from is not None
        run = gone_on(arguments, config, output) if goes_on else begun(config, tricks, output)
    if len(run.diverged) == len(run.config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def begun(config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from scratch, or from the agents of --start-from, and save the run if there is a folder for it."""
    from tricks.continuing import StartFrom
    from tricks.loop import train
    from tricks.runs.checkpoint import Checkpoints, resume_command
    from tricks.runs.files import as_path

    evaluation, start = output.asked(), output.start_from
    if output.out is None:
        run = train(config, tricks, checkpoints=StartFrom(start) if start else None, evaluation=evaluation)
        print(f"{summary(run)}\nnothing was saved; --out DIR saves a run")
        return run
    out = as_path(output.out)
    with ExitStack() as stack:
        checkpoints = Checkpoints(out, output.checkpoint_every, overwrite=output.overwrite)
        stack.callback(checkpoints.release)
        state = StartFrom(start, inner=checkpoints) if start else checkpoints
        how = resume_command(out, config.env, config.wrap, output.eval_env or "")
        with followed(out, how, output.tensorboard) as listener:
            run = train(config, tricks, checkpoints=state, on_update=listener, evaluation=evaluation)
        save(run, out, output.overwrite)
    return run


def gone_on(arguments: list[str], config: Config, output: Output) -> "Run":
    """Resume a run, or train it further, and save it in its folder. Raises InputError for what these don't take."""
    from tricks.continuing import further
    from tricks.restore import resume
    from tricks.runs.checkpoint import resume_command
    from tricks.runs.files import as_path
    from tricks.runs.lock import hold

    mode, able = "--resume", [*NAMING, "--resume", "--quiet"]
    if output.continue_from is not None:
        mode, able = "--continue", [*NAMING, "--continue", "--continue-from", "--quiet", "--steps", "--schedule"]
    given = [word.split("=")[0].replace("_", "-") for word in arguments if word.startswith("--")]
    rung = [f"rung {word!r}" for word in arguments[:1] if not word.startswith("-")]
    for other in (*rung, *(option for option in given if option not in able)):
        why = ": annealing runs over the original steps" if other == "--steps" else ""
        raise InputError(f"{mode} continues the run with its own settings; it takes no {other}{why}")
    env, schedule, eval_env = config.env if "--env" in given else None, output.schedule or "whole", output.eval_env
    folder = as_path(output.continue_from or output.resume or "")
    how = resume_command(folder, env or "", config.wrap, eval_env or "")
    with hold(folder) if folder.is_dir() else nullcontext():
        with followed(folder, how, tensorboard=(folder / BOARD).is_dir()) as listener:
            if mode == "--resume":
                run = resume(folder, env, None, listener, config.wrap, eval_env)
            elif "--steps" in given:
                run = further(folder, config.steps, schedule, env, None, listener, config.wrap, eval_env)
                print(f"continued from {run.config.steps - config.steps:,} to {run.config.steps:,} steps")
            else:
                raise InputError("--continue needs --steps, how many more environment steps each seed takes")
        save(run, folder, overwrite=True)
    return run


@contextmanager
def followed(folder: Path, how: str, tensorboard: bool) -> Iterator["Listener"]:
    """The listener that writes a run to its folder during training. On Ctrl-C, the message says `how` to resume it."""
    from tricks.runs.checkpoint import read
    from tricks.runs.folder import CHECKPOINT
    from tricks.runs.listeners import CurveFile, TensorBoard

    file = CurveFile(folder)
    listeners: list[Callable[[Rows], object]] = [file]

    def tell(rows: "Rows") -> None:
        for listener in list(listeners):
            try:
                listener(rows)
            except (InputError, OSError) as error:  # a full disk must not end the training
                listeners.remove(listener)
                print(f"{error}; the training goes on and will be saved at its end", file=sys.stderr)

    with closing(TensorBoard(folder / BOARD)) if tensorboard else nullcontext() as board:
        listeners += [board] if board else []
        try:
            yield tell
        except KeyboardInterrupt as stop:
            said = f" before the first checkpoint; the curve so far is in {file.path}" if file.begun else ""
            if (folder / CHECKPOINT).is_file():
                saved = read(folder)
                said = f" at step {saved.step:,} of {saved.config.steps:,}, which is saved; resume with: {how}"
            raise KeyboardInterrupt(said) from stop


def save(run: "Run", out: Path, overwrite: bool) -> None:
    """Print the summary, and save the run and its figure."""
    from tricks.runs.checkpoint import naming
    from tricks.runs.plot import draw_curve
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
    print(f"wrote {out}; to watch an agent: {shlex.join(['python', '-m', 'tricks', 'play', str(out), *named])}")

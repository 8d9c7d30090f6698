"""What the commands `train` and `play` do with what was asked for."""

import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks

if TYPE_CHECKING:
    from tricks.runs.run import Run


@dataclass(frozen=True)
class Output:
    """Where the run goes."""

    out: Path | None = None
    """Folder to write curve.csv, run.json and agent.pt into."""
    checkpoint_every: int | None = None
    """Write checkpoint.pt into the folder whenever a seed has taken so many more environment steps."""
    resume: Path | None = None
    """Go on with the run in this folder from its checkpoint, as it was: takes no other option."""


@dataclass(frozen=True)
class Playing:
    """What is played."""

    folder: tyro.conf.Positional[Path | None] = None
    """Folder of a saved run."""
    episodes: int = 10
    """How many full episodes to evaluate, with all statistics frozen."""
    seed: int | None = None
    """Whose agent plays: one of the run's seeds. Default: the first."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Take the most likely actions instead of sampling."""
    gif: Path | None = None
    """File of the animated picture of one episode. Default: play.gif in the run's folder."""
    no_gif: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """No picture."""


def trained(config: Config, tricks: Tricks, output: Output) -> "Run":
    """Train from the start, and keep checkpoints if that was asked for."""
    from tricks.loop import train
    from tricks.runs.checkpoint import Checkpoints, refuse_unfinished  # these need torch, which takes seconds to import
    from tricks.runs.files import make_folder

    out, every = output.out, output.checkpoint_every
    print(held(config, tricks), end="")
    if out is None:
        if every is not None:
            raise InputError("--checkpoint-every needs --out, the folder to write checkpoints into")
        return train(config, tricks)
    refuse_unfinished(out)
    make_folder(out)  # one that cannot be written should fail now, not after the training
    if every is None:
        return train(config, tricks)
    with _says_how_to_go_on(out):
        return train(config, tricks, checkpoints=Checkpoints(out, every))


def held(config: Config, tricks: Tricks) -> str:
    """A line on the memory that observations take, where they are images or kept for longer than a rollout; or none."""
    from tricks.core.rollout import rollout_bytes
    from tricks.envs.make import make_env

    with closing(make_env(replace(config, seeds=1, lanes=1, lr=config.rates[0]))) as env:
        one = rollout_bytes(config, env.spaces) / 1e6
    said = f"observations of one rollout take {one:.3g} MB"
    if tricks.ppg_buffers:
        kept = config.policy_rollouts + config.value_rollouts
    elif tricks.ppg:
        kept = config.aux_every
    else:
        return f"{said}\n" if env.spaces.pixels else ""
    return f"{said}; the {kept} rollouts that are kept take {kept * one:.3g} MB\n"


def resumed(folder: Path) -> "Run":
    """Go on with the run in the folder."""
    from tricks.restore import resume

    with _says_how_to_go_on(folder):
        return resume(folder)


def refuse_others(arguments: list[str]) -> None:
    """Raises InputError if anything is asked for beside --resume."""
    options = [argument.split("=")[0] for argument in arguments if argument.startswith("--")]
    rung = [] if arguments[0].startswith("-") else [f"rung {arguments[0]!r}"]
    for other in (*rung, *(option for option in options if option != "--resume")):
        why = ": the annealing runs over the steps that it began with" if other == "--steps" else ""
        raise InputError(f"--resume goes on with the run in its folder as it was; it takes no {other}{why}")


@contextmanager
def _says_how_to_go_on(folder: Path) -> Iterator[None]:
    """Ctrl-C says how to go on from the last checkpoint."""
    from tricks.runs.checkpoint import NAME, how_to_go_on

    try:
        yield
    except KeyboardInterrupt as stop:
        there = (folder / NAME).is_file()
        how = f"; go on with: {how_to_go_on(folder)}" if there else " before the first checkpoint"
        raise KeyboardInterrupt(how) from stop


def play_saved(asked: Playing) -> None:
    """Print what the agent earns, and film it."""
    if asked.folder is None:
        raise InputError("play takes the folder of a saved run, for example: python -m tricks play runs/x")
    if asked.gif is not None and asked.no_gif:
        raise InputError("--gif and --no-gif exclude each other")
    quiet = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    os.environ.update(quiet)  # pygame draws into memory: it needs no screen and should say nothing
    warnings.filterwarnings("ignore", module="gymnasium")
    from tricks.restore import load
    from tricks.runs import film as play

    run = play.one_seed(load(asked.folder), asked.seed)
    path = asked.gif or asked.folder / "play.gif"
    if not asked.no_gif and not path.parent.is_dir():  # better now than after the games
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    print(play.described(run, run.evaluate(asked.episodes, asked.greedy)[0], asked.greedy))
    if not asked.no_gif:
        print(play.picture(run, path, asked.greedy))


def summary(run: "Run") -> str:
    """A line per seed, and their mean: the return over the last 10% of the budget."""
    late = run.late().dropna()
    lines = []
    for seed in run.config.seed_list:
        if seed in run.diverged:
            said = f"diverged at step {run.diverged[seed]}: the loss or its gradient is not finite"
        elif seed not in late:
            said = "no episode ended in the last 10% of the budget"
        else:
            said = f"return {late[seed]:.1f}"
        lines.append(f"seed {seed}: {said}")
    mean = f"mean return over the last 10% of {run.config.steps} steps of {run.config.env}: {late.mean():.1f}"
    return "\n".join([*lines, *([mean] if len(late) else [])])

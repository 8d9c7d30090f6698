"""`python -m tricks play`: evaluate a saved agent and film one episode."""

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tricks.cli.shell import options
from tricks.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from tricks.runs.run import Run


@dataclass(frozen=True)
class Playing:
    """Which agent plays, how, and where the film goes."""

    folder: tyro.conf.Positional[Path | None] = None
    """Folder of a saved run."""
    episodes: int = 10
    """Number of full episodes to evaluate, with all statistics frozen."""
    seed: int | None = None
    """Seed of the agent that plays. Default: the run's first seed."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Take the most likely actions instead of sampling."""
    best: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """The agent at its best greedy evaluation instead of the last one (of a run trained with --keep-best)."""
    gif: Path | None = None
    """File for an animated GIF of one episode. Default: play.gif in the run's folder."""
    no_gif: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Don't write a GIF."""
    episode_limit: int | None = None
    """Longest episode allowed, in steps. Default: the limit that the run was trained with."""
    env: str | None = None
    """The run's own environment as module:Id or module:function: names the module that may be imported, and that
    registers the id. For a run of `train(env=...)`, name what makes its environment."""
    eval_env: str | None = None
    """The same for the environment that its evaluations have of their own. The agent plays there, unless only --env is
    given."""
    wrap: tuple[str, ...] = ()
    """The run's own wrappers, module:Wrapper each: name the modules that may be imported. Gymnasium's always may."""


def play_saved(arguments: list[str]) -> None:
    """Evaluate an agent, print its mean return, and film one episode."""
    asked = options(Playing, arguments, "python -m tricks play DIR")
    if asked.folder is None:
        raise InputError("play takes the folder of a saved run, for example: python -m tricks play runs/x")
    if asked.gif is not None and asked.no_gif:
        raise InputError("--gif and --no-gif are mutually exclusive")
    quiet = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    os.environ.update(quiet)  # pygame draws to memory: no display, no banner
    warnings.filterwarnings("ignore", module="gymnasium")
    from tricks.restore import load_to_play
    from tricks.runs.files import as_path, clean_up
    from tricks.runs.film import picture
    from tricks.runs.provenance import in_one_line

    folder = as_path(asked.folder)
    clean_up(folder)
    run = load_to_play(folder, asked.env, asked.eval_env, asked.wrap).only(asked.seed)
    run = run.at_best() if asked.best else run
    if asked.episode_limit is not None:
        run = replace(run, config=replace(run.config, episode_limit=asked.episode_limit))
    path = folder / "play.gif" if asked.gif is None else as_path(asked.gif)
    if path.suffix.lower() != ".gif":
        raise InputError(f"cannot write {path}: play writes animated GIFs only, so the file's name must end in .gif")
    if not asked.no_gif and not path.parent.is_dir():  # fail now, not after the games
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    print(described(run, run.evaluate(asked.episodes, asked.greedy)[0], asked.greedy, asked.best))
    if not asked.no_gif:
        print(picture(run, path, asked.greedy))
    if run.made_with:
        print(f"trained {in_one_line(run.made_with)}")


def described(run: "Run", returns: "np.ndarray", greedy: bool, best: bool = False) -> str:
    """One line on an agent's returns [episodes]: their mean and its 95% interval by Student's t."""
    from tricks.runs.learning_curve import students_interval

    actions = "its most likely actions" if greedy else "sampled actions"
    whose = f"{'best ' * best}agent of seed {run.config.seed_list[0]}"
    who = f"{whose} in {run.config.env}, {actions}: mean return {returns.mean():z.1f}"
    if len(returns) == 1:
        return f"{who} over 1 episode (no interval)"
    low, high = students_interval(returns)
    return f"{who} over {len(returns)} episodes, 95% interval [{low:z.1f}, {high:z.1f}] (Student's t over episodes)"

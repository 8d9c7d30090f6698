"""The commands of `python -m tricks`. What needs torch or libcst is imported on use: --help does not wait for it."""

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tricks.cli.shell import POSITIONAL, Parser, answered, chosen, guarded, options, parse
from tricks.cli.train import train
from tricks.config import Config
from tricks.errors import InputError, in_words, said
from tricks.ladder import PRESETS, named
from tricks.own_trick import load_asked
from tricks.reading.ladder_table import table

USAGE = f"""usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents and print a summary; --out saves the run
  train --resume DIR                            resume a run that wrote checkpoints (--checkpoint-every)
  check ENV [options]                           say what an environment has, or what is wrong with it
  play DIR [options]                            evaluate a saved agent and film one episode
  save-policy DIR --out FILE [options]          write one agent as a graph for PyTorch or ONNX
  list                                          print the ladder: what each flag adds and needs
  listing [RUNG] [--FLAG | --no-FLAG]           print the training loop with these flags resolved
  diff RUNG RUNG                                print what changes in the loop from one rung to the other
  export [RUNG] [--FLAG | --no-FLAG]            print tricks/one_agent.py, the ladder for one agent in one file of
                                                plain PyTorch, with these flags and numbers decided

RUNG is a preset ({", ".join(PRESETS)}) or a flag, which means the ladder up to it,
or ppo with it if it is beyond the ladder. The default is ppo; flags add to it or
remove from it. (In Python, Tricks() is reinforce.)
`--trick FILE` makes the trick in a file of yours a flag like ours, in every command.
`python -m tricks train --help` and `play --help` show all options; `--version` shows what is installed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for invalid input, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    if not arguments or (arguments[0] in ("list", "diff") and arguments[-1] in ("-h", "--help")):
        print(USAGE)
        return 0 if arguments else 2
    if not answered(arguments, USAGE):
        warnings.filterwarnings("ignore", module="gymnasium")
        name, *rest = load_asked(arguments) or [""]
        chosen(name, COMMANDS)(rest)
    return 0


@dataclass(frozen=True)
class Which:
    """Which agent of which saved run."""

    folder: Annotated[Path | None, POSITIONAL] = None
    """Folder of a saved run."""
    seed: int | None = None
    """Seed of the agent. Default: the run's first seed."""
    best: bool = False
    """The agent at its best greedy evaluation instead of the last one (of a run trained with --keep-best)."""
    env: str | None = None
    """The run's own environment as module:Id or module:function: names the module that may be imported, and that
    registers the id. For a run of `train(env=...)`, name what makes its environment."""
    wrap: tuple[str, ...] = ()
    """The run's own wrappers, module:Wrapper each: name the modules that may be imported. Gymnasium's always may."""


@dataclass(frozen=True)
class Playing(Which):
    """How it plays, and where the film goes."""

    eval_env: str | None = None
    """The same for the environment of its evaluations, where the agent plays unless only --env is given."""
    episodes: int = 10
    """Number of full episodes to evaluate, with all statistics frozen."""
    greedy: bool = False
    """Take the most likely actions instead of sampling."""
    gif: Path | None = None
    """File for an animated GIF of one episode. Default: play.gif in the run's folder."""
    no_gif: bool = False
    """Don't write a GIF."""
    episode_limit: int | None = None
    """Longest episode allowed, in steps. Default: the limit that the run was trained with."""


def play(arguments: list[str]) -> None:
    """Evaluate an agent, print its mean return, and film one episode."""
    asked = options(Playing, arguments, "python -m tricks play DIR")
    if asked.folder is None:
        raise InputError("play takes the folder of a saved run, for example: python -m tricks play runs/x")
    if asked.gif is not None and asked.no_gif:
        raise InputError("--gif and --no-gif are mutually exclusive")
    # pygame draws to memory: no display, no banner
    os.environ |= {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    from tricks.restore import load_to_play
    from tricks.runs.files import clean_up
    from tricks.runs.film import picture
    from tricks.runs.learning_curve import over
    from tricks.runs.provenance import in_one_line

    clean_up(asked.folder)
    run = load_to_play(asked.folder, asked.env, asked.eval_env, asked.wrap).only(asked.seed)
    run = run.at_best() if asked.best else run
    if asked.episode_limit is not None:
        run = replace(run, config=replace(run.config, episode_limit=asked.episode_limit))
    path = asked.gif or asked.folder / "play.gif"
    if path.suffix.lower() != ".gif":
        raise InputError(f"cannot write {path}: play writes animated GIFs only, so the file's name must end in .gif")
    if not asked.no_gif and not path.parent.is_dir():  # fail now, not after the games
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    returns = run.evaluate(asked.episodes, asked.greedy)[0]
    actions = "its most likely actions" if asked.greedy else "sampled actions"
    where = f"{'best ' * asked.best}agent of seed {run.config.seed_list[0]} in {run.config.env}"
    print(f"{where}, {actions}: mean return {over(returns, 'episodes')}")
    if not asked.no_gif:
        print(picture(run, path, asked.greedy))
    if run.made_with:
        print(f"trained {in_one_line(run.made_with)}")


@dataclass(frozen=True)
class Saving(Which):
    """As what it is saved, and where."""

    out: Path | None = None
    """The file to write: a graph for PyTorch (.pt2) or for ONNX Runtime (.onnx)."""
    noise: bool = False
    """Let the graph take the noise of its actions as an input; without it, actions are the most likely ones."""


def save_policy(arguments: list[str]) -> None:
    """Write the policy and say what it takes."""
    asked = options(Saving, arguments, "python -m tricks save-policy DIR")
    if asked.folder is None or asked.out is None:
        example = "python -m tricks save-policy runs/x --out policy.pt2"
        raise InputError(f"save-policy takes a saved run and a file: {example}")
    from tricks.restore import load
    from tricks.runs import save_policy as writer

    run = load(asked.folder, env=asked.env, wrap=asked.wrap).only(asked.seed)
    run = run.at_best() if asked.best else run
    print(f"wrote {writer.save_policy(run, asked.out, noise=asked.noise)}")
    if run.agent.state_size:
        print(f"the input state is {writer.STATE.format(run.agent.state_size)}")


RIGHT = {  # how to mend it, if Gymnasium's checker says this
    "eterministic": "call super().reset(seed=seed) in reset, and draw from self.np_random alone",
    "not within the observation space": "clip observations, or make the space larger",
}


def check(arguments: list[str]) -> None:
    """Print an environment's spaces. Raises InputError if it can't be made, or breaks Gymnasium's interface."""
    parser = Parser("python -m tricks check ENV")
    making = ("env", "env_args", "wrap", "rescale_actions", "stack", "as_vector", "life_ends", "backend")
    parser.takes(Config(env="", seeds=1, lanes=1), only=making)
    named = bool(arguments) and not arguments[0].startswith("-")
    (config,) = parser.filled(["--env"] * named + arguments)
    if not config.env:
        raise InputError("check takes an environment, for example: python -m tricks check CartPole-v1")
    from gymnasium.utils.env_checker import check_env

    from tricks.envs.lane import make_lane
    from tricks.envs.make import lane_kind, make_env

    with closing(make_env(config)) as env:
        spaces, masks = env.spaces, env.masks
    if not masks and lane_kind(config) not in ("tensor", "atari", "envpool"):  # it takes any action as legal
        try:
            with closing(make_lane(config)) as lane, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_env(lane, skip_render_check=True, skip_close_check=True)
        except (Exception, SystemExit) as error:  # an environment can raise anything
            fault = said(error) if isinstance(error, AssertionError) else in_words(error)
            right = "".join(f": {what}" for word, what in RIGHT.items() if word in fault)
            raise InputError(f"{config.env}: {fault.rstrip('.')}{right}") from error
    seen = f"an image {list(spaces.shape)}, its channels first" if spaces.pixels else f"{spaces.features} numbers"
    print(" ".join(f"observations: {spaces.observation}; the net sees {seen}".split()))
    print(" ".join(f"actions: {spaces.action}{'; --action-mask uses their masks' * masks}".split()))
    print(f"{config.env}: no fault found")


def _list(arguments: list[str]) -> None:
    if arguments:
        raise InputError(f"list takes no arguments, not {' '.join(arguments)}")
    print(table())


def _listing(arguments: list[str]) -> None:
    from tricks.reading.listing import listing

    print(listing(parse(arguments, "listing")[0]), end="")


def _diff(arguments: list[str]) -> None:
    from tricks.reading.listing import diff

    if len(arguments) != 2:
        raise InputError("diff takes two rungs, for example: python -m tricks diff reinforce ppo")
    print(diff(*map(named, arguments)), end="")


def _export(arguments: list[str]) -> None:
    from tricks.reading.export import export

    tricks, (config,) = parse(arguments, "export", Config)
    print(export(tricks, config), end="")


COMMANDS = {"train": train, "play": play, "save-policy": save_policy, "list": _list, "listing": _listing}
COMMANDS |= {"diff": _diff, "export": _export, "check": check}

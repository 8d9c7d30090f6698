"""The commands of `python -m tricks train|play|list|listing|diff`."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tricks.config import ATARI_CONFIG, Config
from tricks.core.errors import InputError
from tricks.ladder import NEEDS, PPO, PRESETS, Tricks, described, named, switched, table
from tricks.listing import diff, listing
from tricks.shell import guarded, options

if TYPE_CHECKING:
    from tricks.core.run import Run

USAGE = """usage: python -m tricks COMMAND ...

  train [RUNG] [--FLAG | --no-FLAG] [options]   train agents; print a summary; --out keeps the run
  train --resume DIR                            go on with a run that kept checkpoints (--checkpoint-every)
  play DIR [options]                            what a saved agent earns, and an animated picture of it
  list                                          the ladder: every flag, what it adds and what it needs
  listing [RUNG] [--FLAG | --no-FLAG]           the training loop with these flags decided
  diff RUNG RUNG                                what changes in the loop from one to the other

RUNG is a preset ({presets}), or a flag, which stands for the ladder up to it.
`python -m tricks train --help` and `play --help` show all options."""


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


NUMBERS = {"atari": ATARI_CONFIG}  # of the presets that bring their own


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 for a request that cannot be met, 130 if interrupted."""
    return guarded(_dispatch, list(sys.argv[1:] if arguments is None else arguments))


def _dispatch(arguments: list[str]) -> int:
    commands = {"train": _train, "play": _play, "list": _list, "listing": _listing, "diff": _diff}
    usage = USAGE.format(presets=", ".join(PRESETS))
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage)
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in commands:
        raise InputError(f"unknown command {name!r}; the commands are {', '.join(commands)}")
    commands[name](rest)
    return 0


def parse(arguments: list[str], what: str, *groups: type) -> tuple[Tricks, list[Any]]:
    """The flags and the other groups of options that `arguments` ask for, starting from the rung named first.

    Raises InputError for an unknown rung or option, a value of the wrong type, or an unmet need.
    """
    start, numbers = PPO, Config()
    if arguments and not arguments[0].startswith("-"):
        start, numbers = named(arguments[0]), NUMBERS.get(arguments[0], numbers)
        arguments.pop(0)
    help = {name: Annotated[bool, tyro.conf.arg(help=text)] for name, text in described().items()}
    switches = make_dataclass(  # not Tricks itself, which checks its needs before all switches are known
        "Tricks", [(name, kind, getattr(start, name)) for name, kind in help.items()]
    )
    parts = {"tricks": switches} | {group.__name__.lower(): group for group in groups}
    defaults: dict[type, Any] = {Config: lambda: numbers}
    together = make_dataclass(
        "Options", [(name, part, field(default_factory=defaults.get(part, part))) for name, part in parts.items()]
    )
    about = f"RUNG is one of {', '.join(PRESETS)}, or a flag: the ladder up to it. Default: ppo."
    parsed: Any = options(together, arguments, f"python -m tricks {what} [RUNG]", about)
    on = [name for name in NEEDS if getattr(parsed.tricks, name)]
    return switched(on), [getattr(parsed, name) for name in list(parts)[1:]]


def _train(arguments: list[str]) -> None:
    given = list(arguments)
    tricks, (config, output) = parse(arguments, "train", Config, Output)
    warnings.filterwarnings("ignore", module="gymnasium")
    if output.resume is not None:
        _as_it_was(given)
        out, run = output.resume, _resumed(output.resume)
    else:
        out, run = output.out, _trained(config, tricks, output)
    print(summary(run))
    if out is not None:
        run.save(out)
        print(f"wrote {out}")
    if len(run.diverged) == len(run.config.seed_list):
        raise InputError("every seed diverged; try a smaller --lr")


def _trained(config: Config, tricks: Tricks, output: Output) -> "Run":
    from tricks.core.checkpoint import Checkpoints, refuse_unfinished  # these need torch, which takes seconds to import
    from tricks.core.files import make_folder
    from tricks.core.train import train

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
        return train(config, tricks, keep=Checkpoints(out, every))


def held(config: Config, tricks: Tricks) -> str:
    """A line on the memory that observations take, where they are images or kept for longer than a rollout; or none."""
    from contextlib import closing

    from tricks.core.envs import make_env
    from tricks.core.rollout import rollout_bytes

    with closing(make_env(replace(config, seeds=1, lanes=1, lr=config.rates[0]))) as env:
        one = rollout_bytes(config, env.spaces) / 1e6
    kept = [config.aux_every] * tricks.ppg + [config.value_rollouts + config.policy_rollouts] * tricks.ppg_buffers
    if not (env.spaces.pixels or kept):
        return ""
    more = f"; the {kept[-1]} rollouts that are kept take {kept[-1] * one:.3g} MB" if kept else ""
    return f"observations of one rollout take {one:.3g} MB{more}\n"


def _resumed(folder: Path) -> "Run":
    from tricks.core.resume import resume

    with _says_how_to_go_on(folder):
        return resume(folder)


def _as_it_was(arguments: list[str]) -> None:
    """Raises InputError if anything is asked for beside --resume."""
    options = [argument.split("=")[0] for argument in arguments if argument.startswith("--")]
    rung = [] if arguments[0].startswith("-") else [f"rung {arguments[0]!r}"]
    for other in (*rung, *(option for option in options if option != "--resume")):
        why = ": the annealing runs over the steps that it began with" if other == "--steps" else ""
        raise InputError(f"--resume goes on with the run in its folder as it was; it takes no {other}{why}")


@contextmanager
def _says_how_to_go_on(folder: Path) -> Iterator[None]:
    """Ctrl-C says how to go on from the last checkpoint."""
    from tricks.core.checkpoint import NAME, how_to_go_on

    try:
        yield
    except KeyboardInterrupt as stop:
        there = (folder / NAME).is_file()
        how = f"; go on with: {how_to_go_on(folder)}" if there else " before the first checkpoint"
        raise KeyboardInterrupt(how) from stop


def _play(arguments: list[str]) -> None:
    asked = options(Playing, arguments, "python -m tricks play DIR")
    if asked.folder is None:
        raise InputError("play takes the folder of a saved run, for example: python -m tricks play runs/x")
    if asked.gif is not None and asked.no_gif:
        raise InputError("--gif and --no-gif exclude each other")
    quiet = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    os.environ.update(quiet)  # pygame draws into memory: it needs no screen and should say nothing
    warnings.filterwarnings("ignore", module="gymnasium")
    from tricks import play
    from tricks.core.run import load

    run = play.one_seed(load(asked.folder), asked.seed)
    print(play.described(run, run.evaluate(asked.episodes, asked.greedy)[0], asked.greedy))
    if not asked.no_gif:
        print(play.picture(run, asked.gif or asked.folder / "play.gif", asked.greedy))


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


def _list(arguments: list[str]) -> None:
    if arguments:
        raise InputError(f"list takes no arguments, not {' '.join(arguments)}")
    print(table())


def _listing(arguments: list[str]) -> None:
    tricks, _ = parse(arguments, "listing")
    print(listing(tricks), end="")


def _diff(arguments: list[str]) -> None:
    if len(arguments) != 2:
        raise InputError("diff takes two rungs, for example: python -m tricks diff reinforce ppo")
    print(diff(*(named(argument) for argument in arguments)), end="")

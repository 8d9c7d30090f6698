"""Load a finished run from disk, or resume one that was interrupted.

No file is ever executed: pickled objects are refused, and the module of an environment `module:Id` is imported only if
the caller names it.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.spaces import Spaces
from tricks.errors import InputError, said
from tricks.loop import build_agent, train
from tricks.runs.checkpoint import Checkpoints, how_to_resume, read
from tricks.runs.contents import contents, unusable
from tricks.runs.files import as_path, clean_up, hold
from tricks.runs.log import Listener
from tricks.runs.naming import named, named_evaluation
from tricks.runs.provenance import refuse_other_numbers
from tricks.runs.run import Run, Unnamed
from tricks.runs.state import Saved
from tricks.runs.tally import parted
from tricks.values import checked


@checked
def resume(
    folder: str | Path,
    env: MakeEnv | str | None = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: MakeEnv | str | None = None,
) -> Run:
    """Resume the run in `folder` from its checkpoint, train it to the end, and keep writing checkpoints.

    In a tensor world, the curve is bit-for-bit that of an uninterrupted run on the same machine. Other environments
    start new episodes, and a message says so. The configuration does not change: the annealing runs over the whole
    budget, and evaluations continue. Pass the same `env` or `body` again if the run started with one; if it trains in
    an environment `module:Id`, pass that id as `env`, and its wrappers as `wrap` if they are not Gymnasium's. The same
    holds of `eval_env`, if its evaluations have an environment of their own. on_update is called as in `train`. Raises
    InputError if there is no checkpoint, if it is damaged, if env, body, wrap or eval_env is missing, or if another
    process trains in the folder.
    """
    folder = as_path(folder)
    if not folder.is_dir():
        read(folder)  # says what is missing
    with hold(folder):
        clean_up(folder)
        return resumed(folder, read(folder), env, body, on_update, wrap, eval_env)


def resumed(
    folder: Path,
    saved: Saved,
    env: MakeEnv | str | None,
    body: MakeBody | None,
    on_update: Listener | None,
    wrap: Sequence[str],
    eval_env: MakeEnv | str | None,
) -> Run:
    """Train on from a saved state, in its folder. Raises InputError as `resume` does."""
    refuse_other_numbers(f"the run in {folder}", saved.made_with)
    if "body" in saved.own and body is None:
        raise InputError(f"the run in {folder} was started with a custom body: {how_to_resume(folder)}")
    config, make = named(folder, saved.config, "env" in saved.own, env, wrap)
    evaluation = named_evaluation(folder, config, saved.evaluation, eval_env, wrap)
    for each in (make, evaluation and evaluation.make):
        if isinstance(each, Unnamed):
            each()
    checkpoints = Checkpoints(folder, saved.every, saved)
    return train(config, saved.tricks, make, body, checkpoints, on_update, evaluation)


@checked
def load(
    path: str | Path,
    env: MakeEnv | str | None = None,
    body: MakeBody | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: MakeEnv | str | None = None,
) -> Run:
    """Load the run that `Run.save` wrote to the folder `path`, or else what its checkpoint holds of an unfinished one.

    Of an unfinished run, a line on stderr says how far it is. A run trained with a custom `body` needs it again; a run
    trained in a custom `env` needs it only to play. So does a run trained in an environment `module:Id`: pass that id
    as `env` to import the module. It may also name the module that registers an id without one. Wrappers that are not
    Gymnasium's are named in the same way, by `wrap`, and an environment that evaluations have of their own by
    `eval_env`. Raises InputError if the run is missing, damaged, or of another version, if its custom body is not
    given, or if env, wrap or eval_env names another environment or wrapper.
    """
    folder = as_path(path)
    if folder.is_file():
        raise InputError(f"{folder} is a file; give the folder of the run")
    found = contents(folder)
    tricks, state = found.tricks, found.tensors
    if "body" in found.own and body is None:
        raise InputError(f"the run in {folder} was trained with a custom body: load({str(folder)!r}, body=...)")
    config, make = named(folder, found.config, "env" in found.own, env, wrap)
    try:
        spaces = Spaces(config.env, *found.spaces.pair(), found.spaces.tasks, config.as_vector)
        _check_sizes(config, spaces, state, own_body=body is not None)
        agent = build_agent(spaces, config, tricks, body)
        state, best = parted(state)
        for each in filter(None, (best, _renamed(state, tricks.state_norm))):
            agent.load_state_dict(each)
    except InputError:
        raise
    except Exception as error:  # a state that does not fit can raise anything
        raise unusable(folder, f"{found.file}: {said(error)}", found.made_with) from error
    if found.remark:
        print(found.remark, file=sys.stderr)
    evaluation = named_evaluation(folder, config, found.evaluation, eval_env, wrap)
    ended = found.diverged, found.reasons, found.seconds
    how = best or None, make, body, found.made_with, found.last, evaluation
    return Run(config, tricks, agent, found.curve, *ended, *how)


def load_to_play(folder: Path, env: str | None, eval_env: str | None, wrap: tuple[str, ...]) -> Run:
    """The run where its agents are to play: where its evaluations were, or, if only `env` is named, its training."""
    run = load(folder, env=env, wrap=wrap, eval_env=eval_env)
    return run.as_evaluated() if env is None or eval_env is not None else replace(run, evaluation=None)


def _check_sizes(config: Config, spaces: Spaces, state: dict[str, Tensor], own_body: bool) -> None:
    """Raise ValueError if the agents would be larger than the saved ones, before they are built."""
    widths = () if own_body or spaces.images else (spaces.features, *config.hidden)
    needed = len(config.seed_list) * max(1, sum(one * next for one, next in pairwise(widths)))
    if needed > sum(tensor.numel() for tensor in state.values()):
        raise ValueError("agent.pt is too small for the agents that run.json describes")


def _renamed(state: dict[str, Tensor], state_norm: bool) -> dict[str, Tensor]:
    """The agent's tensors under today's names; once, all agents had statistics of observations, used or not."""
    names = {name: name.replace("obs_", "obs_stats.") for name in ("obs_rows", "obs_average", "obs_squares")}
    return {names.get(name, name): x for name, x in state.items() if state_norm or name not in names}

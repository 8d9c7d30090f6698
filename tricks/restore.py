"""Load a finished run from disk, or resume one that was interrupted.

No file is ever executed: pickled objects are refused, and the module of an environment `module:Id` is imported only if
the caller names it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pandas as pd
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.spaces import Spaces
from tricks.envs.ids import NamedEnv
from tricks.errors import InputError, said
from tricks.ladder import Tricks
from tricks.loop import build_agent, train
from tricks.record import recorded
from tricks.runs.about import About, asked, check_curve, digest, read_about
from tricks.runs.best import parted
from tricks.runs.checkpoint import GYMNASIUMS, Checkpoints, Saved, how_to_resume, read
from tricks.runs.csv_tables import read_table
from tricks.runs.files import as_path
from tricks.runs.folder import CHECKPOINT, clean_up, finished, found
from tricks.runs.lock import hold
from tricks.runs.log import Listener
from tricks.runs.run import Run, Unnamed
from tricks.runs.tensor_files import tensors_in
from tricks.values import checked
from tricks.wrapper_texts import wrapper_name, wrapper_texts

T = TypeVar("T")


@checked
def resume(
    folder: str | Path,
    env: MakeEnv | str | None = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
    wrap: tuple[str, ...] = (),
) -> Run:
    """Resume the run in `folder` from its checkpoint, train it to the end, and keep writing checkpoints.

    In a tensor world, the curve is bit-for-bit that of an uninterrupted run on the same machine. Other environments
    start new episodes, and a message says so. The configuration does not change: the annealing runs over the whole
    budget, and evaluations continue. Pass the same `env` or `body` again if the run started with one; if it trains in
    an environment `module:Id`, pass that id as `env`, and its wrappers as `wrap` if they are not Gymnasium's. on_update
    is called as in `train`. Raises InputError if there is no checkpoint, if it is damaged, if env, body or wrap is
    missing, or if another process trains in the folder.
    """
    folder = as_path(folder)
    if not folder.is_dir():
        read(folder)  # says what is missing
    with hold(folder):
        clean_up(folder)
        return resumed(folder, read(folder), env, body, on_update, wrap)


def resumed(
    folder: Path,
    saved: Saved,
    env: MakeEnv | str | None,
    body: MakeBody | None,
    on_update: Listener | None,
    wrap: Sequence[str],
) -> Run:
    """Train on from a saved state, in its folder. Raises InputError as `resume` does."""
    if "body" in saved.own and body is None:
        raise InputError(f"the run in {folder} was started with a custom body: {how_to_resume(folder)}")
    config, make = _named(folder, saved.config, "env" in saved.own, env, wrap)
    if isinstance(make, Unnamed):
        make()
    checkpoints = Checkpoints(folder, saved.every, saved)
    return train(config, saved.tricks, make, body, checkpoints, on_update, saved.evaluation)


@checked
def load(
    path: str | Path, env: MakeEnv | str | None = None, body: MakeBody | None = None, wrap: tuple[str, ...] = ()
) -> Run:
    """Load the run that `Run.save` wrote to the folder `path`.

    A run trained with a custom `body` needs it again; a run trained in a custom `env` needs it only to play. So does a
    run trained in an environment `module:Id`: pass that id as `env` to import the module. It may also name the module
    that registers an id without one. Wrappers that are not Gymnasium's are named in the same way, by `wrap`. Raises
    InputError if the run is missing or damaged, if its custom body is not given, or if `env` or `wrap` names another
    environment or wrapper.
    """
    folder = as_path(path)
    if folder.is_file():
        raise InputError(f"{folder} is a file; give the folder of the run")
    if not finished(folder):
        unfinished = (folder / CHECKPOINT).is_file()
        hint = f"; it is unfinished, resume it with: {how_to_resume(folder)}" if unfinished else ""
        raise InputError(f"no saved run in {folder}: there is no run.json{hint}")
    about, config, tricks, curve, state = contents(folder)
    if "body" in about.own and body is None:
        raise InputError(f"the run in {folder} was trained with a custom body: load({str(folder)!r}, body=...)")
    config, make = _named(folder, config, "env" in about.own, env, wrap)
    observation, action = about.gym_spaces()
    try:
        spaces = Spaces(config.env, observation, action, about.spaces.tasks, config.as_vector)
        _check_sizes(config, spaces, state, own_body=body is not None)
        agent = build_agent(spaces, config, tricks, body)
        state, best = parted(state)
        for each in filter(None, (best, _renamed(state, tricks.state_norm))):
            agent.load_state_dict(each)
    except InputError:
        raise
    except Exception as error:  # a state that does not fit can raise anything
        raise _damaged(folder, f"agent.pt: {said(error)}") from error
    seconds = float("nan") if about.seconds is None else about.seconds
    ended = dict(about.diverged), dict(about.reasons), seconds
    return Run(config, tricks, agent, curve, *ended, best or None, make, body, about.made_with)


def contents(folder: Path) -> tuple[About, Config, Tricks, pd.DataFrame, dict[str, Tensor]]:
    """The files of a run, checked: what was trained, its curve, and its tensors. Raises InputError."""

    def settings(content: bytes) -> tuple[About, Config, Tricks]:
        about = read_about(content)
        return about, *asked(about.config, about.tricks)

    def curve_in(content: bytes) -> pd.DataFrame:
        curve = read_table(BytesIO(content))
        check_curve(curve, about.rows, config.seed_list, dict(about.diverged), recorded(config.record))
        curve.attrs = dict(about.origin.items())
        return curve

    about, config, tricks = _parsed(folder, "run.json", settings)
    curve = _parsed(folder, "curve.csv", curve_in, about.checksums)
    return about, config, tricks, curve, _parsed(folder, "agent.pt", tensors_in, about.checksums)


def _parsed(folder: Path, name: str, parse: Callable[[bytes], T], checksums: dict[str, str] | None = None) -> T:
    """What `parse` makes of a file of the run, whose content must match its checksum. Raises InputError."""
    try:
        content = found(folder, name).read_bytes()
        if checksums is not None and checksums.get(name) != digest(content):
            raise ValueError("it does not match its checksum")
        return parse(content)
    except FileNotFoundError as error:
        raise _damaged(folder, f"there is no {name}") from error
    except OSError as error:
        raise InputError(f"cannot read {folder / name}: {error.strerror}") from error
    except Exception as error:  # what a file holds can be wrong in any way
        raise _damaged(folder, f"{name}: {said(error)}") from error


def _damaged(folder: Path, reason: str) -> InputError:
    return InputError(f"the run in {folder} is damaged: {reason}")


def _named(
    folder: Path, config: Config, own: bool, env: MakeEnv | str | None, wrap: Sequence[str]
) -> tuple[Config, MakeEnv | None]:
    """The run's config, and what makes its environment; None: its id does.

    own: whether the run was trained in a custom environment, which `env` may name. Of any other run, an id without a
    module gets the one that `env` names. Raises InputError if `env` is another id, or `wrap` names wrappers that are
    not the run's.
    """
    if own and isinstance(env, str):
        env = NamedEnv(env)
    if isinstance(env, str):
        if config.env not in (env, env.rpartition(":")[2]):
            raise InputError(f"the run in {folder} was trained in {config.env!r}, not in {env!r}")
        config = replace(config, env=env)
    wrap, used = wrapper_texts(wrap), [wrapper_name(name) for name in config.wrap]
    if other := [name for name in wrap if name not in (*config.wrap, *used)]:
        raise InputError(f"the run in {folder} was not trained with the wrapper {other[0]}")
    unnamed = env is None and (own or ":" in config.env)
    foreign = [name for name in used if name not in (*map(wrapper_name, wrap), *GYMNASIUMS)]
    if not unnamed and not foreign:
        return config, None if isinstance(env, str) else env
    name = "module:Id" if own else repr(config.env)
    parts = [f"in {'an environment of your own' if own else name}"] * unnamed
    options, calls = [f"--env {name}"] * unnamed, [f"env={'...' if own else name}"] * unnamed
    parts += [f"with the wrapper {each}" for each in foreign]
    options += [f"--wrap {each}" for each in foreign]
    calls += [f"wrap={foreign}"] * bool(foreign)
    message = (
        f"the run in {folder} was trained {' and '.join(parts)}, whose module is imported only if you name it: "
        f"add {' '.join(options)} ({', '.join(calls)} in Python)"
    )
    if own and unnamed:
        message += "; instead of an Id, the name of the class or function that makes it will do"
    if foreign and callable(env):
        raise InputError(message)
    return config, Unnamed(message, own)


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

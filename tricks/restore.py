"""Load a finished run from disk, or resume one that was interrupted.

No file is ever executed: pickled objects are refused, and the module of an environment `module:Id` is imported only if
the caller names it.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pandas as pd
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.core.spaces import Spaces
from tricks.errors import InputError, said
from tricks.flags import switch
from tricks.ladder import Tricks
from tricks.loop import build_agent, train
from tricks.runs.about import About, Both, Own, asked, digest, read_about, tensors_in, whole
from tricks.runs.checkpoint import GYMNASIUMS, Checkpoints, how_to_resume, read
from tricks.runs.evaluation import Evaluation
from tricks.runs.files import CHECKPOINT, LAST, as_path, clean_up, finished, found, hold, trying
from tricks.runs.learning_curve import as_curve, check_curve, columns_of, read_table
from tricks.runs.log import Listener
from tricks.runs.provenance import Made, MadeWith, made_with, refuse_other_numbers, unknown_to_us
from tricks.runs.run import Run
from tricks.runs.state import Saved, parse
from tricks.runs.tally import named_best, parted
from tricks.texts import recorded, wrapper_name, wrapper_texts
from tricks.values import checked

S = TypeVar("S")
T = TypeVar("T")


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
    config, make = _named(folder, saved.config, "env" in saved.own, env, wrap)
    evaluation = _named_evaluation(folder, config, saved.evaluation, eval_env, wrap)
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
    there = contents(folder)
    tricks, state = there.tricks, there.tensors
    if "body" in there.own and body is None:
        raise InputError(f"the run in {folder} was trained with a custom body: load({str(folder)!r}, body=...)")
    config, make = _named(folder, there.config, "env" in there.own, env, wrap)
    try:
        spaces = Spaces(config.env, *there.spaces.pair(), there.spaces.tasks, config.as_vector)
        _check_sizes(config, spaces, state, own_body=body is not None)
        agent = build_agent(spaces, config, tricks, body)
        agent.origin = str(folder)
        state, best = parted(state)
        for each in filter(None, (best, _renamed(state, agent.state_dict()))):
            agent.load_state_dict(each)
    except InputError:
        raise
    except Exception as error:  # a state that does not fit can raise anything
        raise _unusable(folder, f"{there.file}: {said(error)}", there.made_with) from error
    if there.remark:
        print(there.remark, file=sys.stderr)
    evaluation = _named_evaluation(folder, config, there.evaluation, eval_env, wrap)
    ended, kept = (there.diverged, there.reasons, there.seconds), best or None
    return Run(config, tricks, agent, there.curve, *ended, kept, make, body, there.made_with, there.last, evaluation)


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


def _renamed(state: dict[str, Tensor], needed: Collection[str]) -> dict[str, Tensor]:
    """The agent's tensors under today's names; once, all agents had statistics of observations, used or not."""
    names = {name: name.replace("obs_", "obs_stats.") for name in ("obs_rows", "obs_average", "obs_squares")}
    return {names.get(name, name): x for name, x in state.items() if name not in names or names[name] in needed}


@dataclass(frozen=True)
class Unnamed:
    """A saved run's environment or wrapper whose module the user has not named: raises InputError, imports nothing."""

    message: str
    custom: bool
    """Whether it was made by a function that was passed to `train`."""

    def __call__(self, **args: object) -> NoReturn:
        raise InputError(self.message)


def _named(
    folder: Path, config: Config, own: bool, env: MakeEnv | str | None, wrap: Sequence[str], option: str = "env"
) -> tuple[Config, MakeEnv | None]:
    """The run's config, and what makes its environment; None: its name does.

    Modules are imported only if the user names them. own: whether the run's was a function of the user's, which `env`
    may name. Otherwise, an id without a module gets the one that `env` names. option: env, or eval_env for the
    environment of evaluations. Raises InputError if `env` is another id, or `wrap` names wrappers that are not the
    run's.
    """
    did = "trained" if option == "env" else "evaluated"
    if isinstance(env, str):
        if not own and config.env not in (env, env.rpartition(":")[2]):
            raise InputError(f"the run in {folder} was {did} in {config.env!r}, not in {env!r}")
        config = replace(config, env=env)
    wrap, used = wrapper_texts(wrap), [wrapper_name(name) for name in config.wrap]
    if other := [name for name in wrap if name not in (*config.wrap, *used)]:
        raise InputError(f"the run in {folder} was not trained with the wrapper {other[0]}")
    name = "module:Id" if own else repr(config.env)
    unnamed = {option: name} if env is None and (own or ":" in config.env) else {}
    foreign = [name for name in used if name not in (*map(wrapper_name, wrap), *GYMNASIUMS)]
    if not unnamed and not foreign:
        return config, None if isinstance(env, str) else env
    where = [f"in {'an environment of your own' if own else name}"] * len(unnamed)
    what = " and ".join([*where, *(f"with the wrapper {each}" for each in foreign)])
    add = " ".join([*(f"{switch(each)} {name}" for each in unnamed), *(f"--wrap {each}" for each in foreign)])
    calls = [f"{each}={'...' if own else name}" for each in unnamed] + [f"wrap={foreign}"] * bool(foreign)
    message = (
        f"the run in {folder} was {did} {what}, whose module is imported only if you name it: "
        f"add {add} ({', '.join(calls)} in Python)"
    )
    if own and unnamed:
        message += "; instead of an Id, the name of the class or function that makes it will do"
    if foreign and callable(env):
        raise InputError(message)
    return config, Unnamed(message, own)


def _named_evaluation(
    folder: Path, config: Config, told: Evaluation | None, env: MakeEnv | str | None, wrap: Sequence[str]
) -> Evaluation | None:
    """The run's evaluation, with what makes its environment. Raises InputError if it has none that `env` could name."""
    if told is None or not told.env:
        if env is not None:
            raise InputError(f"the run in {folder} was evaluated in its own environment, not in {env!r}")
        return told
    place, make = _named(folder, told.place(config, None)[0], told.make is not None, env, wrap, "eval_env")
    return replace(told, env=place.env, make=make)


@dataclass(frozen=True)
class Contents:
    """A run as its folder has it; for most fields see `Run`."""

    config: Config
    tricks: Tricks
    spaces: Both
    own: Own
    evaluation: Evaluation | None
    made_with: MadeWith
    curve: pd.DataFrame
    tensors: dict[str, Tensor]
    diverged: dict[int, int]
    reasons: dict[int, str]
    seconds: float
    last: Callable[[], bytes] | None
    steps: int
    """The budget, or how far an unfinished run is."""
    file: str = "agent.pt"
    """Where the tensors are."""
    remark: str = ""
    """What to tell whoever opens it, if it is unfinished."""


def contents(folder: Path) -> Contents:
    """Read the run in the folder. Raises InputError if there is none, or if it is damaged or of another version."""
    if not finished(folder):
        return _unfinished(folder)

    def settings(content: bytes) -> tuple[About, Config, Tricks, Evaluation | None]:
        about = read_about(content)
        evaluation = None if about.evaluation is None else Evaluation.read(about.evaluation)
        return about, *asked(about.config, about.tricks), evaluation

    text = _read(folder, "run.json")
    made = made_with(text) if whole(text) else None
    about, config, tricks, evaluation = _parsed(folder, "run.json", text, settings, made)
    diverged, reasons = dict(about.diverged), dict(about.reasons)

    def parsed(name: str, parse: Callable[[bytes], T]) -> T:
        content = _read(folder, name)
        if about.checksums.get(name) != digest(content):
            raise _unusable(folder, f"{name}: it does not match its checksum")
        return _parsed(folder, name, content, parse, about.made_with)

    def curve_in(content: bytes) -> pd.DataFrame:
        curve = read_table(BytesIO(content))
        check_curve(curve, about.rows, config.seed_list, diverged, recorded(config.record))
        curve.attrs = dict(about.origin.items())
        return curve

    what = config, tricks, about.spaces, about.own, evaluation, about.made_with
    found_in = parsed("curve.csv", curve_in), parsed("agent.pt", tensors_in)
    seconds = float("nan") if about.seconds is None else about.seconds
    kept = LAST in about.checksums and found(folder, LAST).is_file()
    last = partial(bytes, parsed(LAST, bytes)) if kept else None
    return Contents(*what, *found_in, diverged, reasons, seconds, last, config.steps)


def _unfinished(folder: Path) -> Contents:
    """The run in the folder as far as its checkpoint knows it."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise InputError(f"no saved run in {folder}: there is no run.json")
    content = _read(folder, CHECKPOINT)
    saved = parse(path, content)
    config = saved.config

    def known(parts: Mapping[str, Any]) -> Contents:
        log = parts["log"]
        curve = as_curve(log["rows"].numpy(), columns_of(config), log.get("origin", {}))
        diverged, reasons = dict(log["diverged"]), dict(log["reasons"])
        check_curve(curve, len(curve), config.seed_list, diverged, recorded(config.record))
        tensors = dict(parts["agent"]) | named_best(log["kept"]["state"] if "kept" in log else {})
        what = config, saved.tricks, saved.spaces, saved.own, saved.evaluation, saved.made_with
        how_far = f"step {saved.step:,} of {config.steps:,}"
        remark = f"{folder} is unfinished, at {how_far}; resume it with: {how_to_resume(folder)}"
        ended = diverged, reasons, log["seconds"], partial(bytes, content), saved.step
        return Contents(*what, curve, tensors, *ended, CHECKPOINT, remark)

    return _parsed(folder, CHECKPOINT, saved.parts, known, saved.made_with)


def _read(folder: Path, name: str) -> bytes:
    with trying(f"read {folder / name}"):
        try:
            return found(folder, name).read_bytes()
        except FileNotFoundError as error:
            raise _unusable(folder, f"there is no {name}") from error


def _parsed(folder: Path, name: str, content: S, parse: Callable[[S], T], made: Made | None) -> T:
    """What `parse` makes of the content of a file. Raises InputError."""
    try:
        return parse(content)
    except Exception as error:  # what a file holds can be wrong in any way
        raise _unusable(folder, f"{name}: {said(error)}", made) from error


def _unusable(folder: Path, reason: str, made: Made | None = None) -> InputError:
    """What to say of a run that cannot be read, which was `made` with that, if its files are whole."""
    run = f"the run in {folder}"
    return unknown_to_us(run, made, reason) or InputError(f"{run} is damaged: {reason}")

"""Load a finished run from disk, train it on, or resume one that was interrupted. No file is ever executed."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError
from tricks.flags import switch
from tricks.loop import build_agent, train
from tricks.runs.about import Settings, digest, judged, read_record, tensors_in, whole
from tricks.runs.checkpoint import GYMNASIUMS, Checkpoints, Saved, how_to_resume, parse, read, refuse_unfinished
from tricks.runs.evaluation import Evaluation, Unnamed
from tricks.runs.files import CHECKPOINT, LAST, as_path, clean_up, finished, found, hold, trying
from tricks.runs.learning_curve import COLUMNS, as_curve, columns_of, read_table
from tricks.runs.log import PREFIX, Listener, named_best
from tricks.runs.run import Run
from tricks.texts import wrapper_name, wrapper_texts
from tricks.values import checked

Makes = MakeEnv | str | None  # an environment: what makes it, or its name; None: the run's own name is enough


@contextmanager
def begun_again(folder: Path) -> Iterator[Path]:
    """A run's folder, which is this process's own until the training has ended."""
    with hold(folder) if folder.is_dir() else nullcontext():  # of one that is not there, `read` says what is missing
        clean_up(folder)
        yield folder


@checked
def resume(
    folder: str | Path,
    env: Makes = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: Makes = None,
) -> Run:
    """Resume the run in `folder` from its checkpoint, train it to the end, and keep writing checkpoints.

    In a tensor world, the curve is bit-for-bit that of an uninterrupted run on the same machine. Other environments
    start new episodes, and a message says so. Annealing runs over the whole budget, and evaluations continue. Pass the
    same `env`, `body` or `eval_env` again if the run started with one. Also name an environment `module:Id`, and
    wrappers (`wrap`) that are not Gymnasium's. on_update is called as in `train`. Raises InputError if one is missing.
    """
    with begun_again(as_path(folder)) as folder:
        return _trained_on(folder, read(folder), (env, wrap, eval_env), body, on_update)


def _trained_on(
    folder: Path, saved: Saved, named: tuple[Makes, Sequence[str], Makes], body: MakeBody | None, tell: Listener | None
) -> Run:
    """Train on from a saved state, in its folder; named: env, wrap, eval_env. Raises InputError as `resume` does."""
    if "body" in saved.own and body is None:
        raise InputError(f"the run in {folder} was started with a custom body: {how_to_resume(folder)}")
    config, make, evaluation = _placed(folder, saved, *named)
    for each in (make, evaluation and evaluation.make):
        if isinstance(each, Unnamed):
            each()
    checkpoints = Checkpoints(folder, saved.every, saved)
    return train(config, saved.tricks, make, body, checkpoints, tell, evaluation)


@checked
def further(
    folder: str | Path,
    steps: int,
    schedule: str = "whole",
    env: Makes = None,
    body: MakeBody | None = None,
    on_update: Listener | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: Makes = None,
) -> Run:
    """Train the finished run in `folder` for so many more environment steps per seed.

    The curve is that of both. With schedule "whole", whatever anneals runs over the new budget, so it jumps back where
    the runs join; with "end", it stays where the last update had it. Seeds that diverged stay as they are. For the rest
    see `resume`. Raises InputError if the folder has no last.pt, as of a part of a run.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    if schedule not in ("whole", "end"):
        raise InputError(f"schedule must be whole or end, not {schedule!r}")
    with begun_again(as_path(folder)) as folder:
        refuse_unfinished(folder)
        saved = read(folder, LAST)
        if finished(folder):  # else its `further` was killed
            contents(folder)  # whose checksums say whether it is of this run
        return _trained_on(folder, longer(saved, steps, schedule), (env, wrap, eval_env), body, on_update)


def longer(saved: Saved, steps: int, schedule: str) -> Saved:
    """The state at the end of a run, as one in the middle of a longer run. Raises InputError if every seed diverged."""
    config, log = replace(saved.config, steps=saved.config.steps + steps), dict(saved.parts["log"])
    going = torch.tensor([seed not in log["diverged"] for seed in config.seed_list])
    if not going.any():
        raise InputError("every seed of this run diverged, so there is nothing to continue")
    before = log.get("origin", {})
    log["origin"] = before | {"joined": [*before.get("joined", []), saved.config.steps]}
    held = log.pop("held", None)  # where schedules stay: at what each seed had used before its last update
    if schedule == "end":
        seed, step = (log["rows"].numpy()[:, COLUMNS.index(name)] for name in ("seed", "step"))
        last = torch.tensor([[0.0, *sorted(step[seed == each])][-2] for each in config.seed_list], dtype=torch.float64)
        log["held"] = last.float() / saved.config.steps if held is None else held
    log["active"] = going & (log["steps"].cpu() < config.steps)
    return replace(saved, config=config, parts=saved.parts | {"log": log})


@checked
def load(
    path: str | Path,
    env: Makes = None,
    body: MakeBody | None = None,
    wrap: tuple[str, ...] = (),
    eval_env: Makes = None,
) -> Run:
    """Load the run that `Run.save` wrote to the folder `path`, or else what its checkpoint holds of an unfinished one.

    Of an unfinished run, a line on stderr says how far it is. A custom `body` is needed again, and to play, a custom
    `env`. So is an environment `module:Id`, whose module is imported only if `env` names it; it may also name the
    module that registers an id without one. Likewise `wrap` names wrappers that are not Gymnasium's, and `eval_env` the
    evaluations' own environment. Raises InputError for a run that is missing, damaged, or of another version.
    """
    folder = as_path(path)
    if folder.is_file():
        raise InputError(f"{folder} is a file; give the folder of the run")
    there = contents(folder)
    if "body" in there.own and body is None:
        raise InputError(f"the run in {folder} was trained with a custom body: load({str(folder)!r}, body=...)")
    config, make, evaluation = _placed(folder, there, env, wrap, eval_env)
    file = "agent.pt" if finished(folder) else CHECKPOINT
    with judged(f"the run in {folder}", file, passing=InputError):  # of a body that does not fit
        spaces = there.spaces.of(config)
        widths = () if body is not None or spaces.images else (spaces.features, *config.hidden)
        needed = len(config.seed_list) * max(1, sum(one * next for one, next in pairwise(widths)))
        if needed > sum(tensor.numel() for tensor in there.tensors.values()):  # before they take memory
            raise ValueError("agent.pt is too small for the agents that run.json describes")
        agent = build_agent(spaces, config, there.tricks, body)
        agent.origin = str(folder)
        last = {name: x for name, x in there.tensors.items() if not name.startswith(PREFIX)}
        best = {name.removeprefix(PREFIX): x for name, x in there.tensors.items() if name not in last}
        for each in filter(None, (best, last)):
            agent.load_state_dict(each)
    if there.remark:
        print(there.remark, file=sys.stderr)
    ended = there.curve, there.diverged, there.reasons, there.seconds, best or None
    return Run(config, there.tricks, agent, *ended, make, body, there.made_with, there.last, evaluation)


def load_to_play(folder: Path, env: str | None, eval_env: str | None, wrap: tuple[str, ...]) -> Run:
    """The run where its agents are to play: where its evaluations were, or, if only `env` is named, its training."""
    run = load(folder, env=env, wrap=wrap, eval_env=eval_env)
    own = run.evaluation is not None and run.evaluation.env  # else `env` may only name the module
    return replace(run, evaluation=None) if own and env is not None and eval_env is None else run.as_evaluated()


def _placed(
    folder: Path, told: Settings, env: Makes, wrap: Sequence[str], eval_env: Makes
) -> tuple[Config, MakeEnv | None, Evaluation | None]:
    """A run's config, what makes its environment, and its evaluation with what makes that of its own; see `_named`."""
    config, make = _named(folder, told.config, "env" in told.own, env, wrap)
    how = told.evaluation
    if how is not None and how.env:
        place, other = _named(folder, how.place(config, None)[0], how.make is not None, eval_env, wrap, "eval_env")
        return config, make, replace(how, env=place.env, make=other)
    if eval_env is not None:
        raise InputError(f"the run in {folder} was evaluated in its own environment, not in {eval_env!r}")
    return config, make, how


def _named(
    folder: Path, config: Config, own: bool, env: Makes, wrap: Sequence[str], option: str = "env"
) -> tuple[Config, MakeEnv | None]:
    """The run's config, and what makes its environment; None: its name. own: whether it was the user's function."""
    did = "trained" if option == "env" else "evaluated"
    if isinstance(env, str):  # which may also add the module to an id without one
        if not own and config.env not in (env, env.rpartition(":")[2]):
            raise InputError(f"the run in {folder} was {did} in {config.env!r}, not in {env!r}")
        config = replace(config, env=env)
    wrap, used = wrapper_texts(wrap), [wrapper_name(name) for name in config.wrap]
    if other := [name for name in wrap if name not in (*config.wrap, *used)]:
        raise InputError(f"the run in {folder} was not trained with the wrapper {other[0]}")
    missing = [("wrap", name) for name in used if name not in (*map(wrapper_name, wrap), *GYMNASIUMS)]
    if env is None and (own or ":" in config.env):
        missing.insert(0, (option, "module:Id" if own else repr(config.env)))
    if not missing:
        return config, None if isinstance(env, str) else env
    place = "an environment of your own" if own else repr(config.env)
    what = " and ".join(f"with the wrapper {name}" if kind == "wrap" else f"in {place}" for kind, name in missing)
    add = " ".join(f"{switch(kind)} {name}" for kind, name in missing)
    message = f"the run in {folder} was {did} {what}, whose module is imported only if you name it: add {add}"
    message += f" ({', '.join(f'{kind}=' for kind in dict(missing))} in Python)"
    if own and env is None:
        message += "; instead of an Id, the name of the class or function that makes it will do"
    if callable(env):
        raise InputError(message)
    return config, Unnamed(message, own)


@dataclass(frozen=True)
class Contents(Settings):
    """A run as its folder has it; for most fields see `Run`."""

    curve: pd.DataFrame
    tensors: dict[str, Tensor]
    diverged: dict[int, int]
    reasons: dict[int, str]
    seconds: float
    last: Callable[[], bytes] | None
    steps: int  # the budget, or how far an unfinished run is
    remark: str = ""  # what to tell whoever opens it, if it is unfinished


def contents(folder: Path) -> Contents:
    """Read the run in the folder. Raises InputError if there is none, or if it is damaged or of another version."""
    if not finished(folder):
        return _unfinished(folder)
    where = f"the run in {folder}"
    text = _read(folder, "run.json")
    if not whole(text):
        raise InputError(f"{where} is damaged: run.json: it does not match its checksum")
    record, settings = read_record(where, "run.json", text)
    kept = [LAST] if LAST in record.checksums and found(folder, LAST).is_file() else []
    files = {name: _read(folder, name, record.checksums.get(name, "")) for name in ("curve.csv", "agent.pt", *kept)}
    with judged(where, "curve.csv"):
        curve = read_table(BytesIO(files["curve.csv"]))
        curve.attrs |= {name: x for name, x in (("joined", record.joined), ("from", record.started_from)) if x}
    with judged(where, "agent.pt"):
        tensors = tensors_in(files["agent.pt"])
    ended: dict[str, Any] = {"diverged": dict(record.diverged), "reasons": dict(record.reasons)}
    ended |= {"seconds": float("nan") if record.seconds is None else record.seconds, "steps": settings.config.steps}
    last = partial(bytes, files[LAST]) if kept else None
    return Contents(**vars(settings), curve=curve, tensors=tensors, last=last, **ended)


def _unfinished(folder: Path) -> Contents:
    """The run in the folder as far as its checkpoint knows it."""
    if not (folder / CHECKPOINT).is_file():
        raise InputError(f"no saved run in {folder}: there is no run.json")
    content = _read(folder, CHECKPOINT)
    saved = parse(folder / CHECKPOINT, content)
    log, how_far = saved.parts["log"], f"step {saved.step:,} of {saved.config.steps:,}"
    remark = f"{folder} is unfinished, at {how_far}; resume it with: {how_to_resume(folder)}"
    with judged(f"the run in {folder}", CHECKPOINT):
        settings = {name: getattr(saved, name) for name in Settings.__dataclass_fields__}
        curve = as_curve(log["rows"].numpy(), columns_of(saved.config), log.get("origin", {}))
        tensors = dict(saved.parts["agent"]) | named_best(log["kept"]["state"] if "kept" in log else {})
        ended = {name: log[name] for name in ("diverged", "reasons", "seconds")} | {"steps": saved.step}
        last = partial(bytes, content)
        return Contents(**settings, curve=curve, tensors=tensors, last=last, **ended, remark=remark)


def _read(folder: Path, name: str, checksum: str | None = None) -> bytes:
    """The content of a file of a run. Raises InputError if there is none, or it is not as it was written."""
    path = found(folder, name)
    with trying(f"read {folder / name}"):
        content = path.read_bytes() if path.is_file() else None
    if content is None or checksum not in (None, digest(content)):
        fault = f"there is no {name}" if content is None else f"{name}: it does not match its checksum"
        raise InputError(f"the run in {folder} is damaged: {fault}")
    return content

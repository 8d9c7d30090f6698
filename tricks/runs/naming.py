"""The modules of a saved run's environments and wrappers, which are imported only if the user names them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.errors import InputError
from tricks.flags import switch
from tricks.runs.checkpoint import GYMNASIUMS
from tricks.runs.evaluation import Evaluation
from tricks.runs.run import Unnamed
from tricks.wrapper_texts import wrapper_name, wrapper_texts


def named(
    folder: Path,
    config: Config,
    own: bool,
    env: MakeEnv | str | None,
    wrap: Sequence[str],
    option: str = "env",
) -> tuple[Config, MakeEnv | None]:
    """The run's config, and what makes its environment; None: its name does.

    own: whether that was a function of the user's, which `env` may name. Otherwise, an id without a module gets the one
    that `env` names. option: env, or eval_env for the environment of evaluations. Raises InputError if `env` is another
    id, or `wrap` names wrappers that are not the run's.
    """
    did = "trained" if option == "env" else "evaluated"
    if isinstance(env, str):
        if not own and config.env not in (env, env.rpartition(":")[2]):
            raise InputError(f"the run in {folder} was {did} in {config.env!r}, not in {env!r}")
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
    options, calls = [f"{switch(option)} {name}"] * unnamed, [f"{option}={'...' if own else name}"] * unnamed
    parts += [f"with the wrapper {each}" for each in foreign]
    options += [f"--wrap {each}" for each in foreign]
    calls += [f"wrap={foreign}"] * bool(foreign)
    message = (
        f"the run in {folder} was {did} {' and '.join(parts)}, whose module is imported only if you name it: "
        f"add {' '.join(options)} ({', '.join(calls)} in Python)"
    )
    if own and unnamed:
        message += "; instead of an Id, the name of the class or function that makes it will do"
    if foreign and callable(env):
        raise InputError(message)
    return config, Unnamed(message, own)


def named_evaluation(
    folder: Path,
    config: Config,
    told: Evaluation | None,
    env: MakeEnv | str | None,
    wrap: Sequence[str],
) -> Evaluation | None:
    """The run's evaluation, with what makes its environment. Raises InputError if it has none that `env` could name."""
    if told is None or not told.env:
        if env is not None:
            raise InputError(f"the run in {folder} was evaluated in its own environment, not in {env!r}")
        return told
    place, make = named(folder, told.place(config, None)[0], told.make is not None, env, wrap, "eval_env")
    return replace(told, env=place.env, make=make)

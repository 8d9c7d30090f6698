"""The lanes of one seed, as a Gymnasium vector environment."""

from functools import partial

import gymnasium as gym
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.envs.atari import is_atari, make_games
from tricks.envs.ids import import_module_of, maker_of
from tricks.envs.lane import changes, make_lane
from tricks.envs.masks import gives_masks
from tricks.envs.processes import make_workers
from tricks.envs.statistics import refuse_statistics
from tricks.errors import InputError, in_words, said
from tricks.flags import meant


def make_vec(config: Config, make: MakeEnv | None = None) -> VectorEnv:
    """The lanes of one seed, with NEXT_STEP autoreset; with backend processes, one worker process for each.

    If `make` is given, it makes the lanes. `module:Id` first imports the module, which registers the id. An environment
    that has a vector version of its own is used as that, unless the config changes it. Raises InputError if the
    environment cannot be made.
    """
    lane, lanes = partial(make_lane, config, make), config.lanes
    try:
        if config.backend == "processes":
            return make_workers(lane, lanes)
        if make is None and not changes(config):
            if is_atari(config.env):
                return make_games(config.env, lanes)
            if _has_vector_version(config.env):
                env = gym.make_vec(config.env, num_envs=lanes)
                refuse_statistics(env)
                if env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP and not gives_masks(env):
                    return env
                env.close()
        return SyncVectorEnv([lane] * lanes)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # constructors and imports can raise anything
        reason = in_words(error) if isinstance(error, SystemExit) else advice(error)
        named = config.env if make is None else ""
        what, hint = (repr(named), _hint(named, error)) if named else ("that env= makes", "")
        reason = reason.rstrip(".") if hint else reason
        raise InputError(f"cannot make the environment {what}: {reason}{hint}") from error


def _has_vector_version(id: str) -> bool:
    """Whether the name is that of an id that, after the import of its module, has a class of its own for many lanes."""
    if maker_of(id):
        return False
    name = import_module_of(id)
    namespace, plain, version = parse_env_id(name)
    if version is None:  # as for Gymnasium, the highest
        name = get_env_id(namespace, plain, find_highest_version(namespace, plain))
    return name in gym.registry and gym.registry[name].vector_entry_point is not None


def _hint(id: str, error: BaseException) -> str:
    """Suggest a registered id close to an unknown one, unless Gymnasium's own message already does."""
    module, colon, name = id.rpartition(":")
    unknown = isinstance(error, gym.error.UnregisteredEnv) or "Malformed environment ID" in said(error)
    if not unknown or name in gym.registry or "Did you mean" in said(error):
        return ""  # a constructor that fails says nothing about the id
    foreign = "" if module else f"; if a module of yours registers it, name that: module:{name}"
    return meant(name, gym.registry, before=module + colon) + foreign

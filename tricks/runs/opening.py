"""What happens before a run takes its memory: impossible numbers and sizes are refused, and long waits announced."""

import sys
from contextlib import closing

import gymnasium as gym

from tricks.action_mask import need_masks
from tricks.config import Config
from tricks.core.compiler import find_compiler
from tricks.core.devices import find_device
from tricks.core.env import Env, MakeEnv
from tricks.core.nets import MakeBody
from tricks.envs.atari import is_atari
from tricks.envs.lane import changes
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.flags import switch
from tricks.ladder import Tricks
from tricks.record import recorded
from tricks.recurrent import refuse_more_minibatches
from tricks.runs.about import read_back
from tricks.runs.evaluation import Evaluation, play_needs
from tricks.runs.learning_curve import columns_of
from tricks.runs.remarks import remark
from tricks.runs.sizes import Need, in_total, largest, needs, on_host, refuse_too_large
from tricks.squash import squashed
from tricks.worlds import WORLDS

MOST_STEPS = 1_000_000  # gradient steps of one update; more take hours
LANE = {"tensor": (2_000, 0.0), "python": (5_000, 5e-4), "vector": (100, 0.0), "envpool": (1_000, 1e-4)} | {
    "processes": (5_000_000, 0.03),
    "atari": (5_000_000, 0.05),
}  # at least this many bytes, and about this many seconds to make one
PATIENCE = 5.0  # seconds after which a user wonders
MUCH = 1_000_000_000  # bytes that a user should know of


def open_env(
    config: Config,
    tricks: Tricks,
    make: MakeEnv | None = None,
    body: MakeBody | None = None,
    evaluation: Evaluation | None = None,
) -> Env:
    """The environment for a training, if its numbers are possible and the machine has the memory that it needs.

    Memory is checked twice: before there are lanes, for the least that the config can mean, and once more when the
    environment has told its spaces. On stderr, one line announces what takes more than a few seconds, and one what
    takes more than a gigabyte. Raises InputError like `make_env`.
    """
    find_device(config.device)
    columns_of(config)  # refuses to record what is a column already
    best, names = evaluation.keep_best if evaluation is not None else False, recorded(config.record)
    if isinstance(best, str) and best not in names:
        known = f"records {', '.join(names)}" if names else "records nothing"
        raise InputError(f"keep_best is by {best!r}, but the training {known}; name it in record")
    refuse_endless(config, tricks)
    refuse([*needs(config, tricks), lane_need(config, make)], config)
    announce(config, make)
    env = make_env(config, make=make)
    try:
        if tricks.action_mask:
            need_masks(env)
        if tricks.squash:
            squashed(env.spaces.action)  # refuses other spaces
        if tricks.state_norm and env.spaces.images:
            what = "are images" if env.spaces.pixels else "have images"
            raise InputError(f"state_norm standardizes vectors, but these observations {what}; leave it off")
        read_back(config, env.spaces)
        found = needs(config, tricks, env.spaces, own_body=body is not None)
        if evaluation is not None:
            found += play_needs(config, evaluation.episodes, env.spaces, "eval_episodes")
            if evaluation.apart:
                with closing(evaluation.lane(config, env.spaces, make)) as other:
                    if tricks.action_mask:
                        need_masks(other)
        refuse(found, config)
        if sum(need.bytes for need in found) > MUCH:
            print(in_total(found), file=sys.stderr)
        remark(env, config, tricks, make)
    except BaseException:
        env.close()
        raise
    return env


def refuse(found: list[Need], config: Config) -> None:
    """Raise InputError if the needs exceed the free memory: those of the lanes and the curve on the host."""
    refuse_too_large(on_host(found, config.device))
    if config.device.startswith("cuda"):
        refuse_too_large([need for need in found if need.on_device], config.device)


def refuse_endless(config: Config, tricks: Tricks) -> None:
    """Raise InputError for minibatches without rows or lanes, and for more gradient steps per update than one means."""
    if tricks.recurrent:
        refuse_more_minibatches(config, tricks)
    rows, count = config.lanes * config.horizon, config.minibatches
    own = tricks.separate_optimizers and tricks.reuse and not tricks.ppg_buffers
    kept = config.value_rollouts if tricks.ppg_buffers else config.aux_every  # rollouts of an auxiliary phase
    rollouts = {"epochs": int(tricks.reuse), "value_epochs": int(own), "aux_epochs": kept * tricks.ppg}
    for name, each in ((name, each) for name, each in rollouts.items() if each):
        epochs = getattr(config, name)
        if count > rows:
            raise InputError(
                f"{count} minibatches are more than the {rows} rows of a batch (lanes × horizon): "
                "lower --minibatches, or raise --lanes or --horizon"
            )
        if epochs * count * each > MOST_STEPS:
            phase = f" × {each} rollouts" if each > 1 else ""
            raise InputError(
                f"{epochs} {name} × {count} minibatches{phase} are more than {MOST_STEPS:,} gradient steps in one "
                f"update, which would take hours; lower {switch(name)} or --minibatches"
            )


def lane_kind(config: Config, make: MakeEnv | None) -> str:
    """What steps the lanes: tensor, vector (one object for all lanes), python (one for each), processes, ..."""
    if make is not None:
        return "processes" if config.backend == "processes" else "python"
    if config.backend in ("auto", "tensor") and config.env in WORLDS and not (changes(config) or config.record):
        return "tensor"
    if config.backend in ("processes", "envpool"):
        return config.backend
    if is_atari(config.env) and not changes(config):
        return "atari"
    spec = None if changes(config) else gym.registry.get(config.env)
    return "vector" if spec is not None and spec.vector_entry_point is not None else "python"


def lane_need(config: Config, make: MakeEnv | None) -> Need:
    """The memory of all lanes, at least."""
    count = len(config.seed_list) * config.lanes
    return Need(
        f"{count:,} lanes", count * LANE[lane_kind(config, make)][0], largest(config, "lanes", "seeds"), on_device=False
    )


def announce(config: Config, make: MakeEnv | None) -> None:
    """Say on stderr what will take more than a few seconds before the first step."""
    kind, count = lane_kind(config, make), len(config.seed_list) * config.lanes
    if count * LANE[kind][1] > PATIENCE:
        what = "worker processes" if kind == "processes" else "environments"
        of = config.env if make is None or config.env != Config.env else getattr(make, "__name__", "env=")
        print(f"starting {count:,} {what} of {of} ...", file=sys.stderr)
    if config.compile and kind == "tensor":
        find_compiler(config.device)
        print(f"compiling the dynamics of {config.env} ...", file=sys.stderr)

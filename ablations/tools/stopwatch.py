"""One measurement of speed, in a process of its own: how fast, where the time goes, how much memory."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablations.training.jobs import Job


@dataclass(frozen=True)
class Measured:
    """One measurement: speed, times, memory."""

    who: str
    backend: str
    device: str
    seeds: int
    steps_per_second: float
    environment: float
    """Microseconds that the environment takes, per environment step of any of its seeds."""
    rollout: float
    """The same for the rest of the rollout: the policy and storage."""
    update: float
    """The same for everything else: advantages and learning."""
    megabytes: float
    """Peak memory of the process; on a GPU, that of its tensors."""
    warm_up: float
    """Seconds of the first, short run."""


def measure(job: Job, steps: int) -> Measured:
    """Train once to warm up, once on the clock, and once more to see where the time goes."""
    import torch

    from tricks import train

    config, tricks = job.config, job.tricks
    size, batch = len(config.seed_list), config.lanes * config.horizon
    warm_up, _ = _timed(train, replace(config, steps=batch), tricks)
    budget = max(2 * batch, steps // size)
    seconds, run = _timed(train, replace(config, steps=budget), tricks)
    with stopwatches(torch.device(config.device)) as spent:  # a separate run: they slow down a GPU
        watched, _ = _timed(train, replace(config, steps=budget), tricks)
    taken = int(run.curve.groupby("seed").step.max().sum())
    micro = 1e6 * seconds / taken
    environment, rollout = (micro * spent[name] / watched for name in ("environment", "rollout"))
    apart = environment > 0  # not where a compiled call plays a whole segment, rules included
    shares = (environment if apart else math.nan, rollout - environment, micro - rollout)
    facts = ("tricks", config.backend, config.device, size, taken / seconds)
    return Measured(*facts, *shares, _peak(config.device), warm_up)


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _peak(device: str) -> float:
    """Peak memory of this process so far, in megabytes; on a GPU, that of its tensors there."""
    import torch

    if torch.device(device).type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    if sys.platform == "linux":  # where ru_maxrss would start at the parent's peak
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) / 2**10
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


@contextmanager
def stopwatches(device: Any) -> Iterator[dict[str, float]]:
    """Measure the seconds that `train` spends in rollouts and, within them, in environment steps."""
    import torch

    from tricks import loop, training

    spent = {"environment": 0.0, "rollout": 0.0}

    def timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = now()
            result = function(*arguments)
            spent[name] += now() - start
            return result

        return call

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    def make(*arguments: Any, **named: Any) -> Any:
        env = kept["open_env"](*arguments, **named)
        env.step = timed(env.step, "environment")
        return env

    places = {"open_env": training, "play_segment": loop, "play_episodes": loop}
    kept = {name: getattr(place, name) for name, place in places.items()}
    watched = {name: timed(kept[name], "rollout") for name in kept} | {"open_env": make}
    try:
        for name, place in places.items():
            setattr(place, name, watched[name])
        yield spent
    finally:
        for name, place in places.items():
            setattr(place, name, kept[name])


def measure_plain(job: Job, steps: int) -> Measured:
    """The same without what numba compiles."""
    from tricks.fast.dispatch import plain

    with plain():
        return replace(measure(job, steps), who="plain")


def measure_sb3(job: Job, steps: int) -> Measured:
    """stable-baselines3's PPO with the same lanes, horizon, epochs, minibatches, nets and numbers."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from torch import nn

    from tricks.envs.make import make_env

    config = job.config
    one = replace(config, seeds=1, lanes=1, backend="gymnasium")
    make_env(one).close()  # registers the id, or fails with a one-line reason
    batch = config.lanes * config.horizon
    model = PPO(
        "MlpPolicy",
        make_vec_env(config.env, config.lanes),
        learning_rate=config.rates[0],
        n_steps=config.horizon,
        batch_size=batch // config.minibatches,
        n_epochs=config.epochs,
        clip_range=config.each("clip_range")[0],
        ent_coef=config.each("entropy_coef")[0],
        policy_kwargs={"net_arch": list(config.hidden), "activation_fn": nn.Tanh},
        device="cpu",
    )
    warm_up, _ = _timed(model.learn, batch)
    seconds, _ = _timed(model.learn, steps)
    speed = -(-steps // batch) * batch / seconds
    return Measured("sb3", "gymnasium", "cpu", 1, speed, math.nan, math.nan, math.nan, _peak("cpu"), warm_up)

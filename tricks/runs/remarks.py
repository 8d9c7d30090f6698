"""What a user should know of an environment before a training starts: one line each on stderr, once in a process."""

import sys
from collections.abc import Iterator

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.core.env import Env, MakeEnv
from tricks.envs.distinct import unseeded
from tricks.envs.vectors import has_vector_version
from tricks.ladder import Tricks
from tricks.worlds import WORLDS

WIDE = 10.0  # half the width of a box, in σ, beyond which a policy explores little of it
SAID: set[str] = set()


def remark(env: Env, config: Config, tricks: Tricks, make: MakeEnv | None = None) -> None:
    """Say on stderr what is odd about the environment, unless it is one of this project's worlds."""
    for line in remarks(env, config, tricks, make) if config.env not in WORLDS or env.id != config.env else ():
        if line not in SAID:
            SAID.add(line)
            print(line, file=sys.stderr)


def remarks(env: Env, config: Config, tricks: Tricks, make: MakeEnv | None = None) -> Iterator[str]:
    """Random numbers without a seed, masks that nobody looks at, and boxes that the policy hardly explores."""
    if config.backend != "envpool" and not has_vector_version(config, make):
        yield from (f"{env.id} {fault}" for fault in unseeded(config, make))
    if env.masks and not tricks.action_mask:
        yield f"{env.id} says which actions are legal, which has no effect without --action-mask (action_mask=True)"
    space, std = env.spaces.action, float(np.exp(max(config.each("log_std_init"))))
    if isinstance(space, gym.spaces.Box) and space.is_bounded() and not tricks.squash:
        low, high = space.low.astype(float).min(), space.high.astype(float).max()
        widths = space.high.astype(float) - space.low.astype(float)
        if widths.max() > 2 * WIDE * std:
            yield (
                f"{env.id} has actions from {low:g} to {high:g}, and the policy starts with σ = {std:g}, so it "
                f"explores about 1/{widths.max() / (2 * std):,.0f} of the range; --rescale-actions maps it to [-1, 1]"
            )

"""Designs: which combinations of flags to train. A design only yields arms; equal arms are trained once."""

from dataclasses import dataclass

import gymnasium as gym

from tricks.ladder import NEEDS, Tricks, switched


@dataclass(frozen=True)
class Arm:
    """One combination of flags, and the name under which tables and figures show it."""

    name: str
    tricks: Tricks


@dataclass(frozen=True)
class Design:
    """Arms in the order of the story, and the names of those that were dropped, with the reason."""

    arms: tuple[Arm, ...]
    dropped: dict[str, str]


def ladder(env: str) -> Design:
    """REINFORCE, then one more trick at a time, in teaching order.

    Where the environment gives no action mask, `action_mask` cannot change anything and is dropped.
    """
    names = list(NEEDS)
    dropped = {}
    if not gives_mask(env):
        names.remove("action_mask")
        dropped["action_mask"] = f"{env} gives no action mask"
    arms = [Arm("reinforce", switched([]))]
    arms += [Arm(f"+ {name}", switched(names[: k + 1])) for k, name in enumerate(names)]
    return Design(tuple(arms), dropped)


def gives_mask(env: str) -> bool:
    """Whether the environment's reset returns `info["action_mask"]`."""
    world = gym.make(env)
    _, info = world.reset(seed=0)
    world.close()
    return "action_mask" in info


DESIGNS = {"ladder": ladder}

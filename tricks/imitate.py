"""imitate: the world's demonstrations are played, and REINFORCE makes every action in them likelier.

A run without it can start from the agents of a run with it, which are then also the reference that it may keep to.
"""

from typing import Any

import torch
from torch import Tensor

from tricks.core.env import Env
from tricks.core.rollout import Policy
from tricks.errors import InputError


def demonstrator(env: Env) -> Policy:
    """The policy that demonstrates: it looks at the state of the world, and not at the observations it is given."""
    demonstrate: Any = getattr(env, "demonstrate", None)
    return lambda given, legal: demonstrate()


def equally_good(advantage: Tensor) -> Tensor:
    """A = 1 for all that was demonstrated, [S, T, N]: then REINFORCE is maximum likelihood.

    Its loss, −E[log π(a|s)·A], is the cross-entropy between demonstrations and policy. Pomerleau 1991,
    10.1162/neco.1991.3.1.88; as a policy gradient: Williams 1992, 10.1007/BF00992696, with a reward of 1.
    """
    return torch.ones_like(advantage)


def refuse_env(env: Env) -> None:
    """Raise InputError if the environment has no demonstrations."""
    if getattr(env, "demonstrate", None) is None:
        raise InputError(
            f"imitate needs a world with demonstrations, such as tricks/Sums-v0, and {env.id} has none; "
            "leave imitate and imitate_steps off"
        )

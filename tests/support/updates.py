"""A training between two updates, without an environment, and what it learns from given minibatches."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import torch

from tricks import Config, Tricks, loop
from tricks.core.adam import Adam
from tricks.core.agent import Agent
from tricks.core.rollout import Batch, Rollout
from tricks.fused.minibatch import Kernels
from tricks.training import Doors, Training


def between(agent: Agent, config: Config, tricks: Tricks, *optimizers: Adam) -> Training:
    """optimizers: of both nets, or of the policy and of the value net."""
    env: Any = SimpleNamespace(now=SimpleNamespace(legal=torch.empty(0)), seeds=(), spaces=agent.spaces)
    t = Training(env, config, tricks, cast(Doors, None))
    t.agent, t.optimizer, t.value_optimizer = agent, optimizers[0], optimizers[-1]
    t.memory, t.phase = None, SimpleNamespace(minibatches=lambda *_: ())
    return t


def learn(t: Training, batches: Iterable[Batch]) -> None:
    """A gradient step on each of these minibatches."""
    with patch.object(loop, "deal", lambda *_: batches):
        loop.learn(t, Batch(), cast(Rollout, None))


@contextmanager
def compiled_losses() -> Iterator[list[bool]]:
    """Within it, each loss that is asked of a kernel says whether it found one."""
    found = list[bool]()

    def noted(kernel: Any) -> Any:
        def call(*given: Any) -> Any:
            result = kernel(*given)
            found.append(result is not None)
            return result

        return call

    with (
        patch.object(Kernels, "policy", noted(Kernels.policy)),
        patch.object(Kernels, "values", noted(Kernels.values)),
    ):
        yield found

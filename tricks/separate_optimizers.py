"""separate_optimizers: policy and value net each have their own Adam, learning rate, gradient norm and epochs."""

from collections.abc import Iterable

from tricks.config import Config
from tricks.core.rollout import Batch
from tricks.core.seeds import Index
from tricks.kl_stop import OF_POLICY
from tricks.ladder import Tricks
from tricks.reuse import minibatches, refuse_endless

OF_VALUES = ("value_loss", "value_grad_norm")


def in_turn(batch: Batch, config: Config, update: Index) -> Iterable[Batch]:
    """Minibatches for as many epochs as either net makes; each says which of the two takes a step on it."""
    longer = max(config.epochs, config.value_epochs)
    dealt = minibatches(batch, config.seed_list, update, longer, config.minibatches)
    for step, b in enumerate(dealt):
        epoch = step // config.minibatches
        b.turns = epoch < config.epochs, epoch < config.value_epochs
        yield b


def turns(b: Batch) -> tuple[bool, bool]:
    """Whether the policy, and whether the value net, takes a step on this minibatch."""
    found: tuple[bool, bool] = getattr(b, "turns", (True, True))
    return found


def idle(policy_turn: bool, value_turn: bool) -> tuple[str, ...]:
    """The diagnostics of a net that takes no step on a minibatch: the curve shows those of its own steps."""
    return (*(() if policy_turn else OF_POLICY), *(() if value_turn else OF_VALUES))


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError for endless updates of the value net."""
    if tricks.reuse and not tricks.ppg_buffers:
        refuse_endless("value_epochs", config)

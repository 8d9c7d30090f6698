"""separate_optimizers: policy and value net each have their own Adam, learning rate, gradient norm and epochs."""

from collections.abc import Iterator

from tricks.config import Config
from tricks.core.rollout import Batch
from tricks.reuse import minibatches


def in_turn(batch: Batch, config: Config, update: int) -> Iterator[Batch]:
    """Minibatches for as many epochs as either net makes; each says which of the two takes a step on it."""
    longer = max(config.epochs, config.value_epochs)
    dealt = minibatches(batch, config.seed_list, update, longer, config.minibatches)
    for step, b in enumerate(dealt):
        epoch = step // config.minibatches
        b.policy_turn, b.value_turn = epoch < config.epochs, epoch < config.value_epochs
        yield b

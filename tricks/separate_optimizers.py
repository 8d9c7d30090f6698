"""separate_optimizers: policy and value net each have their own Adam, learning rate, gradient norm and epochs."""

from collections.abc import Iterable

import torch

from tricks.config import Config
from tricks.core.rollout import Batch
from tricks.core.seeds import Index
from tricks.ladder import Tricks
from tricks.reuse import minibatches, refuse_endless

WATCHED = ("value_grad_norm",)  # see `runs/log`


def epochs_of_each_net(batch: Batch, config: Config, update: Index) -> Iterable[Batch]:
    """Minibatches for as many epochs as either net makes; a net that has made its own has no rows in them."""
    longer = max(config.epochs, config.value_epochs)
    dealt = minibatches(batch, config.seed_list, update, longer, config.minibatches)
    for step, b in enumerate(dealt):
        epoch = step // config.minibatches
        if epoch >= config.value_epochs:
            b.value_rows = Batch(**b.columns | {"valid": torch.zeros_like(b.valid)})
        elif epoch >= config.epochs:
            b.value_rows, b.valid = Batch(**b.columns), torch.zeros_like(b.valid)
        yield b


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError for endless updates of the value net."""
    if tricks.reuse and not tricks.ppg_buffers:
        refuse_endless("value_epochs", config)

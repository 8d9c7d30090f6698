"""group_baseline: what the other replies to the same prompt earned is the baseline, so no value net is needed.

An action is a token, an episode a reply. Lanes n with the same n // G answer one prompt: they are a group. Each plays
exactly one episode per update, and a minibatch never splits a reply, as in all public code.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.rollout import Batch
from tricks.core.seeds import Index
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.reuse import deal_lanes, random_keys
from tricks.worlds import WORLDS


def leave_one_out(returns: Tensor, group: int) -> Tensor:
    """Aᵢ = Rᵢ − mean of the other G − 1 replies' R, for every token of reply i. returns [S, T, N] -> [S, T, N].

    R is the return of a whole reply, so that of its first row. The others know nothing of reply i, which makes this
    baseline unbiased: Kool et al. 2019; Ahmadian et al. 2024, arXiv:2402.14740. GRPO's, the mean of all G, is the same
    at (G − 1)/G of the learning rate, since Rᵢ − ΣⱼRⱼ/G = Σⱼ(Rᵢ − Rⱼ)/G = (G − 1)/G · Aᵢ.
    """
    total: Tensor = returns[:, :1].unflatten(2, (-1, group))  # [S, 1, N/G, G]
    centered = total - total.mean(3, keepdim=True)
    return (centered * group / (group - 1)).flatten(2).expand_as(returns)


def reply_numbers(valid: Tensor) -> Tensor:
    """Which reply each row belongs to: the number of its lane. [S, T, N] -> [S, T, N] int64."""
    return torch.arange(valid.shape[2], device=valid.device).expand_as(valid)


def whole_replies(batch: Batch, config: Config, update: Index) -> Iterable[Batch]:
    """In each epoch, shuffle every seed's replies that have valid rows and split them into minibatches."""
    replies = batch.valid.unflatten(1, (-1, config.lanes)).any(1)  # [S, N]
    for epoch in range(config.epochs):
        keys = random_keys(replies, config.seed_list, "minibatch", update, epoch)
        yield from deal_lanes(batch, replies, keys, config.minibatches)


def refuse(config: Config, tricks: Tricks) -> None:
    """Raise InputError for groups of one, incomplete groups, more minibatches than replies, and lives."""
    if config.group < 2:
        raise InputError("a group of 1 has no other replies to compare with: --group must be at least 2")
    if config.lanes % config.group:
        raise InputError(f"{config.lanes} lanes are no whole groups of {config.group}: change --lanes or --group")
    if tricks.reuse and config.minibatches > config.lanes:
        raise InputError(f"{config.minibatches} minibatches of whole replies are more than {config.lanes} lanes")
    if config.life_ends:
        raise InputError("group_baseline plays one episode per lane, so a life cannot end one: drop --life-ends")


def refuse_env(env: Env) -> None:
    """Raise InputError for a world of prompts whose lanes don't share them, as under Gymnasium."""
    if env.id in WORLDS and WORLDS[env.id].prompt and getattr(env, "demonstrate", None) is None:
        raise InputError(f"only the tensor backend gives a group of {env.id}'s lanes one prompt: drop --backend")

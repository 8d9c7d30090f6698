"""Exercises of the chapter on a trick of your own."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.advantage_norm import standardize

Judge = Callable[[Tensor, Tensor], Tensor]  # of advantage and valid


def coupled_half(advantage: Tensor, valid: Tensor) -> Tensor:
    """sign(A − median A). advantage, valid [S, B] -> [S, B]."""
    return (advantage - advantage[valid].median()).sign() * valid


def _half(advantage: Tensor, valid: Tensor) -> Tensor:
    median = advantage.masked_fill(~valid, torch.nan).nanmedian(1, keepdim=True).values
    return (advantage - median).sign()


def _padding_counts(advantage: Tensor, valid: Tensor) -> Tensor:
    return (advantage - advantage.median(1, keepdim=True).values).sign()


def _first_seeds_scale(advantage: Tensor, valid: Tensor) -> Tensor:
    return advantage / advantage[0].std()


def _last_seeds_scale(advantage: Tensor, valid: Tensor) -> Tensor:
    return advantage / advantage[-1].std()


def _leaning(advantage: Tensor, valid: Tensor, row: int, share: float) -> Tensor:
    return advantage / (1 + share * advantage[row].abs().max())


STACK = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0], [110.0, 130.0, 120.0, 150.0, 190.0]])
EVERY = torch.ones_like(STACK, dtype=torch.bool)
PADDED = torch.tensor([[True, True, True, False, False]]).expand(2, 5)


def _keeps_apart(f: Judge) -> bool:
    alone = torch.cat([f(STACK[k : k + 1], EVERY[k : k + 1]) for k in range(2)])
    return torch.allclose(f(STACK, EVERY), alone)


def _padding(f: Judge) -> bool:
    return torch.allclose(f(STACK, PADDED)[:, :3], f(STACK[:, :3], EVERY[:, :3]))


check_law = Exercise(
    _keeps_apart,
    cases=(
        {"f": _half},
        {"f": coupled_half},
        {"f": standardize},
        {"f": _padding_counts},
        {"f": _first_seeds_scale},
        {"f": _last_seeds_scale},
    ),
    mistakes={
        "this accepts every function here, and some of them mix seeds. Compare values, not shapes, and make up seeds "
        "whose advantages differ a lot.": (lambda f: f(STACK, EVERY).shape == STACK.shape),
        "this is the law about padding. Let all rows be valid, and compare a stack with its rows alone.": _padding,
        "this looks at the first seed only; the second one may depend on the first.": (
            lambda f: torch.allclose(f(STACK, EVERY)[0], f(STACK[:1], EVERY[:1])[0])
        ),
        "this looks at the last seed only; the first one may depend on the last.": (
            lambda f: torch.allclose(f(STACK, EVERY)[-1], f(STACK[-1:], EVERY[-1:])[0])
        ),
        "this also refuses a function that lets padding count. That breaks another law; its seeds don't mix.": (
            lambda f: _keeps_apart(f) and _padding(f)
        ),
        "this also refuses functions that keep seeds apart but don't return signs, such as standardize.": (
            lambda f: _keeps_apart(f) and set(f(STACK, EVERY).flatten().tolist()) <= {-1.0, 0.0, 1.0}
        ),
    },
    drawn=lambda d: {"f": partial(_leaning, row=d.whole(-1, 0), share=d.whole(0, 1) * d.number(0.2, 0.9))},
)

check_ranks = Exercise(
    lambda advantage: 2 * advantage.argsort().argsort() / (len(advantage) - 1) - 1,
    cases=(
        {"advantage": torch.tensor([5.0, -1.0, 0.0, 2.0, 1000.0])},
        {"advantage": torch.tensor([0.3, 0.1, 0.2])},
        {"advantage": torch.tensor([4.0, 1.0, 3.0, 2.0])},
    ),
    mistakes={
        "argsort says which row is at each rank. You need the rank of each row: argsort once more.": (
            lambda advantage: 2 * advantage.argsort() / (len(advantage) - 1) - 1
        ),
        "ranks from 0 to 1 are all positive: every action would be pushed up. Center them.": (
            lambda advantage: advantage.argsort().argsort() / (len(advantage) - 1)
        ),
        "the best gets less than 1: the largest rank is B − 1, not B.": (
            lambda advantage: 2 * advantage.argsort().argsort() / len(advantage) - 1
        ),
        "the best must be +1, not −1.": (
            lambda advantage: 1 - 2 * advantage.argsort().argsort() / (len(advantage) - 1)
        ),
    },
    drawn=lambda d: {"advantage": d.tensor(6)},
)

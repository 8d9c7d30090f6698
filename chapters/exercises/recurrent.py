"""Exercises of the chapter on memory."""

from collections.abc import Callable

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.sequences import Sequences
from tricks.recurrent import Recurrent, add_recurrence_

Step = Callable[[Tensor, Tensor], Tensor]


def through_lanes(self: Recurrent, lanes: Sequences) -> tuple[Tensor, Tensor]:
    """The features h of all rows, [S, T·L, H], and the states after the last, [S, L, K]."""
    state, count = lanes.state[:, :, self.place], lanes.state.shape[1]
    given = self.cell.contribution(self.body(lanes.obs)).unflatten(1, (-1, count))  # [S, T, L, G·H]
    rows = []
    for contribution in given.unbind(1):
        state = self.cell(contribution, state)
        rows.append(state[..., : self.width])
    return torch.stack(rows, 1).flatten(1, 2), state


class Endless(Recurrent):
    """A recurrent layer that episodes go through without an end."""

    through = through_lanes


def add_endless_recurrence_(agent: Agent, config: Config) -> None:
    """The same layers as `add_recurrence_` adds, but for that."""
    add_recurrence_(agent, config)
    for net in (agent.policy_net, agent.value_net):
        layer = net.body
        assert isinstance(layer, Recurrent)
        net.body = Endless(layer.body, layer.cell, layer.place)


def halve_and_add(x: Tensor, h: Tensor) -> Tensor:
    """A recurrent layer of one unit."""
    return x + h / 2


def _right(step: Step, x: Tensor, done: Tensor, h: Tensor) -> Tensor:
    rows = []
    for seen, ends in zip(x, done, strict=True):
        h = step(seen, h)
        rows.append(h)
        h = torch.zeros_like(h) if ends else h
    return torch.stack(rows)


def _reset_early(step: Step, x: Tensor, done: Tensor, h: Tensor) -> Tensor:
    rows = []
    for seen, ends in zip(x, done, strict=True):
        h = step(seen, torch.zeros_like(h) if ends else h)
        rows.append(h)
    return torch.stack(rows)


def _before(step: Step, x: Tensor, done: Tensor, h: Tensor) -> Tensor:
    after = _right(step, x, done, h).masked_fill(done, 0)
    return torch.cat([h.view(1), after[:-1]])


def _back_to_the_first(step: Step, x: Tensor, done: Tensor, h: Tensor) -> Tensor:
    first, rows = h, []
    for seen, ends in zip(x, done, strict=True):
        h = step(seen, h)
        rows.append(h)
        h = first if ends else h
    return torch.stack(rows)


check_rebuilt = Exercise(
    _right,
    cases=(
        {
            "step": halve_and_add,
            "x": torch.tensor([1.0, 0.0, 0.0, 2.0, 0.0]),
            "done": torch.tensor([False, False, True, False, False]),
            "h": torch.tensor(0.0),
        },
        {
            "step": halve_and_add,
            "x": torch.tensor([0.0, 0.0, 1.0]),
            "done": torch.tensor([False, True, False]),
            "h": torch.tensor(8.0),
        },
        {
            "step": halve_and_add,
            "x": torch.tensor([1.0, 3.0]),
            "done": torch.tensor([True, True]),
            "h": torch.tensor(4.0),
        },
    ),
    mistakes={
        "the lane begins at zero, but its episode may have begun in the previous segment: start from h.": (
            lambda step, x, done, h: _right(step, x, done, torch.zeros_like(h))
        ),
        "the state goes on across an end. The next episode must begin at zero.": (
            lambda step, x, done, h: _right(step, x, torch.zeros_like(done), h)
        ),
        "the reset comes one row early: an episode's last row belongs to it. Reset after it.": _reset_early,
        "the last row of an episode shows zeros. Keep its state first, and reset after that.": (
            lambda step, x, done, h: _right(step, x, done, h).masked_fill(done, 0)
        ),
        "these are the states before each row. The nets read the state that has seen the row.": _before,
        "every row begins in the first state. Carry the state from row to row.": (
            lambda step, x, done, h: torch.stack([step(seen, h) for seen in x])
        ),
        "after an end, this goes back to the state before the segment. A new episode begins at zero.": (
            _back_to_the_first
        ),
        "this is only the last state. Each row has one.": lambda step, x, done, h: _right(step, x, done, h)[-1],
    },
    drawn=lambda d: {"step": halve_and_add, "x": d.tensor(6), "done": d.flags(6), "h": d.tensor()},
    gradients=("h",),
)

"""Taxi on tensors. Dietterich 2000, 10.1613/jair.639, the domain of its figure 1; Gymnasium's rewards and numbering.

A five-by-five grid with four taxi stands. A passenger waits at one stand and wants to go to another; delivering them
ends the episode. The rules are written for one taxi and tabulated over all states and actions; lanes look them up.
"""

from functools import cache
from itertools import product

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

SIDE, ACTIONS = 5, 6
SOUTH, NORTH, EAST, WEST, PICK_UP, DROP_OFF = range(ACTIONS)
STANDS = (0, 0), (0, 4), (4, 0), (4, 3)  # row and column; rows run from north to south
WALLS = {(0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2)}  # a wall on the east side of these cells
RIDING = len(STANDS)  # the passenger's position while in the taxi
STEP, REFUSED, FARE = -1.0, -10.0, 20.0

State = tuple[int, int, int, int]  # the taxi's row and column, the passenger's stand or RIDING, the destination stand
STATES: list[State] = list(product(range(SIDE), range(SIDE), range(RIDING + 1), range(RIDING)))
STARTS = [state for state in STATES if state[2] not in (RIDING, state[3])]


def drive(row: int, column: int, action: int) -> tuple[int, int]:
    """Move one cell, unless a wall or the edge of the grid is in the way."""
    if action == SOUTH:
        return min(row + 1, SIDE - 1), column
    if action == NORTH:
        return max(row - 1, 0), column
    if action == EAST:
        return row, column if (row, column) in WALLS else min(column + 1, SIDE - 1)
    return row, column if (row, column - 1) in WALLS else max(column - 1, 0)


def rules(state: State, action: int) -> tuple[State, float]:
    """The next state and the reward. The passenger gets in only where they wait, and gets out at any stand."""
    row, column, passenger, goal = state
    if action == PICK_UP:
        waiting = passenger != RIDING and STANDS[passenger] == (row, column)
        return (row, column, RIDING if waiting else passenger, goal), STEP if waiting else REFUSED
    if action == DROP_OFF:
        if passenger != RIDING or (row, column) not in STANDS:
            return state, REFUSED
        stand = STANDS.index((row, column))
        return (row, column, stand, goal), FARE if stand == goal else STEP
    return (*drive(row, column, action), passenger, goal), STEP


@cache
def tables(device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Start states [300], next states [500·6], rewards [500·6], and which actions change a state [500, 6].

    Cached per device, because a copy to the device at every step would have to wait for it.
    """
    number = {state: i for i, state in enumerate(STATES)}
    after, reward = zip(*(rules(state, action) for state in STATES for action in range(ACTIONS)), strict=True)
    starts, following = torch.tensor([number[s] for s in STARTS]), torch.tensor([number[s] for s in after])
    legal = following.view(-1, ACTIONS) != torch.arange(len(STATES)).unsqueeze(-1)
    columns = starts.float(), following.float(), torch.tensor(reward, dtype=torch.float64), legal
    return tuple(column.to(device) for column in columns)  # type: ignore[return-value]


def initial(chance: Tensor) -> Tensor:
    """Taxi anywhere, passenger at one stand, destination another. [..., 1] -> the state's number [..., 1]."""
    return tables(chance.device)[0].take((chance * len(STARTS)).long())


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Look up the rules. Only the fare is a positive reward, and it ends the episode."""
    _, following, rewards, _ = tables(state.device)
    row = torch.add(action, state[..., 0].long(), alpha=ACTIONS)
    reward = rewards.take(row)
    return following.take(row).unsqueeze(-1), reward, reward > 0


def observe(state: Tensor) -> Tensor:
    """The state's number, one-hot."""
    # scatter_, because torch's one_hot works in int64, which is four times slower at this width
    return state.new_zeros(*state.shape[:-1], len(STATES)).scatter_(-1, state.long(), 1)


def legal(state: Tensor) -> Tensor:
    """The actions that change the state: no driving into walls, and no pick-up or drop-off where it has no effect."""
    return torch.nn.functional.embedding(state[..., 0].long(), tables(state.device)[3])


TAXI = World(
    id="Taxi-v4",
    observation=gym.spaces.Discrete(len(STATES)),
    action=gym.spaces.Discrete(ACTIONS),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=1,
    time_limit=200,
    legal=legal,
)

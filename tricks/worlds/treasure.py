"""Treasure: a game of catch and dodge in pixels. Gold and guards cross the board; gold pays, a guard is the end.

The board has 10 × 10 cells. Eight rows, all but the top and the bottom one, are tracks that a single thing at a time
crosses from left to right or from right to left. The player moves through them by one cell per step, in four directions
or not at all. Touching gold pays 1 and takes it; touching a guard ends the game. In each step all things move on by one
cell with a probability that rises from 0.2 to 1, by 0.1 every FASTER steps. When they do, a random track is picked with
probability ARRIVAL. If it is empty, and the player is not at the edge where things come in, a new thing comes in there:
gold with probability GOLD, else a guard. Channels: player, gold, guards, and the cell behind each thing together with a
bar in the top row as long as the speed. After LIMIT steps the game is over.

After an idea of Young & Tian 2019, arXiv:1903.03176: Atari's games reduced to 10 × 10 cells. These are rules of our
own. Unlike there, things move by chance and not by a hidden clock, the speed is shown, actions always take effect, and
the game has a time limit.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.board import SIDE, cell, image_space, images, picked
from tricks.worlds.world import World

STAY, LEFT, RIGHT, UP, DOWN = range(5)
NOTHING, GUARD, GOLD_KIND = range(3)
TRACKS, FASTER, SLOWEST = 8, 50, 2  # SLOWEST in tenths
ARRIVAL, GOLD, LIMIT = 0.4, 1 / 2, 500


def initial(chance: Tensor) -> Tensor:
    """The player amid empty tracks. [..., 0] -> row, column, time; each track's kind, column and right [..., 27]."""
    start = chance.new_tensor([SIDE / 2, SIDE / 2, 0, *[0] * 3 * TRACKS])
    return start.expand(*chance.shape[:-1], -1)


def pace(time: Tensor) -> Tensor:
    """The speed, in tenths of a cell per step."""
    return (SLOWEST + (time / FASTER).floor()).clamp(max=10)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move the player, then the traffic; each may touch the other. Then something may arrive."""
    (row, column, time), (kind, at, right) = state[..., :3].unbind(-1), state[..., 3:].unflatten(-1, (3, -1)).unbind(-2)
    row = (row + (action == DOWN).float() - (action == UP).float()).clamp(1, TRACKS)
    column = (column + (action == RIGHT).float() - (action == LEFT).float()).clamp(0, SIDE - 1)
    tracks = torch.arange(1, TRACKS + 1, device=state.device)
    here = tracks == row.unsqueeze(-1)  # [..., 8]: the player's track
    moves, arrives, where, side, what = chance.unbind(-1)
    moving = moves < pace(time) / 10
    step = right * moving.unsqueeze(-1)
    touched = here & ((at == column.unsqueeze(-1)) | (at + step == column.unsqueeze(-1)))
    gold, caught = (touched & (kind == GOLD_KIND)).any(-1), (touched & (kind == GUARD)).any(-1)
    at = at + step
    kind = torch.where(touched | (at < 0) | (at >= SIDE), NOTHING, kind)
    comes = (moving & (arrives < ARRIVAL)).unsqueeze(-1)
    edge = torch.where(side.round() > 0, 0, SIDE - 1)
    free = (kind == NOTHING) & ~(here & (column == edge).unsqueeze(-1))
    new = comes & (tracks - 1 == picked(where, TRACKS).unsqueeze(-1)) & free
    kind = torch.where(new, torch.where(what < GOLD, GOLD_KIND, GUARD).unsqueeze(-1), kind)
    right = torch.where(new, (2 * side.round() - 1).unsqueeze(-1), right)
    at = torch.where(new, edge.unsqueeze(-1), at)
    after = torch.cat([torch.stack([row, column, time + 1], -1), kind, at, right], -1)
    return after, gold.double(), caught


def observe(state: Tensor) -> Tensor:
    """Player, gold, guards, the cells behind things and a bar of the speed: uint8 [..., 4, 10, 10]."""
    (row, column, time), (kind, at, right) = state[..., :3].unbind(-1), state[..., 3:].unflatten(-1, (3, -1)).unbind(-2)
    columns = torch.arange(SIDE, device=state.device)
    things, behind = ((x.unsqueeze(-1) == columns) & (kind > 0).unsqueeze(-1) for x in (at, at - right))  # [..., 8, 10]
    gold, guards = (framed(things & (kind == one).unsqueeze(-1)) for one in (GOLD_KIND, GUARD))
    bar = torch.nn.functional.pad(columns < pace(time).unsqueeze(-1), (0, SIDE * (SIDE - 1)))
    return images([cell(row, column), gold, guards, framed(behind) | bar])


def framed(tracks: Tensor) -> Tensor:
    """The tracks with the empty rows above and below: [..., 8, 10] -> [..., 100]."""
    return torch.nn.functional.pad(tracks.flatten(-2), (SIDE, SIDE))


TREASURE = World(
    id="tricks/Treasure-v0",
    observation=image_space(4),
    action=gym.spaces.Discrete(5),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    step_chances=5,
    time_limit=LIMIT,
)

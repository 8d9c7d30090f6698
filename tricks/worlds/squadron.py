"""Squadron: a shooting game in pixels. Aliens march down the board and drop bombs; a cannon shoots them.

The board has 10 × 10 cells. The cannon in the bottom row moves left or right, fires, or waits; it has one shot in the
air at a time, which rises by one cell per step. A hit pays 1. The aliens, three rows of six, march sideways together
and, at the edge of the board, down by one row and back. They march in a step with a probability that rises from SLOWEST
to almost FASTEST as fewer of them are left. With probability BOMBS, the lowest alien of a random column drops a bomb,
unless one is falling there; bombs fall by one cell per step. A bomb on the cannon, or an alien in its row, ends the
game. When all aliens are shot, the next wave comes, each of the first LOWER waves one row lower than the one before.
Channels: cannon, aliens marching left, aliens marching right, shot, bombs. After LIMIT steps the game is over.

After an idea of Young & Tian 2019, arXiv:1903.03176: Atari's games reduced to 10 × 10 cells. These are rules of our
own. Unlike there, aliens march by chance and not by a hidden clock, waves start lower instead of marching faster, there
is one shot at a time, and actions always take effect.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.board import SIDE, cell, image_space, images, picked
from tricks.worlds.world import World

STAY, LEFT, RIGHT, FIRE = range(4)
TOP, ROWS, COLUMNS, LOWER = 1, 3, 6, 3
SLOWEST, FASTEST, BOMBS, LIMIT = 0.1, 0.5, 0.3, 500
NONE, BOTTOM = -1.0, SIDE - 1


def squadron(wave: Tensor) -> Tensor:
    """The aliens of a new wave: [...] -> [..., 100]."""
    cells = torch.arange(SIDE * SIDE, device=wave.device)
    row = cells // SIDE - TOP - wave.clamp(max=LOWER).unsqueeze(-1)
    return ((row >= 0) & (row < ROWS) & (cells % SIDE < COLUMNS)).float()


def initial(chance: Tensor) -> Tensor:
    """Cannon, shot's row and column, right, wave, then each column's bomb and the aliens. [..., 0] -> [..., 115]."""
    first = chance.new_tensor([SIDE / 2 - 1, NONE, 0, 1, 0, *[NONE] * SIDE])
    start = torch.cat([first, squadron(chance.new_zeros(()))])
    return start.expand(*chance.shape[:-1], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move or fire; then the shot rises, the aliens march, the bombs fall, and another one may be dropped."""
    (cannon, shot, column, right, wave), bombs, aliens = state[..., :5].unbind(-1), state[..., 5:15], state[..., 15:]
    cannon = (cannon + (action == RIGHT).float() - (action == LEFT).float()).clamp(0, SIDE - 1)
    fired = (action == FIRE) & (shot == NONE)
    shot, column = torch.where(fired, BOTTOM, shot), torch.where(fired, cannon, column)
    shot = (shot - 1).clamp(min=NONE)
    aliens, shot, first = hit(aliens, shot, column)
    aliens, right = march(aliens, right, chance[..., 0])
    aliens, shot, second = hit(aliens, shot, column)
    bombs = torch.where(bombs == NONE, NONE, bombs + 1)
    bombed = bombs.gather(-1, cannon.long().unsqueeze(-1))[..., 0] == BOTTOM
    bombs = dropped(bombs.masked_fill(bombs == BOTTOM, NONE), aliens, chance[..., 1:])
    landed, cleared = aliens[..., SIDE * BOTTOM :].any(-1), ~aliens.any(-1)
    wave = wave + cleared
    aliens, right = torch.where(cleared.unsqueeze(-1), squadron(wave), aliens), torch.where(cleared, 1.0, right)
    after = torch.cat([torch.stack([cannon, shot, column, right, wave], -1), bombs, aliens], -1)
    return after, first.double() + second.double(), bombed | landed


def hit(aliens: Tensor, shot: Tensor, column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The aliens without the one in the shot's cell, the shot, gone if it hit one, and whether it did."""
    struck = cell(shot, column) & (aliens > 0)
    struck_any = struck.any(-1)
    return aliens * ~struck, shot.masked_fill(struck_any, NONE), struck_any


def march(aliens: Tensor, right: Tensor, chance: Tensor) -> tuple[Tensor, Tensor]:
    """Perhaps one cell sideways, or down and back if an alien is at the edge."""
    board = aliens.unflatten(-1, (SIDE, SIDE))
    edge = torch.where(right > 0, board[..., -1].any(-1), board[..., 0].any(-1))
    sideways = torch.where((right > 0)[..., None, None], board.roll(1, -1), board.roll(-1, -1))
    moved = torch.where(edge[..., None, None], board.roll(1, -2), sideways).flatten(-2)
    moves = chance < FASTEST - (FASTEST - SLOWEST) * aliens.sum(-1) / (ROWS * COLUMNS)
    return torch.where(moves.unsqueeze(-1), moved, aliens), torch.where(moves & edge, -right, right)


def dropped(bombs: Tensor, aliens: Tensor, chance: Tensor) -> Tensor:
    """The bombs' rows, perhaps with another one where the lowest alien of a random column is. chance [..., 2]."""
    columns, rows = torch.arange(SIDE, device=bombs.device), torch.arange(1, SIDE + 1, device=bombs.device)
    lowest = (aliens.unflatten(-1, (SIDE, SIDE)) * rows.unsqueeze(-1)).amax(-2) - 1  # NONE in a column without any
    here = (columns == picked(chance[..., 1], SIDE).unsqueeze(-1)) & (chance[..., :1] < BOMBS)
    return torch.where(here & (bombs == NONE), lowest, bombs)


def observe(state: Tensor) -> Tensor:
    """Cannon, aliens marching left, aliens marching right, shot, bombs: uint8 [..., 5, 10, 10]."""
    (cannon, shot, column, right, _), bombs, aliens = state[..., :5].unbind(-1), state[..., 5:15], state[..., 15:]
    rows, leftward = torch.arange(SIDE, device=state.device), (right < 0).unsqueeze(-1)
    falling = (rows.unsqueeze(-1) == bombs.unsqueeze(-2)).flatten(-2)
    bottom = torch.full_like(cannon, BOTTOM)
    return images([cell(bottom, cannon), aliens * leftward, aliens * ~leftward, cell(shot, column), falling])


SQUADRON = World(
    id="tricks/Squadron-v0",
    observation=image_space(5),
    action=gym.spaces.Discrete(4),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    step_chances=3,
    time_limit=LIMIT,
)

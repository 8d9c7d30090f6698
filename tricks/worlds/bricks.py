"""Bricks: a game of bat and ball in pixels. A paddle sends the ball up into a wall of bricks; a ball missed is the end.

The board has 10 × 10 cells. The ball moves one cell diagonally per step, and the paddle, two cells wide in the bottom
row, one cell to the left or right, or not at all. The paddle's left half returns the ball to the left, its right half
to the right. A brick in the cell where the ball would come is gone, pays, and turns the ball up or down; the ball moves
only sideways in that step, past any brick that is there. The wall has three rows below the top one. When no brick is
left, the paddle's next return brings a new wall. The ball is served downward from a random column. Channels: paddle,
ball, the cell opposite to where the ball is headed, bricks. After LIMIT steps the game is over.

Every brick pays 1 in `Bricks`. In `BricksByRow` one of the top row pays 100, of the middle row 10, of the bottom row 1:
the same game with rewards of very different sizes, for tricks that scale them.

After an idea of Young & Tian 2019, arXiv:1903.03176: Atari's games reduced to 10 × 10 cells. These are rules of our
own. Unlike there, the paddle has two halves, actions always take effect, and the third channel shows where the ball is
headed, not where it was.
"""

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.board import SIDE, cell, image_space, images, picked
from tricks.worlds.world import World

Rows = tuple[float, float, float]  # one number for each row of bricks, from the top

STAY, LEFT, RIGHT = range(3)
WIDE, TOP, ROWS, SERVE, BOTTOM = 2, 1, 3, 4, SIDE - 1
BRICKS_OF_A_WALL, LIMIT = ROWS * SIDE, 500


def initial(chance: Tensor) -> Tensor:
    """The ball below a whole wall. [..., 2] -> row, column, down, right (±1), paddle, bricks [..., 5 + 30]."""
    column, right = 1 + picked(chance[..., :1], SIDE - 2), 2 * chance[..., 1:].round() - 1
    one, wall = torch.ones_like(column), chance.new_ones(*chance.shape[:-1], BRICKS_OF_A_WALL)
    return torch.cat([SERVE * one, column, one, right, (SIDE / 2 - 1) * one, wall], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor, pays: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """Move the paddle, then the ball. pays: what a brick of the top, the middle and the bottom row is worth."""
    (row, column, down, right, paddle), bricks = state[..., :5].unbind(-1), state[..., 5:]
    paddle = (paddle + (action == RIGHT).float() - (action == LEFT).float()).clamp(0, SIDE - WIDE)
    right = torch.where((column + right).clamp(0, SIDE - 1) == column + right, right, -right)  # off a side
    down = torch.where(row + down < 0, 1.0, down)  # off the top
    ahead, column = row + down, column + right
    struck = cell(ahead, column)[..., SIDE * TOP : SIDE * (TOP + ROWS)] & (bricks > 0)
    caught = (ahead == BOTTOM) & ((column == paddle) | (column == paddle + 1))
    right = torch.where(caught, 2 * (column - paddle) - 1, right)
    turned = caught | struck.any(-1)
    row, down = torch.where(turned, row, ahead), torch.where(turned, -down, down)
    bricks = bricks * ~struck
    bricks = torch.where((caught & ~bricks.any(-1)).unsqueeze(-1), 1.0, bricks)
    after = torch.cat([torch.stack([row, column, down, right, paddle], -1), bricks], -1)
    top, middle, bottom = struck.unflatten(-1, (ROWS, SIDE)).any(-1).double().unbind(-1)
    return after, pays[0] * top + pays[1] * middle + pays[2] * bottom, row == BOTTOM


def observe(state: Tensor) -> Tensor:
    """Paddle, ball, the cell behind the ball, bricks: uint8 [..., 4, 10, 10]."""
    row, column, down, right, paddle = state[..., :5].unbind(-1)
    bottom = torch.full_like(row, BOTTOM)
    wall = torch.nn.functional.pad(state[..., 5:], (SIDE * TOP, SIDE * (SIDE - TOP - ROWS)))
    bat = cell(bottom, paddle) | cell(bottom, paddle + 1)
    return images([bat, cell(row, column), cell(row - down, column - right), wall])


def game(name: str, pays: Rows) -> World:
    """The game in which the bricks of each row, from the top, pay this much."""
    return World(
        id=f"tricks/{name}-v0",
        observation=image_space(4),
        action=gym.spaces.Discrete(3),
        initial=initial,
        dynamics=partial(dynamics, pays=pays),
        observe=observe,
        reset_chances=2,
        time_limit=LIMIT,
    )


BRICKS, BRICKS_BY_ROW = game("Bricks", (1, 1, 1)), game("BricksByRow", (100, 10, 1))

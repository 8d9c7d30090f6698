"""Simple players of the games in pixels: functions of what is on the screen."""

from collections.abc import Callable

import torch
from torch import Tensor

from tricks.worlds import bricks, squadron
from tricks.worlds.board import SIDE

Player = Callable[[Tensor], Tensor]  # images [B, C, 10, 10] -> actions [B]


def where(plane: Tensor) -> tuple[Tensor, Tensor]:
    """Row and column of the first marked cell of each plane: [B, 10, 10] -> [B] each."""
    first = plane.flatten(1).argmax(1)
    return first // SIDE, first % SIDE


def bats(image: Tensor) -> Tensor:
    """Keep the paddle below the ball's next column."""
    paddle, ball, behind = (where(image[:, k])[1] for k in range(3))
    following = 2 * ball - behind
    following = torch.where((following < 0) | (following >= SIDE), behind, following)
    return torch.where(following < paddle, bricks.LEFT, torch.where(following > paddle + 1, bricks.RIGHT, bricks.STAY))


def collects(image: Tensor) -> Tensor:
    """Of the moves to where no guard is or could come to, the one that ends nearest to gold."""
    row, column = where(image[:, 0])
    rows, columns = torch.arange(SIDE).view(-1, 1), torch.arange(SIDE)
    guards, behind = image[:, 2].bool(), image[:, 3].bool()
    rightward = guards & behind.roll(1, -1) & (columns > 0) | guards & (columns == 0)
    ahead = torch.where(rightward, guards, False).roll(1, -1) | (guards & ~rightward).roll(-1, -1)
    danger = (guards | ahead).flatten(1)
    best, chosen = torch.full(row.shape, torch.inf), torch.zeros_like(row)
    for action, (down, right) in enumerate([(0, 0), (0, -1), (0, 1), (-1, 0), (1, 0)]):
        r, c = (row + down).clamp(1, 8), (column + right).clamp(0, 9)
        distance = (rows - r.view(-1, 1, 1)).abs() + (columns - c.view(-1, 1, 1)).abs()
        cost = torch.where(image[:, 1].bool(), distance, 30).flatten(1).amin(1).float()
        cost = cost + 100 * danger.gather(1, (SIDE * r + c).unsqueeze(1))[:, 0]
        chosen, best = torch.where(cost < best, action, chosen), torch.minimum(cost, best)
    return chosen


def shoots(image: Tensor) -> Tensor:
    """Step out of a bomb's way, else fire below an alien, else go where one is."""
    column = where(image[:, 0])[1]
    aliens, low = image[:, 1:3].amax((1, 2)), image[:, 4, 6:].amax(1)  # [B, 10]: by column
    here = column.unsqueeze(1)
    nearest = torch.where(aliens > 0, (torch.arange(SIDE) - here).abs(), 99).argmin(1)
    toward = torch.where(nearest < column, squadron.LEFT, squadron.RIGHT)
    left = low.gather(1, (here - 1).clamp(min=0))[:, 0]
    aside = torch.where((left == 0) & (column > 0), squadron.LEFT, squadron.RIGHT)
    acts = torch.where(aliens.gather(1, here)[:, 0] > 0, squadron.FIRE, toward)
    return torch.where(low.gather(1, here)[:, 0] > 0, aside, acts)

"""Bricks: where the ball bounces, what a brick pays, and what the screen shows, worked by hand."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.playing import cells, one_step
from torch import Tensor

from tricks.worlds import bricks, single
from tricks.worlds.board import SIDE


def played_with(ball: list[float], paddle: float, wall: Tensor | None = None, action: int = bricks.STAY) -> tuple:
    """A step of Bricks from the ball's row, column, down and right: those four after it, the wall, reward, and end."""
    whole = torch.ones(bricks.BRICKS_OF_A_WALL) if wall is None else wall
    state, reward, over = one_step(bricks.BRICKS_BY_ROW, torch.cat([torch.tensor([*ball, paddle]), whole]), action)
    return state[:4].tolist(), state[5:], reward, over


@pytest.mark.parametrize(
    ("ball", "paddle", "after", "over"),
    [
        ([6, 9, 1, 1], 0, [7, 8, 1, -1], False),  # off the right side
        ([6, 0, -1, -1], 0, [5, 1, -1, 1], False),  # off the left side
        ([8, 3, 1, 1], 4, [8, 4, -1, -1], False),  # the paddle's left half
        ([8, 3, 1, 1], 3, [8, 4, -1, 1], False),  # its right half
        ([8, 3, 1, 1], 5, [9, 4, 1, 1], True),  # past it
        ([8, 3, 1, 1], 2, [9, 4, 1, 1], True),
        ([8, 9, 1, 1], 7, [8, 8, -1, 1], False),  # off the side, and onto the paddle
    ],
)
def test_the_ball_bounces_off_the_sides_and_the_paddle_and_is_lost_past_it(
    ball: list[float], paddle: float, after: list[float], over: bool
) -> None:
    found, _, reward, ended = played_with(ball, paddle)
    assert (found, reward, ended) == (after, 0, over)


def test_the_paddle_moves_before_the_ball_and_stays_on_the_board() -> None:
    assert played_with([8, 3, 1, 1], 5, action=bricks.LEFT)[0] == [8, 4, -1, -1]
    state = torch.cat([torch.tensor([5.0, 5, 1, 1, 8]), torch.ones(30)])
    assert one_step(bricks.BRICKS, state, bricks.RIGHT)[0][4] == 8
    assert one_step(bricks.BRICKS, state, bricks.LEFT)[0][4] == 7


@pytest.mark.parametrize(("row", "pays"), [(1, 100), (2, 10), (3, 1)])
def test_a_brick_in_the_way_is_gone_pays_by_its_row_and_turns_the_ball(row: int, pays: float) -> None:
    lone = torch.zeros(3, SIDE)
    lone[row - 1, [4, 9]] = 1
    ball, wall, reward, over = played_with([row + 1, 3, -1, 1], 0, lone.flatten())
    assert (ball, reward, over) == ([row + 1, 4, 1, 1], pays, False)
    assert wall.view(3, SIDE).nonzero().tolist() == [[row - 1, 9]]
    above, _, reward, _ = played_with([row - 1, 5, 1, -1], 0, lone.flatten())
    assert (above, reward) == ([row - 1, 4, -1, -1], pays)  # from above, too
    state = torch.cat([torch.tensor([row + 1.0, 3, -1, 1, 0]), lone.flatten()])
    assert one_step(bricks.BRICKS, state, bricks.STAY)[1] == 1


def test_a_new_wall_comes_with_the_return_after_the_last_brick() -> None:
    gone = torch.zeros(30)
    assert not played_with([5, 3, 1, 1], 4, gone)[1].any()
    assert played_with([0, 3, -1, 1], 4, gone)[0] == [1, 4, 1, 1]  # off the top
    assert played_with([8, 3, 1, 1], 4, gone)[1].all()


def test_bricks_shows_paddle_ball_where_it_comes_from_and_the_wall() -> None:
    state = bricks.initial(torch.tensor([0.3, 0.9]))  # column 1 + 2, to the right
    assert [cells(bricks.BRICKS, state, k) for k in range(3)] == [[(9, 4), (9, 5)], [(4, 3)], [(3, 2)]]
    assert cells(bricks.BRICKS, state, 3) == [(row, column) for row in (1, 2, 3) for column in range(SIDE)]


def test_a_game_can_be_drawn_with_its_first_channels_on_top() -> None:
    env = gym.make(bricks.BRICKS.id, render_mode="rgb_array")
    env.reset(seed=0)
    drawn = np.asarray(env.render())
    assert drawn.shape == (SIDE * single.CELL, SIDE * single.CELL, 3)
    small = drawn[:: single.CELL, :: single.CELL]
    assert (small == drawn[single.CELL - 1 :: single.CELL, single.CELL - 1 :: single.CELL]).all()
    assert small[9].tolist() == [list(single.PALETTE[0]) if k in (4, 5) else [0, 0, 0] for k in range(SIDE)]
    assert [(small == color).all(-1).sum() for color in single.PALETTE[1:]] == [
        1,
        1,
        29,
        0,
    ]  # ball, what is behind it, the other bricks

"""Small games in pixels: single steps worked by hand, and what is seen of them."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.playing import NEVER, cells, one_step
from torch import Tensor

from tricks.worlds import bricks, single, squadron, treasure
from tricks.worlds.board import SIDE

NOW = 0.0  # a chance at which everything happens
TREASURE, SQUADRON, BRICKS = treasure.TREASURE, squadron.SQUADRON, bricks.BRICKS
GOLD, GUARD = treasure.GOLD_KIND, treasure.GUARD
goes, marches = partial(one_step, TREASURE), partial(one_step, SQUADRON)


def crossing(row: float, column: float, *things: tuple[int, float, float, float], time: float = 0) -> Tensor:
    """A state of Treasure with the player there; each thing is its track's row, its kind, column and right."""
    state = treasure.initial(torch.empty(0)).clone()
    state[:3] = torch.tensor([row, column, time])
    for track, *facts in things:
        state[3:].view(3, -1)[:, track - 1] = torch.tensor(facts)
    return state


@pytest.mark.parametrize("kind", [GOLD, GUARD])
@pytest.mark.parametrize(
    ("action", "moves", "touches"),
    [
        (treasure.RIGHT, NEVER, True),  # walks into it
        (treasure.STAY, NOW, True),  # it walks into the player
        (treasure.RIGHT, NOW, True),  # both: they do not pass through each other
        (treasure.STAY, NEVER, False),
        (treasure.LEFT, NOW, False),
        (treasure.UP, NOW, False),
    ],
)
def test_gold_pays_and_a_guard_ends_the_game_on_touch(kind: int, action: int, moves: float, touches: bool) -> None:
    after, reward, over = goes(crossing(3, 4, (3, kind, 5, -1)), action, moves)
    assert (reward, over) == (float(touches and kind == GOLD), touches and kind == GUARD)
    assert (after[3:11].sum() == 0) == touches


def test_things_leave_at_the_edge_and_arrive_on_a_free_track_when_things_move() -> None:
    after, *_ = goes(crossing(1, 0, (4, GOLD, 9, 1), (5, GUARD, 0, 1)), treasure.UP, NOW)
    assert after[:3].tolist() == [1, 0, 1] and [cells(TREASURE, after, k) for k in (1, 2)] == [[], [(5, 1)]]
    assert all(goes(crossing(8, 9), action)[0][:2].tolist() == [8, 9] for action in (treasure.DOWN, treasure.RIGHT))
    last = 0.99  # of the tracks
    for side, kind, seen in ((0.2, 0.1, [[(8, 9)], []]), (0.8, 0.1, [[(8, 0)], []]), (0.2, 0.9, [[], [(8, 9)]])):
        after, *_ = goes(crossing(1, 5), treasure.STAY, NOW, NOW, last, side, kind)
        assert [cells(TREASURE, after, k) for k in (1, 2)] == seen
    taken, *_ = goes(crossing(1, 5, (8, GUARD, 4, 1)), 0, NOW, NOW, last, 0.2, 0.1)
    assert [cells(TREASURE, taken, k) for k in (1, 2)] == [[], [(8, 5)]]
    for row, column, arrives in ((8, 9, 0), (8, 8, 1), (7, 9, 1)):  # nothing arrives where the player is
        after, *_ = goes(crossing(row, column), treasure.STAY, NOW, NOW, last, 0.2, 0.9)
        assert len(cells(TREASURE, after, 2)) == arrives
    for chance in ((NEVER, NOW), (NOW, NEVER)):
        assert not goes(crossing(1, 5), treasure.STAY, *chance, last, 0.2, 0.1)[0][3:11].any()


def test_a_shot_rises_and_pays_and_the_speed_rises_with_time() -> None:
    for time, tenths in ((0, 2), (49, 2), (50, 3), (400, 10), (499, 10)):
        state = crossing(4, 4, (2, GUARD, 5, -1), time=time)
        assert cells(TREASURE, state, 3) == [*((0, i) for i in range(tenths)), (2, 6)]
        for moves, column in ((tenths / 10 - 0.01, 4), (tenths / 10 + 0.01, 5)):
            assert cells(TREASURE, goes(state, treasure.STAY, moves)[0], 2) == [(2, column)]
    after, *_ = marches(shooting((6, 4), (2, 2)), squadron.FIRE)
    assert seen(after) == [[(9, 4)], [], [(2, 2), (6, 4)], [(8, 4)], []]
    after, reward, _ = marches(after, squadron.FIRE)
    assert (seen(after)[3], reward) == ([(7, 4)], 0)
    after, reward, over = marches(after, squadron.RIGHT)
    assert (seen(after), reward, over) == ([[(9, 5)], [], [(2, 2)], [], []], 1, False)
    assert seen(marches(after, squadron.FIRE)[0])[3] == [(8, 5)]
    missed, *_ = marches(shooting((5, 5), shot=(0, 3)), squadron.FIRE)
    assert seen(missed)[3] == []  # it left the board, and the cannon is ready in the next step


def shooting(
    *aliens: tuple[int, int], cannon: float = 4, shot: tuple[float, float] = (-1, 0), right: float = 1, wave: float = 0
) -> Tensor:
    """A state of Squadron with aliens at these rows and columns."""
    board = torch.zeros(SIDE, SIDE)
    for cell in aliens:
        board[cell] = 1
    return torch.cat([torch.tensor([cannon, *shot, right, wave]), torch.full((SIDE,), -1.0), board.flatten()])


def seen(state: Tensor) -> list[list[tuple[int, int]]]:
    return [cells(SQUADRON, state, k) for k in range(5)]


def test_aliens_march_turn_lower_and_the_faster_the_fewer_they_are() -> None:
    state = shooting((2, 8), (4, 1))
    for movers in ([[], [(2, 9), (4, 2)]], [[(3, 9), (5, 2)], []], [[(3, 8), (5, 1)], []]):
        state, *_ = marches(state, squadron.STAY, NOW)
        assert seen(state)[1:3] == movers
    after, reward, _ = marches(shooting((3, 4), (7, 0), shot=(4, 5)), squadron.STAY, NOW)
    assert (seen(after)[2:4], reward) == ([[(7, 1)], []], 1)
    whole = torch.cat([shooting()[:15], squadron.squadron(torch.tensor(0.0))])
    for state, share in ((whole, 0.1), (shooting((1, 1)), 0.5 - 0.4 / 18)):
        for chance in (share - 0.01, share + 0.01):
            assert torch.equal(marches(state, squadron.STAY, chance)[0][15:], state[15:]) == (chance > share)


def test_an_alien_s_bomb_or_its_row_ends_the_game_and_the_next_wave_comes_lower() -> None:
    low = state = shooting((2, 4), (6, 4), (3, 0))
    for row in (6, 7):
        low, *_ = marches(low, squadron.STAY, NEVER, NOW, 0.45)
        assert seen(low)[4] == [(row, 4)]
    assert seen(marches(state, squadron.STAY, NEVER, NOW, 0.55)[0])[4] == []  # nobody is there
    low, *_ = marches(low, squadron.STAY)
    assert seen(low)[4] == [(8, 4)] and marches(low, squadron.STAY)[2]
    past, _, over = marches(low, squadron.LEFT)
    assert (seen(past)[4], over) == ([], False)
    assert marches(shooting((8, 9), (2, 3)), squadron.STAY, NOW)[2]
    for wave, top in ((0, 2), (1, 3), (2, 4), (3, 4), (7, 4)):
        for right in (1, -1):
            after, *won = marches(shooting((3, 4), shot=(4, 4), wave=wave, right=right), squadron.STAY)
            assert won == [1, False]
            assert seen(after)[2] == [(row, column) for row in range(top, top + 3) for column in range(6)]


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
def test_a_ball_bounces_or_passes_the_paddle(ball: list[float], paddle: float, after: list[float], over: bool) -> None:
    found, _, reward, ended = played_with(ball, paddle)
    assert (found, reward, ended) == (after, 0, over)


def test_the_paddle_moves_before_the_ball_and_a_new_wall_comes_after_the_last_brick() -> None:
    assert played_with([8, 3, 1, 1], 5, action=bricks.LEFT)[0] == [8, 4, -1, -1]
    state = torch.cat([torch.tensor([5.0, 5, 1, 1, 8]), torch.ones(30)])
    for action, column in ((bricks.RIGHT, 8), (bricks.LEFT, 7)):
        assert one_step(BRICKS, state, action)[0][4] == column
    gone = torch.zeros(30)
    assert not played_with([5, 3, 1, 1], 4, gone)[1].any()
    assert played_with([0, 3, -1, 1], 4, gone)[0] == [1, 4, 1, 1]  # off the top
    assert played_with([8, 3, 1, 1], 4, gone)[1].all()


@pytest.mark.parametrize(("row", "pays"), [(1, 100), (2, 10), (3, 1)])
def test_a_brick_in_the_way_is_gone_pays_by_its_row_and_turns_the_ball(row: int, pays: float) -> None:
    lone = torch.zeros(3, SIDE)
    lone[row - 1, [4, 9]] = 1
    ball, wall, reward, over = played_with([row + 1, 3, -1, 1], 0, lone.flatten())
    assert (ball, reward, over) == ([row + 1, 4, 1, 1], pays, False)
    assert wall.view(3, SIDE).nonzero().tolist() == [[row - 1, 9]]
    above, _, reward, _ = played_with([row - 1, 5, 1, -1], 0, lone.flatten())
    assert (above, reward) == ([row - 1, 4, -1, -1], pays)  # from above, too
    assert one_step(BRICKS, torch.cat([torch.tensor([row + 1.0, 3, -1, 1, 0]), lone.flatten()]), bricks.STAY)[1] == 1


def test_bricks_shows_paddle_ball_where_it_comes_from_and_the_wall() -> None:
    state = bricks.initial(torch.tensor([0.3, 0.9]))  # column 1 + 2, to the right
    assert [cells(BRICKS, state, k) for k in range(3)] == [[(9, 4), (9, 5)], [(4, 3)], [(3, 2)]]
    assert cells(BRICKS, state, 3) == [(row, column) for row in (1, 2, 3) for column in range(SIDE)]
    env = gym.make(BRICKS.id, render_mode="rgb_array")  # drawn with its first channels on top
    env.reset(seed=0)
    small = np.asarray(env.render())[:: single.CELL, :: single.CELL]
    assert [(small == color).all(-1).sum() for color in single.PALETTE] == [2, 1, 1, 29, 0]

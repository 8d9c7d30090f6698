"""Small games in pixels: single steps worked by hand, and what a simple player scores in a whole game."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from support.pixel_players import Player, bats, collects, shoots
from support.playing import NEVER, cells, one_step
from torch import Tensor

from tricks import ATARI, PPG, Config, Tricks, train
from tricks.envs.tensor import TensorEnv
from tricks.worlds import GAMES, squadron, treasure
from tricks.worlds.board import SIDE

NOW = 0.0  # a chance at which everything happens


def crossing(row: float, column: float, *things: tuple[int, float, float, float], time: float = 0) -> Tensor:
    """A state of Treasure with the player there; each thing is its track's row, its kind, column and right."""
    state = treasure.initial(torch.empty(0)).clone()
    state[:3] = torch.tensor([row, column, time])
    for track, *facts in things:
        state[3:].view(3, -1)[:, track - 1] = torch.tensor(facts)
    return state


GOLD, GUARD = treasure.GOLD_KIND, treasure.GUARD


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
def test_gold_pays_and_a_guard_ends_the_game_wherever_they_touch(
    kind: int, action: int, moves: float, touches: bool
) -> None:
    state = crossing(3, 4, (3, kind, 5, -1))
    after, reward, over = one_step(treasure.TREASURE, state, action, moves)
    assert (reward, over) == (float(touches and kind == GOLD), touches and kind == GUARD)
    assert (after[3:11].sum() == 0) == touches


def test_things_leave_at_the_edge_and_the_player_stays_on_the_tracks() -> None:
    state = crossing(1, 0, (4, GOLD, 9, 1), (5, GUARD, 0, 1))
    after, *_ = one_step(treasure.TREASURE, state, treasure.UP, NOW)
    assert after[:3].tolist() == [1, 0, 1]
    assert cells(treasure.TREASURE, after, 1) == []
    assert cells(treasure.TREASURE, after, 2) == [(5, 1)]
    assert one_step(treasure.TREASURE, crossing(8, 9), treasure.DOWN)[0][:2].tolist() == [8, 9]
    assert one_step(treasure.TREASURE, crossing(8, 9), treasure.RIGHT)[0][:2].tolist() == [8, 9]


def test_something_arrives_on_a_free_track_only_when_things_move() -> None:
    last = 0.99  # of the tracks
    for side, column in ((0.2, 9), (0.8, 0)):
        after, *_ = one_step(treasure.TREASURE, crossing(1, 5), treasure.STAY, NOW, NOW, last, side, 0.1)
        assert cells(treasure.TREASURE, after, 1) == [(8, column)]
    after, *_ = one_step(treasure.TREASURE, crossing(1, 5), treasure.STAY, NOW, NOW, last, 0.2, 0.9)
    assert cells(treasure.TREASURE, after, 2) == [(8, 9)]
    taken, *_ = one_step(treasure.TREASURE, crossing(1, 5, (8, GUARD, 4, 1)), 0, NOW, NOW, last, 0.2, 0.1)
    assert [cells(treasure.TREASURE, taken, k) for k in (1, 2)] == [[], [(8, 5)]]
    for row, column, arrives in ((8, 9, 0), (8, 8, 1), (7, 9, 1)):  # nothing arrives where the player is
        after, *_ = one_step(treasure.TREASURE, crossing(row, column), treasure.STAY, NOW, NOW, last, 0.2, 0.9)
        assert len(cells(treasure.TREASURE, after, 2)) == arrives
    for chance in ((NEVER, NOW), (NOW, NEVER)):
        after, *_ = one_step(treasure.TREASURE, crossing(1, 5), treasure.STAY, *chance, last, 0.2, 0.1)
        assert not after[3:11].any()


def test_the_speed_rises_with_time_and_is_shown() -> None:
    for time, tenths in ((0, 2), (49, 2), (50, 3), (400, 10), (499, 10)):
        state = crossing(4, 4, (2, GUARD, 5, -1), time=time)
        assert cells(treasure.TREASURE, state, 3) == [*((0, i) for i in range(tenths)), (2, 6)]
        for moves in (tenths / 10 - 0.01, tenths / 10 + 0.01):
            after, *_ = one_step(treasure.TREASURE, state, treasure.STAY, moves)
            assert cells(treasure.TREASURE, after, 2) == [(2, 4 if moves < tenths / 10 else 5)]


def shooting(
    *aliens: tuple[int, int], cannon: float = 4, shot: tuple[float, float] = (-1, 0), right: float = 1, wave: float = 0
) -> Tensor:
    """A state of Squadron with aliens at these rows and columns."""
    board = torch.zeros(SIDE, SIDE)
    for cell in aliens:
        board[cell] = 1
    return torch.cat([torch.tensor([cannon, *shot, right, wave]), torch.full((SIDE,), -1.0), board.flatten()])


def seen(state: Tensor) -> list[list[tuple[int, int]]]:
    return [cells(squadron.SQUADRON, state, k) for k in range(5)]


def test_a_shot_rises_hits_pays_and_only_then_there_is_another() -> None:
    state = shooting((6, 4), (2, 2))
    after, reward, _ = one_step(squadron.SQUADRON, state, squadron.FIRE)
    assert seen(after) == [[(9, 4)], [], [(2, 2), (6, 4)], [(8, 4)], []]
    after, *_ = one_step(squadron.SQUADRON, after, squadron.FIRE)
    assert (seen(after)[3], reward) == ([(7, 4)], 0)
    after, reward, over = one_step(squadron.SQUADRON, after, squadron.RIGHT)
    assert (seen(after), reward, over) == ([[(9, 5)], [], [(2, 2)], [], []], 1, False)
    assert seen(one_step(squadron.SQUADRON, after, squadron.FIRE)[0])[3] == [(8, 5)]
    missed, *_ = one_step(squadron.SQUADRON, shooting((5, 5), shot=(0, 3)), squadron.FIRE)
    assert seen(missed)[3] == []  # it left the board, and the cannon is ready in the next step


def test_aliens_march_and_turn_one_row_lower_at_the_edge_and_may_march_into_a_shot() -> None:
    state = shooting((2, 8), (4, 1))
    after, *_ = one_step(squadron.SQUADRON, state, squadron.STAY, NOW)
    assert seen(after)[1:3] == [[], [(2, 9), (4, 2)]]
    after, *_ = one_step(squadron.SQUADRON, after, squadron.STAY, NOW)
    assert seen(after)[1:3] == [[(3, 9), (5, 2)], []]
    after, *_ = one_step(squadron.SQUADRON, after, squadron.STAY, NOW)
    assert seen(after)[1] == [(3, 8), (5, 1)]
    after, reward, _ = one_step(squadron.SQUADRON, shooting((3, 4), (7, 0), shot=(4, 5)), squadron.STAY, NOW)
    assert (seen(after)[2:4], reward) == ([[(7, 1)], []], 1)


def test_the_fewer_aliens_the_more_often_they_march() -> None:
    whole = torch.cat([shooting()[:15], squadron.squadron(torch.tensor(0.0))])
    for state, share in ((whole, 0.1), (shooting((1, 1)), 0.5 - 0.4 / 18)):
        for chance in (share - 0.01, share + 0.01):
            after, *_ = one_step(squadron.SQUADRON, state, squadron.STAY, chance)
            assert torch.equal(after[15:], state[15:]) == (chance > share)


def test_a_bomb_falls_from_the_lowest_alien_of_a_column_and_ends_the_game_on_the_cannon() -> None:
    state = shooting((2, 4), (6, 4), (3, 0))
    after, *_ = one_step(squadron.SQUADRON, state, squadron.STAY, NEVER, NOW, 0.45)
    assert seen(after)[4] == [(6, 4)]
    again, *_ = one_step(squadron.SQUADRON, after, squadron.STAY, NEVER, NOW, 0.45)
    assert seen(again)[4] == [(7, 4)]
    assert seen(one_step(squadron.SQUADRON, state, squadron.STAY, NEVER, NOW, 0.55)[0])[4] == []  # nobody is there
    low, *_ = one_step(squadron.SQUADRON, again, squadron.STAY)
    assert seen(low)[4] == [(8, 4)]
    assert one_step(squadron.SQUADRON, low, squadron.STAY)[2]
    past, _, over = one_step(squadron.SQUADRON, low, squadron.LEFT)
    assert (seen(past)[4], over) == ([], False)


def test_an_alien_in_the_cannons_row_ends_the_game_and_the_last_hit_brings_the_next_wave_lower() -> None:
    assert one_step(squadron.SQUADRON, shooting((8, 9), (2, 3)), squadron.STAY, NOW)[2]
    for wave, top in ((0, 2), (1, 3), (2, 4), (3, 4), (7, 4)):
        for right in (1, -1):
            state = shooting((3, 4), shot=(4, 4), wave=wave, right=right)
            after, reward, over = one_step(squadron.SQUADRON, state, squadron.STAY)
            assert (reward, over) == (1, False)
            assert seen(after)[2] == [(row, column) for row in range(top, top + 3) for column in range(6)]


def scores(id: str, player: Player, games: int = 200) -> Tensor:
    """The score of the first game of each lane."""
    env, alive = TensorEnv(GAMES[id], Config(env=id, seeds=1, lanes=games)), torch.ones(games, dtype=torch.bool)
    total = torch.zeros(games, dtype=torch.float64)
    while alive.any():
        step = env.step(player(env.now.obs[0])[None], torch.ones(1) > 0)
        total += step.score[0] * alive
        alive &= ~step.over[0]
    return total


@pytest.mark.parametrize(
    ("id", "player", "least"),
    [
        ("tricks/Bricks-v0", bats, 20),
        ("tricks/BricksByRow-v0", bats, 500),
        ("tricks/Treasure-v0", collects, 10),
        ("tricks/Squadron-v0", shoots, 15),
    ],
)
def test_a_simple_player_is_far_better_than_chance(id: str, player: Player, least: float) -> None:
    actions = int(GAMES[id].action.n)  # type: ignore[attr-defined]
    generator = torch.Generator().manual_seed(0)
    skilled = scores(id, player)
    chance = scores(id, lambda image: torch.randint(actions, (len(image),), generator=generator))
    assert skilled.mean() > least > 3 * chance.mean()


@pytest.mark.parametrize("tricks", [ATARI, PPG], ids=["shared_trunk", "ppg"])
def test_a_seed_alone_equals_the_seed_in_a_stack_whatever_shares_its_body(tricks: Tricks) -> None:
    config = Config(squadron.SQUADRON.id, seeds=(3,), steps=400, lanes=4, horizon=16, aux_every=3)
    lone, stacked = train(config, tricks).curve, train(replace(config, seeds=(8, 3)), tricks).curve
    stacked = stacked[stacked.seed == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(lone, stacked, rtol=2e-3, atol=1e-4)

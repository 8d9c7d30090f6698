"""Atari: FIRE begins games and lives, a lost life does not reset the game, and both ways to play are one game."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from tricks.config import ATARI_CONFIG
from tricks.core.env import Env, Step
from tricks.core.extras import extra
from tricks.envs import atari
from tricks.envs.atari import is_atari
from tricks.envs.make import make_env

BACKENDS = pytest.mark.parametrize("backend", ["gymnasium", "processes"])
EVERYONE = torch.ones(1, dtype=torch.bool)
IDLE, FIRE = 0, 1
BREAKOUT = replace(ATARI_CONFIG, seeds=(3,), lanes=2, record=("episode_frame_number",))
PACMAN = replace(BREAKOUT, env="ALE/MsPacman-v5")


@pytest.fixture(autouse=True)
def ale(request: pytest.FixtureRequest) -> None:
    if find_spec("ale_py") is None:  # not importorskip: the import would register the ids
        pytest.skip("ale_py is not installed")
    if "processes" in request.node.name:
        pytest.importorskip("cv2")


def frames(step: Step) -> np.ndarray:
    assert step.record is not None
    return step.record[0, :, 0].numpy()


def moves(env: Env, rows: int, action: int | None = None) -> Iterator[tuple[Step, Step]]:
    """The steps before and after each of so many; with random actions unless one is given."""
    rng = np.random.default_rng(0)
    for _ in range(rows):
        drawn = rng.integers(env.spaces.actions, size=(1, env.lanes)) if action is None else [[action] * env.lanes]
        before = env.now
        yield before, env.step(torch.as_tensor(drawn), EVERYONE)
    env.close()


def lives(step: Step) -> torch.Tensor:
    assert step.lives is not None
    return step.lives


@BACKENDS
def test_breakout_runs_on_after_a_lost_life_and_starts_anew_after_the_last(backend: str) -> None:
    env = make_env(replace(BREAKOUT, backend=backend))
    lost, over, clock = 0, 0, np.full(2, np.nan)
    for before, step in moves(env, 260):
        fewer = (lives(step) < lives(before)) & ~before.over
        assert torch.equal(step.terminated, fewer) and torch.equal(step.resetting, step.terminated)
        assert torch.equal(step.over, step.terminated & (lives(step) == 0))
        on = ~(before.over | step.over)[0].numpy() & np.isfinite(clock)
        assert (frames(step) - clock == 4)[on].all()  # so the game was not reset
        lost, over, clock = lost + int((step.terminated & ~step.over).sum()), over + int(step.over.sum()), frames(step)
    assert lost >= 8
    assert over >= 2


@BACKENDS
@pytest.mark.parametrize("life_ends", [True, False])
def test_a_ball_is_served_after_each_lost_one_by_a_fire_that_is_no_choice(backend: str, life_ends: bool) -> None:
    env, fired = make_env(replace(BREAKOUT, backend=backend, life_ends=life_ends)), 0
    still = longest = torch.zeros(1, env.lanes, dtype=torch.int64)  # without a ball, nothing changes on the screen
    for before, step in moves(env, 160, IDLE):
        still = (still + 1) * (step.obs == before.obs).flatten(2).all(2)
        longest = longest.maximum(still)
        pressed = before.resetting & ~before.over
        assert torch.equal(lives(step)[pressed], lives(before)[pressed])
        fired += int(pressed.sum())
    if life_ends:
        assert longest.max() < 10
        assert fired >= 6
    else:
        assert longest.max() > 100  # for FIRE, which the agent then has to find out


def test_only_where_fire_is_the_second_action_it_is_pressed_after_a_lost_life() -> None:
    lost = 0
    for _, step in moves(make_env(PACMAN), 250):
        assert torch.equal(step.resetting, step.over)  # the row after a lost life is experience
        lost += int((step.terminated & ~step.over).sum())
    assert lost >= 2
    assert [atari.fire(f"ALE/{game}-v5") for game in ("Breakout", "SpaceInvaders", "MsPacman")] == [FIRE, FIRE, None]


def test_one_game_in_python_equals_a_game_of_ale_frame_by_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cv2")
    monkeypatch.setattr(atari, "NOOPS", 0)  # whose number each draws in its own way
    ours, theirs = (  # of a game that does not wait for FIRE
        [after for _, after in moves(make_env(replace(PACMAN, backend=backend, lanes=1)), 250)]
        for backend in ("gymnasium", "processes")
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert sum(int(step.reward.sum()) for step in ours) > 3
    assert any(step.terminated.any() for step in ours)  # a life was lost


@BACKENDS
def test_a_game_begins_after_a_random_number_of_idle_frames_up_to_thirty(backend: str) -> None:
    env, idle = make_env(replace(PACMAN, backend=backend, lanes=3)), set[int]()  # a game without FIRE
    for _ in range(12):
        env.reset()
        step = env.step(torch.zeros(1, 3, dtype=torch.int64), EVERYONE)
        idle |= {int(x) - 4 for x in frames(step)}
    env.close()
    assert idle <= {*range(31)}
    assert len(idle) > 12  # of 36 drawn
    assert max(idle) > 25


@pytest.mark.parametrize("life_ends", [True, False])
def test_in_a_film_a_ball_is_served_as_in_training(life_ends: bool) -> None:
    pytest.importorskip("cv2")
    extra("atari", "ale_py")  # which registers the ids
    game = atari.make_game("ALE/Breakout-v5", life_ends=life_ends)
    (seen, _), still, longest = game.reset(seed=0), 0, 0
    for _ in range(110):
        before = seen
        seen, *_ = game.step(IDLE)
        still = (still + 1) * bool((seen == before).all())
        longest = max(longest, still)
    game.close()
    assert longest < 10 if life_ends else longest > 50


def test_an_id_that_names_the_module_is_the_same_game() -> None:
    assert is_atari("ale_py:ALE/Breakout-v5")
    env = make_env(replace(BREAKOUT, env="ale_py:ALE/Breakout-v5", lanes=1))
    assert env.spaces.observation.shape == (4, 84, 84)
    env.close()

"""Atari: the game's own score is reported, its sign is learned from, and a lost life ends an episode, not the game."""

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

import tricks.loop as loop
import tricks.runs.run as runs
from tricks import PPO, REINFORCE, Config, Tricks, train
from tricks.core.extras import extra
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs import atari
from tricks.envs.atari import AtariEnv
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.runs.log import Log

EVERYONE = torch.ones(1, dtype=torch.bool)


class ThreeLives(gym.Env):
    """Four steps a life, 5 points a step; but what ends the first life costs 60."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {"lives": 3}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        points = 5.0 if self.t != 4 else -60.0
        return np.zeros(1, np.float32), points, self.t == 12, False, {"lives": 3 - self.t // 4}


gym.register("ThreeLives-v0", entry_point=ThreeLives)
SCORE = 11 * 5 - 60


def three_lives(config: Config, purpose: str = "env", make: None = None) -> AtariEnv:
    return AtariEnv(GymnasiumEnv(config, purpose))


@pytest.fixture
def ale() -> None:
    if find_spec("ale_py") is None:  # not importorskip: the import would register the ids
        pytest.skip("ale_py is not installed")


def scripted(*steps: tuple[list[float], list[int], list[bool]]) -> tuple[AtariEnv, list[list[list[float]]]]:
    """An AtariEnv over two lanes with these scores, lives and ends, and what its steps returned."""
    blank = torch.zeros(1, 2)
    inner = SimpleNamespace(
        id="x", seeds=(0,), lanes=2, spaces=None, obs=blank, legal=blank, score=blank.double(), resetting=blank.bool()
    )
    inner.infos = {0: {"lives": np.array([3, 3])}}
    env = AtariEnv(inner)  # type: ignore[arg-type]
    told = []
    for score, lives, ends in steps:

        def step(action: Tensor, playing: Tensor, score: Any = score, lives: Any = lives, ends: Any = ends) -> Any:
            inner.score, inner.resetting = torch.tensor([score]).double(), torch.tensor([ends])
            inner.infos = {0: {"lives": np.array(lives)}}
            return inner.score, inner.resetting, torch.zeros_like(inner.resetting)

        inner.step = step
        told.append([x[0].tolist() for x in (*env.step(blank, EVERYONE), env.score, env.resetting)])
    return env, told


def test_the_sign_is_learned_from_and_the_score_is_kept() -> None:
    _, told = scripted(([7.0, -3.0], [3, 3], [False, False]), ([0.0, 1.0], [3, 3], [False, False]))
    assert [(reward, score) for reward, _, _, score, _ in told] == [([1, -1], [7, -3]), ([0, 1], [0, 1])]


def test_a_lost_life_terminates_and_the_game_goes_on() -> None:
    zero, no = [0.0, 0.0], [False, False]
    _, told = scripted(
        (zero, [2, 3], no),  # lane 0 loses a life
        (zero, [2, 4], no),  # lane 1 wins one
        (zero, [2, 0], no),  # all at once, and it is not over yet
        (zero, [0, 0], [True, True]),
        (zero, [5, 3], no),  # the reset row
        (zero, [5, 3], no),
    )
    assert [terminated for _, terminated, *_ in told] == [[True, False], no, no, [True, True], no, no]
    assert [resetting for *_, resetting in told] == [no, no, no, [True, True], no, no]


def test_a_reset_with_fewer_lives_than_before_is_no_lost_life() -> None:
    no = [False, False]
    _, told = scripted(([0.0, 0.0], [6, 3], [True, False]), ([0.0, 0.0], [3, 3], no), ([0.0, 0.0], [2, 3], no))
    assert [terminated[0] for _, terminated, *_ in told] == [True, False, True]


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["episodes", "segments"])
def test_the_curve_and_the_evaluation_tell_the_score_of_whole_games(
    tricks: Tricks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "make_env", three_lives)
    monkeypatch.setattr(runs, "make_env", three_lives)
    run = train(Config(env="ThreeLives-v0", seeds=2, steps=300, lanes=2, horizon=20), tricks)
    told = run.curve[run.curve.episodes > 0]
    assert (told["return"] == SCORE).all()
    assert (told["length"] == 12).all()
    assert told.episodes.sum() >= 2 * 300 // 12 - 4
    assert run.evaluate(3).tolist() == [[SCORE] * 3] * 2


def test_whole_episodes_are_whole_games_and_are_learned_from_life_by_life() -> None:
    env = three_lives(Config(env="ThreeLives-v0", seeds=1, lanes=2))
    rollout = play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(1, 2, 2), 30, EVERYONE)
    for lane in (0, 1):
        rows = rollout.valid[0, :, lane]
        steps = torch.arange(int(rows.sum()))
        assert len(steps) == 24
        assert rollout.terminated[0, rows, lane].nonzero().flatten().tolist() == [3, 7, 11, 15, 19, 23]
        assert rollout.over[0, rows, lane].nonzero().flatten().tolist() == [11, 23]
        assert rollout.reward[0, rows, lane].tolist() == [-1 if t % 12 == 3 else 1 for t in steps]
        assert rollout.score[0, rows, lane].tolist() == [-60 if t % 12 == 3 else 5 for t in steps]
    assert not rollout.truncated.any()


def test_the_log_sums_scores_up_to_the_end_of_the_game_not_of_the_life() -> None:
    column = lambda *rows: torch.tensor(rows).view(1, -1, 1)  # noqa: E731
    no, empty = column(0, 0, 0).bool(), torch.zeros(0)
    log = Log(Config(seeds=1, lanes=1, steps=100))
    for over in (column(0, 0, 0), column(0, 1, 0)):
        reward, score, dead = column(1.0, 1.0, 1.0).double(), column(10.0, 2.0, 3.0).double(), column(0, 1, 0).bool()
        log.note(grad_norm=torch.ones(1), policy_loss=torch.ones(1))
        log.end_update(Rollout(empty, empty, empty, reward, dead, no, ~no, score, over.bool()))
    curve = log.curve()
    assert curve.episodes.tolist() == [0, 1]
    assert curve["return"].tolist()[1] == 15 + 12
    assert curve["length"].tolist()[1] == 5


@pytest.mark.usefixtures("ale")
@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_breakout_runs_on_after_a_lost_life_and_starts_anew_after_the_last(backend: str) -> None:
    if backend == "processes":
        pytest.importorskip("cv2")
    env = make_env(Config(env="ALE/Breakout-v5", backend=backend, seeds=(3,), lanes=2))
    assert isinstance(env, AtariEnv)
    rng, lost, over, clock = np.random.default_rng(0), 0, 0, None
    for _ in range(260):
        going, lives = ~env.resetting, env._lives
        _, terminated, _ = env.step(torch.from_numpy(rng.integers(4, size=(1, 2))), EVERYONE)
        frame, fewer = env.env.infos[0]["episode_frame_number"], env._lives < lives
        assert torch.equal(terminated, fewer & going)
        assert torch.equal(env.resetting, terminated & (env._lives == 0))
        if clock is not None:
            on = (going & ~env.resetting)[0].numpy()
            assert (frame - clock == 4)[on].all()  # so the game was not reset
        lost, over, clock = lost + int((terminated & ~env.resetting).sum()), over + int(env.resetting.sum()), frame
    env.close()
    assert lost >= 8
    assert over >= 2


@pytest.mark.usefixtures("ale")
def test_points_of_pacman_are_kept_and_learned_from_by_their_sign() -> None:
    env = make_env(Config(env="ALE/MsPacman-v5", seeds=(3,), lanes=2))
    rng, points = np.random.default_rng(0), set()
    for _ in range(150):  # it opens with a tune
        reward, *_ = env.step(torch.from_numpy(rng.integers(9, size=(1, 2))), EVERYONE)
        assert torch.equal(reward, env.score.sign())
        points |= set(env.score.flatten().tolist())
    assert points >= {0, 10}
    env.close()


@pytest.mark.usefixtures("ale")
def test_one_game_in_python_equals_a_game_of_ale_frame_by_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cv2")
    monkeypatch.setattr(atari, "NOOPS", 0)  # whose number each draws in its own way
    seen = []
    for backend in ("gymnasium", "processes"):  # of a game that does not wait for FIRE
        env = make_env(Config(env="ALE/MsPacman-v5", backend=backend, seeds=(3,), lanes=1))
        rng, rows = np.random.default_rng(0), [(env.obs,)]
        for _ in range(250):
            outcome = env.step(torch.from_numpy(rng.integers(9, size=(1, 1))), EVERYONE)
            rows.append((env.obs, env.score, env.resetting, *outcome))
        seen.append(rows)
        env.close()
    for ours, theirs in zip(*seen, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert sum(int(row[3].sum()) for row in seen[0][1:]) > 3
    assert any(row[4].any() for row in seen[0][1:])  # a life was lost


@pytest.mark.usefixtures("ale")
@pytest.mark.parametrize(("id", "waits"), [("ALE/Breakout-v5", True), ("ALE/MsPacman-v5", False)])
def test_fire_is_pressed_where_the_game_waits_for_it(
    id: str, waits: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cv2")
    extra("atari", "ale_py")  # which registers the ids
    monkeypatch.setattr(atari, "NOOPS", 0)
    game = atari.make_game(id)
    obs, info = game.reset(seed=0)
    assert obs.shape == (4, 84, 84)
    assert info["episode_frame_number"] == (4 if waits else 0)
    game.close()
    assert capfd.readouterr().err == ""

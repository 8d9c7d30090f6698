"""Films of an agent, and what plays in them."""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.pictured import Pictured, untrained

from tricks import REINFORCE, Config, InputError
from tricks.ladder import switched
from tricks.runs import film as play

GIF = Path("x.gif")


def test_a_long_episode_is_thinned_out_and_a_large_picture_made_small() -> None:
    assert "an episode of 650 steps" in play.picture(untrained("Long-v0").only(), GIF, greedy=False)
    with Image.open(GIF) as gif:
        assert gif.size == (400, 200)
        assert gif.n_frames == 164  # type: ignore[attr-defined]  # every fourth of 651, and the last
        gif.seek(1)
        assert gif.info["duration"] == 100  # not 200: it would be a slide show
    for steps in (1, 299, 300, 301, 599, 600, 601, 5000):
        film = play.Film(fps=50)
        for step in range(steps + 1):
            if step == steps or film.wants(step):
                film.add(np.array(step))
        kept = [int(frame) for frame in film.frames]
        assert len(kept) <= play.MOST
        assert kept == [*range(0, steps, film.stride), steps]


def test_an_agent_that_was_trained_with_masks_plays_with_masks() -> None:
    env, paid = play.make_playable(Config("OnlyOneLegal-v0")), []
    assert env is not None
    for tricks in (switched(["action_mask"]), REINFORCE):
        _, total, steps = play.watch(untrained("OnlyOneLegal-v0", tricks).only(), env, greedy=False)
        assert steps == 10
        paid.append(total)
    assert paid[0] == 0 > paid[1]


def test_a_world_of_another_backend_that_goes_by_the_same_name_is_not_drawn() -> None:
    run = untrained("SeenActionReward-v0").only()
    for other in ("Taxi-v4", "Nowhere-v0"):
        renamed = replace(run, config=replace(run.config, env=other))
        assert play.picture(renamed, GIF, greedy=False) == f"{other} cannot be rendered"


def raising(error: Exception) -> Callable[..., Any]:
    def fails(*_: object) -> Any:
        raise error

    return fails


FAILED = r"RuntimeError: there is no OpenGL context, in test_film.py, line \d+ \(.*MUJOCO_GL=egl\), or add --no-gif$"


@pytest.mark.parametrize(
    ("kind", "name", "member", "said"),
    [
        (Pictured, "render", raising(RuntimeError("there is no\nOpenGL context")), FAILED),
        (Pictured, "render", lambda _: None, ""),
        (Pictured, "render", lambda _: np.full((2, 2, 3), 9.0), ""),
        (play, "make_playable", raising(TypeError("got an unexpected argument 'render_mode'")), ".*render_mode"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    kind: Any, name: str, member: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, name, member)
    with pytest.raises(InputError, match=f"^cannot draw Pictured-v0: {said}"):
        play.picture(untrained("Pictured-v0").only(), GIF, greedy=False)


def test_a_picture_of_floats_from_0_to_1_is_one_of_bytes() -> None:
    assert play.in_bytes(np.array([[0, 0.5, 1]])).tolist() == [[0, 128, 255]]
    assert play.in_bytes(np.array([[False, True]])).tolist() == [[0, 255]]
    for other in (np.array([[3, 255]], np.uint8), np.array([[0.5, 255.0]])):
        assert play.in_bytes(other) is other


def test_cartpole_is_drawn_by_gymnasium() -> None:
    pytest.importorskip("pygame", reason="the extra `play` is not installed")
    said = play.picture(untrained("CartPole-v1").only(), GIF, greedy=False)
    steps = int(re.search(r"an episode of (\d+) steps", said)[1])  # type: ignore[index]
    with Image.open(GIF) as gif:
        assert gif.size == (400, 267)
        frames, times = [], []
        for k in range(gif.n_frames):  # type: ignore[attr-defined]
            gif.seek(k)
            frames.append(np.asarray(gif.convert("L")))
            times.append(gif.info["duration"])
    assert sum(times) == 20 * steps + 1000  # 50 steps a second; equal frames have become one
    assert all(100 < (frame < 250).sum() < 10_000 for frame in frames)  # a cart, a pole and a line on white
    assert all((one != other).any() for one, other in itertools.pairwise(frames))

"""Films of an agent, and what plays in them."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from support.pictured import Pictured, untrained

from tricks import REINFORCE, Config, InputError
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.ladder import switched
from tricks.runs import film as play


def test_a_long_episode_is_thinned_out_and_a_large_picture_made_small(tmp_path: Path) -> None:
    run = untrained("Long-v0").only()
    path = tmp_path / "long.gif"
    assert "an episode of 650 steps" in play.picture(run, path, greedy=False)
    with Image.open(path) as gif:
        assert gif.size == (400, 200)
        assert gif.n_frames == 164  # type: ignore[attr-defined]  # every fourth of 651, and the last
        gif.seek(1)
        assert gif.info["duration"] == 100  # not 200: it would be a slide show


def test_a_film_never_has_more_frames_than_it_may_and_ends_with_the_last() -> None:
    for steps in (1, 299, 300, 301, 599, 600, 601, 5000):
        film = play.Film(fps=50)
        for step in range(steps + 1):
            if step == steps or film.wants(step):
                film.add(np.array(step))
        kept = [int(frame) for frame in film.frames]
        assert len(kept) <= play.MOST
        assert kept[-1] == steps
        assert kept[:-1] == list(range(0, steps, film.stride))


def test_the_policy_without_chance_takes_the_mode() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 4, generator=generator)
    for family in (Categorical, DiagonalGaussian):
        noise = torch.from_numpy(family.noise(np.random.default_rng(0), (50, 4 if family is Categorical else 2)))
        assert torch.equal(family.sample(family.deterministic(logits), noise), family.mode(logits))
        assert not torch.equal(family.sample(logits, noise), family.mode(logits))


def test_a_film_of_an_episode_over_the_limit_is_one_line_and_no_film(tmp_path: Path) -> None:
    run = untrained("Pictured-v0", episode_limit=10).only()  # an episode has 10 steps
    assert "an episode of 10 steps" in play.picture(run, tmp_path / "x.gif", greedy=False)
    short = replace(run, config=replace(run.config, episode_limit=9))
    with pytest.raises(InputError, match=r"^Pictured-v0: an episode has not ended after 9 steps; --episode-limit"):
        play.picture(short, tmp_path / "y.gif", greedy=False)
    assert not (tmp_path / "y.gif").exists()


def test_an_agent_that_was_trained_with_masks_plays_with_masks() -> None:
    total = {}
    for name, tricks in {"with": switched(["action_mask"]), "without": REINFORCE}.items():
        run = untrained("OnlyOneLegal-v0", tricks).only()
        env = play.make_playable(Config("OnlyOneLegal-v0"))
        assert env is not None
        _, total[name], steps = play.watch(run, env, greedy=False)
        assert steps == 10
    assert total["with"] == 0 > total["without"]


def test_a_world_of_another_backend_that_goes_by_the_same_name_is_not_drawn(tmp_path: Path) -> None:
    run = untrained("SeenActionReward-v0").only()
    for other in ("Taxi-v4", "Nowhere-v0"):
        renamed = replace(run, config=replace(run.config, env=other))
        assert play.picture(renamed, tmp_path / "x.gif", greedy=False) == f"{other} cannot be rendered"


def test_a_renderer_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Pictured) -> np.ndarray:
        raise RuntimeError("there is no\nOpenGL context")

    monkeypatch.setattr(Pictured, "render", fails)
    why = r"RuntimeError: there is no OpenGL context, in test_film.py, line \d+ \(.*MUJOCO_GL=egl\)"
    with pytest.raises(InputError, match=f"^cannot draw Pictured-v0: {why}, or add --no-gif$"):
        play.picture(untrained("Pictured-v0").only(), tmp_path / "x.gif", greedy=False)


def test_a_picture_of_floats_from_0_to_1_is_one_of_bytes() -> None:
    assert play.in_bytes(np.array([[0, 0.5, 1]])).tolist() == [[0, 128, 255]]
    assert play.in_bytes(np.array([[False, True]])).tolist() == [[0, 255]]
    for other in (np.array([[3, 255]], np.uint8), np.array([[0.5, 255.0]])):
        assert play.in_bytes(other) is other


@pytest.mark.parametrize("frame", [None, np.full((2, 2, 3), 9.0)])
def test_what_is_no_picture_is_one_line(
    frame: np.ndarray | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pictured, "render", lambda _: frame)
    with pytest.raises(InputError, match="cannot draw Pictured-v0: "):
        play.picture(untrained("Pictured-v0").only(), tmp_path / "x.gif", greedy=False)


def test_an_environment_that_takes_no_render_mode_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = untrained("Pictured-v0").only()

    def fails(*_: object) -> None:
        raise TypeError("got an unexpected keyword argument 'render_mode'")

    monkeypatch.setattr(play, "make_playable", fails)
    with pytest.raises(InputError, match=r"cannot draw Pictured-v0: .*render_mode"):
        play.picture(run, tmp_path / "x.gif", greedy=False)


def test_cartpole_is_drawn_by_gymnasium(tmp_path: Path) -> None:
    pytest.importorskip("pygame", reason="the extra `play` is not installed")
    run = untrained("CartPole-v1").only()
    said = play.picture(run, tmp_path / "x.gif", greedy=False)
    steps = int(re.search(r"an episode of (\d+) steps", said)[1])  # type: ignore[index]
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.size == (400, 267)
        frames, times = [], []
        for k in range(gif.n_frames):  # type: ignore[attr-defined]
            gif.seek(k)
            frames.append(np.asarray(gif.convert("L")))
            times.append(gif.info["duration"])
    assert sum(times) == 20 * steps + 1000  # 50 steps a second; equal frames have become one
    assert all(100 < (frame < 250).sum() < 10_000 for frame in frames)  # a cart, a pole and a line on white
    assert all((one != other).any() for one, other in itertools.pairwise(frames))

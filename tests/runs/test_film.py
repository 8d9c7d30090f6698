"""Films of an agent, and what plays in them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.pictured import Pictured, untrained
from support.refusal import refusal

from tricks import switched
from tricks.runs.film import filmed, picture

GIF = Path("x.gif")


def test_a_long_episode_is_shown_from_its_start_and_a_large_picture_made_small() -> None:
    said = picture(untrained("Long-v0").only(), GIF, greedy=False)
    assert "an episode of 650 steps (its first 499 are shown)" in said
    with Image.open(GIF) as gif:
        assert gif.size == (400, 200)


def test_an_agent_that_was_trained_with_masks_plays_with_masks() -> None:
    masked, total = filmed(untrained("OnlyOneLegal-v0", switched(["action_mask"])).only(), greedy=False)
    assert masked is not None and (masked.steps, total) == (10, 0)
    assert filmed(untrained("OnlyOneLegal-v0").only(), greedy=False)[1] < 0


FAILED = r"RuntimeError: there is no OpenGL context, in test_film.py, line \d+ \(.*MUJOCO_GL=egl\), or add --no-gif$"


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (lambda _: (_ for _ in ()).throw(RuntimeError("there is no\nOpenGL context")), FAILED),
        (lambda _: None, ""),
        (lambda _: np.full((2, 2, 3), 9.0), ""),
    ],
)
def test_what_cannot_be_drawn_is_one_line(member: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pictured, "render", member)
    refusal(f"^cannot draw Pictured-v0: {said}", picture, untrained("Pictured-v0").only(), GIF, greedy=False)

"""Playing a saved agent: what it earns, and a picture of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from support.fixtures import Capture, Patch, Refuses, Told, refusal
from support.pictured import CONFIG, Pictured, untrained

from tricks import PPO, load, switched, train
from tricks.cli.main import main
from tricks.runs.film import filmed, picture
from tricks.runs.provenance import in_one_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("play") / "run"
    train(CONFIG, PPO).save(folder)
    return folder


def test_a_trained_agent_earns_what_the_best_policy_earns(folder: Path, told: Told) -> None:
    said, made = told(f"play {folder} --greedy --episodes 6 --no-gif").splitlines()
    earned = "mean return 10.0, 95% interval [10.0, 10.0] (Student's t over 6 episodes)"
    assert said == f"agent of seed 4 in Pictured-v0, its most likely actions: {earned}"
    assert made == f"trained {in_one_line(load(folder).made_with or {})}"
    assert sorted(path.name for path in folder.iterdir()) == ["agent.pt", "curve.csv", "last.pt", "run.json"]


def test_the_gif_has_a_frame_for_every_state_of_the_episode(folder: Path, told: Told) -> None:
    first, second, *_ = told(f"play {folder} --greedy --seed 2").splitlines()
    assert first.startswith("agent of seed 2 in ")
    assert second == f"wrote {folder}/play.gif: an episode of 10 steps, return 10.0"
    with Image.open(folder / "play.gif") as gif:
        assert (gif.n_frames, gif.size, gif.info["loop"]) == (11, (40, 30), 0)  # type: ignore[attr-defined]
        for k in range(11):
            gif.seek(k)
            assert (np.asarray(gif.convert("L"))[0] > 128).sum() == k + 1  # the bar has grown
            assert gif.info["duration"] == (50 if k < 10 else 1000)  # 20 steps a second; the end stays


def test_the_limit_of_an_episode_is_the_runs_and_can_be_another(folder: Path, told: Told, refuses: Refuses) -> None:
    limited = load(folder)  # of episodes of 10 steps
    replace(limited, config=replace(limited.config, episode_limit=9)).save("x")
    refuses(main, ["play", "x"], "Pictured-v0: an episode has not ended after 9 steps; --episode-limit")
    assert "an episode of 10 steps" in told("play x --episode-limit 10")


def test_what_cannot_be_drawn_is_only_evaluated(told: Told, capsys: Capture) -> None:
    untrained("tricks/Corridor-v0").save("x")
    first, second, *_ = told("play x --episodes 2").splitlines()
    assert "(no interval with fewer than 5 episodes)" in first
    assert second == "tricks/Corridor-v0 cannot be rendered"
    assert not list(Path("x").glob("*.gif"))
    untrained("Undrawable-v0").save("y")
    capsys.readouterr()
    assert main(["play", "y", "--episodes", "2"]) == 2
    said = capsys.readouterr()
    assert "fewer than 5 episodes" in said.out
    assert said.err.startswith("error: cannot draw Undrawable-v0: pygame is not installed; ")
    assert said.err.endswith('with: pip install "ppo-tricks[play]", or add --no-gif\n') and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "play takes the folder of a saved run, for example: python -m tricks play runs/x"),
        ("nowhere", "no saved run in nowhere"),
        ("DIR --seed 7", "the run has no seed 7; it has 4, 2"),
        ("DIR --episodes 0", "episodes must be at least 1, not 0"),
        ("DIR --gif x.gif --no-gif", "--gif and --no-gif are mutually exclusive"),
        ("DIR --gif /dev/null/x.gif", "cannot write /dev/null/x.gif: there is no folder /dev/null"),
        ("DIR --gif x.mp4", "play writes animated GIFs only, so the file's name must end in .gif"),
    ],
)
def test_what_cannot_be_played_is_one_clear_line(words: str, message: str, folder: Path, refuses: Refuses) -> None:
    refuses(main, ["play", *words.replace("DIR", str(folder)).split()], message)


def test_the_best_agent_is_played_and_written_by_choice(folder: Path, told: Told, refuses: Refuses) -> None:
    asked = "train --env CartPole-v1 --seeds 2 --steps 3000 --lr 0.01 --keep-best"
    refuses(main, asked.split(), "--keep-best needs --eval-every, the steps between two evaluations")
    said = told(f"{asked} --eval-every 500 --eval-episodes 3 --out run")
    assert "\nmean return of each agent's best one: " in said
    best = load("run").curve.query("seed == 1").eval_return.max()
    said = told("play run --best --seed 1 --greedy --episodes 3 --no-gif")
    assert f"best agent of seed 1 in CartPole-v1, its most likely actions: mean return {best:.1f} " in said
    told("save-policy run --best --seed 1 --out best.pt2")
    program, head = torch.export.load("best.pt2"), load("run").only(1).at_best().agent.policy_net.head.weight
    assert any(torch.equal(x, head) for x in program.state_dict.values())
    refuses(main, ["play", str(folder), "--best"], "kept no best agents; only one trained with --keep-best")


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


FAILED = r"RuntimeError: there is no OpenGL context, in test_play.py, line \d+ \(.*MUJOCO_GL=egl\), or add --no-gif$"


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (lambda _: (_ for _ in ()).throw(RuntimeError("there is no\nOpenGL context")), FAILED),
        (lambda _: None, ""),
        (lambda _: np.full((2, 2, 3), 9.0), ""),
    ],
)
def test_what_cannot_be_drawn_is_one_line(member: Any, said: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Pictured, "render", member)
    refusal(f"^cannot draw Pictured-v0: {said}", picture, untrained("Pictured-v0").only(), GIF, greedy=False)

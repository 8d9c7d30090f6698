"""Playing a saved agent: what it earns, and a picture of it."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from PIL import Image
from support.pages import commands
from support.probes import SeenActionReward

from tricks import PPO, REINFORCE, Config, Run, train
from tricks.cli.main import main
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.ladder import switched
from tricks.runs import film as play


class Pictured(SeenActionReward):
    """Ten steps, and in every one the action that pays is the one that is seen; drawn as a growing bar."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - Gymnasium's own interface
    length = 10
    size = (30, 40)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def later(self) -> float:
        return self.first()

    def render(self) -> np.ndarray:
        frame = np.zeros((*self.size, 3), np.uint8)
        frame[:, : 1 + self.t % self.size[1]] = 255
        return frame


class Long(Pictured):
    """Many steps, with more pixels than anybody needs."""

    length = 650
    size = (500, 1000)


class Undrawable(Pictured):
    """Needs a package that is not there."""

    def render(self) -> np.ndarray:
        raise gym.error.DependencyNotInstalled("pygame is not installed, run `pip install 'gymnasium[other]'`")


class OnlyOneLegal(Pictured):
    """Pays a little less than nothing for what the mask forbids: all but action 1."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        return super().reset(seed=seed)[0], {"action_mask": np.array([0, 1], np.int8)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        obs, _, *ends = super().step(action)
        return obs, -0.5 * (action == 0), *ends[:-1], {"action_mask": np.array([0, 1], np.int8)}


for kind in (Pictured, Long, Undrawable, OnlyOneLegal):
    gym.register(f"{kind.__name__}-v0", entry_point=kind)

CONFIG = Config("Pictured-v0", seeds=(4, 2), steps=6000, lanes=4, horizon=32, lr=0.01, gamma=0.5, hidden=(16,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("play") / "run"
    train(CONFIG, PPO).save(folder)
    return folder


def untrained(env: str, tricks: Any = REINFORCE, **numbers: Any) -> Run:
    return train(replace(CONFIG, env=env, steps=1, lanes=1, **numbers), tricks)


def test_a_trained_agent_earns_what_the_best_policy_earns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", str(folder), "--greedy", "--episodes", "6", "--no-gif"]) == 0
    assert capsys.readouterr().out == (
        "agent of seed 4 in Pictured-v0, its most likely actions: mean return 10.0 over 6 episodes, "
        "95% interval [10.0, 10.0] (Student's t over episodes)\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["agent.pt", "curve.csv", "run.json"]


def test_the_gif_has_a_frame_for_every_state_of_the_episode(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", str(folder), "--greedy", "--seed", "2"]) == 0
    path = folder / "play.gif"
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("agent of seed 2 in ")
    assert said[1] == f"wrote {path}: an episode of 10 steps, return 10.0"
    with Image.open(path) as gif:
        assert (gif.n_frames, gif.size, gif.info["loop"]) == (11, (40, 30), 0)
        for k in range(11):
            gif.seek(k)
            assert (np.asarray(gif.convert("L"))[0] > 128).sum() == k + 1  # the bar has grown
            assert gif.info["duration"] == (50 if k < 10 else 1000)  # 20 steps a second; the end stays


def test_a_long_episode_is_thinned_out_and_a_large_picture_made_small(tmp_path: Path) -> None:
    run = play.one_seed(untrained("Long-v0"), None)
    path = tmp_path / "long.gif"
    assert "an episode of 650 steps" in play.picture(run, path, greedy=False)
    with Image.open(path) as gif:
        assert gif.size == (400, 200)
        assert gif.n_frames == 164  # every fourth of 651, and the last
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
        assert torch.equal(family.sample(family.certain(logits), noise), family.mode(logits))
        assert not torch.equal(family.sample(logits, noise), family.mode(logits))


def test_an_agent_that_knows_nothing_is_of_one_mind_only_when_it_is_greedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = untrained("ActionReward-v0")  # one state, and a reward of 1 or -1
    run.save(tmp_path)
    sampled, greedy = (run.evaluate(40, greedy=greedy)[0] for greedy in (False, True))
    assert set(sampled) == {-1, 1}
    assert set(greedy) in ({-1}, {1})
    assert main(["play", str(tmp_path), "--greedy", "--no-gif"]) == 0
    assert f"95% interval [{greedy[0]:.1f}, {greedy[0]:.1f}]" in capsys.readouterr().out


def test_an_agent_that_was_trained_with_masks_plays_with_masks() -> None:
    total = {}
    for name, tricks in {"with": switched(["action_mask"]), "without": REINFORCE}.items():
        run = play.one_seed(untrained("OnlyOneLegal-v0", tricks), None)
        env = play.make_playable("OnlyOneLegal-v0")
        assert env is not None
        _, total[name], steps = play.watch(run, env, greedy=False)
        assert steps == 10
    assert total["with"] == 0 > total["without"]


def test_one_seed_of_a_run_is_that_seeds_agent() -> None:
    run = untrained("Pictured-v0", PPO, lr=(0.1, 0.2))
    alone = play.one_seed(run, 2)
    assert alone.config.rates == (0.2,)
    obs = np.linspace(-1, 1, 9, dtype=np.float32).reshape(1, 9, 1)
    np.testing.assert_array_equal(alone.agent.act(obs), run.agent[1].act(obs))
    np.testing.assert_array_equal(alone.evaluate(4), run.evaluate(4)[1:])
    assert set(alone.curve.seed) == {2}


def test_the_interval_is_students() -> None:
    run = play.one_seed(untrained("Pictured-v0"), None)
    said = play.described(run, np.array([1.0, 2.0, 3.0]), greedy=False)  # t₂ = 4.3027, s = 1: ±2.484
    assert said.endswith("mean return 2.0 over 3 episodes, 95% interval [-0.5, 4.5] (Student's t over episodes)")
    assert "sampled actions" in said
    assert play.described(run, np.array([1.0]), greedy=False).endswith("over 1 episode, which has no interval")


def test_a_world_without_a_picture_is_only_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untrained("tricks/Corridor-v0").save(tmp_path)
    assert main(["play", str(tmp_path), "--episodes", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "over 2 episodes" in lines[0]
    assert lines[1:] == ["tricks/Corridor-v0 has no picture"]
    assert not list(tmp_path.glob("*.gif"))


def test_a_world_of_another_backend_that_goes_by_the_same_name_is_not_drawn(tmp_path: Path) -> None:
    run = play.one_seed(untrained("SeenActionReward-v0"), None)
    for other in ("Taxi-v4", "Nowhere-v0"):
        renamed = replace(run, config=replace(run.config, env=other))
        assert play.picture(renamed, tmp_path / "x.gif", greedy=False) == f"{other} has no picture"


def test_a_missing_package_is_one_line_after_the_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untrained("Undrawable-v0").save(tmp_path)
    assert main(["play", str(tmp_path), "--episodes", "2"]) == 2
    said = capsys.readouterr()
    assert "over 2 episodes" in said.out
    assert said.err == (
        "error: cannot draw Undrawable-v0: pygame is not installed; "
        'install it with: pip install -e ".[play]", or add --no-gif\n'
    )


def test_every_missing_package_has_its_advice() -> None:
    box2d = "Box2D is not installed, you can install it by run `pip install swig` followed by ..."
    assert play._advice(box2d) == 'Box2D is not installed; install it with: pip install -e ".[box2d]"'
    assert (
        play._advice("MuJoCo is not installed,\n run x") == "MuJoCo is not installed, run x"
    )  # no extra of this project


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "play takes the folder of a saved run, for example: python -m tricks play runs/x"),
        (["--greedy"], "play takes the folder of a saved run"),
        (["nowhere"], "no saved run in nowhere"),
        (["DIR", "--seed", "7"], "the run has no seed 7; it has 4, 2"),
        (["DIR", "--episodes", "0"], "episodes must be at least 1, not 0"),
        (["DIR", "--gif", "x.gif", "--no-gif"], "--gif and --no-gif exclude each other"),
        (["DIR", "--gif", "/dev/null/x.gif"], "cannot write /dev/null/x.gif: there is no folder /dev/null"),
        (["DIR", "--gredy"], "unknown option --gredy; did you mean --greedy?"),
    ],
)
def test_what_cannot_be_played_is_one_clear_line(
    arguments: list[str], message: str, folder: Path, refuses: Callable[..., None]
) -> None:
    refuses(main, ["play", *(argument.replace("DIR", str(folder)) for argument in arguments)], message)


def test_the_pages_say_how_to_keep_go_on_with_and_watch_a_run() -> None:
    keeping = "train ppo --out runs/x --checkpoint-every 20000"
    assert {keeping, "train --resume runs/x", "play runs/x"} <= set(commands("tricks"))


def test_cartpole_is_drawn_by_gymnasium(tmp_path: Path) -> None:
    pytest.importorskip("pygame", reason="the extra `play` is not installed")
    run = play.one_seed(untrained("CartPole-v1"), None)
    said = play.picture(run, tmp_path / "x.gif", greedy=False)
    steps = int(re.search(r"an episode of (\d+) steps", said)[1])  # type: ignore[index]
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.size == (400, 267)
        frames, times = [], []
        for k in range(gif.n_frames):
            gif.seek(k)
            frames.append(np.asarray(gif.convert("L")))
            times.append(gif.info["duration"])
    assert sum(times) == 20 * steps + 1000  # 50 steps a second; equal frames have become one
    assert all(100 < (frame < 250).sum() < 10_000 for frame in frames)  # a cart, a pole and a line on white
    assert all((one != other).any() for one, other in itertools.pairwise(frames))

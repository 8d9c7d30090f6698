"""Other people's environments, as docs/environments.md lists them: each trains, is saved, plays and trains on."""

import importlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from support.register import register

from tricks.cli.main import main

SHORT = {"ppo": ["--lanes", "4", "--horizon", "32"], "continuous": ["--horizon", "128", "--minibatches", "4"]}
FILTER = "gymnasium.wrappers:FilterObservation(['direction', 'image'])"
LISTED = {  # id: rung, packages that it needs, options
    "minigrid:MiniGrid-Empty-5x5-v0": ("ppo", ["minigrid"], ["--wrap", FILTER]),
    "highway_env:highway-fast-v0": ("ppo", ["highway_env"], []),
    "highway_env:parking-v0": ("continuous", ["highway_env"], []),
    "gymnasium_robotics:FetchReach-v4": ("continuous", ["gymnasium_robotics"], []),
    "flappy_bird_gymnasium:FlappyBird-v0": ("ppo", ["flappy_bird_gymnasium"], []),
    "minatar:MinAtar/Breakout-v1": ("ppo", ["minatar", "seaborn"], []),
    "CarRacing-v3": ("continuous", ["Box2D"], ["--no-state-norm"]),
    "gym_trading_env:MultiDatasetTradingEnv": ("ppo", ["gym_trading_env"], ["--env-arg", "dataset_dir=*.pkl"]),
}
TRAINED = ["--steps", "512", "--seeds", "1", "--checkpoint-every", "128", "--hidden", "16", "--out", "run"]


def trains_saves_plays_and_goes_on(id: str, rung: str, options: list[str]) -> None:
    named = ["--env", id] if ":" in id else []
    assert main(["train", rung, "--env", id, *options, *SHORT[rung], *TRAINED]) == 0
    assert main(["play", "run", *named, "--episodes", "1", "--no-gif"]) == 0
    assert main(["train", "--continue", "run", *named, "--steps", "128"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("id", LISTED)
def test_a_listed_environment_trains_plays_goes_on(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rung, packages, options = LISTED[id]
    for package in packages:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    prices = pd.DataFrame({"close": 100 + np.arange(200.0) % 7, "feature_time": np.arange(200.0) / 200})
    prices.assign(open=100, high=110, low=90, volume=1).set_index(pd.date_range("2026", periods=200)).to_pickle("a.pkl")
    trains_saves_plays_and_goes_on(id, rung, options)


@pytest.mark.slow
def test_a_player_of_pettingzoo_trains_against_random_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pettingzoo")
    games = pytest.importorskip("pettingzoo.classic.tictactoe_v3", exc_type=ImportError)

    class First(gym.Env):
        """The first player, against random moves."""

        def __init__(self) -> None:
            self.game = games.env()
            self.me = self.game.possible_agents[0]
            self.observation_space = self.game.observation_space(self.me)
            self.action_space = self.game.action_space(self.me)

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            super().reset(seed=seed)
            self.game.reset(seed=seed)
            return self.game.observe(self.me), {}

        def step(self, action: Any) -> Any:
            self.game.step(int(action))
            over = any(self.game.terminations.values())
            if not over:
                legal = np.flatnonzero(self.game.last()[0]["action_mask"])
                self.game.step(int(self.np_random.choice(legal)))
                over = any(self.game.terminations.values())
            return self.game.observe(self.me), float(self.game.rewards[self.me]), over, False, {}

    register("FirstPlayer-v0", First)
    monkeypatch.chdir(tmp_path)
    trains_saves_plays_and_goes_on("FirstPlayer-v0", "ppo", ["--action-mask"])


def test_the_page_lists_what_is_tried_here() -> None:
    page = (Path(importlib.import_module("tricks").__path__[0]).parent / "docs" / "environments.md").read_text()
    assert [id for id in LISTED if f"--env {id}" not in page] == []

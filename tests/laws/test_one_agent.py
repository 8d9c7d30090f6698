"""The one agent that fits in a file learns as the library's does, update by update, with each set of tricks."""

import random
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.fixtures import Capture, Patch, refusal

from tricks import PPO, Config, Tricks, export, one_agent, one_run, train
from tricks.fast.dispatch import plain
from tricks.ladder import LADDER, closed, named, rungs, switched
from tricks.one_game import Lives

SMALL = {"clip_range": 0.05, "value_clip_range": 0.05, "max_grad_norm": 0.1}  # so that every limit is reached
SETTINGS = {"steps": 400, "lanes": 3, "horizon": 16, "epochs": 2, "minibatches": 2, "gamma": 0.9, "lr": 0.01} | SMALL


def assert_alike(env: str, tricks: Tricks, **numbers: int) -> None:
    settings: dict[str, Any] = SETTINGS | numbers
    mine = one_agent.train(one_agent.Config(env, seed=5, **settings), tricks)[1]
    assert_library_s(mine, tricks, Config(env, backend="gymnasium", seeds=(5,), **settings))


def assert_library_s(mine: list[Any], tricks: Tricks, config: Config) -> None:
    with plain():
        theirs = train(config, tricks).curve
    assert len(mine) == len(theirs) > 1
    for name in mine[0]:
        np.testing.assert_allclose([row[name] for row in mine], theirs[name], rtol=1e-3, atol=1e-4)


RUNGS = dict(zip(("reinforce", *LADDER), rungs(), strict=True)) | {"ppo and value_clip": replace(PPO, value_clip=True)}


@pytest.mark.parametrize("tricks", RUNGS.values(), ids=RUNGS)
def test_each_rung(tricks: Tricks) -> None:
    assert_alike("ShortCartPole-v0", tricks)


@pytest.mark.parametrize("draw", range(40))
def test_sets_of_the_ladder_s_flags(draw: int) -> None:
    rng, box = random.Random(draw), draw % 2 > 0
    names = {name for name in one_run.FLAGS if rng.random() < 0.5} - ({"action_mask"} if box else set())
    assert_alike("ShortPendulum-v0" if box else "ShortCartPole-v0", switched(closed(names)))


@pytest.mark.parametrize(
    ("env", "rung", "numbers"),
    [
        ("SmallPictures-v0", "reinforce", {}),
        ("ChannelsLast-v0", "ppo", {"reward_sign": True}),
        ("LargePictures-v0", "popart", {}),
        ("ALE/Breakout-v5", "atari", {"reward_sign": True, "life_ends": True, "value_clip_anneals": True}),
    ],
)
def test_the_export_for_images_and_games(env: str, rung: str, numbers: dict[str, Any]) -> None:
    if env.startswith("ALE/"):
        pytest.importorskip("ale_py")
    tricks = replace(named(rung), state_norm=False, action_mask=False)
    config = Config(env, backend="gymnasium", seeds=1, **SETTINGS | {"steps": 150, "lr": 1e-3} | numbers)
    module: dict[str, Any] = {"__name__": "exported"}
    exec(export(tricks, config), module)
    assert_library_s(module["train"](module["Config"]())[1], tricks, config)


class Console(gym.vector.VectorEnv):
    """Two games with these lives after each step. The second one is over in the second step."""

    def __init__(self, second: str, lives: list[list[int]]) -> None:
        self.num_envs, self.left, self.played = 2, iter(np.array(lives)), list[list[int]]()
        self.ale = SimpleNamespace(get_action_set=lambda: [SimpleNamespace(name=name) for name in ("NOOP", second)])

    def reset(self, **_: Any) -> Any:
        return 0, {"lives": next(self.left)}

    def step(self, actions: Any) -> Any:
        self.played.append(np.asarray(actions).tolist())
        over = np.array([False, len(self.played) == 2])
        return 0, 0, over, np.zeros(2, bool), {"lives": next(self.left)}


@pytest.mark.parametrize(("second", "pressed"), [("FIRE", 1), ("UP", 4)])
def test_a_lost_life_ends_an_episode_and_then_a_game_is_served_only_if_it_has_fire(second: str, pressed: int) -> None:
    console = Console(second, [[3, 1], [2, 1], [2, 0], [1, 3], [1, 3]])
    games = Lives(console)
    games.reset()
    ended = [games.step(np.array([4, 4]))[2].tolist() for _ in range(4)]
    assert ended == [[True, False], [False, True], [True, False], [False, False]]
    assert console.played == [[4, 4], [pressed, 4], [4, 4], [pressed, 4]]


@pytest.mark.parametrize(
    ("rung", "numbers", "fault"),
    [
        ("kl_stop", {}, "one_agent has no kl_stop"),
        ("ppo", {"env": "CliffWalking-v1"}, "Discrete"),
        ("action_mask", {"env": "Pendulum-v1"}, "action_mask rules out Discrete actions"),
        ("ppo", {"lanes": 0}, "lanes must be"),
        ("ppo", {"env": "Nothing-v0"}, "Nothing"),
    ],
)
def test_it_refuses_what_it_lacks_in_one_line(rung: str, numbers: dict[str, Any], fault: str) -> None:
    refusal(fault, one_agent.train, one_agent.Config(**numbers), named(rung))


def test_from_the_shell(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    words = "one_agent popart --no-action-mask --steps 300 --lanes 2 --horizon 32"
    monkeypatch.setattr(sys, "argv", words.split())
    one_run.main(one_agent.train, one_agent.Config, "")
    assert capsys.readouterr().out.splitlines()[-1] == "one_agent.png shows the learning curve"
    assert plt.imread("one_agent.png").std() > 0


def test_it_ends_in_one_line(monkeypatch: Patch, capsys: Capture) -> None:
    interrupted = Mock(side_effect=KeyboardInterrupt)
    for words, training, status, said in (
        (["huber"], one_agent.train, 2, "error: one_agent has no huber: "),
        ([], interrupted, 130, "interrupted; one_agent saves nothing"),
    ):
        monkeypatch.setattr(sys, "argv", ["one_agent", *words])
        with pytest.raises(SystemExit, match=f"^{status}$"):
            one_run.main(training, one_agent.Config, "")
        message = capsys.readouterr().err
        assert message.startswith(said) and message.count("\n") == 1


def test_minibatches_of_one_row_or_none_and_numbers_are_the_library_s() -> None:
    assert_alike("ShortCartPole-v0", named("cleanrl"), lanes=2, horizon=8, minibatches=14, steps=60)
    few = one_agent.Config("ShortCartPole-v0", lanes=2, horizon=8, minibatches=16, steps=60)
    assert np.isfinite([row["policy_loss"] for row in one_agent.train(few, named("cleanrl"))[1]]).all()
    library = replace(Config(), hidden=(64, 64))
    for f in fields(one_agent.Config):
        if f.name not in ("seed", "hidden"):
            assert f.default == getattr(library, f.name)

"""Arguments, wrappers, rescaled actions and stacks: asked for, they are there, or one line refuses them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support.contracts as own
import torch

from tricks import PPO, Config, InputError, load, train
from tricks.cli.main import main
from tricks.env_args import as_texts
from tricks.envs.lane import make_lane
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.runs.checkpoint import GYMNASIUMS, resume_command

SMALL = Config("Arguments-v0", seeds=1, steps=40, lanes=2, horizon=10, hidden=(4,), env_args={"level": 3})  # type: ignore[arg-type]


def returns(config: Config) -> list[float]:
    found: list[float] = train(config, PPO).curve["return"].unique().tolist()
    return found


def test_equal_arguments_are_equal_texts() -> None:
    texts = as_texts(["mode=hard", "level = 3", "x='5'", "y=[1, 2]"])
    assert texts == ("level=3", "mode='hard'", "x='5'", "y=[1, 2]")
    assert as_texts(texts) == texts
    assert as_texts({"level": np.int64(3), "y": [1, 2], "x": "5", "mode": "hard"}) == texts
    assert Config(env_args=texts).env_kwargs == {"level": 3, "mode": "hard", "x": "5", "y": [1, 2]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["level"], "is name=value, such as gravity=-5, not 'level'"),
        (["level=1", "level=2"], "the environment's argument level is given twice"),
        ({"level": object}, "the environment's argument level must be a plain Python value"),
        ({"level": float("inf")}, "level must be a plain Python value, not inf"),
        ({1: 2}, "must be a Python name, not 1"),
        (3, "env_args must be a dict or a list of texts"),
    ],
)
def test_arguments_that_cannot_be_are_one_line(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Config(env_args=given)


@pytest.mark.parametrize("backend", ["auto", "processes"])
def test_arguments_and_wrappers_reach_the_environment_in_order(backend: str) -> None:
    config = replace(SMALL, backend=backend)
    assert returns(config) == [15]
    assert returns(replace(config, env_args=("level=3", "mode=hard"))) == [150]
    halved_first = ("support.contracts:Halved", "support.contracts:OneLess")
    assert returns(replace(config, wrap=halved_first)) == [2.5]
    assert returns(replace(config, wrap=halved_first[::-1])) == [5]


def test_wrappers_take_arguments() -> None:
    assert returns(replace(SMALL, wrap="gymnasium.wrappers:TimeLimit(3)")) == [9]  # type: ignore[arg-type]
    assert returns(replace(SMALL, wrap="gymnasium.wrappers:TimeLimit(max_episode_steps=4)")) == [12]  # type: ignore[arg-type]


def test_equal_wrappers_are_equal_texts() -> None:
    assert Config(wrap=('a.b:C( 1,x = "y")', "a:B()", "a:B")).wrap == ("a.b:C(1, x='y')", "a:B", "a:B")


@pytest.mark.parametrize(
    "text", ["C", "a:", "a:b c", "a:B(", "a:B(1)(2)", "a:B(1) + 2", "a:B(open('x'))", "a:B(*[1])", "a:B(**{'x': 1})"]
)
def test_a_wrapper_is_a_name_with_literals(text: str) -> None:
    with pytest.raises(InputError, match=r"^wrap takes module:Wrapper, such as .*plain Python values") as caught:
        Config(wrap=(text,))
    assert text in str(caught.value)


def test_a_run_with_a_text_plays_without_it(tmp_path: Any) -> None:
    spoken = Config(seeds=1, steps=40, lanes=2, horizon=10, hidden=(4,), env="Spoken-v0")
    with pytest.raises(InputError, match="leave it out with --wrap ") as refused:
        train(spoken, PPO)
    wrapper = str(refused.value).split('"')[1]
    assert wrapper == "gymnasium.wrappers:FilterObservation(['at', 'time'])"
    config = replace(spoken, wrap=(wrapper,))
    train(config, PPO).save(tmp_path)
    assert load(tmp_path).config == config
    assert load(tmp_path).evaluate(2).tolist() == [[5, 5]]


def test_a_wrapper_that_writes_files_must_be_named_again() -> None:
    assert "gymnasium.wrappers:TimeLimit" in GYMNASIUMS
    assert "gymnasium.wrappers:RecordVideo" not in GYMNASIUMS


def test_a_wrapper_with_arguments_is_named_with_or_without_them(tmp_path: Any) -> None:
    train(replace(SMALL, wrap=("support.contracts:Less(2)",)), PPO).save(tmp_path)
    with pytest.raises(InputError, match=r"add --wrap support.contracts:Less \(wrap="):
        load(tmp_path).evaluate(1)
    for name in ("support.contracts:Less", "support.contracts:Less( 2 )"):
        assert load(tmp_path, wrap=(name,)).evaluate(1).tolist() == [[5]]
    with pytest.raises(InputError, match=r"was not trained with the wrapper support.contracts:Less\(3\)"):
        load(tmp_path, wrap=("support.contracts:Less(3)",))


def test_the_command_that_resumes_names_the_wrappers_that_must_be_named() -> None:
    said = resume_command(Path("x"), "mine:Id", ("gymnasium.wrappers:NormalizeReward", "mine:Two('a')"))
    assert said == """python -m tricks train --resume x --env mine:Id --wrap 'mine:Two('"'"'a'"'"')'"""
    filmed = resume_command(Path("x"), "CartPole-v1", ("gymnasium.wrappers:RecordVideo('films')",))
    assert filmed.startswith("python -m tricks train --resume x --wrap 'gymnasium.wrappers:RecordVideo(")


def test_arguments_reach_a_function_that_makes_the_environment() -> None:
    run = train(replace(SMALL, env="CartPole-v1"), PPO, env=own.Arguments)  # type: ignore[arg-type]
    assert run.curve["return"].unique().tolist() == [15]


def test_the_last_observations_are_stacked_and_a_reset_fills_the_stack() -> None:
    lane = make_lane(Config(stack=3), own.Counting)
    seen = [lane.reset()[0], *(lane.step(0)[0] for _ in range(3))]
    assert [obs[:, 0].tolist() for obs in seen] == [[0, 0, 0], [0, 0, 1], [0, 1, 2], [1, 2, 3]]
    assert lane.reset()[0][:, 0].tolist() == [0, 0, 0]
    env = make_env(Config(stack=3, seeds=1, lanes=1), make=own.Counting)
    assert env.spaces.features == 9
    env.close()


@pytest.mark.parametrize("shape", [(2, 20, 20), (20, 20, 2)])
def test_images_are_stacked_along_their_channels(shape: tuple[int, ...]) -> None:
    class Shown(own.Picture):
        observation_space = own.spaces.Box(0, 255, shape, np.uint8)

        def seen(self) -> Any:
            return np.full(shape, self.t, np.uint8)

    lane = make_lane(Config(stack=2), Shown)
    lane.reset()
    obs = lane.step(0)[0]
    channels = obs[:, 0, 0] if shape[0] == 2 else obs[0, 0]
    assert channels.tolist() == [0, 0, 1, 1]
    assert obs.shape == lane.observation_space.shape
    assert obs in lane.observation_space


def test_rescaled_actions_reach_the_bounds() -> None:
    env = make_env(Config(seeds=1, lanes=2, rescale_actions=True), make=own.WideBox)
    step = env.step(torch.tensor([[[1.0], [-0.5]]]), torch.ones(1) > 0)
    assert step.reward[0].tolist() == pytest.approx([1000, -500])
    env.close()


def test_a_tensor_world_is_left_for_gymnasium_only_if_it_is_changed() -> None:
    for config, tensor in ((Config(seeds=1), True), (Config(seeds=1, stack=2), False)):
        env = make_env(config)
        assert isinstance(env, TensorEnv) == tensor
        env.close()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"backend": "tensor", "stack": 2}, "backend tensor cannot change an environment by stack"),
        ({"backend": "tensor", "env_args": {"a": 1}}, "backend tensor cannot change an environment by env_args"),
        ({"rescale_actions": True}, r"rescale_actions needs Box actions with finite bounds, not Discrete\(2\)"),
        ({"wrap": "nowhere:X"}, "cannot wrap the environment in nowhere:X: No module named 'nowhere'"),
        ({"wrap": "support.contracts:Nope"}, "cannot wrap the environment in support.contracts:Nope: "),
        ({"wrap": "builtins:id"}, "wrap: builtins:id must make a gymnasium.Env, not int"),
        ({"env_args": {"nope": 1}}, "cannot make the environment 'CartPole-v1': .*unexpected keyword argument 'nope'"),
    ],
)
def test_what_cannot_be_changed_is_one_line(numbers: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        make_env(Config(seeds=1, lanes=1, **numbers))
    assert "\n" not in str(caught.value)


def test_unbounded_actions_are_not_rescaled() -> None:
    with pytest.raises(InputError, match=r"^rescale_actions needs Box actions with finite bounds, not Box\(-inf, inf"):
        make_env(Config(seeds=1, lanes=1, rescale_actions=True), make=own.Unbounded)


def test_envpool_refuses_what_it_cannot_do() -> None:
    pytest.importorskip("envpool")
    with pytest.raises(InputError, match=r"^backend envpool cannot change an environment by wrap"):
        make_env(Config(seeds=1, lanes=1, backend="envpool", wrap=("support.contracts:Halved",)))


def test_a_run_is_loaded_and_played_with_its_changes(tmp_path: Any) -> None:
    halved = "support.contracts:Halved"
    config = replace(SMALL, stack=2, wrap=(halved, "gymnasium.wrappers:FlattenObservation"))
    train(config, PPO).save(tmp_path)
    assert load(tmp_path).config == config
    with pytest.raises(InputError, match=f"whose module is imported only if you name it: add --wrap {halved} "):
        load(tmp_path).evaluate(1)
    assert load(tmp_path, wrap=(halved,)).evaluate(2).tolist() == [[7.5, 7.5]]
    with pytest.raises(InputError, match="was not trained with the wrapper x:Y"):
        load(tmp_path, wrap=("x:Y",))


def test_the_shell_takes_each_option_many_times(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--seeds", "1", "--steps", "40", "--lanes", "2", "--horizon", "10"]
    changed = ["--env-arg", "level=4", "--env-arg=mode=hard", "--wrap", "support.contracts:Halved", "--stack", "2"]
    assert main(["train", "ppo", "--env", "Arguments-v0", *changed, *small, "--out", str(tmp_path / "x")]) == 0
    config = load(tmp_path / "x").config
    assert (config.env_args, config.wrap, config.stack) == (
        ("level=4", "mode='hard'"),
        ("support.contracts:Halved",),
        2,
    )
    assert "return 100.0" in capsys.readouterr().out
    named = ["--wrap", "support.contracts:Halved", "--no-gif"]
    assert main(["play", str(tmp_path / "x"), "--episodes", "2", *named]) == 0
    assert main(["train", "ppo", "--env-arg"]) == 2
    assert capsys.readouterr().err == "error: --env-arg needs a value; see --help\n"

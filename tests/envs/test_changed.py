"""Arguments, wrappers, rescaled actions and stacks are there if asked for; what no seed reaches is said."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import support.contracts as own
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.spaces import Box
from matplotlib.figure import Figure
from support.contracts import Counting
from support.fixtures import Capture, refusal
from support.probes import AnySpace, Endless, like

from tricks import PPO, REINFORCE, Checkpoints, Config, Evaluation, Tricks, load, named, train, training
from tricks.envs.lane import make_lane
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.runs.checkpoint import naming, read
from tricks.texts import as_texts

SMALL = Config("Arguments-v0", seeds=1, steps=40, lanes=2, horizon=10, hidden=(4,), env_args={"level": 3})  # type: ignore[arg-type]


def returns(config: Config) -> list[float]:
    found: list[float] = train(config, PPO).curve["return"].unique().tolist()
    return found


def test_equal_arguments_and_wrappers_are_equal_texts_and_resuming_names_them() -> None:
    texts = as_texts(["mode=hard", "level = 3", "x='5'", "y=[1, 2]"])
    assert texts == ("level=3", "mode='hard'", "x='5'", "y=[1, 2]") and as_texts(texts) == texts
    assert as_texts({"level": np.int64(3), "y": [1, 2], "x": "5", "mode": "hard"}) == texts
    assert Config(env_args=texts).env_kwargs == {"level": 3, "mode": "hard", "x": "5", "y": [1, 2]}
    assert Config(wrap=('a.b:C( 1,x = "y")', "a:B()", "a:B")).wrap == ("a.b:C(1, x='y')", "a:B", "a:B")
    said = shlex.join(naming("mine:Id", ("gymnasium.wrappers:NormalizeReward", "mine:Two('a')")))
    assert said == """--env mine:Id --wrap 'mine:Two('"'"'a'"'"')'"""
    filmed = naming("CartPole-v1", ("gymnasium.wrappers:RecordVideo('films')",))  # it writes files
    assert filmed == ["--wrap", "gymnasium.wrappers:RecordVideo('films')"]


@pytest.mark.parametrize("backend", ["auto", "processes"])
def test_arguments_and_wrappers_reach_the_environment_in_order(backend: str) -> None:
    config = replace(SMALL, backend=backend)
    assert returns(config) == [15] and returns(replace(config, env_args=("level=3", "mode=hard"))) == [150]
    halved_first = ("support.contracts:Halved", "support.contracts:OneLess")
    assert returns(replace(config, wrap=halved_first)) == [2.5]
    assert returns(replace(config, wrap=halved_first[::-1])) == [5]
    assert train(replace(config, env="x"), PPO, env=own.Arguments).curve["return"].unique().tolist() == [15]  # type: ignore[arg-type]
    for limit, paid in {"3": 9, "max_episode_steps=4": 12}.items():
        assert returns(replace(config, wrap=(f"gymnasium.wrappers:TimeLimit({limit})",))) == [paid]


def test_a_run_with_a_text_plays_without_it() -> None:
    spoken = replace(SMALL, env="Spoken-v0", env_args=())
    refused = refusal("leave it out with --wrap ", train, spoken, PPO)
    wrapper = refused.split('"')[1]
    assert wrapper == "gymnasium.wrappers:FilterObservation(['at', 'time'])"
    config = replace(spoken, wrap=(wrapper,))
    train(config, PPO).save("x")
    assert load("x").config == config and load("x").evaluate(2).tolist() == [[5, 5]]


def test_a_run_is_loaded_and_played_with_its_changes_if_its_wrappers_are_named() -> None:
    halved = "support.contracts:Halved"
    config = replace(SMALL, stack=2, wrap=(halved, "gymnasium.wrappers:FlattenObservation"))
    train(config, PPO).save("x")
    assert load("x").config == config
    refusal(f"whose module is imported only if you name it: add --wrap {halved} ", load("x").evaluate, 1)
    assert load("x", wrap=(halved,)).evaluate(2).tolist() == [[7.5, 7.5]]
    refusal("was not trained with the wrapper x:Y", load, "x", wrap=("x:Y",))
    train(replace(SMALL, wrap=("support.contracts:Less(2)",)), PPO).save("y")
    refusal(r"add --wrap support.contracts:Less \(wrap=", load("y").evaluate, 1)
    for name in ("support.contracts:Less", "support.contracts:Less( 2 )"):  # with its arguments or without
        assert load("y", wrap=(name,)).evaluate(1).tolist() == [[5]]
    other = "support.contracts:Less(3)"
    refusal(re.escape(f"was not trained with the wrapper {other}"), load, "y", wrap=(other,))


def test_the_last_observations_are_stacked_and_only_a_change_leaves_a_tensor_world_for_gymnasium() -> None:
    lane = make_lane(Config(stack=3), own.Counting)
    seen = [lane.reset()[0], *(lane.step(0)[0] for _ in range(3))]
    assert [obs[:, 0].tolist() for obs in seen] == [[0, 0, 0], [0, 0, 1], [0, 1, 2], [1, 2, 3]]
    assert lane.reset()[0][:, 0].tolist() == [0, 0, 0]
    env = make_env(Config(stack=3, seeds=1, lanes=1), make=own.Counting)
    assert env.spaces.features == 9
    env.close()
    for config, tensor in ((Config(seeds=1), True), (Config(seeds=1, stack=2), False)):
        env = make_env(config)
        assert isinstance(env, TensorEnv) == tensor
        env.close()


@pytest.mark.parametrize("shape", [(2, 20, 20), (20, 20, 2)])
def test_images_are_stacked_along_their_channels(shape: tuple[int, ...]) -> None:
    class Shown(Counting):
        observation_space = own.spaces.Box(0, 255, shape, np.uint8)

        def see(self) -> Any:
            return np.full(shape, self.t, np.uint8)

    lane = make_lane(Config(stack=2), Shown)
    lane.reset()
    obs = lane.step(0)[0]
    assert (obs[:, 0, 0] if shape[0] == 2 else obs[0, 0]).tolist() == [0, 0, 1, 1]
    assert obs.shape == lane.observation_space.shape and obs in lane.observation_space


WRONG = "C", "a:", "a:b c", "a:B(", "a:B(1)(2)", "a:B(1) + 2", "a:B(open('x'))", "a:B(*[1])", "a:B(**{'x': 1})"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"env_args": ["level"]}, "an argument of the environment is name=value, such as gravity=-5, not 'level'"),
        ({"env_args": ["level=1", "level=2"]}, "the environment's argument level is given twice"),
        ({"env_args": {"level": object}}, "the environment's argument level must be a plain Python value"),
        *[({"wrap": (text,)}, f"wrap takes module:Wrapper, such as .*{re.escape(text)}") for text in WRONG],
        ({"backend": "tensor", "stack": 2}, "backend tensor cannot change an environment by stack"),
        ({"backend": "envpool", "wrap": "a:B"}, "backend envpool cannot change an environment by wrap"),
        ({"rescale_actions": True}, r"rescale_actions needs Box actions with finite bounds, not Discrete\(2\)"),
        ({"rescale_actions": True, "make": own.Unbounded}, r"rescale_actions needs .* not Box\(-inf, inf"),
        ({"wrap": "nowhere:X"}, "cannot wrap the environment in nowhere:X: No module named 'nowhere'"),
        ({"wrap": "support.contracts:Nope"}, "cannot wrap the environment in support.contracts:Nope: "),
        ({"wrap": "builtins:id"}, "wrap: builtins:id must make a gymnasium.Env, not int"),
        ({"env_args": {"nope": 1}}, "cannot make the environment 'CartPole-v1': .*unexpected keyword argument 'nope'"),
    ],
)
def test_what_cannot_be_changed_is_one_line(numbers: dict[str, Any], message: str) -> None:
    if numbers.get("backend") == "envpool":
        pytest.importorskip("envpool")
    make = numbers.pop("make", None)
    refusal(f"^{message}", lambda: make_env(Config(seeds=1, lanes=1, **numbers), make=make))


def test_the_shell_takes_each_option_many_times(told: Callable[..., str]) -> None:
    halved = "--wrap support.contracts:Halved"
    changed = f"--env Arguments-v0 --env-arg level=4 --env-arg=mode=hard {halved} --stack 2"
    assert "return 100.0" in told(f"train ppo {changed} --seeds 1 --steps 40 --lanes 2 --horizon 10 --out x")
    config = load("x").config
    assert (config.env_args, config.stack) == (("level=4", "mode='hard'"), 2)
    assert config.wrap == ("support.contracts:Halved",)
    told(f"play x --episodes 2 {halved} --no-gif")


ODD = Config(seeds=1, steps=40, lanes=2, horizon=10, hidden=(4,))


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    training.say_once.cache_clear()


def said_of(make: Any, tricks: Tricks, capsys: Capture, **numbers: Any) -> str:
    train(replace(ODD, **numbers), tricks, env=make)
    return capsys.readouterr().err


def test_what_is_odd_is_said_once(capsys: Capture) -> None:
    said = "WideBox has actions from -1000 to 1000, and .* explores about 1/1,000 of the range; --rescale-actions .*\n"
    assert re.fullmatch(said, said_of(own.WideBox, PPO, capsys)) and said_of(own.WideBox, PPO, capsys) == ""
    said = "Masked says which actions are legal, which has no effect without --action-mask .*\n"
    assert re.fullmatch(said, said_of(own.Masked, PPO, capsys))


@pytest.mark.parametrize(
    ("make", "tricks", "numbers"),
    [
        (own.WideBox, PPO, {"rescale_actions": True}),
        (own.WideBox, PPO, {"log_std_init": 5.0}),
        (own.WideBox, named("squash"), {}),
        (own.Masked, replace(PPO, action_mask=True), {}),
        (None, PPO, {"env": "Taxi-v4"}),  # the worlds of this project are known
    ],
)
def test_what_is_right_is_no_news(make: Any, tricks: Tricks, numbers: dict[str, Any], capsys: Capture) -> None:
    assert said_of(make, tricks, capsys, **numbers) == ""


def test_one_object_is_enough_for_one_lane_at_a_time_alone(capsys: Capture) -> None:
    only, alone = Counting(), replace(ODD, lanes=1)
    for config in (ODD, ODD, replace(alone, seeds=2)):
        refusal(r"^env= made the same Counting object for two lanes", train, config, PPO, env=lambda: only)
    for _ in range(2):
        assert len(train(alone, PPO, env=lambda: only).evaluate(1)) == 1
    train(alone, PPO, env=lambda: only, evaluation=Evaluation(20, 1))
    assert "an evaluation failed: env= made the same Counting object" in capsys.readouterr().err


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_run_of_ones_own_environment_is_named_after_its_class(backend: str) -> None:
    run = train(replace(ODD, backend=backend), PPO, env=Counting, checkpoints=Checkpoints("cut", 10))
    assert run.config.env == read(Path("cut")).config.env == "Counting"
    assert "Counting" in run.plot(Figure().subplots()).get_title(loc="left")
    run.save("x")
    assert load("x", env=Counting).config.env == "Counting"
    assert train(replace(ODD, env="mine"), PPO, env=Counting).config.env == "mine"
    limited = replace(ODD, episode_limit=3, backend=backend)
    refusal("^Counting: an episode has not ended after 3 steps", train, limited, REINFORCE, env=Counting)


# ruff: noqa: NPY002 - legacy generators are what these tests are about


DRAWN = Config("own", seeds=(3, 8), steps=120, lanes=3, horizon=10, epochs=1, minibatches=2, hidden=(8,))
BACKENDS = ("gymnasium", "processes")


class Drawing(Endless):
    """Draws from NumPy's global generator when it is made, reset (or not), and stepped; episodes of four steps."""

    observation_space, length = Box(-np.inf, np.inf, (2,), np.float32), 4

    def __init__(self, in_reset: bool = True) -> None:
        self.in_reset, self.made = in_reset, np.random.uniform()

    def begin(self) -> None:
        self.drawn = np.random.uniform() if self.in_reset else 0

    def see(self) -> np.ndarray:
        return np.array([self.made, self.drawn], np.float32)

    def pay(self, action: int) -> float:
        self.drawn = np.random.uniform()
        return self.drawn


def seen(config: Config, make: Callable[[], gym.Env], steps: int = 6) -> torch.Tensor:
    """Everything that is observed, [S, steps + 1, N, D]."""
    env = make_env(config, make=make)
    shown, everyone = [env.now.obs], torch.ones(len(env.seeds)) > 0
    for _ in range(steps):
        shown.append(env.step(torch.zeros(len(env.seeds), env.lanes, dtype=torch.int64), everyone).obs)
    env.close()
    return torch.stack(shown, 1)


@pytest.mark.parametrize("in_reset", [True, False])
def test_no_two_lanes_share_draws_and_workers_draw_what_one_process_does(in_reset: bool) -> None:
    make, config = (lambda: Drawing(in_reset)), Config("own", seeds=(3, 8), lanes=3)
    one, many, again = (seen(replace(config, backend=x), make) for x in (*BACKENDS, "auto"))
    assert torch.equal(one, many) and torch.equal(one, again)
    first = one[:, 1].reshape(6, 2)  # after a step
    assert len(first[:, 0].unique()) == len(first[:, 1].unique()) == 6
    assert torch.equal(seen(replace(config, seeds=(8,)), make)[0], one[1])


class Chance(CartPoleEnv):
    """Pays what NumPy's global generator says."""

    def step(self, action: Any) -> Any:
        obs, _, *outcome = super().step(action)
        return obs, np.random.random(), *outcome


def test_a_resumed_run_draws_other_numbers_than_any_part_of_it_before() -> None:
    def paid(resumed: int | None) -> list[float]:
        env = make_env(Config("CartPole-v1", seeds=(3, 8), lanes=2, backend="gymnasium"), make=Chance)
        if resumed is not None:
            env.load_state_dict({"resumed": resumed})
        step = env.step(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2) > 0)
        env.close()
        return [float(x) for x in step.reward.flatten()]

    every = [paid(part) for part in (None, 0, 1)]
    assert len({x for part in every for x in part}) == 3 * 4
    assert paid(0) == every[1]


def test_the_user_s_own_generators_are_left_alone() -> None:
    def drawn(meanwhile: Callable[[], object]) -> float:
        np.random.seed(1)
        meanwhile()
        return np.random.uniform()

    assert drawn(lambda: train(DRAWN, PPO, env=Drawing)) == drawn(lambda: None)


RNG = np.random.default_rng()
InModule = like(AnySpace, "InModule", pay=lambda self, action: RNG.uniform())


class InStep(AnySpace):
    """Draws from a generator of its own, which begins alike in each lane."""

    def __init__(self) -> None:
        super().__init__()
        self.own = np.random.default_rng(0)

    def pay(self, action: Any) -> float:
        return float(self.own.uniform())


class Unseeded(AnySpace):
    """Begins where a generator of its own says, whatever the seed."""

    def __init__(self) -> None:
        super().__init__()
        self.own = np.random.default_rng()

    def reset(self, **options: Any) -> Any:
        _, info = super().reset(**options)
        return self.own.uniform(-1, 1, 3).astype(np.float32), info


@pytest.mark.parametrize("make", [InModule, InStep, Unseeded])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_no_seed_reaches_is_told(make: Any, backend: str, capsys: Capture) -> None:
    said = f"{make.__name__} plays two episodes from the same seed and actions, so its runs cannot be repeated: draw "
    for _ in range(2):
        train(replace(DRAWN, env=Config.env, backend=backend), PPO, env=make)
    assert sum(line.startswith(said) for line in capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("env", ["Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_gymnasium_s_own_have_nothing_to_say(env: str, capsys: Capture) -> None:
    train(Config(env, seeds=1, steps=40, lanes=2, horizon=10, minibatches=1, backend="gymnasium"), PPO)
    assert "seed" not in capsys.readouterr().err

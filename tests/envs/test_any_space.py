"""Whatever passes Gymnasium's checker trains, alone and in a stack, in this process and in workers, and plays again."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.utils.env_checker import check_env
from support.any_space import BOOL, THREE, TWO, AnySpace
from support.register import register

from tricks import PPG, PPO, REINFORCE, Config, InputError, Tricks, load, train
from tricks.core.spaces import Spaces
from tricks.envs.make import make_env
from tricks.ladder import switched

U8 = np.uint8
CONFIG = Config("own", seeds=2, steps=60, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "dict": Dict(context=Box(-np.inf, np.inf, (2,)), score=Box(0, 1, (1,))),
    "dict with image": Dict(image=Box(0, 255, (40, 40, 3), U8), v=Box(0, 1, (2,))),
    "tuple": Tuple((Discrete(4), Box(0, 1, (2,)))),
    "multi-discrete": MultiDiscrete([3, 4]),
    "multi-binary": MultiBinary(5),
    "goal": Dict({"observation": Box(-1, 1, (2,), np.float64), "goal": Dict(at=Box(-1, 1, ()), kind=Discrete(2))}),
    "bool": Box(0, 1, (10, 10, 4), BOOL),
    "float image": Box(0, 1, (12, 10, 3), np.float32),
    "gray": Box(0, 255, (12, 10), U8),
    "last": Box(0, 255, (12, 10, 3), U8),
}
ACTIONS: dict[str, gym.Space[Any]] = {
    "multi-discrete": MultiDiscrete([3, 2]),
    "multi-binary": MultiBinary(4),
    "matrix of choices": MultiDiscrete(np.array([[2, 3], [1, 2]]), start=np.array([[0, 1], [2, -1]])),
    "box matrix": Box(-1, 1, (2, 3)),
    "scalar": Box(-1, 1, ()),
    "bool box": Box(0, 1, (2,), BOOL),
    "negative start": Discrete(3, start=-1),
}
BOTH = [(name, space, TWO) for name, space in OBSERVATIONS.items()] + [(n, THREE, s) for n, s in ACTIONS.items()]
EACH = pytest.mark.parametrize(("observation", "action"), [pair for _, *pair in BOTH], ids=[name for name, *_ in BOTH])


@EACH
def test_every_kind_of_space_trains_saves_loads_and_plays(observation: gym.Space[Any], action: gym.Space[Any]) -> None:
    make = partial(AnySpace, observation, action)
    check_env(make(), skip_render_check=True)
    run = train(CONFIG, PPO, env=make)
    assert (run.curve.groupby("seed").step.max() >= 60).all()
    assert np.isfinite(run.curve[["policy_loss", "value_loss", "entropy", "grad_norm"]]).all(axis=None)
    run.save("x")
    again = load("x", env=make)
    assert again.evaluate(2).tolist() == [[5, 5], [5, 5]]
    obs = observation.sample()
    for k in range(2):
        mine, theirs = (r.agent[k].act(obs) for r in (run, again))
        assert np.array_equal(mine, theirs)
        assert action.contains(mine.astype(action.dtype))


@pytest.mark.parametrize("tricks", [REINFORCE, PPO, PPG], ids=["reinforce", "ppo", "ppg"])
def test_a_seed_in_a_stack_equals_the_seed_alone(tricks: Tricks) -> None:
    make = partial(AnySpace, OBSERVATIONS["dict with image"], ACTIONS["multi-discrete"])
    config = replace(CONFIG, aux_every=2, aux_epochs=1, lr=1e-4)
    alone, stacked = (train(replace(config, seeds=seeds), tricks, env=make).curve for seeds in ((3,), (8, 3)))
    stacked = stacked[stacked.seed == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(stacked, alone, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["goal", "tuple"])
def test_worker_processes_show_what_one_process_would(name: str) -> None:
    make = partial(AnySpace, OBSERVATIONS[name], ACTIONS["multi-discrete"])
    ours, theirs = (make_env(replace(CONFIG, backend=backend), make=make) for backend in ("processes", "gymnasium"))
    for _ in range(7):
        assert ours.now.obs.equal(theirs.now.obs)
        for env in (ours, theirs):
            env.step(torch.ones(2, 2, 2, dtype=torch.int64), torch.ones(2) > 0)
    ours.close()
    theirs.close()


def test_each_component_learns_what_a_discrete_action_would() -> None:
    one, several = (
        train(CONFIG, PPO, env=partial(AnySpace, THREE, action)).curve for action in (Discrete(3), MultiDiscrete([3]))
    )
    pd.testing.assert_frame_equal(one, several)

    class Paying(AnySpace):
        """Pays for a 2 first and a 1 next."""

        def paid(self, action: Any) -> float:
            return float(action[0] == 2) + float(action[1] == 1)

    config = replace(CONFIG, steps=2000, lanes=4, horizon=32, epochs=4, lr=0.01)
    run = train(config, PPO, env=partial(Paying, THREE, MultiDiscrete([3, 2])))
    assert (run.late() > 9).all()  # of 10


def test_observations_with_images_are_not_standardized() -> None:
    for name, what in (("last", "are images"), ("dict with image", "have images")):
        with pytest.raises(InputError, match=f"state_norm standardizes vectors, but these observations {what}"):
            train(CONFIG, switched(["state_norm"]), env=partial(AnySpace, OBSERVATIONS[name]))


register("Colors-v0", partial(AnySpace, OBSERVATIONS["last"]))


def test_the_summary_and_run_json_say_how_an_image_is_seen(told: Callable[..., str]) -> None:
    command = "train ppo --env Colors-v0 --seeds 1 --steps 40 --lanes 1 --horizon 16"
    line = "observation is an image [12, 10, 3], which becomes [3, 12, 10]"
    assert f"{line}; --as-vector takes it as a vector\n" in told(f"{command} --out seen")
    assert line in Path("seen/run.json").read_text()
    assert load("seen").agent.spaces.shape == (3, 12, 10)
    assert "an image" not in told(f"{command} --as-vector --out flat")
    assert load("flat").agent.spaces.shape == (360,)
    told("play flat --no-gif --episodes 1")


def test_the_agent_of_another_space_with_as_many_numbers_is_refused() -> None:
    run = train(CONFIG, REINFORCE, env=partial(AnySpace, THREE, MultiDiscrete([3, 2])))
    for action in (MultiDiscrete([2, 3]), Discrete(5)):
        with pytest.raises(InputError, match="but the agent was trained with"):
            replace(run, env=partial(AnySpace, THREE, action)).evaluate(1)


def test_the_most_likely_of_a_box_of_bools_is_rounded() -> None:
    spaces = Spaces("x", THREE, ACTIONS["bool box"])
    assert spaces.decode(torch.tensor([[0.4, 0.6]])).tolist() == [[False, True]]

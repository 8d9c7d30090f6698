"""Evaluations in an environment of their own: where they are played, what must be the same, and what a file keeps."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest
from support.fixtures import Patch, Told, refusal
from support.training import interrupted

from tricks import PPO, Checkpoints, Config, Evaluation, further, load, resume, train

CODE = """
import gymnasium as gym
import numpy as np
from support.probes import Endless

class Room(Endless):
    length = 5
    def __init__(self, pay=1, size=3, actions=2, start=0, low=-1, box=0, tasks=1, masks=False):
        self.paid, self.masks, self.metadata = pay, masks, {"tasks": tasks}
        self.observation_space = gym.spaces.Box(low, 1, (size,), np.float32)
        self.action_space = gym.spaces.Box(-box, box, (2,)) if box else gym.spaces.Discrete(actions, start=start)
    def see(self):
        return self.np_random.uniform(-1, 1, self.observation_space.shape).astype(np.float32)
    def pay(self, action):
        return self.paid
    def info(self):
        return {"action_mask": np.ones(2)} if self.masks else {}

def make(pay=10):
    return Room(pay)

gym.register("EvalRoom-v0", Room)
"""
CONFIG = Config("rooms:EvalRoom-v0", seeds=(3, 1), steps=200, lanes=2, horizon=20, hidden=(4,))
OFTEN = Evaluation(50, 2, env="rooms:make")


@pytest.fixture(autouse=True)
def _rooms(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "rooms.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "rooms", raising=False)
    monkeypatch.delitem(gym.registry, "EvalRoom-v0", raising=False)


def judged(config: Config = CONFIG, **asked: Any) -> float:
    """The return of each evaluation, which is the same for all, and that of `Run.evaluate`."""
    run = train(config, PPO, evaluation=Evaluation(50, 2, **asked))
    (found,) = {*run.curve["eval_return"].dropna(), *run.evaluate(1).ravel()}
    return float(found)


def test_evaluations_are_where_they_are_asked_for_and_change_nothing_that_is_learned() -> None:
    plain, apart = train(CONFIG, PPO), train(CONFIG, PPO, evaluation=OFTEN)
    assert apart.curve["eval_return"].dropna().unique().tolist() == [50]
    assert apart.evaluate(2).tolist() == [[50, 50]] * 2
    before, after = (run.curve.drop(columns="eval_return") for run in (plain, apart))
    pd.testing.assert_frame_equal(before, after, check_exact=True)


def test_an_environment_of_their_own_takes_none_of_the_trainings_arguments_but_every_wrapper() -> None:
    paid = replace(CONFIG, env_args=("pay=3",))
    assert judged(paid) == 15
    assert judged(paid, env="rooms:EvalRoom-v0") == 5
    assert judged(paid, env="rooms:EvalRoom-v0", env_args={"pay": 4}) == 20
    assert judged(paid, env_args=("pay=4",)) == 20  # alone, they change the training's
    assert judged(replace(paid, env_args=("pay=3", "low=-2")), env_args=("pay=4",)) == 20
    assert judged(replace(paid, wrap=("gymnasium.wrappers:TimeLimit(2)",)), env="rooms:make") == 20
    assert judged(replace(CONFIG, backend="processes"), env="rooms:make") == 50


def test_a_function_will_do_and_its_arguments_are_given_to_it() -> None:
    from rooms import Room, make  # type: ignore[import-not-found]

    assert judged(env=make) == 50
    assert judged(env=lambda pay: Room(pay), env_args=("pay=6",)) == 30
    for args, paid in ((("pay=7",), 35), ((), 5)):  # in the training's own
        run = train(CONFIG, PPO, env=Room, evaluation=Evaluation(50, 2, env_args=args))
        assert set(run.curve["eval_return"].dropna()) == {*run.evaluate(1).ravel()} == {paid}


@pytest.mark.parametrize(
    ("arg", "said"),
    [
        ("size=4", r"has Box\(-1.0, 1.0, \(4,\), float32\), .*, and that of the training, "),
        ("actions=3", r"EvalRoom-v0, has .* Discrete\(3\), .*, and that of .* Discrete\(2\), .*; they must be the "),
        ("start=1", r"has .*, Discrete\(2, start=1\)"),
        ("box=1", r"has Box\(.*\), Box"),
        ("tasks=2", "and 2 tasks, and that of the training, .*, and 1 tasks"),
        ("nonsense=2", "in evaluations: cannot make the environment 'rooms:EvalRoom-v0': .*'nonsense'"),
    ],
)
def test_other_spaces_are_refused_before_the_training_by_what_differs(arg: str, said: str) -> None:
    refusal(said, train, CONFIG, PPO, evaluation=replace(OFTEN, env="rooms:EvalRoom-v0", env_args=(arg,)))


def test_the_bounds_of_actions_count_and_those_of_observations_do_not() -> None:
    box = replace(CONFIG, env_args=("box=1",))
    refusal("must be the same", train, box, PPO, evaluation=Evaluation(50, 2, env_args=("box=2",)))
    assert judged(replace(box, rescale_actions=True), env_args=("box=2",)) == 5
    assert judged(env_args=("low=-2",)) == 5


def test_what_cannot_be_made_is_one_line() -> None:
    for env, said in {"nosuch:make": "No module named 'nosuch'", "rooms:CODE": "no class or function 'CODE'"}.items():
        where = "^in evaluations: cannot make the environment"
        refusal(f"{where} .*{said}", train, CONFIG, PPO, evaluation=replace(OFTEN, env=env))
    refusal(r"env must be a string or a function that makes a gymnasium\.Env, not 3", Evaluation, 50, env=3)
    refusal("name=value", Evaluation, 50, env_args=("pay",))
    masked = replace(CONFIG, env_args=("masks=True",))  # they are needed there, too
    refusal("action_mask needs", train, masked, replace(PPO, action_mask=True), evaluation=OFTEN)


def test_a_saved_run_knows_it_and_imports_it_only_if_it_is_named() -> None:
    train(replace(CONFIG, env="CartPole-v1"), PPO, evaluation=Evaluation(50, 1)).save("plain")
    refusal("was evaluated in its own environment, not in 'rooms:make'", load, "plain", eval_env="rooms:make")
    train(CONFIG, PPO, evaluation=OFTEN).save("run")
    del sys.modules["rooms"]
    for folder in ("run", "copy"):
        run = load(folder)
        assert run.evaluation == OFTEN
        refusal(r"was evaluated in 'rooms:make', whose module .* add --eval-env 'rooms", run.evaluate, 1)
        run.save("copy", overwrite=True)
    refusal("was evaluated in 'rooms:make', not in 'rooms:other'", load, "copy", eval_env="rooms:other")
    assert "rooms" not in sys.modules
    assert load("copy", eval_env="rooms:make").evaluate(1).tolist() == [[50], [50]]


def test_a_function_has_to_be_given_again() -> None:
    from rooms import make

    train(CONFIG, PPO, evaluation=replace(OFTEN, env=make)).save("run")
    load("run").save("copy")
    refusal(r"evaluated in an environment of your own, .* add --eval-env module:Id", load("copy").evaluate, 1)
    for again, paid in {make: 50, "rooms:make": 50, "rooms:EvalRoom-v0": 5}.items():
        assert load("copy", eval_env=again).evaluate(1).tolist() == [[paid], [paid]]


def test_it_is_resumed_and_continued(monkeypatch: Patch) -> None:
    config = replace(CONFIG, env="CartPole-v1", wrap=("gymnasium.wrappers:TimeLimit(6)",))
    own = Evaluation(50, 2, env="CartPole-v1", env_args=("sutton_barto_reward=True",))
    run = train(config, PPO, evaluation=own, checkpoints=Checkpoints("run", 50))
    run.save("run")
    more = further("run", 100)
    assert more.evaluation == own
    for judged in (run.curve["eval_return"], more.curve.query("step > 250")["eval_return"]):
        assert set(judged.dropna()) <= {0.0, -1.0}
    interrupted(Path("cut"), replace(CONFIG, steps=400), PPO, 1, monkeypatch, evaluation=OFTEN)
    refusal("add --eval-env 'rooms:make'", resume, "cut", env=CONFIG.env)
    assert resume("cut", env=CONFIG.env, eval_env="rooms:make").evaluate(1).tolist() == [[50], [50]]


def test_commands_take_it_and_play_in_it(told: Told) -> None:
    small = "train ppo --env rooms:EvalRoom-v0 --seeds 1 --steps 200 --lanes 2 --horizon 20 --hidden 4"
    for option in ("--eval-env rooms:make", "--eval-env-arg pay=2"):
        said = f"{option.split()[0]} needs --eval-every, the steps between two evaluations"
        assert said in told(f"{small} {option}", 2)
    asked = "--eval-env rooms:make --eval-env-arg pay=2 --eval-every 50"
    said = told(f"{small} {asked} --keep-best --checkpoint-every 100 --out run")
    assert "mean return of the last greedy evaluation in rooms:make pay=2: 10.0" in said
    command = said.splitlines()[-1].partition("to watch an agent: python -m tricks ")[2]
    assert command == "play run --eval-env rooms:make"
    told(f"{small} --eval-env-arg pay=2 --eval-every 50 --out args")
    assert "mean return 10.0" in told("play args --no-gif --env rooms:EvalRoom-v0")  # which only names the module
    best = "best agent of seed 0 in rooms:make, sampled actions: mean return 10.0"
    assert best in told(f"{command} --no-gif --best")
    own = "in rooms:EvalRoom-v0, sampled actions: mean return 5.0"
    assert own in told("play run --no-gif --env rooms:EvalRoom-v0")
    assert "add --eval-env 'rooms:make'" in told("play run --no-gif", 2)
    again = "train --continue run --steps 100 --env rooms:EvalRoom-v0"
    assert "add --eval-env 'rooms:make'" in told(again, 2)
    told(f"{again} --eval-env rooms:make")
    assert load("run").config.steps == 300

"""The ladder: needs, presets, and each flag's place; what users give is plain values, or is refused in one line."""

import ast
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import refusal

import tricks
from ablations.training.jobs import Job
from tricks import EVERY, PPO, REINFORCE, Agent, Config, Evaluation, Run, Spaces, Tricks, named, switched, train
from tricks.config import PerSeed
from tricks.core.extras import advice
from tricks.core.seeds import per_seed
from tricks.ladder import COLORS, DIAGNOSTICS, FILES, HYPERPARAMETERS, LADDER, NEEDS, closed, rungs, trick
from tricks.reading.ladder_table import table
from tricks.runs import learning_curve, log

LIBRARY = Path(tricks.__file__).parent


@pytest.mark.parametrize(
    ("on", "said"),
    [
        (["popart"], "popart needs baseline, return_norm: add --baseline --return-norm"),
        (["reuse", "value_clip"], "value_clip needs baseline: add --baseline"),
        (["gae", "clip"], "clip needs reuse; gae needs baseline: add --baseline --reuse"),
        (["ppg_buffers"], "ppg_buffers needs baseline, reuse, segments, ppg: add --baseline --reuse --segments --ppg"),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_the_switches_to_type(on: list[str], said: str) -> None:
    assert refusal("", switched, on) == said
    switched([*on, *(name.replace("-", "_") for name in re.findall(r"--([a-z-]+)", said))])  # what was advised is legal


@pytest.mark.parametrize("name", NEEDS)
def test_every_trick_has_a_file_that_names_it_a_test_and_bare_ifs_in_the_loop(name: str) -> None:
    assert (LIBRARY / f"{FILES[name]}.py").read_text().splitlines()[0].split(":")[0].find(name) > 0
    first = [path.read_text().splitlines()[0] for path in Path(__file__).parent.glob("test_*.py")]
    assert any(re.search(rf'\b{name}\b[^"]*:', line) for line in first)
    nodes, flag = list(ast.walk(ast.parse((LIBRARY / "loop.py").read_text()))), f"tricks.{name}"
    tests = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == flag]
    mentions = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == flag]
    assert len(tests) == len(mentions) > 0


def test_each_rung_adds_one_trick_and_a_flag_is_not_tested_twice_in_a_row() -> None:
    for node in ast.walk(ast.parse((LIBRARY / "loop.py").read_text())):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for one, other in pairwise(block if isinstance(block, list) else []):
                if isinstance(one, ast.If) and isinstance(other, ast.If):
                    assert ast.unparse(one.test) != ast.unparse(other.test), f"line {other.lineno}: one if is enough"
        if isinstance(node, ast.If):
            within = [inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.If)]
            assert ast.unparse(node.test) not in [ast.unparse(inner.test) for inner in within], f"line {node.lineno}"
    ladder = rungs()
    assert ladder[0] == REINFORCE and ladder[-1] == EVERY
    assert [set(b.on) - set(a.on) for a, b in pairwise(ladder)] == [{name} for name in LADDER]


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("ppo", PPO.on),
        ("clip", ("baseline", "reuse", "clip")),
        ("ppg", (*PPO.on, "ppg")),
        ("ppg+kl_stop", (*PPO.on, "ppg", "kl_stop")),
        ("reinforce+popart+clip", ("baseline", "reuse", "clip", "return_norm", "popart")),
    ],
)
def test_names_stand_for_presets_and_rungs_to_which_flags_may_be_added(name: str, on: tuple[str, ...]) -> None:
    assert named(name).on == on
    assert switched(iter(on)) == switched(on)  # however the names are given


def test_a_trick_needs_a_color_a_diagnostic_a_name_in_the_order_of_stored_curves() -> None:
    with pytest.raises(TypeError, match="color"):
        trick("magic", "Nobody 2030")  # type: ignore[call-arg]
    assert all(re.fullmatch("#[0-9A-F]{6}", color) for color in COLORS.values())
    assert len(set(COLORS.values())) == len(COLORS)
    with pytest.raises(KeyError, match="no diagnostic 'luck': name it in its trick's field"):
        log.Log(Config(seeds=1)).note(luck=torch.zeros(1))
    shown = " ".join(table().split())
    assert all(f.name in shown and f.metadata["paper"] in shown for f in fields(Tricks))
    stored = (
        *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"),
        *("grad_norm", "auxiliary_loss", "clone_kl", "policy_age", "value_age"),
        *("learning_rate", "eval_return", "reward", "clip_range", "return_mean", "return_std"),
    )
    further = [name for brought in DIAGNOSTICS.values() for name in brought if name not in stored]
    assert (*stored, *further, "action_std", "action_clip_fraction") == learning_curve.DIAGNOSTICS


def test_numbers_are_fields_of_config_whose_docstrings_name_their_tricks() -> None:
    (config,) = (node for node in ast.parse((LIBRARY / "config.py").read_text()).body if isinstance(node, ast.ClassDef))
    named_in: dict[str, list[str]] = {}
    for line, said in pairwise(config.body):
        if isinstance(line, ast.AnnAssign) and isinstance(said, ast.Expr):
            words = ", ".join(re.findall(r"\(([a-z_, ]+)\)", ast.literal_eval(said.value))).split(", ")
            named_in[ast.unparse(line.target)] = [name for name in words if name in NEEDS]
    for f in fields(Config):
        assert named_in[f.name] == [name for name in NEEDS if f.name in HYPERPARAMETERS[name]], f.name
    assert {number for numbers in HYPERPARAMETERS.values() for number in numbers} <= named_in.keys()


@pytest.mark.parametrize("name", [name for name, brought in DIAGNOSTICS.items() if brought])
def test_a_trick_brings_its_diagnostics(name: str) -> None:
    config = Config("ShortCartPole-v0", seeds=1, steps=130, lanes=2, horizon=16, hidden=(4,), aux_every=1, group=2)
    having = train(config, switched(closed([name]))).curve
    without = train(config, switched([other for other in closed([name]) if other != name])).curve
    for column in DIAGNOSTICS[name]:
        assert having[column].notna().any(), column
        assert without[column].isna().all(), column


def test_numpy_and_torch_values_become_plain_ones() -> None:
    numbers: dict[str, Any] = {"seeds": torch.tensor([1, 2]), "lr": np.array([0.5, 0.25]), "lanes": np.array(3)}
    numbers |= {"hidden": [np.int64(8), np.array(4)], "steps": 1e6, "gamma": 1}
    numbers |= {"compile": np.bool_(True), "device": torch.device("cuda:1"), "env": np.str_("CartPole-v1")}
    given = Config(**numbers)
    plain = Config(
        seeds=(1, 2), lr=(0.5, 0.25), hidden=(8, 4), lanes=3, steps=1_000_000, gamma=1.0, compile=True, device="cuda:1"
    )
    assert given == plain and hash(given) == hash(plain) and Job(given, PPO).key == Job(plain, PPO).key
    for f in fields(Config):
        assert type(getattr(given, f.name)) is type(getattr(plain, f.name)), f.name
    assert [type(x) for x in (*given.seed_list, *given.rates, *given.hidden)] == [int] * 2 + [float] * 2 + [int] * 2
    assert Config(seeds=range(3)).seeds == (0, 1, 2)  # type: ignore[arg-type]
    assert Tricks(np.bool_(True)) == Tricks(baseline=True)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(given)) == replace(given, lanes=3) == given


def test_what_is_left_is_legal_one_number_stays_and_several_become_a_column() -> None:
    functions = [getattr(tricks, name) for name in tricks.__all__ if name.islower()]
    assert [f.__name__ for f in functions if f is not tricks.source and not hasattr(f, "__wrapped__")] == []
    for action in (0, 1):
        mask = [action == 0, action == 1]
        assert agent_of().act([0.0] * 4, legal=mask) == action
        assert agent_of().act(torch.zeros(4), legal=torch.tensor(mask)) == action
    assert agent_of(seeds=2).act(np.zeros((2, 3, 4))).shape == (2, 3)
    like = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert per_seed(0.5, like) == 0.5
    column = per_seed((0.1, 0.2), like)
    assert isinstance(column, torch.Tensor)
    assert (column.shape, column.dtype, column.flatten().tolist()) == ((2, 1, 1), torch.float64, [0.1, 0.2])
    assert per_seed((0.1, 0.2), torch.zeros(2)).shape == (2,)  # type: ignore[union-attr]


CART = Spaces("Cart", gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2))
GRID = Spaces("Grid", gym.spaces.Discrete(5, start=1), gym.spaces.Box(-1, 1, (1,)))


def agent_of(spaces: Spaces = CART, seeds: int = 1) -> Agent:
    return Agent(spaces, Config(seeds=seeds, hidden=(4,)))


TINY, ZEROS = Config(seeds=1, steps=64, lanes=2, horizon=16, hidden=(8,)), np.zeros(4)
run = cache(lambda: train(TINY, PPO))


def call(function: Callable[..., Any], *given: Any, **named: Any) -> Callable[[], Any]:
    """As `partial`, with arguments of any type."""
    return lambda: function(*given, **named)


def act(obs: Any, spaces: Spaces = CART, **named: Any) -> Any:
    return agent_of(spaces).act(obs, **named)


def trained(env: str) -> Run:
    return train(Config(env, seeds=1, steps=100, lanes=1, horizon=16), PPO)


BEYOND = ("seeds", 0), ("seeds", (1, 1)), ("steps", 0), ("hidden", (0,)), ("lr", -1.0), ("entropy_coef", math.nan)
REFUSED: list[tuple[Callable[[], Any], str]] = [
    *[(call(Config, **{name: x}), name) for name, x in BEYOND],
    (call(Tricks, baseline=True, popart=True), "popart needs return_norm"),
    (call(switched, [*PPO.on, "ppg", "shared_trunk"]), "ppg cannot be combined with shared_trunk"),
    (call(switched, ["clipp"]), "unknown trick clipp (did you mean clip?); the tricks are"),
    (call(named, "ppg+klstop"), "unknown trick klstop"),
    (call(named, "xyz"), "unknown rung 'xyz'; choose"),
    (call(named, "lr-aneal"), "unknown rung 'lr-aneal' (did you mean lr_anneal?); choose reinforce, ppo"),
    (call(named, "PPO"), "unknown rung 'PPO' (did you mean ppo?)"),
    (call(Tricks, baseline=1), "baseline must be True or False, not 1"),
    (call(Tricks, bassline=True), "Tricks has no 'bassline' (did you mean baseline?)"),
    (call(Config, seeds="3"), "seeds must be a whole number or a list of whole numbers such as (1, 2), not '3'"),
    (call(Config, seeds=True), "seeds must be a whole number or a list of whole numbers such as (1, 2), not True"),
    (call(Config, seeds={1, 2}), "seeds must be"),
    (call(Config, seeds=range(10**30)), "seeds must be at most 1,000,000 numbers, not range(0, 1000"),
    (call(Config, seeds=10**9), "seeds must be at most 1,000,000, not 1000000000"),
    (call(Config, seeds=(2**60,)), "seeds must be within ±2^53"),
    (call(Config, steps=2.5), "steps must be a whole number, not 2.5"),
    (call(Config, env=None), "env must be a string, not None"),
    (call(Config, hidden=64), "hidden must be a list of whole numbers such as (1, 2), not 64"),
    (call(Config, compile=1), "compile must be True or False, not 1"),
    (call(Config, lr="a"), "lr must be a number or a list of numbers such as (0.1, 0.2), not 'a'"),
    (call(Config, lr=10**400), "lr must be within"),
    (call(Config, lrr=1), "Config has no 'lrr' (did you mean lr?)"),
    (call(Config, zzz=1), "Config has no 'zzz'; it has env, backend"),
    (call(Config, activation="gelu"), "unknown activation 'gelu'; there are tanh, relu"),
    (call(Config, log_std_init=math.inf), "log_std_init must be finite, not inf"),
    (call(Config, dual_clip_limit=1), "dual_clip_limit must be more than 1 and finite, not 1"),
    (call(Config, obs_decay=1.1), "obs_decay must be in [0, 1], not 1.1"),
    (call(train, PPO, TINY), "config must be a Config, not Tricks(baseline=True"),
    (call(train, TINY, "ppo"), "tricks must be a Tricks, not 'ppo'"),
    (call(train, "CartPole-v1"), "train: missing a required argument: 'tricks'"),
    (call(train, TINY, PPO, evn=3), "train: got an unexpected keyword argument 'evn'"),
    (call(train, TINY, PPO, on_update=3), "on_update must be a function or None, not 3"),
    (call(train, TINY, PPO, checkpoints="x"), "checkpoints must be a Checkpoints"),
    (call(train, TINY, PPO, evaluation=3), "evaluation must be an Evaluation or None"),
    (call(tricks.diff, "baseline", "reuse"), "before must be a Tricks, not 'baseline'"),
    (call(tricks.source, 3), "source shows functions, classes and modules"),
    (call(tricks.load, 3), "path must be a string or a path, not 3"),
    (lambda: run().evaluate(cast(Any, 2.5)), "episodes must be a whole number, not 2.5"),
    (lambda: run().only(cast(Any, "a")), "seed must be a whole number or None, not 'a'"),
    (call(Evaluation, "x"), "every must be a whole number, not 'x'"),
    (call(Evaluation, 5, episode=3), "Evaluation has no 'episode' (did you mean episodes?)"),
    (call(act, [np.nan] * 4), "observations must be finite, not [nan, nan, nan, nan]"),
    (call(act, [0.0] * 3), "observations of Cart are [4], [N, ...] or [S, N, ...] of these; not [3]"),
    (call(act, np.zeros((2, 3, 4))), "observations of 1 agents must be [S, N, ...], with S = 1, not [2, 3, 4]"),
    (call(act, "left"), "observations must be an array of numbers, not 'left'"),
    (call(act, [[0.0] * 4, [0.0] * 3]), "observations must be an array of numbers"),
    *[(call(act, obs, GRID), "Grid are whole numbers from 1 to 5") for obs in (0, 6, 2.5)],
    (call(act, ZEROS, legal=[False] * 2), "legal leaves no action: [False, False]"),
    (call(act, ZEROS, legal=[True]), "legal must be [2], one entry for each action, not [1]"),
    (call(act, np.array(1), GRID, legal=np.array([True])), "Grid has Box actions, which are all legal"),
    (call(act, ZEROS, rng=3), "rng must be a np.random.Generator or None, not 3"),
    (lambda: agent_of()[cast(Any, "first")], "k must be a whole number, not 'first'"),
    (call(trained, "CartPole-v7"), "CartPole-v1"),
    (call(trained, "Nonsense-v0"), "cannot make the environment 'Nonsense-v0'"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_cannot_be_is_one_line(asked: Callable[[], Any], said: str) -> None:
    assert len(refusal(re.escape(said), asked)) < 700


@pytest.mark.parametrize(
    ("message", "extra"),
    [
        ("Box2D is not installed, you can install it by run `pip install swig` followed by ...", "box2d"),
        ('MuJoCo is not installed, run `x "y"`', "mujoco"),
        ("opencv is not installed,\n run x", ""),  # no extra is about drawing with it
        ("MuJoCo has diverged", ""),
    ],
)
def test_every_missing_package_has_its_advice(message: str, extra: str) -> None:
    said = f'{message.split(",")[0]}; install it with: pip install "ppo-tricks[{extra}]"'
    assert advice(ImportError(message)) == (said if extra else message.replace("\n", ""))


@pytest.mark.parametrize("name", [f.name for f in fields(Config) if f.type == PerSeed])
def test_there_are_as_many_numbers_as_seeds_or_one(name: str) -> None:
    usual, two = getattr(Config, name), Config(seeds=2)
    refusal(f"{name} must be one number or one for each of 2 seeds", replace, two, **{name: (usual,) * 3})
    both = replace(two, **{name: (usual, usual)})  # type: ignore[arg-type]
    assert both.each(name) == (usual, usual) and getattr(both.only(1), name) == usual

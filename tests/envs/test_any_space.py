"""Whatever passes Gymnasium's checker trains and plays again: its spaces, the actions that reach it, and its masks."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from support.fixtures import Told, refusal
from support.probes import BOOL, THREE, TWO, AnySpace, like, register

from tricks import PPO, REINFORCE, Config, load, switched, train
from tricks.core.spaces import Spaces, within
from tricks.envs.make import make_env
from tricks.runs.save_policy import Policy
from tricks.squash import squashed

U8 = np.uint8
CONFIG = Config("own", seeds=2, steps=60, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "dict with image": Dict(image=Box(0, 255, (40, 40, 3), U8), v=Box(0, 1, (2,))),
    "multi-discrete": MultiDiscrete([3, 4]),
    "multi-binary": MultiBinary(5),
    "goal": Dict({"observation": Box(-1, 1, (2,), np.float64), "goal": Dict(at=Box(-1, 1, ()), kind=Discrete(2))}),
    "bool": Box(0, 1, (10, 10, 4), BOOL),
    "last": Box(0, 255, (12, 10, 3), U8),
}
ACTIONS: dict[str, gym.Space[Any]] = {
    "multi-discrete": MultiDiscrete([3, 2]),
    "multi-binary": MultiBinary(4),
    "matrix of choices": MultiDiscrete(np.array([[2, 3], [1, 2]]), start=np.array([[0, 1], [2, -1]])),
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
        assert np.array_equal(mine, theirs) and action.contains(mine.astype(action.dtype))


def test_each_component_learns_what_a_discrete_action_would() -> None:
    makes = [partial(AnySpace, THREE, action) for action in (Discrete(3), MultiDiscrete([3]))]
    one, several = (train(CONFIG, PPO, env=make).curve for make in makes)
    pd.testing.assert_frame_equal(one, several)


def test_images_are_not_standardized_and_another_space_s_agent_is_refused() -> None:
    for name, what in (("last", "are images"), ("dict with image", "have images")):
        make, said = partial(AnySpace, OBSERVATIONS[name]), "state_norm standardizes vectors, but these observations"
        refusal(f"{said} {what}", train, CONFIG, switched(["state_norm"]), env=make)
    run = train(CONFIG, REINFORCE, env=partial(AnySpace, THREE, MultiDiscrete([3, 2])))
    for action in (MultiDiscrete([2, 3]), Discrete(5)):
        refusal("but the agent was trained with", replace(run, env=partial(AnySpace, THREE, action)).evaluate, 1)


register("Colors-v0", partial(AnySpace, OBSERVATIONS["last"]))


def test_the_summary_and_run_json_say_how_an_image_is_seen(told: Told) -> None:
    command = "train ppo --env Colors-v0 --seeds 1 --steps 40 --lanes 1 --horizon 16"
    line = "observation is an image [12, 10, 3], which becomes [3, 12, 10]"
    assert f"{line}; --as-vector takes it as a vector\n" in told(f"{command} --out seen")
    assert line in Path("seen/run.json").read_text()
    assert load("seen").agent.spaces.shape == (3, 12, 10)
    assert "an image" not in told(f"{command} --as-vector --out flat")
    assert load("flat").agent.spaces.shape == (360,)
    told("play flat --no-gif --episodes 1")


F32, F64 = float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)
ENDS: list[tuple[float, float, str]] = [(1, 1, "f4"), (-2, 3, "i8"), (0, 2**64 - 1, "u8"), (0, 255, "u1"), (0, 1, "?")]
ENDS += [(-(2**63), 2**63 - 1, "i8"), (-F32, F32, "f4"), (-F64, F64, "f8"), (-0.1, 0.3, "f2"), (1e-30, 2e-30, "f8")]
BOUNDED = [Box(low, high, (2,), np.dtype(kind).type) for low, high, kind in ENDS]
BOUNDED.append(Box(np.array([0, -1], np.float32), np.array([0, 1], np.float32)))  # its first bounds are equal
OPEN = [Box(-np.inf, np.inf, (2,), kind) for kind in (np.float16, np.float32, np.float64)]
OPEN += [Box(0, np.inf, (2,), np.float32), Box(-np.inf, -2, (2,), np.float16)]
ASKED = [[np.nan, np.inf], [-np.inf, 0], [1e30, -1e30], [0.5, -0.5], [1, -1], [2.5, -2.4]]


class Taking(AnySpace):
    def __init__(self, box: Box) -> None:
        super().__init__(THREE, box)
        self.taken: list[Any] = []

    def step(self, action: Any) -> Any:
        self.taken.append(action)
        return super().step(action)


@pytest.mark.parametrize("box", BOUNDED + OPEN, ids=str)
@pytest.mark.filterwarnings("error")
def test_whatever_is_asked_is_decoded_to_an_action_of_the_box(box: Box) -> None:
    decoded = Spaces("x", THREE, box).decode(torch.tensor([ASKED]))
    assert decoded.dtype == box.dtype
    for action in decoded[0]:
        assert np.isfinite(action.astype(float)).all() and box.contains(action)


@pytest.mark.parametrize("box", BOUNDED, ids=str)
@pytest.mark.filterwarnings("error:.*(divide|invalid|overflow)")
def test_rescaled_actions_are_of_the_box_and_reach_its_bounds(box: Box) -> None:
    played = Taking(box)
    env = make_env(Config(seeds=1, lanes=1, rescale_actions=True), make=lambda: played)
    for asked in ([-1.0, 1.0], [1.0, -1.0], [torch.nan, 0.0], [torch.inf, -torch.inf]):
        env.step(torch.tensor([[asked]]), torch.ones(1) > 0)
    env.close()
    assert all(box.contains(action) and np.isfinite(action.astype(float)).all() for action in played.taken)
    assert [action.tolist() for action in played.taken[:2]] == [[box.low[0], box.high[1]], [box.high[0], box.low[1]]]


def test_the_middle_of_the_range_is_the_middle_of_the_bounds_which_rounding_does_not_leave() -> None:
    box = Box(np.array([-2, 10], np.float32), np.array([6, 30], np.float32))
    assert squashed(box).played(torch.zeros(2)).tolist() == [2, 20]
    for rescale, low in ((True, [-1, -1]), (False, [-2, 10])):
        env = make_env(Config(seeds=1, lanes=1, rescale_actions=rescale), make=lambda: AnySpace(THREE, box))
        assert isinstance(env.spaces.action, Box) and env.spaces.action.low.tolist() == low
        env.close()
    rng, left = np.random.default_rng(0), 0
    for _ in range(200):
        low, high = np.sort(rng.normal(size=2).astype(np.float32) * 10 ** rng.uniform(-3, 3)).astype(np.float32)
        squash, ends = squashed(Box(low, high, (1,), np.float32)), torch.tensor([[-50.0], [50.0]])
        raw = (low / 2 + high / 2) + (high / 2 - low / 2) * ends.tanh().numpy()
        left += int((raw < low).any() or (raw > high).any())
        played = squash.played(ends).numpy()
        assert ((played >= low) & (played <= high)).all()
    assert left > 0  # so that the limits are needed
    wide = Box(-1e300, 1e300, (2,), np.float64)  # with which a policy cannot compute
    refusal("^squash needs Box actions between two finite bounds", squashed, wide)


def test_a_nan_stops_its_seed_and_rescaled_integers_come_out_rounded() -> None:
    config = Config("own", seeds=2, steps=400, lanes=2, horizon=16, lr=(1e-3, 1e38), epochs=2, minibatches=2)
    made: list[Taking] = []

    def make() -> Taking:
        made.append(Taking(Box(-1, 1, (2,), np.float32)))
        return made[-1]

    assert train(config, PPO, env=make).reasons == {1: "the loss or its gradient is not finite"}
    assert all(np.isfinite(action).all() for env in made for action in env.taken)
    box = Box(-2, 3, (2,), np.int64)
    config = Config("own", seeds=2, steps=64, lanes=2, horizon=8, minibatches=2, rescale_actions=True)
    run = train(config, PPO, env=lambda: AnySpace(THREE, box)).only()
    policy = Policy(run)
    for obs in np.random.default_rng(0).uniform(-1, 1, (50, 3)).astype(np.float32):
        expected = within(box, 0.5 + 2.5 * run.agent.act(obs).astype(float))
        assert policy(torch.from_numpy(obs)[None])[0].tolist() == expected.tolist()


MASK_CONFIG = Config("own", seeds=2, steps=100, lanes=2, horizon=16, epochs=1, minibatches=2, hidden=(8,))
MASKED = switched(["action_mask", "reuse"])


class Masked(AnySpace):
    """Of five actions, 0 and the one whose turn it is are legal; others are refused."""

    def __init__(self) -> None:
        super().__init__(THREE, Discrete(5))

    def mask(self) -> Any:
        return np.isin(np.arange(5), [0, self.t % 5]).astype(np.int8)

    def step(self, action: Any) -> Any:
        if not self.allowed(action):
            raise ValueError(f"{action} is illegal")
        return super().step(action)

    def allowed(self, action: Any) -> bool:
        return action in (0, self.t % 5)


InInfo: Any = like(Masked, "InInfo", info=lambda self: {"action_mask": self.mask()})
ByMethod: Any = like(Masked, "ByMethod", action_masks=lambda self: self.mask())


class InObservation(gym.ObservationWrapper):
    """As in PettingZoo."""

    def __init__(self) -> None:
        super().__init__(Masked())
        self.observation_space = Dict(observation=THREE, action_mask=Box(0, 1, (5,), np.int8))

    def observation(self, obs: Any) -> Any:
        return {"observation": obs, "action_mask": self.unwrapped.mask()}  # type: ignore[attr-defined]


class Several(Masked):
    """The same mask for the first of two components; of the second, the last choice is illegal."""

    def __init__(self, flat: bool = True) -> None:
        AnySpace.__init__(self, THREE, MultiDiscrete([5, 3]))
        self.flat = flat

    def allowed(self, action: Any) -> bool:
        return super().allowed(action[0]) and action[1] != 2

    def info(self) -> dict[str, Any]:
        parts = self.mask(), np.array([1, 1, 0], np.int8)
        return {"action_mask": np.concatenate(parts) if self.flat else parts}


class Bits(Masked):
    """Three bits, of which the first must be 1."""

    def __init__(self) -> None:
        AnySpace.__init__(self, THREE, MultiBinary(3))

    def allowed(self, action: Any) -> bool:
        return bool(action[0] == 1)

    def action_masks(self) -> Any:
        return np.array([0, 1, 1, 1, 1, 1], bool)


WAYS: dict[str, Any] = {"info": InInfo, "method": ByMethod, "observation": InObservation, "flat": Several, "bits": Bits}
WAYS["tuple"] = partial(Several, flat=False)
for name, kind in WAYS.items():
    register(f"Masked-{name}-v0", kind)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
@pytest.mark.parametrize("name", WAYS)
def test_no_illegal_action_is_played_however_the_mask_is_given(name: str, backend: str) -> None:
    run = train(replace(MASK_CONFIG, backend=backend), MASKED, env=WAYS[name])
    assert (run.curve["return"] == 5).all() and run.agent.spaces.features == 3 and (run.evaluate(2) == 5).all()
    refusal("illegal", train, MASK_CONFIG, switched(["reuse"]), env=WAYS[name])
    pd.testing.assert_frame_equal(train(replace(MASK_CONFIG, env=f"Masked-{name}-v0"), MASKED).curve, run.curve)


def test_the_method_of_a_wrapper_counts_and_a_mask_in_the_info_comes_first() -> None:
    class Only(gym.Wrapper):
        def action_masks(self) -> np.ndarray:
            return np.array([0, 0, 0, 0, 1])

    for inner, allowed in ((AnySpace(THREE, Discrete(5)), [4]), (InInfo(), [0])):
        env = make_env(replace(MASK_CONFIG, seeds=1, lanes=1), make=partial(Only, inner))
        assert env.now.legal[0, 0].nonzero().flatten().tolist() == allowed
    assert make_env(MASK_CONFIG, make=lambda: gym.wrappers.TimeLimit(ByMethod(), 3)).masks
    for action, entry in ((Discrete(5), Box(0, 1, (4,))), (Box(-1, 1, (4,)), Box(0, 1, (4,)))):  # which is no mask
        env = make_env(MASK_CONFIG, make=partial(AnySpace, Dict(action_mask=entry, v=THREE), action))
        assert (env.spaces.features, env.masks) == (7, False)


def test_a_missing_mask_is_told_the_three_ways_and_one_without_a_legal_choice_its_step() -> None:
    class Stuck(Several):
        def info(self) -> dict[str, Any]:
            last = [1, 1, 0] if self.t < 3 else [0, 0, 0]
            return {"action_mask": np.concatenate([self.mask(), last])}

    refusal(r"own: the action mask leaves no legal action \(seed 0, step 3", train, MASK_CONFIG, MASKED, env=Stuck)
    refused = refusal("8 zeros", train, MASK_CONFIG, MASKED, env=partial(AnySpace, THREE, MultiDiscrete([5, 3])))
    for way in ('info["action_mask"]', "method action_masks()", 'entry "action_mask" in Dict observations'):
        assert way in refused


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_mask_of_another_size_is_an_error_that_names_its_source(backend: str) -> None:
    class ShortMethod(ByMethod):
        def mask(self) -> Any:
            return Masked.mask(self)[: 5 if self.t < 3 else 4]

    class ShortInfo(InInfo):
        mask = ShortMethod.mask

    for make, source in ((ShortMethod, r"action_masks\(\)"), (ShortInfo, r'info\["action_mask"\]')):
        said = rf"own: {source} has shape \(4,\), not \(5,\): one entry per action"
        refusal(said, train, replace(MASK_CONFIG, backend=backend), MASKED, env=make)
    entry = Dict(action_mask=Box(0, 1, (4,)), v=THREE)
    said = r'own gives none, for its entry "action_mask" is Box\(0.0, 1.0, \(4,\)'
    refusal(said, train, MASK_CONFIG, MASKED, env=partial(AnySpace, entry, Discrete(5)))

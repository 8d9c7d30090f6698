"""What reaches an environment as an action is finite and in its box, whatever the policy asks."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from support.any_space import BOOL, THREE, AnySpace

from tricks import PPO, Config, InputError, train
from tricks.core.spaces import Spaces, within
from tricks.envs.make import make_env
from tricks.runs.save_policy import plain_module
from tricks.squash import squashed

F32, F64 = float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)
BOUNDED = [
    Box(np.array([0, -1], np.float32), np.array([0, 1], np.float32)),  # its first bounds are equal
    Box(1, 1, (2,), np.float32),
    Box(-2, 3, (2,), np.int64),
    Box(-(2**63), 2**63 - 1, (2,), np.int64),
    Box(0, 2**64 - 1, (2,), np.uint64),
    Box(0, 255, (2,), np.uint8),
    Box(0, 1, (2,), BOOL),
    Box(-F32, F32, (2,), np.float32),
    Box(-F64, F64, (2,), np.float64),
    Box(-0.1, 0.3, (2,), np.float16),
    Box(1e-30, 2e-30, (2,), np.float64),
]
OPEN = [Box(-np.inf, np.inf, (2,), kind) for kind in (np.float16, np.float32, np.float64)]
OPEN += [Box(0, np.inf, (2,), np.float32), Box(-np.inf, -2, (2,), np.float16)]
ASKED = [[np.nan, np.inf], [-np.inf, 0], [1e30, -1e30], [0.5, -0.5], [1, -1], [2.5, -2.4]]


class Taking(AnySpace):
    """Remembers the actions."""

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
        assert np.isfinite(action.astype(float)).all()
        assert box.contains(action)


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


def test_the_middle_of_the_range_is_the_middle_of_the_bounds() -> None:
    box = Box(np.array([-2, 10], np.float32), np.array([6, 30], np.float32))
    assert squashed(box).played(torch.zeros(2)).tolist() == [2, 20]
    for rescale, low in ((True, [-1, -1]), (False, [-2, 10])):
        env = make_env(Config(seeds=1, lanes=1, rescale_actions=rescale), make=lambda: AnySpace(THREE, box))
        assert isinstance(env.spaces.action, Box)
        assert env.spaces.action.low.tolist() == low
        env.close()


def test_squash_stays_within_bounds_where_rounding_would_leave_them() -> None:
    rng, left = np.random.default_rng(0), 0
    for _ in range(200):
        low, high = np.sort(rng.normal(size=2).astype(np.float32) * 10 ** rng.uniform(-3, 3)).astype(np.float32)
        squash, ends = squashed(Box(low, high, (1,), np.float32)), torch.tensor([[-50.0], [50.0]])
        raw = (low / 2 + high / 2) + (high / 2 - low / 2) * ends.tanh().numpy()
        left += int((raw < low).any() or (raw > high).any())
        played = squash.played(ends).numpy()
        assert ((played >= low) & (played <= high)).all()
    assert left > 0  # so that the limits are needed
    with pytest.raises(InputError, match=r"^squash needs Box actions between two finite bounds"):
        squashed(Box(-1e300, 1e300, (2,), np.float64))  # with which a policy cannot compute


def test_a_policy_that_asks_for_nan_stops_its_seed_with_the_reason() -> None:
    config = Config("own", seeds=2, steps=400, lanes=2, horizon=16, lr=(1e-3, 1e38), epochs=2, minibatches=2)
    made: list[Taking] = []

    def make() -> Taking:
        made.append(Taking(Box(-1, 1, (2,), np.float32)))
        return made[-1]

    run = train(config, PPO, env=make)
    assert run.reasons == {1: "the loss or its gradient is not finite"}
    assert all(np.isfinite(action).all() for env in made for action in env.taken)


def test_rescaled_integers_come_out_rounded_as_in_training() -> None:
    box = Box(-2, 3, (2,), np.int64)
    config = Config("own", seeds=2, steps=64, lanes=2, horizon=8, minibatches=2, rescale_actions=True)
    run = train(config, PPO, env=lambda: AnySpace(THREE, box)).only()
    for obs in np.random.default_rng(0).uniform(-1, 1, (50, 3)).astype(np.float32):
        expected = within(box, 0.5 + 2.5 * run.agent.act(obs).astype(float))
        assert plain_module(run).act(obs).tolist() == expected.tolist()

"""Every world of our own, made for a trick or a game, follows the same rules everywhere."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from tricks import ATARI, PPG, PPO, REINFORCE, Config, train
from tricks.core.seeds import stream
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.tensor import TensorEnv
from tricks.worlds import GAMES, SPECIMENS, jump, trading

OURS = SPECIMENS | GAMES


@pytest.mark.parametrize("id", OURS)
@pytest.mark.filterwarnings("ignore:.*infinity")  # CartPole in any unit
def test_gymnasium_accepts_it(id: str) -> None:
    check_env(gym.make(id).unwrapped)


class Script:
    """A generator that gives out numbers decided beforehand."""

    def __init__(self) -> None:
        self.next = np.empty(0, np.float32)

    def random(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        assert (self.next.size, self.next.dtype) == (np.prod(shape), dtype)
        return self.next.reshape(shape)


@pytest.mark.parametrize("id", OURS)
def test_one_lane_in_gymnasium_and_many_on_tensors_take_the_same_steps(id: str) -> None:
    world, steps = OURS[id], 250
    many = TensorEnv(world, Config(env=id, seeds=(5,), lanes=2))
    one, script = gym.make(id), Script()
    one.unwrapped.np_random = script  # type: ignore[assignment]
    shape = (256, 2, world.reset_chances + world.step_chances)
    chance = stream(5, "env", 0, 0).random(shape, dtype=np.float32)[:, 1]
    script.next = chance[0, : world.reset_chances]
    obs, info = one.reset()
    everyone, ends = torch.tensor([True]), 0
    rng, boxed = np.random.default_rng(1), not many.spaces.discrete
    drawn = rng.uniform(-1, 1, (steps, 2, 1)) if boxed else rng.integers(many.spaces.actions, size=(steps, 2))
    actions = drawn.astype(world.action.dtype)
    for t in range(steps):
        np.testing.assert_array_equal(many.now.obs[0, 1], obs)
        legal = info.get("action_mask", np.True_)
        np.testing.assert_array_equal(many.now.legal[0, 1].expand(many.spaces.actions), legal)
        resetting = bool(many.now.resetting[0, 1])
        step = many.step(torch.from_numpy(actions[t])[None], everyone)
        if resetting:
            script.next = chance[t + 1, : world.reset_chances]
            obs, info = one.reset()
        else:
            script.next = chance[t + 1, world.reset_chances :]
            obs, *outcome, info = one.step(actions[t, 1])
            assert outcome == [step.reward[0, 1].item(), step.terminated[0, 1].item(), step.truncated[0, 1].item()]
            ends += bool(outcome[1] or outcome[2])
    assert ends > 0 or (world.time_limit or 0) >= steps


KINDS = {"reinforce": REINFORCE, "ppo": PPO, "shared trunk": ATARI, "ppg": PPG}
PAIRS = [
    (id, k) for id in ("tricks/CartPoleJump-v0", "tricks/Commute-v0", "tricks/Tightrope-v0") for k in list(KINDS)[:2]
]
PAIRS += [*zip(GAMES, KINDS, strict=True), ("tricks/Squadron-v0", "ppg"), ("tricks/Squadron-v0", "shared trunk")]


@pytest.mark.parametrize(("id", "kind"), dict.fromkeys(PAIRS))
def test_a_seed_alone_equals_the_seed_in_a_stack(id: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jump, "JUMP", 60)
    config = Config(env=id, seeds=(3,), steps=400, lanes=4, horizon=16, lr=0.003, aux_every=3)
    lone, stacked = (train(replace(config, seeds=seeds), KINDS[kind]).curve for seeds in ((3,), (8, 3)))
    stacked = stacked[stacked.seed == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(lone, stacked, rtol=2e-3, atol=1e-4)


def test_gymnasium_s_worlds_refuse_what_is_no_action_and_keep_their_clocks_and_masks() -> None:
    env = gym.make("tricks/Corridor-v0")
    env.reset(seed=0)
    for action in (2, -1):
        with pytest.raises(AssertionError, match=r"is not in Discrete\(2\)"):
            env.unwrapped.step(action)
    env = gym.make("tricks/Commute-v0")  # a seeded reset starts the clock anew, and any other does not
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    assert env.reset()[0].argmax() == 3
    assert env.reset(seed=0)[0].argmax() == 0
    masked = GymnasiumEnv(Config(env="tricks/Trading-v0", seeds=1, lanes=2))  # the mask reaches the agent, too
    assert masked.now.legal[0].tolist() == [[True, True, False]] * 2
    masked.step(torch.tensor([[trading.BUY, trading.HOLD]]), torch.tensor([True]))
    assert masked.now.legal[0].tolist() == [[True, False, True], [True, True, False]]
    masked.close()

"""One thread, so that numbers repeat; and the small environments that the tests play."""

from collections.abc import Callable

import gymnasium as gym
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from support.probes import PROBES, Broken, DeadEnd, DeadOnTime, Endless, Forbidding, ResetMask, ThreeLives

from tricks.ladder import NEEDS, PRESETS, REINFORCE, Tricks, closed, switched

torch.set_num_threads(1)

for name, probe in PROBES.items():
    gym.register(name, entry_point=probe)
gym.register("Endless-v0", entry_point=Endless, max_episode_steps=1)
gym.register("DeadOnTime-v0", entry_point=DeadOnTime, max_episode_steps=1)
gym.register("ResetMask-v0", entry_point=ResetMask)
gym.register("Forbidding-v0", entry_point=Forbidding)
gym.register("DeadEnd-v0", entry_point=DeadEnd)
gym.register("BrokenObs-v0", entry_point=Broken, kwargs={"what": "obs"})
gym.register("BrokenReward-v0", entry_point=Broken, kwargs={"what": "reward"})
gym.register("ThreeLives-v0", entry_point=ThreeLives)
# a short limit, so that truncations and terminations both happen within a few dozen steps
gym.register("ShortCartPole-v0", entry_point=CartPoleEnv, max_episode_steps=15)


def alone(name: str) -> Tricks:
    """One trick with what it needs, and nothing else."""
    return switched(closed([name]))


SETTINGS = {"reinforce": REINFORCE} | {name: alone(name) for name in NEEDS} | PRESETS


@pytest.fixture
def refuses(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Checks that a command line answers with one line that says `message`, and exit status 2."""

    def check(main: Callable[[list[str]], int], arguments: list[str], message: str) -> None:
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert error.count("\n") == 1

    return check


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> Tricks:
    """Each flag by itself, with its needs, and each preset."""
    return SETTINGS[request.param]

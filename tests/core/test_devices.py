"""A rollout hands everything to the device and waits for nothing; environments of the host are carried there."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tricks import PPO, Config, InputError, train
from tricks.action_mask import mask_logits
from tricks.core.agent import Agent
from tricks.core.rollout import Player, Rollout
from tricks.envs.make import make_env
from tricks.envs.wrappers import HostEnv
from tricks.fast.dispatch import plain
from tricks.segments import play_segment
from tricks.worlds import CLASSIC, GAMES, WORLDS

# operations whose result, or its shape, the host must know before it can go on
DEVICE_TO_HOST = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique_dim", "_unique2"}
DEVICE_TO_HOST |= {"bincount"}
S, N, T = 64, 4, 300  # more steps than one block of chance has


class NoWaiting(TorchDispatchMode):
    """Raises where a device would have to be waited for, and counts everything else."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        by_mask = name == "index" and any(i is not None and i.dtype == torch.bool for i in args[1])
        if name in DEVICE_TO_HOST or by_mask:
            raise AssertionError(f"{name} waits for the device")
        self.count += 1
        return func(*args, **kwargs or {})


def refuse(*_: object) -> None:
    raise AssertionError("a copy to the host waits for the device")


QUICK = ("CartPole-v1", "Pendulum-v1", "tricks/Trading-v0", "tricks/CartPoleJump-v0", "tricks/Commute-v0")
OTHERS = [pytest.param(id, marks=pytest.mark.slow) for id in (*CLASSIC, *GAMES) if id not in QUICK]


@pytest.mark.parametrize("id", [*QUICK, *OTHERS])
def test_a_step_of_sixty_four_agents_waits_for_nothing(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(env=id, seeds=S, lanes=N, horizon=T, hidden=(8,))
    env = make_env(config)
    agent, player = Agent(env.spaces, config), Player(env, block=T)
    playing = torch.ones(S, N, dtype=torch.bool)

    def policy(obs: Tensor, legal: Tensor) -> Tensor:
        return mask_logits(agent.policy(obs), legal) if env.spaces.discrete else agent.policy(obs)

    for name in ("cpu", "numpy", "tolist", "item", "__bool__", "__int__", "__float__", "__array__"):
        monkeypatch.setattr(Tensor, name, refuse)
    with plain(), NoWaiting() as mode:  # as on a device: compiled functions are for CPUs
        for _ in range(T):
            player.step(policy, playing)
    monkeypatch.undo()
    assert mode.count > 10 * T
    assert player.rollout().reward.shape == (S, T, N)


@pytest.mark.parametrize(
    "waiting",
    [lambda x: x.item(), lambda x: bool(x), lambda x: x.nonzero(), lambda x: x.view(1)[x.view(1)], lambda x: x.numpy()],
    ids=["item", "bool", "nonzero", "mask", "numpy"],
)
def test_that_test_sees_every_kind_of_waiting(
    waiting: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tensor, "numpy", refuse)
    with NoWaiting(), pytest.raises(AssertionError, match="waits for the device"):
        waiting(torch.tensor(True))


@pytest.mark.parametrize("id", WORLDS)
def test_a_world_works_wherever_its_state_is(id: str) -> None:
    world, spaces = WORLDS[id], make_env(Config(env=id, seeds=1, lanes=1)).spaces

    def chances(count: int) -> Tensor:
        return torch.empty(2, 3, count, device="meta")  # a device without numbers, so nothing can be read from it

    state = world.initial(chances(world.reset_chances))
    shape = (2, 3) if spaces.discrete else (2, 3, spaces.actions)
    action = torch.empty(shape, dtype=torch.int64 if spaces.discrete else torch.float32, device="meta")
    after, reward, terminated = world.dynamics(state, action, chances(world.step_chances))
    assert (after.shape, after.dtype, after.device) == (state.shape, torch.float32, state.device)
    assert (reward.shape, reward.dtype, reward.device) == ((2, 3), torch.float64, state.device)
    assert (terminated.shape, terminated.dtype, terminated.device) == ((2, 3), torch.bool, state.device)
    assert world.observe(after).shape == (2, 3, *spaces.shape)
    if (legal := world.legal(after)) is not None:
        assert (legal.shape, legal.device) == ((2, 3, spaces.actions), state.device)


def test_an_environment_of_the_host_plays_the_same_when_it_is_carried() -> None:
    config = Config(env="Taxi-v4", seeds=2, lanes=2, backend="gymnasium")
    everyone = torch.ones(2, dtype=torch.bool)

    def played(env: Any) -> Rollout:
        uniform = lambda obs, legal: mask_logits(torch.zeros(*obs.shape[:2], 6), legal)  # noqa: E731
        rollout = play_segment(Player(env, block=32), uniform, 250, everyone)
        env.close()
        return rollout

    here, carried = played(make_env(config)), played(HostEnv(make_env(config), torch.device("cpu")))
    assert here.truncated.any()
    assert here.faults == carried.faults == {}
    for name, column in vars(here).items():
        if isinstance(column, torch.Tensor):
            assert torch.equal(column, getattr(carried, name)), name


def test_a_device_that_is_not_there_is_one_line() -> None:
    for name in ("meta" if torch.cuda.is_available() else "cuda", "cuda:7", "toaster"):
        with pytest.raises(InputError, match=rf"^no device '{name}'; PyTorch .* finds cpu"):
            make_env(Config(device=name))
    with pytest.raises(InputError, match="no device 'toaster'"):
        train(Config(device="toaster"), PPO)

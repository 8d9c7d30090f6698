"""Rollouts, whole episodes of known lengths, batches and faults; and a rollout waits for no device."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
import torch
from support.fixtures import Patch, refusal
from support.misbehaving import Scripted
from support.probes import DeadOnTime
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tricks import PPO, Agent, Config, train
from tricks.action_mask import mask_logits
from tricks.core.env import Env
from tricks.core.rollout import Batch, Player, Rollout, play_episodes
from tricks.envs.make import make_env
from tricks.fast.dispatch import plain
from tricks.reuse import minibatches
from tricks.segments import play_segment
from tricks.worlds import CLASSIC, GAMES, WORLDS


def test_a_row_follows_from_the_one_before_and_minibatches_have_every_column_of_their_rows() -> None:
    env = make_env(Config(env="CartPole-v1", seeds=2, lanes=3))
    rollout = play_segment(Player(env, 64), lambda obs, legal: torch.zeros(2, 3, 2), 64, torch.ones(2) > 0)
    euler = rollout.obs[:, :-1, :, 0] + 0.02 * rollout.obs[:, :-1, :, 1]
    follows = torch.isclose(euler, rollout.obs[:, 1:, :, 0], atol=1e-6)
    assert follows[rollout.valid].all() and (~rollout.valid).sum() > 3
    done = rollout.terminated | rollout.truncated
    assert torch.equal(~rollout.valid[:, 1:], done[:, :-1])  # a reset row follows each end and nothing else
    batch, action = Batch(), torch.arange(6).view(1, 2, 3)
    batch.add(action=action, valid=torch.ones_like(action, dtype=torch.bool), old_value=action.double())
    batch.target = 10 * batch.old_value
    assert batch.action.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert list(batch.columns) == ["action", "valid", "old_value", "target"]
    with pytest.raises(AttributeError, match="log_prob"):
        _ = batch.log_prob
    for b in minibatches(batch, seeds=(0,), update=0, epochs=1, count=2):
        assert list(b.columns) == list(batch.columns) and torch.equal(b.target, 10.0 * b.action)


def test_a_seed_stops_with_enough_rows_and_faulty_rows_alone_are_taken_out() -> None:
    rollout = played(env_of([5], [5], [2], [3]), rows=10, limit=9)
    assert rollout.valid.sum((1, 2)).tolist() == [10, 12]
    assert rollout.terminated.sum(1).tolist() == [[1, 1], [3, 2]]
    assert rollout.score.sum((1, 2)).tolist() == [10, 12]
    rollout = played(env_of([5], [7], [99], [3]), rows=10, limit=7)
    assert rollout.faults == {8: "an episode has not ended after 7 steps; --episode-limit raises that limit (seed 8)"}
    assert rollout.valid.sum(1).tolist() == [[5, 7], [0, 0]]
    assert (rollout.valid.shape, rollout.obs.shape) == ((2, 7, 2), (2, 8, 2, 1))
    assert {*played(env_of([5], [7], [6], [99], [3], [4]), rows=10, limit=7).faults} == {8}  # of three lanes
    trimmed = replace(rollout, valid=rollout.valid & False, state=torch.zeros(2, 2, 2, 3)).trimmed()
    assert trimmed.state is not None and (trimmed.valid.shape, trimmed.state.shape) == ((2, 1, 2), (2, 2, 2, 3))


EVERYONE = torch.ones(2, dtype=torch.bool)


def env_of(*lengths: Sequence[int]) -> Env:
    """An environment of two seeds, with a lane for half of these: episodes are so long from the second reset on."""
    made = (Scripted([each[-1], *each[:-1]]) for each in lengths)
    return make_env(Config("own", seeds=(3, 8), lanes=len(lengths) // 2), make=lambda: next(made))


def indifferent(obs: Tensor, legal: Tensor) -> Tensor:
    return torch.zeros(*legal.shape)


def played(env: Env, rows: int, limit: int) -> Rollout:
    return play_episodes(Player(env, 16, limit=limit), indifferent, rows, EVERYONE)


def test_a_lane_that_waits_is_not_too_slow_and_an_end_on_the_time_limit_is_an_end() -> None:
    rollout = played(env_of([1], [1], [10, 10, 99], [9, 12]), rows=40, limit=12)
    assert rollout.faults == {} and rollout.valid.sum(1).tolist() == [[20, 20], [20, 21]]
    make: Callable[[], gym.Env] = lambda: gym.wrappers.TimeLimit(DeadOnTime(), 1)  # noqa: E731
    rollout = played(make_env(Config("own", seeds=(3, 8), lanes=2), make=make), rows=4, limit=1)
    assert torch.equal(rollout.terminated, rollout.valid) and not rollout.truncated.any()


def test_a_rollout_in_parts_takes_the_actions_of_the_whole_and_the_next_one_others() -> None:
    def actions(player: Player, *parts: int) -> list[int]:
        found = list[Tensor]()
        for k, rows in enumerate(parts, 1):
            for _ in range(rows):
                player.step(indifferent, EVERYONE.view(2, 1).expand(2, 2))
            found.append((player.rollout() if k == len(parts) else player.rollout(last=False)).action)
        return torch.cat(found, 1).flatten().tolist()

    whole, parts, later = (Player(env_of([5], [7], [2], [3]), block=8) for _ in range(3))
    first = actions(whole, 12)
    assert actions(parts, 3, 2, 7) == first
    later.load_state_dict(whole.state_dict())
    second = actions(whole, 12)
    assert whole.state_dict()["rollouts"].tolist() == [2, 2]
    assert second != first and actions(parts, 12) == actions(later, 12) == second


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
def test_a_step_of_sixty_four_agents_waits_for_nothing(id: str, monkeypatch: Patch) -> None:
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
    assert mode.count > 10 * T and player.rollout().reward.shape == (S, T, N)


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


def test_a_device_that_is_not_there_is_one_line() -> None:
    for name in ("meta" if torch.cuda.is_available() else "cuda", "cuda:7", "toaster"):
        refusal(rf"^no device '{name}'; PyTorch .* finds cpu", make_env, Config(device=name))
    refusal("no device 'toaster'", train, Config(device="toaster"), PPO)

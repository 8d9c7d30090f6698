"""Rollouts: whole episodes, and rows that follow from one another. Batches: named columns. Faults: where they are."""

import pytest
import torch

from tricks import Config
from tricks.core.faults import find_faults, without
from tricks.core.rollout import Batch, Player, play_episodes
from tricks.envs.make import make_env
from tricks.reuse import minibatches
from tricks.segments import play_segment


def test_whole_episodes_give_each_seed_its_rows_and_nothing_unfinished() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=3, lanes=4))
    active = torch.tensor([True, False, True])
    rollout = play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(3, 4, 2), 100, active)
    done = rollout.terminated | rollout.truncated
    assert rollout.valid.flatten(1).sum(1).tolist()[1] == 0
    assert (rollout.valid[active].flatten(1).sum(1) >= 100).all()
    for seed, lane in ((0, 0), (0, 3), (2, 2)):
        rows = rollout.valid[seed, :, lane].nonzero().flatten()
        assert done[seed, rows[-1], lane]  # a lane stops at the end of an episode
    assert not rollout.cut.any()


def test_no_lane_starts_another_episode_once_its_seed_has_its_rows() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=10, lanes=4))
    rollout = play_episodes(Player(env, 16), lambda obs, legal: torch.zeros(10, 4, 2), 100, torch.ones(10) > 0)
    enough = rollout.valid.sum(2).cumsum(1) >= 100  # [S, T]
    starts = ~rollout.valid[:, :-1] & rollout.valid[:, 1:]  # a reset row, and then experience
    assert starts.any()
    assert not (starts & enough[:, :-1].unsqueeze(-1)).any()


def test_a_row_follows_from_the_one_before_unless_a_reset_lies_between() -> None:
    env = make_env(Config(env="CartPole-v1", seeds=2, lanes=3))
    rollout = play_segment(Player(env, 64), lambda obs, legal: torch.zeros(2, 3, 2), 64, torch.ones(2) > 0)
    euler = rollout.obs[:, :-1, :, 0] + 0.02 * rollout.obs[:, :-1, :, 1]
    follows = torch.isclose(euler, rollout.obs[:, 1:, :, 0], atol=1e-6)
    assert follows[rollout.valid].all()
    assert (~rollout.valid).sum() > 3
    done = rollout.terminated | rollout.truncated
    assert torch.equal(~rollout.valid[:, 1:], done[:, :-1])  # a reset row follows each end and nothing else


def test_columns_given_as_steps_and_lanes_become_rows_of_which_a_minibatch_has_every_column() -> None:
    batch, action = Batch(), torch.arange(6).view(1, 2, 3)
    batch.add(action=action, valid=torch.ones_like(action, dtype=torch.bool), value=action.double())
    batch.target = 10 * batch.value
    assert batch.action.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert list(batch.columns) == ["action", "valid", "value", "target"]
    with pytest.raises(AttributeError, match="log_prob"):
        _ = batch.log_prob
    for b in minibatches(batch, seeds=(0,), update=0, epochs=1, count=2):
        assert list(b.columns) == list(batch.columns)
        assert torch.equal(b.target, 10.0 * b.action)


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (0, "the observation is not finite"),
        (3, "the reward is not finite"),
        (2, "the action mask leaves no legal action"),
    ],
)
def test_one_wrong_number_of_one_lane_is_a_fault_of_its_seed(step: int, fault: str) -> None:
    obs, reward = torch.zeros(3, 5, 2, 4), torch.zeros(3, 4, 2)
    legal, valid = torch.ones(3, 4, 2, 2, dtype=torch.bool), torch.ones(3, 4, 2, dtype=torch.bool)
    assert find_faults(obs, legal, reward, valid, 10) == {}
    if "observation" in fault:
        obs[1, step, 0, 2] = torch.nan
    elif "reward" in fault:
        reward[1, step, 0] = torch.inf
    else:
        legal[1, step, 0] = False
    assert find_faults(obs, legal, reward, valid, 10) == {1: (fault, f"step {10 + step}")}
    valid[1] = False  # nobody played there
    assert find_faults(obs, legal, reward, valid, 10) == {}


def test_the_rows_of_the_faulty_seeds_alone_are_taken_out() -> None:
    rows = torch.ones(3, 4, 2, dtype=torch.bool)
    for found in without([0, 2], rows, rows):
        assert found.flatten(1).all(1).tolist() == [False, True, False]
        assert found.flatten(1).any(1).tolist() == [False, True, False]
    assert rows.all()

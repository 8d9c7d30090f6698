"""Rollouts: whole episodes, and rows that follow from one another."""

import torch

from tricks import Config
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
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

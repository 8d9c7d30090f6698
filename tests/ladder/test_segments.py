"""segments: cut at the last row, wherever the episode is then."""

import torch

from tricks import Config, train
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.ladder import closed, switched
from tricks.segments import play_segment


def test_a_segment_is_cut_at_its_last_row_unless_an_episode_ends_there() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=1, lanes=16))
    player, everyone = Player(env, 16), torch.ones(1, dtype=torch.bool)
    rollout = play_segment(player, lambda obs, legal: torch.zeros(1, 16, 2), 15, everyone)
    ended = (rollout.terminated | rollout.truncated)[:, -1]
    assert ended.any()
    assert rollout.cut[:, -1].any()
    assert torch.equal(rollout.cut[:, -1], rollout.valid[:, -1] & ~ended)
    assert not rollout.cut[:, :-1].any()


def test_no_update_has_more_steps_than_rows_with_it_and_none_has_fewer_without() -> None:
    config = Config(env="ShortCartPole-v0", seeds=2, steps=200, lanes=3, horizon=7)
    cut, whole = (train(config, switched(flags)).curve for flags in (closed(["segments"]), ["baseline"]))
    assert cut.groupby("seed").step.diff().max() == 3 * 7
    assert whole.groupby("seed").step.diff().min() >= 3 * 7  # and on to the end of the episode in flight
    assert whole.groupby("seed").step.diff().nunique() > 1

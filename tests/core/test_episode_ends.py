"""Whole episodes of known lengths: which rows they give, when a game is given up, and rollouts in parts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import gymnasium as gym
import pytest
import torch
from support.misbehaving import Scripted
from support.probes import DeadOnTime, Endless
from torch import Tensor

from tricks import Config, InputError
from tricks.core.env import Env
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.make import make_env

EVERYONE = torch.ones(2, dtype=torch.bool)


def env_of(*lengths: Sequence[int]) -> Env:
    """An environment of two seeds with two lanes each, whose episodes are so long from its second reset on."""
    made = (Scripted([each[-1], *each[:-1]]) for each in lengths)
    return make_env(Config("own", seeds=(3, 8), lanes=2), make=lambda: next(made))


def indifferent(obs: Tensor, legal: Tensor) -> Tensor:
    return torch.zeros(*legal.shape)


def played(env: Env, rows: int, limit: int) -> Rollout:
    return play_episodes(Player(env, 16, limit=limit), indifferent, rows, EVERYONE)


def test_a_seed_stops_with_the_first_episodes_that_end_with_enough_rows() -> None:
    rollout = played(env_of([5], [5], [2], [3]), rows=10, limit=9)
    assert rollout.valid.sum((1, 2)).tolist() == [10, 12]
    assert rollout.terminated.sum(1).tolist() == [[1, 1], [3, 2]]
    assert rollout.score.sum((1, 2)).tolist() == [10, 12]


def test_no_row_is_kept_in_which_only_a_game_without_end_was_played() -> None:
    rollout = played(env_of([5], [7], [99], [3]), rows=10, limit=7)
    assert rollout.faults == {8: "an episode has not ended after 7 steps; --episode-limit raises that limit (seed 8)"}
    assert rollout.valid.sum(1).tolist() == [[5, 7], [0, 0]]
    assert (rollout.valid.shape, rollout.obs.shape) == ((2, 7, 2), (2, 8, 2, 1))
    assert replace(rollout, valid=rollout.valid & False).trimmed().valid.shape == (2, 1, 2)


def test_a_lane_that_waits_in_the_middle_of_a_game_for_another_seed_is_not_too_slow() -> None:
    rollout = played(env_of([1], [1], [10, 10, 99], [9, 12]), rows=40, limit=12)
    assert rollout.faults == {}
    assert rollout.valid.sum(1).tolist() == [[20, 20], [20, 21]]


def test_a_game_without_end_is_given_up_after_all_resets_and_as_many_steps_as_the_limit_allows() -> None:
    asked = list[Tensor]()

    def noted(obs: Tensor, legal: Tensor) -> Tensor:
        asked.append(obs)
        return indifferent(obs, legal)

    env = make_env(Config("own", seeds=1, lanes=4), make=Endless)
    with pytest.raises(InputError, match="an episode has not ended after 3 steps"):
        play_episodes(Player(env, 16, limit=3), noted, 9, EVERYONE[:1])
    assert len(asked) == 2 * (9 // 4) + 2 + 3


def test_an_end_on_the_time_limit_is_an_end() -> None:
    make: Callable[[], gym.Env] = lambda: gym.wrappers.TimeLimit(DeadOnTime(), 1)  # noqa: E731
    rollout = played(make_env(Config("own", seeds=(3, 8), lanes=2), make=make), rows=4, limit=1)
    assert torch.equal(rollout.terminated, rollout.valid)
    assert not rollout.truncated.any()


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
    assert second != first
    assert actions(parts, 12) == actions(later, 12) == second

"""segments, reuse, entropy, lr_anneal, clip_anneal: rows are cut, dealt, and learned from at rates that fall."""

import math

import torch
from support.probes import Probe
from torch import Tensor

from tricks import ATARI, Config, Tricks, train
from tricks.annealing import following_decay, linear_decay
from tricks.config import ATARI_CONFIG
from tricks.core.rollout import Batch, Player
from tricks.entropy import entropy_bonus
from tricks.envs.make import make_env
from tricks.ladder import closed, switched
from tricks.reuse import drift, minibatches
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


def batch_of(valid: Tensor) -> Batch:
    rows = torch.arange(valid.numel()).view_as(valid).double()
    return Batch(target=rows.masked_fill(~valid, torch.nan), valid=valid)


def test_an_epoch_deals_every_valid_row_once_and_no_other() -> None:
    valid = torch.tensor([[True, False, True, True, True, True, False, True], [True, True] + [False] * 6])
    dealt = list(minibatches(batch_of(valid), seeds=(4, 9), update=0, epochs=2, count=3))
    assert len(dealt) == 6
    for epoch in (dealt[:3], dealt[3:]):
        for seed, truth in enumerate(([0, 2, 3, 4, 5, 7], [8, 9])):
            rows = torch.cat([b.target[seed][b.valid[seed]] for b in epoch])
            assert sorted(rows.int().tolist()) == truth
    assert all(not b.target.isnan().any() for b in dealt)  # the filling is made of real rows


def test_epochs_and_updates_shuffle_differently_and_padding_shuffles_nothing() -> None:
    valid = torch.ones(1, 32, dtype=torch.bool)
    longer = torch.cat([valid, torch.zeros(1, 16, dtype=torch.bool)], 1)

    def first(valid: Tensor, update: int) -> list[float]:
        return next(iter(minibatches(batch_of(valid), (5,), update, epochs=1, count=2))).target[0].tolist()

    assert first(valid, 0) == first(longer, 0)
    assert first(valid, 0) != first(valid, 1)


def test_drift_and_the_bonus_count_valid_rows_only() -> None:
    ratio, valid = torch.tensor([[2.0, 0.5, 100.0]]), torch.tensor([[True, True, False]])
    found = drift(ratio, valid)
    torch.testing.assert_close(found["approx_kl"], torch.tensor([0.25]))  # ((2 − 1 − ln 2) + (0.5 − 1 + ln 2))/2
    assert found["max_ratio"].item() == 2
    assert drift(torch.tensor([[0.5, 0.75, 9.0]]), valid)["max_ratio"].item() == 0.75  # filler is no 1, either
    assert drift(torch.zeros(1, 2), valid[:, :2])["approx_kl"].isfinite()  # a ratio below 1e-38 rounds to 0
    entropy = torch.tensor([[1.0, 3.0, 100.0]])
    torch.testing.assert_close(entropy_bonus(entropy, valid, 0.01), torch.tensor([0.02]))


class Unpaid(Probe):
    """No action pays anything, so that nothing but the bonus moves a policy."""

    def first(self) -> float:
        return 1.0

    def pay(self, action: int) -> float:
        return 0.0


def test_where_nothing_pays_training_with_the_bonus_makes_a_policy_less_decided() -> None:
    config = Config(seeds=(1, 3), steps=320, lanes=8, horizon=4, hidden=(8,), lr=0.01)
    entropy = train(config, Tricks(entropy=True), Unpaid).curve.groupby("seed").entropy
    assert (entropy.first() < math.log(2) - 0.01).all()  # the first policy prefers an action
    assert (entropy.last() > entropy.first() + 0.01).all()


def test_update_i_of_n_gets_1_minus_i_over_n_and_what_does_not_follow_stays() -> None:
    start, progress = torch.full((3,), 0.4).double(), torch.tensor([0.0, 0.25, 0.75])
    for falling in (linear_decay(start, progress), following_decay(start, progress, True)):
        torch.testing.assert_close(falling, torch.tensor([0.4, 0.3, 0.1]).double())
    assert following_decay(start, progress, False) is start
    assert ATARI.clip_anneal
    assert ATARI.value_clip
    assert ATARI_CONFIG.value_clip_anneals  # as ppo2 does
    assert not Config().value_clip_anneals

"""segments, reuse, entropy, lr_anneal, clip_anneal, separate_optimizers, recompute, ppg, ppg_buffers: use of rows."""

from dataclasses import replace

import pandas as pd
import torch
from support.fixtures import Patch

from tricks import ATARI, ATARI_CONFIG, PPG, PPO, Config, ppg, train
from tricks.annealing import following_decay, linear_decay
from tricks.core.moments import ReturnStats
from tricks.core.rollout import Batch, Player
from tricks.entropy import entropy_bonus
from tricks.envs.make import make_env
from tricks.ladder import closed, switched
from tricks.ppg import Memory
from tricks.reuse import drift
from tricks.segments import play_segment


def test_a_segment_is_cut_at_its_last_row_and_no_update_has_more_steps_than_rows() -> None:
    env = make_env(Config(env="ShortCartPole-v0", seeds=1, lanes=16))
    player, everyone = Player(env, 16), torch.ones(1, dtype=torch.bool)
    rollout = play_segment(player, lambda obs, legal: torch.zeros(1, 16, 2), 15, everyone)
    ended = (rollout.terminated | rollout.truncated)[:, -1]
    assert ended.any()
    assert rollout.cut[:, -1].any() and torch.equal(rollout.cut[:, -1], rollout.valid[:, -1] & ~ended)
    assert not rollout.cut[:, :-1].any()
    config = Config(env="ShortCartPole-v0", seeds=2, steps=200, lanes=3, horizon=7)
    cut, whole = (train(config, switched(flags)).curve for flags in (closed(["segments"]), ["baseline"]))
    assert cut.groupby("seed").step.diff().max() == 3 * 7
    assert whole.groupby("seed").step.diff().min() >= 3 * 7  # and on to the end of the episode in flight
    assert whole.groupby("seed").step.diff().nunique() > 1


def test_drift_and_the_bonus_count_valid_rows_and_rates_fall_to_1_minus_i_over_n() -> None:
    ratio, valid = torch.tensor([[2.0, 0.5, 100.0]]), torch.tensor([[True, True, False]])
    found = drift(ratio, valid)
    torch.testing.assert_close(found["approx_kl"], torch.tensor([0.25]))  # ((2 − 1 − ln 2) + (0.5 − 1 + ln 2))/2
    assert found["max_ratio"].item() == 2
    assert drift(torch.tensor([[0.5, 0.75, 9.0]]), valid)["max_ratio"].item() == 0.75  # filler is no 1, either
    assert drift(torch.zeros(1, 2), valid[:, :2])["approx_kl"].isfinite()  # a ratio below 1e-38 rounds to 0
    entropy = torch.tensor([[1.0, 3.0, 100.0]])
    torch.testing.assert_close(entropy_bonus(entropy, valid, 0.01), torch.tensor([0.02]))
    start, progress = torch.full((3,), 0.4).double(), torch.tensor([0.0, 0.25, 0.75])
    for falling in (linear_decay(start, progress), following_decay(start, progress, True)):
        torch.testing.assert_close(falling, torch.tensor([0.4, 0.3, 0.1]).double())
    assert following_decay(start, progress, False) is start
    assert ATARI.clip_anneal and ATARI.value_clip
    assert ATARI_CONFIG.value_clip_anneals  # as ppo2 does
    assert not Config().value_clip_anneals


PHASES = Config(env="ShortCartPole-v0", seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), aux_every=2)
# found on seeds 1000 to 1002
QUARTER = Config("CartPole-v0", seeds=3, steps=5_000, lanes=8, horizon=32, lr=0.005, aux_every=4)
SHORT_PPG = replace(PPG, value_clip=False, return_norm=True, bootstrap=True)
IDENTITY = ReturnStats(torch.zeros(2).double(), torch.ones(2).double())


def rows(count: int = 20) -> Batch:
    torch.manual_seed(0)
    action, legal = torch.randint(2, (2, count)), torch.ones(2, count, 2, dtype=torch.bool)
    value, target = torch.randn(2, 2, count).double()
    batch = Batch(obs=torch.randn(2, count, 4), action=action, legal=legal, old_value=value, target=target)
    batch.valid = torch.arange(count).expand(2, -1) < torch.tensor([[count], [count - 3]])
    return batch


def test_without_auxiliary_epochs_it_is_ppo_with_a_second_head() -> None:
    config = replace(PHASES, aux_epochs=0)
    shown = [name for name in train(config, PPO).curve if not str(name).startswith("auxiliary")]
    curves = [torch.tensor(train(config, tricks).curve[shown].values) for tricks in (PPO, PPG)]
    torch.testing.assert_close(*curves, equal_nan=True)
    assert not train(PHASES, PPG).curve[shown].equals(train(config, PPG).curve[shown])


def test_a_phase_sees_the_same_policy_before_it_however_many_rows_pass_at_once(monkeypatch: Patch) -> None:
    whole = train(PHASES, PPG).curve
    monkeypatch.setattr(ppg, "CHUNK", 7)
    pd.testing.assert_frame_equal(train(PHASES, PPG).curve, whole, rtol=1e-4)


def test_a_phase_learns_values_and_keeps_the_policy_within_a_hundredth_of_a_nat() -> None:
    assert train(QUARTER, SHORT_PPG).curve.clone_kl.max() < 0.01
    assert train(replace(QUARTER, clone_coef=0.0), SHORT_PPG).curve.clone_kl.max() > 0.02


def test_the_memory_of_a_checkpoint_goes_where_new_rows_are_and_forgets_the_oldest() -> None:
    memory, again, elsewhere = Memory(rollouts=2), Memory(rollouts=2), torch.device("meta")
    for update in range(3):
        memory.add(rows(), IDENTITY, update)
    again.load_state_dict(memory.state_dict())
    assert again.rows.obs.shape == (2, 40, 4) and again.rows.born.unique().tolist() == [1, 2]
    older = {"length": 20, "filled": torch.tensor([1, 2]), **memory.state_dict()}  # which said it beside the rows
    again.load_state_dict(older | {"rows": {name: x.clone() for name, x in memory.rows.columns.items()}})
    assert again.filled.tolist() == [[1], [2]]
    again.load_state_dict(memory.state_dict())
    new = Batch(**{name: column.to(elsewhere) for name, column in rows().columns.items()})
    again.add(new, ReturnStats(*(x.to(elsewhere) for x in IDENTITY[:2])), 3)
    assert {column.device for column in again.rows.columns.values()} == {elsewhere}
    assert again.rows.obs.shape == (2, 40, 4)

"""segments, reuse, entropy, lr_anneal, clip_anneal, separate_optimizers, recompute, ppg, ppg_buffers: use of rows."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from support.probes import Probe
from torch import Tensor, nn

import tricks.recompute
from tricks import ATARI, PPG, PPO, Config, Run, Tricks, loop, ppg, train
from tricks.annealing import following_decay, linear_decay
from tricks.baseline import squared_error
from tricks.config import ATARI_CONFIG
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats
from tricks.core.policies import Categorical
from tricks.core.rollout import Batch, Player
from tricks.entropy import entropy_bonus
from tricks.envs.make import make_env
from tricks.ladder import closed, named, switched
from tricks.ppg import AuxiliaryPhase, Memory, add_auxiliary_head_, auxiliary_errors, auxiliary_net
from tricks.ppg_buffers import reused
from tricks.reuse import drift, minibatches
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


def batch_of(valid: Tensor) -> Batch:
    rows = torch.arange(valid.numel()).view_as(valid).double()
    return Batch(target=rows.masked_fill(~valid, torch.nan), valid=valid)


def test_an_epoch_deals_every_valid_row_once_and_epochs_shuffle_differently() -> None:
    valid = torch.tensor([[True, False, True, True, True, True, False, True], [True, True] + [False] * 6])
    dealt = list(minibatches(batch_of(valid), seeds=(4, 9), update=0, epochs=2, count=3))
    assert len(dealt) == 6
    for epoch in (dealt[:3], dealt[3:]):
        for seed, truth in enumerate(([0, 2, 3, 4, 5, 7], [8, 9])):
            assert sorted(torch.cat([b.target[seed][b.valid[seed]] for b in epoch]).int().tolist()) == truth
    assert all(not b.target.isnan().any() for b in dealt)  # the filling is made of real rows
    valid = torch.ones(1, 32, dtype=torch.bool)
    longer = torch.cat([valid, torch.zeros(1, 16, dtype=torch.bool)], 1)

    def first(valid: Tensor, update: int) -> list[float]:
        return next(iter(minibatches(batch_of(valid), (5,), update, epochs=1, count=2))).target[0].tolist()

    assert first(valid, 0) == first(longer, 0) and first(valid, 0) != first(valid, 1)


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


CONFIG = Config("ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, lr=0.003)
ONE_STEP = replace(CONFIG, steps=1, epochs=1, value_epochs=1, minibatches=1)
FREE = tuple(name for name in PPO.on if name != "grad_clip")
SEPARATE = named("separate_optimizers")


def apart(*names: str, **numbers: Any) -> Run:
    return train(replace(CONFIG, **numbers), switched([*names, "separate_optimizers"]))


def equal(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def way(net: nn.Module, start: nn.Module) -> float:
    pairs = zip(net.parameters(), start.parameters(), strict=True)
    return torch.stack([(a - b).norm().float() for a, b in pairs]).norm().item()


@pytest.mark.parametrize("others", [FREE, (*FREE, "ppg"), ("baseline",)], ids=["ppo", "ppg", "baseline"])
def test_with_one_rate_and_no_limit_on_gradients_nothing_changes(others: tuple[str, ...]) -> None:
    two, one, own = apart(*others), train(CONFIG, switched(others)), ["value_grad_norm", "grad_norm"]
    pd.testing.assert_frame_equal(two.curve.drop(columns=own), one.curve.drop(columns=own))
    assert equal(two.agent, one.agent)
    both = np.hypot(two.curve.grad_norm, two.curve.value_grad_norm)  # the two norms are the legs of the joint one
    np.testing.assert_array_less(np.abs(both - one.curve.grad_norm), 0.1 * one.curve.grad_norm)


def test_a_value_net_that_does_not_move_gives_the_same_advantages_and_each_net_has_its_limit() -> None:
    numbers = replace(ONE_STEP, adam_eps=1.0)  # so that the size of a step is the gradient's
    start = train(replace(numbers, lr=1e-30), SEPARATE).agent

    def moved(net: str, tricks: Any, **given: Any) -> float:
        return way(getattr(train(replace(numbers, **given), tricks).agent, net), getattr(start, net))

    # the value loss drowns the policy's gradient if they are clipped together
    assert moved("policy_net", PPO, value_coef=5e4) < 0.01 * moved("policy_net", PPO)
    assert moved("policy_net", SEPARATE, value_coef=5e4) == pytest.approx(moved("policy_net", SEPARATE))
    few, many = (moved("value_net", SEPARATE, value_coef=1e4, max_value_grad_norm=x) for x in (0.5, 1e9))
    assert many > 10 * few
    still = replace(CONFIG, value_coef=0.0, steps=200)  # without a loss of its own
    again, plain = (train(still, tricks).curve for tricks in (named("recompute"), PPO))
    pd.testing.assert_frame_equal(again, plain, rtol=1e-6)
    assert not train(CONFIG, named("recompute")).curve.equals(train(CONFIG, PPO).curve)


def test_a_value_net_whose_gradient_is_not_finite_ends_its_seed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(value: Tensor, target: Tensor) -> Tensor:
        return squared_error(value, target) * torch.tensor([[1.0], [torch.inf]])

    monkeypatch.setattr(loop, "squared_error", spoiled)
    run = apart(*(name for name in PPO.on if name != "value_clip"))
    assert run.diverged == {1: int(run.curve[run.curve.seed == 1].step.iloc[0])}
    assert run.curve[run.curve.seed == 0].step.max() >= CONFIG.steps


@pytest.mark.parametrize("more", [(), ("return_norm", "popart"), ("ppg",)])
def test_with_one_epoch_recompute_is_the_plain_loop(more: tuple[str, ...]) -> None:
    plain, one = switched([*PPO.on, *more]), replace(CONFIG, epochs=1)
    pd.testing.assert_frame_equal(train(one, replace(plain, recompute=True)).curve, train(one, plain).curve)


@pytest.mark.parametrize("tasks", [1, 2])
def test_of_several_tasks_each_has_advantages_in_its_own_units(tasks: int) -> None:
    zero, no = torch.zeros(1, 2, 1).double(), torch.zeros(1, 2, 1).bool()
    task = torch.tensor([[[0], [1]]]) if tasks == 2 else None
    stats = ReturnStats(torch.zeros(1, 2).double(), torch.tensor([[4.0, 9.0]]).double(), task)
    if tasks == 1:
        stats = ReturnStats(torch.zeros(1).double(), torch.tensor([4.0]).double())
    agent: Any = SimpleNamespace(values=lambda _: (zero, zero), return_stats=stats, spaces=SimpleNamespace(tasks=tasks))
    rollout: Any = SimpleNamespace(reward=zero + 1, done=no, cut=no, task=task)
    found = tricks.recompute.judged(agent, rollout, Config(gamma=0.5, gae_lambda=1.0))
    units = torch.tensor([2.0, 3.0]) if tasks == 2 else torch.ones(2)
    torch.testing.assert_close(found["advantage"].flatten(), torch.tensor([1.5, 1.0]) / units)


PHASES = Config(env="ShortCartPole-v0", seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), aux_every=2)
# found on seeds 1000 to 1002
SHORT = Config("CartPole-v0", seeds=3, steps=20_000, lanes=8, horizon=32, lr=0.005, aux_every=4)
SHORT_PPG = replace(PPG, value_clip=False, return_norm=True, bootstrap=True)
QUARTER = replace(SHORT, steps=5_000)
IDENTITY = ReturnStats(torch.zeros(2).double(), torch.ones(2).double())
ROWS = 24


def rows(count: int = 20) -> Batch:
    torch.manual_seed(0)
    action, legal = torch.randint(2, (2, count)), torch.ones(2, count, 2, dtype=torch.bool)
    value, target = torch.randn(2, 2, count).double()
    batch = Batch(obs=torch.randn(2, count, 4), action=action, legal=legal, value=value, target=target)
    batch.valid = torch.arange(count).expand(2, -1) < torch.tensor([[count], [count - 3]])
    return batch


@pytest.fixture(scope="module")
def cloned() -> Run:
    """A quarter of the budget, with the cloning term as it should be."""
    return train(QUARTER, SHORT_PPG)


def test_without_auxiliary_epochs_it_is_ppo_with_a_second_head() -> None:
    config = replace(PHASES, aux_epochs=0)
    shown = [name for name in train(config, PPO).curve if not str(name).startswith("auxiliary")]
    torch.testing.assert_close(
        *(torch.tensor(train(config, t).curve[shown].values) for t in (PPO, PPG)), equal_nan=True
    )
    assert not train(PHASES, PPG).curve[shown].equals(train(config, PPG).curve[shown])
    agent = Agent(make_env(PHASES).spaces, PHASES)
    add_auxiliary_head_(agent)
    head, first = (w[0].flatten()[:8] for w in (auxiliary_net(agent).head.weight, agent.policy_net.layers[0][0]))
    assert not torch.allclose(head * 8**0.5, first * 4**0.5, atol=0.01)  # uniform within ±1, both


def test_a_phase_asks_about_its_memory_in_parts_of_the_bytes_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, agent = Memory(1), Agent(make_env(PHASES).spaces, PHASES)
    memory.add(rows(), IDENTITY, 0)
    monkeypatch.setattr(ppg, "CHUNK", 6)
    agent.policy = lambda obs, legal: obs[..., :2] * legal  # type: ignore[method-assign, assignment, misc]
    config = replace(PHASES, aux_every=1, aux_epochs=1, minibatches=1)
    (b,) = AuxiliaryPhase(agent.parameters(), 1e-5).minibatches(memory, agent, config, 0)
    assert torch.equal(b.old, b.obs[..., :2])
    (other,) = minibatches(memory.batch(IDENTITY), PHASES.seed_list, 0, 1, 1)
    assert not torch.equal(b.target, other.target)
    memory = Memory(PHASES.aux_every)
    monkeypatch.setattr(loop, "Memory", lambda rollouts: memory)
    train(replace(PHASES, seeds=1), PPG)
    taken = sum(column.element_size() * column.numel() for column in memory.rows.columns.values())
    assert taken == PHASES.aux_every * PHASES.lanes * PHASES.horizon * (4 * 4 + 2 + 49)


def test_a_phase_learns_values_and_keeps_the_policy_within_a_hundredth_of_a_nat(cloned: Run) -> None:
    assert cloned.curve.clone_kl.max() < 0.01
    assert train(replace(QUARTER, clone_coef=0.0), SHORT_PPG).curve.clone_kl.max() > 0.02


def test_a_cloning_term_of_taken_actions_only_ruins_the_policy(cloned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(agent: Agent, b: Batch, config: Config) -> tuple[Tensor, ...]:
        auxiliary, _, value = auxiliary_errors(agent, b, config)
        new, old = (Categorical.log_prob(logits, b.action) for logits in (agent.policy(b.obs, b.legal), b.old))
        return auxiliary, -old * new, value  # all of F.kl_div(new, old) that has a gradient

    monkeypatch.setattr(loop, "auxiliary_errors", faulty)
    run = train(QUARTER, SHORT_PPG)
    assert run.late().mean() < 100 < 150 < cloned.late().mean()
    assert run.curve[run.curve["update"] == 5].entropy.max() < 0.1  # nats, of ln 2: the actions are certain, not right


@pytest.mark.slow
def test_solves_cartpole_of_200_steps_within_20_thousand() -> None:
    curve = train(SHORT, SHORT_PPG).curve
    best = curve.groupby("seed")["return"].apply(lambda returns: returns.dropna().rolling(5).mean().max())
    assert best.min() >= 195  # means of five updates' means


def test_memory_keeps_the_newest_rollouts_in_units_of_reward_also_through_a_checkpoint() -> None:
    memory, again = Memory(rollouts=2), Memory(rollouts=2)
    stats = ReturnStats(torch.tensor([5.0, 0.0]).double(), torch.tensor([4.0, 1.0]).double())  # σ 2 and 1
    for update in range(3):
        memory.add(rows(), stats if update == 2 else IDENTITY, update)
    assert again.length == 0
    again.load_state_dict(memory.state_dict())
    for each in (memory, again):
        assert each.length == 20 and each.rows.born.unique().tolist() == [1, 2]
        assert each.rows.obs.shape == (2, 40, 4)
        torch.testing.assert_close(each.rows.target[0, 20:], rows().target[0] * 2 + 5)
        torch.testing.assert_close(each.batch(stats).target[0, 20:], rows().target[0])
        torch.testing.assert_close(each.batch(IDENTITY).target[0, :20], rows().target[0])
    elsewhere = torch.device("meta")  # a checkpoint's rows are on the host, and go where new rows are
    new = Batch(**{name: column.to(elsewhere) for name, column in rows().columns.items()})
    again.add(new, ReturnStats(*(x.to(elsewhere) for x in IDENTITY[:2])), 3)
    assert {column.device for column in again.rows.columns.values()} == {elsewhere}
    assert again.rows.obs.shape == (2, 40, 4)
    memory.add(rows(), IDENTITY, 3)
    assert memory.rows.born[0].tolist() == [2] * 20 + [3] * 20


def counts(rollouts: int, uses: int, updates: int) -> Tensor:
    """How often each row of each update was dealt, by its name: [S, updates·ROWS]."""
    memory, config = Memory(rollouts), replace(PHASES, epochs=4, minibatches=3)
    dealt = torch.zeros(2, updates * ROWS, dtype=torch.int64)
    for update in range(updates):
        name = update * ROWS + torch.arange(ROWS).expand(2, -1)  # of every row
        batch = Batch(action=name, value=name.double(), target=name.double())
        batch.valid = torch.arange(ROWS).expand(2, -1) < torch.tensor([[ROWS], [ROWS - 4]])  # seed 1 has fewer rows
        memory.add(batch, IDENTITY, update)
        for b in reused(memory, IDENTITY, config, update, uses, "value buffer"):
            dealt.scatter_add_(1, b.action, b.valid.long())
    return dealt


def test_a_buffer_uses_a_row_about_as_often_as_allowed_and_none_that_is_not_valid() -> None:
    dealt = counts(rollouts=3, uses=6, updates=12)
    assert dealt.max() == 6 and dealt[1].view(12, ROWS)[:, -4:].max() == 0
    whole = counts(rollouts=1, uses=4, updates=3)  # as often as there are epochs: dealt whole in each
    assert whole[0].unique().tolist() == [4] and whole[1].view(3, ROWS)[:, :-4].unique().tolist() == [4]
    # Binomial(24, 1/6) cut off at 4 has a mean of 3.29
    assert abs(counts(rollouts=6, uses=4, updates=60)[0].view(60, ROWS)[10:-10].double().mean() - 3.29) < 0.1

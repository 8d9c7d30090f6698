"""ppg: the auxiliary phase teaches values, and keeps the policy. ppg_buffers: rows of several rollouts, so often."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import PPG, PPO, Config, Run, ppg, train
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats
from tricks.core.policies import Categorical
from tricks.core.rollout import Batch
from tricks.envs.make import make_env
from tricks.ppg import AuxiliaryPhase, Memory, add_auxiliary_head_, auxiliary_errors, auxiliary_net
from tricks.ppg_buffers import reused
from tricks.reuse import minibatches

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), aux_every=2)
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


def test_without_auxiliary_epochs_it_is_ppo() -> None:
    config = replace(CONFIG, aux_epochs=0)
    shown = [name for name in train(config, PPO).curve if not str(name).startswith("auxiliary")]
    torch.testing.assert_close(
        *(torch.tensor(train(config, t).curve[shown].to_numpy()) for t in (PPO, PPG)), equal_nan=True
    )
    assert not train(CONFIG, PPG).curve[shown].equals(train(config, PPG).curve[shown])


def test_the_second_head_is_drawn_apart_from_the_first_layer() -> None:
    agent = Agent(make_env(CONFIG).spaces, CONFIG)
    add_auxiliary_head_(agent)
    head, first = (w[0].flatten()[:8] for w in (auxiliary_net(agent).head.weight, agent.policy_net.layers[0][0]))
    assert not torch.allclose(head * 8**0.5, first * 4**0.5, atol=0.01)  # uniform within ±1, both


def test_a_phase_asks_about_its_memory_in_parts_and_shuffles_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, agent = Memory(1), Agent(make_env(CONFIG).spaces, CONFIG)
    memory.add(rows(), IDENTITY, 0)
    monkeypatch.setattr(ppg, "CHUNK", 6)
    agent.policy = lambda obs, legal: obs[..., :2] * legal  # type: ignore[method-assign, assignment, misc]
    config = replace(CONFIG, aux_every=1, aux_epochs=1, minibatches=1)
    (b,) = AuxiliaryPhase(agent.parameters(), 1e-5).minibatches(memory, agent, config, 0)
    assert torch.equal(b.old, b.obs[..., :2])
    (other,) = minibatches(memory.batch(IDENTITY), CONFIG.seed_list, 0, 1, 1)
    assert not torch.equal(b.target, other.target)


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


def test_memory_takes_as_many_bytes_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(CONFIG.aux_every)
    monkeypatch.setattr(loop, "Memory", lambda rollouts: memory)
    train(replace(CONFIG, seeds=1), PPG)
    taken = sum(column.element_size() * column.numel() for column in memory.rows.columns.values())
    assert taken == CONFIG.aux_every * CONFIG.lanes * CONFIG.horizon * (4 * 4 + 2 + 49)


def test_memory_keeps_the_newest_rollouts_in_units_of_reward_also_through_a_checkpoint() -> None:
    memory, again = Memory(rollouts=2), Memory(rollouts=2)
    stats = ReturnStats(torch.tensor([5.0, 0.0]).double(), torch.tensor([4.0, 1.0]).double())  # σ 2 and 1
    for update in range(3):
        memory.add(rows(), stats if update == 2 else IDENTITY, update)
    assert again.length == 0
    again.load_state_dict(memory.state_dict())
    for each in (memory, again):
        assert each.length == 20
        assert each.rows.born.unique().tolist() == [1, 2]
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
    memory, config = Memory(rollouts), replace(CONFIG, epochs=4, minibatches=3)
    dealt = torch.zeros(2, updates * ROWS, dtype=torch.int64)
    for update in range(updates):
        name = update * ROWS + torch.arange(ROWS).expand(2, -1)  # of every row
        batch = Batch(action=name, value=name.double(), target=name.double())
        batch.valid = torch.arange(ROWS).expand(2, -1) < torch.tensor([[ROWS], [ROWS - 4]])  # seed 1 has fewer rows
        memory.add(batch, IDENTITY, update)
        for b in reused(memory, IDENTITY, config, update, uses, "value buffer"):
            dealt.scatter_add_(1, b.action, b.valid.long())
    return dealt


def test_a_buffer_uses_no_row_more_often_than_allowed_and_none_that_is_not_valid() -> None:
    dealt = counts(rollouts=3, uses=6, updates=12)
    assert dealt.max() == 6
    assert dealt[1].view(12, ROWS)[:, -4:].max() == 0
    whole = counts(rollouts=1, uses=4, updates=3)  # as often as there are epochs: dealt whole in each
    assert whole[0].unique().tolist() == [4]
    assert whole[1].view(3, ROWS)[:, :-4].unique().tolist() == [4]


def test_over_its_time_a_row_is_used_about_as_often_as_allowed() -> None:
    # Binomial(24, 1/6) cut off at 4 has a mean of 3.29
    settled = counts(rollouts=6, uses=4, updates=60)[0].view(60, ROWS)[10:-10].double()
    assert abs(settled.mean() - 3.29) < 0.1

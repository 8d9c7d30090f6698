"""ppg: the auxiliary phase teaches values, and keeps the policy."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import PPG, PPO, Config, Run, ppg, train
from tricks.action_mask import mask_logits
from tricks.core.adam import gradient
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.reductions import mean
from tricks.core.rollout import Batch
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.ppg import AuxiliaryPhase, Memory, add_auxiliary_head_, auxiliary_errors, auxiliary_loss, auxiliary_net
from tricks.reuse import minibatches

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=600, lanes=4, horizon=16, hidden=(8,), aux_every=2)
# found on seeds 1000 to 1002
SHORT = Config("CartPole-v0", seeds=3, steps=20_000, lanes=8, horizon=32, lr=0.005, aux_every=4)
SHORT_PPG = replace(PPG, value_clip=False, return_norm=True, bootstrap=True)
QUARTER = replace(SHORT, steps=5_000)
IDENTITY = ReturnStats(torch.zeros(2).double(), torch.ones(2).double())


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


def test_the_first_gradient_of_the_cloning_term_is_zero() -> None:
    agent, b = Agent(make_env(CONFIG).spaces, CONFIG), rows()
    add_auxiliary_head_(agent)
    b.old = agent.policy(b.obs).detach()
    _, kl, _ = auxiliary_errors(agent, b, CONFIG)
    assert gradient(mean(kl, b.valid), agent.parameters()).abs().max() < 1e-7
    b.obs, b.old = b.obs.clone(), b.old + torch.tensor([1.0, 0.0])
    _, kl, _ = auxiliary_errors(agent, b, CONFIG)
    assert gradient(mean(kl, b.valid), agent.parameters()).abs().max() > 0.01
    torch.testing.assert_close(kl, Categorical.kl(b.old, agent.policy(b.obs)))  # not that of the new from the old


def test_the_second_head_is_drawn_apart_from_the_first_layer() -> None:
    agent = Agent(make_env(CONFIG).spaces, CONFIG)
    add_auxiliary_head_(agent)
    head, first = (w[0].flatten()[:8] for w in (auxiliary_net(agent).head.weight, agent.policy_net.layers[0][0]))
    assert not torch.allclose(head * 8**0.5, first * 4**0.5, atol=0.01)  # uniform within ±1, both


def test_the_loss_of_a_phase_by_hand() -> None:
    one, two, three = (torch.tensor([[x, x, 99.0], [2 * x, 2 * x, 2 * x]]) for x in (1.0, 2.0, 3.0))
    valid = torch.tensor([[True, True, False], [True, True, True]])
    assert auxiliary_loss((one, two, three), valid, 0.5).tolist() == [1 + 0.5 * 2 + 3, 2 + 0.5 * 4 + 6]
    assert auxiliary_loss((one, two, three), valid, (0.5, 4.0)).tolist() == [5, 2 + 4 * 4 + 6]


def phase(memory: Memory) -> Batch:
    """The one minibatch of a phase of one epoch."""
    config = replace(CONFIG, aux_every=1, aux_epochs=1, minibatches=1)
    agent = Agent(make_env(CONFIG).spaces, CONFIG)
    agent.policy = lambda obs, legal: obs[..., :2] * legal  # type: ignore[method-assign, assignment, misc]
    (b,) = AuxiliaryPhase(agent, memory, 1e-5).minibatches(agent, config, 0)
    return b


def test_a_policy_is_asked_about_a_memory_in_parts_and_each_row_keeps_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ppg, "CHUNK", 6)
    memory = Memory(1)
    memory.add(rows(), IDENTITY, 0)
    assert torch.equal((b := phase(memory)).old, b.obs[..., :2])


def test_the_auxiliary_phase_shuffles_in_its_own_way() -> None:
    memory = Memory(1)
    memory.add(rows(), IDENTITY, 0)
    (other,) = minibatches(memory.batch(IDENTITY), CONFIG.seed_list, 0, 1, 1)
    assert not torch.equal(phase(memory).target, other.target)


def test_kl_equals_that_of_torch_distributions() -> None:
    distributions = torch.distributions
    old, new = torch.randn(2, 3, 5, 4)
    found = Categorical.kl(old, new)
    true = distributions.kl_divergence(distributions.Categorical(logits=old), distributions.Categorical(logits=new))
    torch.testing.assert_close(found, true)
    gaussians = [distributions.Normal(mean, log_std.exp()) for mean, log_std in (old.chunk(2, -1), new.chunk(2, -1))]
    torch.testing.assert_close(DiagonalGaussian.kl(old, new), distributions.kl_divergence(*gaussians).sum(-1))


def test_kl_of_masked_logits_counts_legal_actions_only() -> None:
    old, new = torch.randn(2, 3, 5)
    legal = torch.tensor([True, False, True, True, False])
    masked = Categorical.kl(mask_logits(old, legal), mask_logits(new, legal))
    torch.testing.assert_close(masked, Categorical.kl(old[:, legal], new[:, legal]))


def test_a_phase_learns_values_and_keeps_the_policy_within_a_hundredth_of_a_nat(cloned: Run) -> None:
    assert cloned.curve.clone_kl.max() < 0.01
    assert train(replace(QUARTER, clone_coef=0.0), SHORT_PPG).curve.clone_kl.max() > 0.02


def test_only_auxiliary_phases_move_the_auxiliary_head() -> None:
    configs = replace(CONFIG, steps=1, lr=1e-30), replace(CONFIG, aux_every=100), CONFIG
    first, same, other = (auxiliary_net(train(config, PPG).agent).head.weight for config in configs)
    torch.testing.assert_close(same, first, rtol=0, atol=0)
    assert not torch.allclose(other, first)


def test_memory_takes_as_many_bytes_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Memory] = []

    def noted(rollouts: int) -> Memory:
        made.append(Memory(rollouts))
        return made[-1]

    monkeypatch.setattr(loop, "Memory", noted)
    train(replace(CONFIG, seeds=1), PPG)
    (memory,) = made
    taken = sum(column.element_size() * column.numel() for column in memory.rows.columns.values())
    assert taken == CONFIG.aux_every * CONFIG.lanes * CONFIG.horizon * (4 * 4 + 2 + 49)


def test_a_seed_whose_auxiliary_loss_is_not_finite_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled = torch.tensor([1.0, torch.nan])
    monkeypatch.setattr(loop, "auxiliary_loss", lambda *given: auxiliary_loss(*given) * spoiled)
    run = train(CONFIG, PPG)
    assert list(run.diverged) == [1]
    assert run.curve[run.curve.seed == 1]["update"].max() == CONFIG.aux_every - 1
    assert run.curve[run.curve.seed == 0].step.max() >= CONFIG.steps


def test_popart_preserves_what_both_value_heads_predict() -> None:
    tricks, config = switched([*PPG.on, "return_norm", "popart"]), replace(CONFIG, lr=1e-30)
    obs = torch.randn(2, 50, 4)
    run = train(config, tricks)
    agent, before = run.agent, loop.build_agent(run.agent.spaces, config, tricks)
    assert (agent.return_stats.std - 1).abs().min() > 0.1
    for of in (lambda agent: agent.value_net, auxiliary_net):
        now, then = denormalize(agent.read(of(agent), obs), agent.return_stats), before.read(of(before), obs)
        torch.testing.assert_close(now, then, rtol=1e-5, atol=1e-6)


def test_a_phase_comes_after_every_so_many_updates() -> None:
    curve = train(replace(CONFIG, seeds=1, aux_every=3), PPG).curve
    phases = curve["update"][curve.auxiliary_loss.notna()].tolist()
    assert phases == list(range(2, len(curve), 3))
    assert len(phases) > 1


def test_memory_keeps_the_newest_rollouts_in_units_of_reward() -> None:
    memory = Memory(rollouts=2)
    stats = ReturnStats(torch.tensor([5.0, 0.0]).double(), torch.tensor([4.0, 1.0]).double())  # σ 2 and 1
    for update in range(3):
        memory.add(rows(), stats if update == 2 else IDENTITY, update)
    assert memory.rows.born.unique().tolist() == [1, 2]
    assert memory.rows.obs.shape == (2, 40, 4)
    torch.testing.assert_close(memory.rows.target[0, 20:], rows().target[0] * 2 + 5)
    torch.testing.assert_close(memory.batch(stats).target[0, 20:], rows().target[0])
    torch.testing.assert_close(memory.batch(IDENTITY).target[0, :20], rows().target[0])


def test_rows_of_a_checkpoint_go_where_new_rows_are() -> None:
    saved, resumed = Memory(rollouts=2), Memory(rollouts=2)
    saved.add(rows(), IDENTITY, 0)
    resumed.load_state_dict(saved.state_dict())  # on the host, as every checkpoint
    elsewhere = torch.device("meta")
    new = Batch(**{name: column.to(elsewhere) for name, column in rows().columns.items()})
    resumed.add(new, ReturnStats(*(x.to(elsewhere) for x in IDENTITY[:2])), 1)
    assert {column.device for column in resumed.rows.columns.values()} == {elsewhere}
    assert resumed.rows.obs.shape == (2, 40, 4)


@pytest.mark.slow
def test_solves_cartpole_of_200_steps_within_20_thousand() -> None:
    curve = train(SHORT, SHORT_PPG).curve
    best = curve.groupby("seed")["return"].apply(lambda returns: returns.dropna().rolling(5).mean().max())
    assert best.min() >= 195  # means of five updates' means


def test_a_cloning_term_of_taken_actions_only_ruins_the_policy(cloned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(agent: Agent, b: Batch, config: Config) -> tuple[Tensor, ...]:
        auxiliary, _, value = auxiliary_errors(agent, b, config)
        new, old = (Categorical.log_prob(logits, b.action) for logits in (agent.policy(b.obs, b.legal), b.old))
        return auxiliary, -old * new, value  # all of F.kl_div(new, old) that has a gradient

    monkeypatch.setattr(loop, "auxiliary_errors", faulty)
    run = train(QUARTER, SHORT_PPG)
    assert run.late().mean() < 100 < 150 < cloned.late().mean()
    assert run.curve[run.curve["update"] == 5].entropy.max() < 0.1  # nats, of ln 2: the actions are certain, not right


def test_the_preset_is_ppo_and_nothing_else_changed() -> None:
    assert named("ppg") == PPG
    assert set(PPG.on) - set(PPO.on) == {"ppg"}

"""separate_optimizers: two Adams; without a limit on gradients and with equal rates they are one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from tricks import PPO, Config, loop, train
from tricks.baseline import squared_error
from tricks.core.adam import Adam
from tricks.ladder import named, switched

CONFIG = Config("ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, lr=0.003)
FREE = tuple(name for name in PPO.on if name != "grad_clip")
OWN = ["value_grad_norm", "grad_norm"]


def apart(*names: str) -> tuple[str, ...]:
    return (*names, "separate_optimizers")


@pytest.mark.parametrize("others", [FREE, (*FREE, "ppg"), ("baseline",)], ids=["ppo", "ppg", "baseline"])
def test_with_one_rate_and_no_limit_on_gradients_nothing_changes(others: tuple[str, ...]) -> None:
    two, one = (train(CONFIG, switched(names)) for names in (apart(*others), others))
    pd.testing.assert_frame_equal(two.curve.drop(columns=OWN), one.curve.drop(columns=OWN))
    for a, b in zip(two.agent.parameters(), one.agent.parameters(), strict=True):
        assert torch.equal(a, b)
    both = np.hypot(two.curve.grad_norm, two.curve.value_grad_norm)  # the two norms are the legs of the joint one
    np.testing.assert_array_less(np.abs(both - one.curve.grad_norm), 0.1 * one.curve.grad_norm)


def test_under_grad_clip_a_large_value_loss_leaves_the_policys_gradient_alone() -> None:
    config = replace(CONFIG, steps=1, epochs=1, minibatches=1)
    moves = {}
    for coef in (0.5, 5e4):
        for names in (PPO.on, apart(*PPO.on)):
            numbers = replace(config, value_coef=coef, adam_eps=1.0)  # so that the size of a step is the gradient's
            untrained = train(replace(numbers, lr=1e-30), switched(names)).agent
            agent = train(numbers, switched(names)).agent
            pairs = zip(agent.policy_net.parameters(), untrained.policy_net.parameters(), strict=True)
            moves[coef, len(names)] = torch.stack([(a - b).norm() for a, b in pairs]).norm().item()
    joint, own = len(PPO.on), len(PPO.on) + 1
    assert moves[5e4, joint] < 0.01 * moves[0.5, joint]  # the value loss drowns it
    assert moves[5e4, own] == pytest.approx(moves[0.5, own])


def test_each_net_has_its_rate() -> None:
    config = replace(CONFIG, steps=1, epochs=1, value_epochs=1, minibatches=1)
    usual, faster, untrained = (
        train(replace(config, **numbers), named("separate_optimizers")).agent
        for numbers in ({}, {"value_lr_factor": (1.0, 3.0)}, {"lr": 1e-30})
    )
    for a, b in zip(usual.policy_net.parameters(), faster.policy_net.parameters(), strict=True):
        assert torch.equal(a, b)
    nets = (usual.value_net, faster.value_net, untrained.value_net)
    for a, b, start in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(a[0], b[0])
        torch.testing.assert_close(b[1] - start[1], 3 * (a[1] - start[1]), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("epochs", "value_epochs"), [(1, 3), (3, 1), (2, 2)])
def test_each_net_has_its_number_of_epochs(epochs: int, value_epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: dict[Adam, int] = {}
    step = Adam.step

    def counting(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        before = [p.detach().clone() for p in self.parameters]
        step(self, gradient, learning_rate, moving)
        moved = [not torch.equal(a, b) for a, b in zip(self.parameters, before, strict=True)]
        taken[self] = taken.get(self, 0) + any(moved)

    monkeypatch.setattr(Adam, "step", counting)
    config = replace(CONFIG, steps=1, epochs=epochs, value_epochs=value_epochs, minibatches=2)
    train(config, named("separate_optimizers"))
    counts = {len(optimizer.parameters): count // config.minibatches for optimizer, count in taken.items()}
    nets = train(config, PPO).agent
    assert counts == {len([*nets.parameters()]): epochs, len([*nets.value_net.parameters()]): value_epochs}


def test_the_value_net_goes_on_where_kl_stop_stops_the_policy() -> None:
    config = replace(CONFIG, steps=1, target_kl=1e-6, lr=0.01)
    stopped, alone = (
        train(config, switched(names)).agent for names in (apart(*PPO.on, "kl_stop"), apart(*(name for name in PPO.on)))
    )
    for a, b in zip(stopped.value_net.parameters(), alone.value_net.parameters(), strict=True):
        assert torch.equal(a, b)
    policies = zip(stopped.policy_net.parameters(), alone.policy_net.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in policies)


def test_the_value_net_has_a_limit_of_its_own() -> None:
    config = replace(CONFIG, steps=1, value_coef=1e4, adam_eps=1.0, epochs=1, minibatches=1)
    start = train(replace(config, lr=1e-30), named("separate_optimizers")).agent.value_net
    steps = []
    for limit in (0.5, 1e9):
        net = train(replace(config, max_value_grad_norm=limit), named("separate_optimizers")).agent.value_net
        pairs = zip(net.parameters(), start.parameters(), strict=True)
        steps.append(torch.stack([(a - b).norm().float() for a, b in pairs]).norm().item())
    assert steps[1] > 10 * steps[0]


def test_the_policys_diagnostics_are_of_its_own_steps() -> None:
    config = replace(CONFIG, steps=1, epochs=2, target_kl=10.0)
    tricks = switched(apart(*PPO.on, "kl_stop"))
    few, many = (train(replace(config, value_epochs=epochs), tricks).curve for epochs in (2, 9))
    assert (few.steps_taken == 1).all()
    own = ["policy_loss", "entropy", "approx_kl", "max_ratio", "clip_fraction", "steps_taken", "grad_norm"]
    pd.testing.assert_frame_equal(few[own], many[own])
    assert (many.value_loss < few.value_loss).all()  # of nine epochs


def test_a_value_net_whose_gradient_is_not_finite_ends_its_seed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(value: Tensor, target: Tensor) -> Tensor:
        return squared_error(value, target) * torch.tensor([[1.0], [torch.inf]])

    monkeypatch.setattr(loop, "squared_error", spoiled)
    run = train(CONFIG, switched(apart(*(name for name in PPO.on if name != "value_clip"))))
    assert run.diverged == {1: int(run.curve[run.curve.seed == 1].step.iloc[0])}
    assert run.curve[run.curve.seed == 0].step.max() >= CONFIG.steps


def test_the_curve_shows_each_nets_own_steps() -> None:
    config = replace(CONFIG, steps=1)
    even, longer_policy, longer_value = (
        train(replace(config, epochs=epochs, value_epochs=value_epochs), named("separate_optimizers")).curve
        for epochs, value_epochs in ((1, 1), (3, 1), (1, 3))
    )
    of_policy, of_value = ["policy_loss", "entropy", "approx_kl", "grad_norm"], ["value_loss", "value_grad_norm"]
    pd.testing.assert_frame_equal(longer_value[of_policy], even[of_policy])
    pd.testing.assert_frame_equal(longer_policy[of_value], even[of_value])
    assert not np.allclose(longer_policy[of_policy], even[of_policy])
    assert not np.allclose(longer_value[of_value], even[of_value])

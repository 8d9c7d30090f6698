"""What is done to an agent while it trains has the effect that it has on the formulas: compiled forms step aside."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import torch
from support.touching import THINGS, Calls, Done, freeze
from support.updates import compiled_losses
from torch.utils._python_dispatch import TorchDispatchMode

from tricks import PPO, Config, train
from tricks.core.agent import Agent
from tricks.core.nets import Dense
from tricks.envs.make import make_env
from tricks.fast.dispatch import plain
from tricks.fused import playing
from tricks.loop import build_agent

pytest.importorskip("numba")
SMALL = Config("CartPole-v1", seeds=2, lanes=4, horizon=16, steps=256, hidden=(8, 6), epochs=2, minibatches=2)
BOX = replace(SMALL, env="Pendulum-v1")


def trained(do: Done, formulas: bool) -> tuple[Calls, dict[str, torch.Tensor]]:
    """What was called after the first update, and the weights after the last."""
    calls = Calls()
    with ExitStack() as stack:

        def listen(rows: list[dict[str, float]], agent: Agent) -> None:
            undone = do(agent, calls) if rows[0]["update"] == 0 else None
            if undone is not None:
                stack.enter_context(undone)

        stack.enter_context(plain() if formulas else nullcontext())
        return calls, dict(train(SMALL, PPO, on_update=listen).agent.named_parameters())


@pytest.mark.parametrize("name", THINGS)
def test_what_a_listener_does_has_the_effect_that_it_has_on_the_formulas(name: str) -> None:
    mine, found = trained(THINGS[name], formulas=False)
    theirs, wanted = trained(THINGS[name], formulas=True)
    assert mine == theirs
    for each, p in wanted.items():
        torch.testing.assert_close(found[each], p, rtol=1e-3, atol=1e-5, msg=partial("{}: {}".format, each))


@pytest.mark.parametrize("names", [("log_std",), ("policy_net",), ("policy_net.body", "value_net.head.bias"), ("",)])
@pytest.mark.parametrize("config", [SMALL, BOX], ids=["discrete", "box"])
@pytest.mark.parametrize("flags", [PPO, replace(PPO, separate_optimizers=True)], ids=["ppo", "separate"])
def test_frozen_weights_stay_to_the_bit_and_the_others_learn(names: Any, config: Config, flags: Any) -> None:
    first = dict[str, torch.Tensor]()

    def listen(rows: object, agent: Agent) -> None:
        if not first:
            first.update({name: p.detach().clone() for name, p in agent.named_parameters()})
            freeze(*names)(agent, [])

    for name, p in train(config, flags, on_update=listen).agent.named_parameters():
        assert torch.equal(p, first[name]) == name.startswith(names), name


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode], ids=["no_grad", "inference_mode"])
@pytest.mark.parametrize("formulas", [False, True])
def test_a_training_needs_gradients_whatever_is_switched_off_around_it(context: Any, formulas: bool) -> None:
    with plain() if formulas else nullcontext():
        wanted = train(SMALL, PPO).curve
        with context():
            assert train(SMALL, PPO).curve.equals(wanted)
            assert torch.is_grad_enabled() is False


@pytest.mark.parametrize("formulas", [False, True])
def test_a_listener_that_switches_gradients_off_for_good_is_not_trained_past(formulas: bool) -> None:
    with plain() if formulas else nullcontext(), pytest.raises(RuntimeError, match="does not require grad"):
        train(SMALL, PPO, on_update=lambda rows: torch.set_grad_enabled(False) and None)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("env", [SMALL.env, BOX.env])
def test_a_body_s_own_activation_counts_not_the_number_s(env: str) -> None:
    def body(generators: Any, spaces: Any) -> Dense:
        return Dense(generators, (spaces.features, *SMALL.hidden), "relu")

    config = replace(SMALL, env=env)
    mine, wanted = train(config, PPO, body=body), train(replace(config, activation="relu"), PPO)
    for p, q in zip(mine.agent.parameters(), wanted.agent.parameters(), strict=True):
        assert torch.equal(p, q)


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


AROUND: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "a mode": Passing,
    "fewer digits": lambda: torch.autocast("cpu", torch.bfloat16),
    "anomalies": lambda: torch.autograd.set_detect_anomaly(True),
}


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.filterwarnings("ignore:Anomaly")
def test_within_what_watches_or_changes_operations_learning_is_plain(name: str) -> None:
    with AROUND[name](), compiled_losses() as found:
        train(SMALL, PPO)
    assert not found


def test_what_is_transformed_or_traced_is_plain() -> None:
    agent = build_agent(make_env(SMALL).spaces, SMALL, PPO)
    obs = torch.randn(2, 5, 4)
    wanted = agent.policy(obs)
    found = torch.func.vmap(lambda x: agent.policy(x.unsqueeze(1)).squeeze(1), in_dims=1, out_dims=1)(obs)
    torch.testing.assert_close(found, wanted)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(obs, torch.ones_like(obs))
        assert torch.autograd.forward_ad.unpack_dual(agent.policy(dual)).tangent is not None


def test_what_is_compiled_is_still_in_use_where_nothing_was_touched() -> None:
    with compiled_losses() as found, patch.object(playing, "fits", wraps=playing.fits) as fits:
        run = train(SMALL, PPO)
    updates = run.curve["update"].nunique()
    assert found == [True] * 2 * SMALL.epochs * SMALL.minibatches * updates
    assert fits.call_count == updates

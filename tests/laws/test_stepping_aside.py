"""What is done to an agent while it trains has the effect that it has on the formulas: compiled forms step aside."""

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast
from unittest.mock import patch

import pytest
import torch
from support.learners import compiled_losses
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_full_backward_hook

import tricks.core.nets
import tricks.core.policies
import tricks.entropy
import tricks.loop
from tricks import PPO, Agent, Config, train
from tricks.core.adam import Adam
from tricks.core.nets import Dense, Net
from tricks.core.policies import Categorical
from tricks.core.rollout import Player
from tricks.envs.tensor import TensorEnv
from tricks.fast.dispatch import plain
from tricks.fused import playing

pytest.importorskip("numba")
SMALL = Config("CartPole-v1", seeds=2, lanes=4, horizon=16, steps=256, hidden=(8, 6), epochs=2, minibatches=2)
BOX = replace(SMALL, env="Pendulum-v1")
Calls = list[str]
Done = Callable[[Agent, Calls], Any]


def noting(calls: Calls) -> Callable[..., None]:
    return lambda *given, **named: calls.append("")


def wrapped(owner: Any, name: str) -> Done:
    """A function that is replaced by one that calls it."""

    def do(agent: Agent, calls: Calls) -> Any:
        of = agent if owner is None else owner
        for part in name.split(".")[:-1]:
            of = getattr(of, part)
        last = name.split(".")[-1]
        inner, static = getattr(of, last), isinstance(getattr(of, "__dict__", {}).get(last), staticmethod)

        def outer(*given: Any, **named: Any) -> Any:
            calls.append(last)
            return inner(*given, **named)

        return patch.object(of, last, staticmethod(outer) if static else outer)

    return do


class OtherDense(Dense):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * super().forward(x)


class OtherFamily(Categorical):
    @staticmethod
    def entropy(logits: torch.Tensor) -> torch.Tensor:
        return 2 * Categorical.entropy(logits)


def freeze(*names: str) -> Done:
    """No gradient for parameters whose names begin with one of these."""

    def do(agent: Agent, calls: Calls) -> None:
        for name, p in agent.named_parameters():
            p.requires_grad_(not name.startswith(names))

    return do


def body(agent: Agent) -> Dense:
    return cast(Dense, agent.policy_net.body)


def swap(layers: list[tuple[nn.Parameter, nn.Parameter]]) -> None:
    weight, bias = layers[0]
    layers[0] = nn.Parameter(2 * weight.detach()), nn.Parameter(2 * bias.detach())


NETS = ("policy_net", "value_net")
REPLACED: tuple[tuple[Any, str], ...] = (
    (None, "policy_net.forward value_net.body.forward policy value standardized"),  # of the agent that is trained
    *((Categorical, "entropy log_prob sample"), (Dense, "forward"), (Net, "__call__"), (Agent, "output")),
    *((Adam, "move plan"), (Player, "step"), (TensorEnv, "arrive"), (tricks.loop, "clipped_surrogate learn")),
    *((tricks.entropy, "mean"), (tricks.core.policies, "log_softmax"), (tricks.core.nets, "in_passes affine")),
)
THINGS: dict[str, Done] = {
    "a forward hook on the policy net": lambda agent, calls: agent.policy_net.register_forward_hook(noting(calls)),
    "a forward hook on a body": lambda agent, calls: body(agent).register_forward_hook(noting(calls)),
    "a forward hook on the value net's head": lambda a, calls: a.value_net.head.register_forward_hook(noting(calls)),
    "a hook before a forward": lambda a, c: a.get_submodule("value_net.body").register_forward_pre_hook(noting(c)),
    "a hook that is always called": lambda a, c: a.policy_net.register_forward_hook(noting(c), always_call=True),
    "a backward hook": lambda agent, calls: agent.policy_net.head.register_full_backward_hook(noting(calls)),
    "a hook before a backward": lambda a, calls: a.policy_net.head.register_full_backward_pre_hook(noting(calls)),
    "a hook on all modules": lambda agent, calls: register_module_forward_hook(noting(calls)),
    "a backward hook on all modules": lambda agent, calls: register_module_full_backward_hook(noting(calls)),
    "a hook on a weight": lambda agent, calls: agent.policy_net.head.weight.register_hook(noting(calls)),
    "a hook on a bias": lambda agent, calls: agent.value_net.head.bias.register_hook(noting(calls)),
    "a hook after a gradient": lambda a, c: a.policy_net.head.weight.register_post_accumulate_grad_hook(noting(c)),
    **{f"frozen {x or 'agent'}": freeze(x) for x in ("policy_net.body", "value_net.head.bias", *NETS, "")},
    **{f"{getattr(of, '__name__', 'agent')}'s {x}": wrapped(of, x) for of, names in REPLACED for x in names.split()},
    "a body of another class": lambda a, c: setattr(a.get_submodule("policy_net.body"), "__class__", OtherDense),
    "a net of another class": lambda a, c: setattr(a.value_net, "__class__", type("OtherNet", (Net,), {})),
    "another family": lambda agent, calls: setattr(agent, "family", OtherFamily),
    "another mask": lambda agent, calls: setattr(agent, "mask", lambda logits, legal: 0.5 * logits),
    "other eyes": lambda agent, calls: setattr(agent, "obs_stats", lambda obs: -obs),
    "another activation in one body": lambda agent, calls: setattr(body(agent), "tanh", False),
    "layers that no optimizer has": lambda agent, calls: swap(body(agent).layers),
}


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
        train(SMALL, PPO, on_update=lambda rows, agent: torch.set_grad_enabled(False) and None)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("env", [SMALL.env, BOX.env])
def test_a_body_s_own_activation_counts_not_the_number_s(env: str) -> None:
    def body(generators: Any, spaces: Any) -> Dense:
        return Dense(generators, (spaces.features, *SMALL.hidden), "relu")

    config = replace(SMALL, env=env)
    mine, wanted = train(config, PPO, body=body), train(replace(config, activation="relu"), PPO)
    for p, q in zip(mine.agent.parameters(), wanted.agent.parameters(), strict=True):
        assert torch.equal(p, q)


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_within_what_looks_for_anomalies_learning_is_plain() -> None:
    with torch.autograd.set_detect_anomaly(True), compiled_losses() as found:
        train(SMALL, PPO)
    assert not found


def test_what_is_compiled_is_still_in_use_where_nothing_was_touched() -> None:
    with compiled_losses() as found, patch.object(playing, "fits", wraps=playing.fits) as fits:
        run = train(SMALL, PPO)
    updates = run.curve["update"].nunique()
    assert found == [True] * 2 * SMALL.epochs * SMALL.minibatches * updates
    assert fits.call_count == updates

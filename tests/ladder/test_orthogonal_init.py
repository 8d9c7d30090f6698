"""orthogonal_init: columns or rows are orthonormal up to the gain, biases are 0, π starts near uniform."""

import numpy as np
import torch

from tricks import Config
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.envs.make import make_env
from tricks.ladder import switched
from tricks.loop import build_agent
from tricks.orthogonal_init import orthogonal, orthogonal_


def test_every_layer_is_orthogonal_times_its_gain() -> None:
    seeds = Config(seeds=3).seed_list
    net = mlp([stream(seed, "init") for seed in seeds], (4, 64, 64, 2))
    orthogonal_(net, seeds, 0, gain=2**0.5, head_gain=0.01)
    for layer, (weight, bias) in enumerate(net.layers):
        gain = 0.01 if layer == 2 else 2**0.5
        singular = torch.linalg.svdvals(weight)
        torch.testing.assert_close(singular, torch.full_like(singular, gain), rtol=1e-4, atol=0)
        assert bias.abs().max() == 0
    assert not torch.allclose(net.layers[0][0][0], net.layers[0][0][1])  # seeds differ


def test_the_distribution_is_uniform_not_biased_by_qr() -> None:
    # without the correction of signs the diagonal of Q would never be positive
    corners = [orthogonal(np.random.default_rng(seed), 3, 3)[0, 0] for seed in range(400)]
    assert abs(np.mean(corners)) < 0.1


def test_a_new_agent_has_the_gains_of_openai_baselines_and_no_two_nets_alike() -> None:
    config = Config(seeds=2, lanes=1, hidden=(8, 8))
    agent = build_agent(make_env(config).spaces, config, switched(["orthogonal_init"]))
    for net, head_gain in ((agent.policy_net, 0.01), (agent.value_net, 1.0)):
        for (weight, _), gain in zip(net.layers, (2**0.5, 2**0.5, head_gain), strict=True):
            singular = torch.linalg.svdvals(weight)
            torch.testing.assert_close(singular, torch.full_like(singular, gain), rtol=1e-4, atol=0)
    first, other = agent.policy_net.layers[0][0], agent.value_net.layers[0][0]
    assert not torch.allclose(first.abs(), other.abs())

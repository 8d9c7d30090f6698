"""Learning, where the answer is known: every rung of the ladder finds the values and the policy of every probe."""

import numpy as np
import pytest
import torch
from support.probes import PROBES

from tricks import Config, Tricks, train
from tricks.core.moments import denormalize
from tricks.ladder import PRESETS, rungs

RUNGS = {rung.on[-1] if rung.on else "reinforce": rung for rung in rungs()} | PRESETS
QUICK = ("reinforce", "baseline", "popart", *PRESETS)  # the update of every rung is held by test_reference
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RUNGS]


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("rung", EACH)
def test_finds_the_known_answer(rung: str, probe: str) -> None:
    tricks: Tricks = RUNGS[rung]
    world = PROBES[probe]
    config = Config(
        env=probe, seeds=2, steps=4_000, lanes=16, horizon=8, lr=0.03, gamma=world.gamma, hidden=(16,), minibatches=1
    )
    agent = train(config, tricks).agent
    if tricks.baseline and not tricks.reward_scaling:  # which learns values in other units
        obs, value = (torch.tensor(x, dtype=torch.float32) for x in zip(*world.answers, strict=True))
        found = denormalize(agent.value(obs.view(1, -1, 1).expand(2, -1, -1)), agent.return_stats)
        np.testing.assert_allclose(found.detach(), value.expand(2, -1), atol=0.15)
    for seen, action in world.best:
        logits = agent.policy(torch.full((2, 1, 1), seen))
        assert logits.softmax(-1)[..., action].min() > 0.9

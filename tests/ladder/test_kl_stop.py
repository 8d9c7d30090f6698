"""kl_stop: a seed that has moved too far takes no further step in its batch; the others go on."""

from dataclasses import replace

import pytest
import torch

from tricks import Config, train
from tricks.core.rollout import Rollout
from tricks.kl_stop import near_enough
from tricks.ladder import named
from tricks.runs.log import Log

CONFIG = Config("ShortCartPole-v0", seeds=3, steps=300, lanes=4, horizon=16, lr=0.003)
STEPS = CONFIG.epochs * CONFIG.minibatches


def test_known_divergences_on_either_side_of_the_limit() -> None:
    ratio = torch.tensor([[1.0, 1.0], [2.0, 1.0], [1.5, 0.5], [torch.nan, 1.0]])
    # ρ − 1 − log ρ: 1 − log 2 = 0.3069 at 2, 0.5 − log 1.5 = 0.0945 at 1.5, −0.5 + log 2 = 0.1931 at 0.5
    valid = torch.ones(4, 2, dtype=torch.bool)
    assert near_enough(ratio, valid, 0.1535 / 1.5).tolist() == [True, True, True, False]  # 0, 0.1534, 0.1438
    assert near_enough(ratio, valid, 0.1500 / 1.5).tolist() == [True, False, True, False]
    assert near_enough(ratio, valid, 0.1400 / 1.5).tolist() == [True, False, False, False]
    assert near_enough(ratio, valid, 0.0).tolist() == [True, False, False, False]  # it has not moved
    valid[1, 0] = False  # a row that is not experience does not count
    assert near_enough(ratio, valid, 0.1400 / 1.5).tolist() == [True, True, False, False]


def test_a_loss_that_is_not_finite_ends_its_seed_though_it_comes_after_the_stop() -> None:
    log, two = Log(replace(CONFIG, seeds=2, lanes=1)), torch.ones(2)
    for loss, taken in ((1.0, 1.0), (2.0, 0.0), (torch.nan, 0.0)):
        log.note(policy_loss=two * torch.tensor([loss, 3.0]), steps_taken=two * torch.tensor([taken, 1.0]))
    none = torch.zeros(2, 1, 1)
    no, one = none.bool(), torch.ones(2, 1, 1).bool()
    log.end_update(Rollout(torch.zeros(2, 2, 1, 1), one, none.long(), none, no, no, one, no, none, no))
    assert log.curve().policy_loss.tolist() == [1.5, 3]
    assert log.active.tolist() == [False, True]


def test_under_the_smallest_limit_each_batch_takes_the_one_step_whose_ratio_is_one() -> None:
    curve = train(replace(CONFIG, target_kl=1e-6, lr=0.01), replace(named("kl_stop"), lr_anneal=False)).curve
    assert len(curve) > 6
    assert curve.steps_taken.tolist() == pytest.approx([1 / STEPS] * len(curve))

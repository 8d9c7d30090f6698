"""kl_stop: a seed that has moved too far takes no further step in its batch; the others go on."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tricks import Config, Tricks, train
from tricks.core.adam import Adam
from tricks.core.rollout import Rollout
from tricks.kl_stop import near_enough
from tricks.ladder import named
from tricks.runs.log import Log

CONFIG = Config("ShortCartPole-v0", seeds=3, steps=300, lanes=4, horizon=16, lr=0.003)
ONE_BATCH = replace(CONFIG, steps=1, lr=(0.01, 1e-5, 0.01))  # in which the second seed hardly moves
STEPS = CONFIG.epochs * CONFIG.minibatches
POLICY = ("policy_loss", "entropy", "grad_norm", "approx_kl", "max_ratio", "clip_fraction")


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


@pytest.mark.parametrize("tricks", [named("kl_stop"), named("kl_stop+separate_optimizers")], ids=["one", "two"])
def test_the_policy_s_diagnostics_end_with_the_minibatch_that_stopped_the_seed(
    tricks: Tricks, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: dict[str, list[Tensor]] = {}
    note = Log.note

    def listening(self: Log, of: Tensor | None = None, **diagnostics: Tensor) -> None:
        for name, value in diagnostics.items():
            if of is None or of.any():
                noted.setdefault(name, []).append(value.detach().clone())
        note(self, of=of, **diagnostics)

    monkeypatch.setattr(Log, "note", listening)
    curve = train(ONE_BATCH, tricks).curve.set_index("seed")
    for seed in range(3):
        count = round(STEPS * curve.steps_taken[seed])
        assert (count == STEPS) == (seed == 1)
        for name in POLICY:
            notes = torch.stack(noted[name])[: count + 1, seed].double()  # the last one stopped it
            expected = notes.max() if name == "max_ratio" else notes.mean()
            assert curve[name][seed] == pytest.approx(float(expected)), name
        everything = torch.stack(noted["value_loss"])[:, seed].double()  # the value net has minibatches of its own
        assert curve.value_loss[seed] == pytest.approx(float(everything.mean()))


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


def test_a_seed_beyond_the_limit_stands_still_for_the_rest_of_its_batch_while_the_others_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved, step = [], Adam.step

    def recording(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        before = [p.detach().clone() for p in self.parameters]
        step(self, gradient, learning_rate, moving)
        changed = [(p != q).flatten(1).any(1) for p, q in zip(self.parameters, before, strict=True)]
        moved.append(torch.stack(changed).any(0))

    monkeypatch.setattr(Adam, "step", recording)
    curve = train(ONE_BATCH, named("kl_stop")).curve
    taken = torch.stack(moved)  # [steps, S]
    assert len(taken) == STEPS
    assert taken[:, 1].all()
    for seed in (0, 2):
        count = int(taken[:, seed].sum())
        assert 1 <= count < STEPS
        assert taken[:count, seed].all()  # and none after the first that was not taken
    assert curve.steps_taken.tolist() == pytest.approx((taken.sum(0) / STEPS).tolist())

"""reuse: every valid row once per epoch, and the ratio's gradient at 1 is the score function."""

import torch

from tricks.core.policies import Categorical
from tricks.core.rollout import Batch
from tricks.reuse import drift, importance_ratio, minibatches


def batch_of(valid: torch.Tensor) -> Batch:
    rows = torch.arange(valid.numel()).view_as(valid).double()
    return Batch(target=rows.masked_fill(~valid, torch.nan), valid=valid)


def test_an_epoch_deals_every_valid_row_once_and_no_other() -> None:
    valid = torch.tensor([[True, False, True, True, True, True, False, True], [True, True] + [False] * 6])
    dealt = list(minibatches(batch_of(valid), seeds=(4, 9), update=0, epochs=2, count=3))
    assert len(dealt) == 6
    for epoch in (dealt[:3], dealt[3:]):
        for seed, truth in enumerate(([0, 2, 3, 4, 5, 7], [8, 9])):
            rows = torch.cat([b.target[seed][b.valid[seed]] for b in epoch])
            assert sorted(rows.int().tolist()) == truth
    assert all(not b.target.isnan().any() for b in dealt)  # the filling is made of real rows


def test_epochs_and_updates_shuffle_differently_and_padding_shuffles_nothing() -> None:
    valid = torch.ones(1, 32, dtype=torch.bool)
    longer = torch.cat([valid, torch.zeros(1, 16, dtype=torch.bool)], 1)

    def first(valid: torch.Tensor, update: int) -> list[float]:
        return next(iter(minibatches(batch_of(valid), (5,), update, epochs=1, count=2))).target[0].tolist()

    assert first(valid, 0) == first(longer, 0)
    assert first(valid, 0) != first(valid, 1)


def test_the_gradient_of_the_ratio_at_one_is_the_score_function() -> None:
    logits = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    action, advantage = torch.tensor([[0, 1, 2, 0, 1, 2]]), torch.arange(6.0)
    log_prob = Categorical.log_prob(logits, action)
    score = torch.autograd.grad((log_prob * advantage).sum(), logits, retain_graph=True)[0]
    ratio = importance_ratio(log_prob, log_prob.detach())
    torch.testing.assert_close(torch.autograd.grad((ratio * advantage).sum(), logits)[0], score)


def test_drift_counts_valid_rows_only() -> None:
    ratio, valid = torch.tensor([[2.0, 0.5, 100.0]]), torch.tensor([[True, True, False]])
    found = drift(ratio, valid)
    assert drift(torch.zeros(1, 2), valid[:1, :2])["approx_kl"].isfinite()  # a ratio below 1e-38 rounds to 0
    assert found["max_ratio"].item() == 2
    assert (
        drift(torch.tensor([[0.5, 0.75, 9.0]]), valid)["max_ratio"].item() == 0.75
    )  # what is not valid is no 1, either
    # ((2 − 1 − ln 2) + (0.5 − 1 + ln 2))/2
    torch.testing.assert_close(found["approx_kl"], torch.tensor([0.25]))

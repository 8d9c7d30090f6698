"""ppg_buffers: rows of several rollouts, used so often and no more, for policy and value net apart."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from tricks import Config, ppg_buffers, train
from tricks.core.moments import ReturnStats
from tricks.core.rollout import Batch
from tricks.ladder import named, switched
from tricks.ppg import Memory
from tricks.ppg_buffers import dealt_apart, reused

ROWS = 24
CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=1200, lanes=4, horizon=16, hidden=(8,), aux_every=2)
STATS = ReturnStats(torch.zeros(2).double(), torch.ones(2).double())


def rollout(update: int) -> Batch:
    name = update * ROWS + torch.arange(ROWS).expand(2, -1)  # of every row
    batch = Batch(action=name, value=name.double(), target=name.double())
    batch.valid = torch.arange(ROWS).expand(2, -1) < torch.tensor([[ROWS], [ROWS - 4]])  # seed 1 has fewer rows
    return batch


def counts(rollouts: int, uses: int, updates: int) -> torch.Tensor:
    """How often each row of each update was dealt, by its name: [S, updates·ROWS]."""
    memory, config = Memory(rollouts), replace(CONFIG, epochs=4, minibatches=3)
    dealt = torch.zeros(2, updates * ROWS, dtype=torch.int64)
    for update in range(updates):
        memory.add(rollout(update), STATS, update)
        for b in reused(memory, STATS, config, update, uses, "value buffer"):
            dealt.scatter_add_(1, b.action, b.valid.long())
    return dealt


def test_no_row_is_used_more_often_than_allowed_and_none_that_is_not_valid() -> None:
    dealt = counts(rollouts=3, uses=6, updates=12)
    assert dealt.max() == 6
    assert dealt[1].view(12, ROWS)[:, -4:].max() == 0


def test_one_rollout_used_as_often_as_there_are_epochs_is_dealt_whole_in_each() -> None:
    dealt = counts(rollouts=1, uses=4, updates=3)
    assert dealt[0].unique().tolist() == [4]
    assert dealt[1].view(3, ROWS)[:, :-4].unique().tolist() == [4]


def test_over_its_time_a_row_is_used_about_as_often_as_allowed() -> None:
    # Binomial(24, 1/6) cut off at 4 has a mean of 3.29
    settled = counts(rollouts=6, uses=4, updates=60)[0].view(60, ROWS)[10:-10].double()
    assert abs(settled.mean() - 3.29) < 0.1


def test_policy_and_value_rows_are_drawn_independently() -> None:
    one, other, config = Memory(2), Memory(2), replace(CONFIG, policy_uses=4, value_uses=4, epochs=4)
    for memory in (one, other):
        memory.add(rollout(0), STATS, 0)
    pairs = list(dealt_apart(one, other, STATS, config, 0))
    assert len(pairs) == 4 * config.minibatches
    assert not all(b.valid.all(1).equal(b.valid.any(1)) for b in pairs)  # some are partly filler
    same = [set(b.action[0].tolist()) == set(b.value_rows.action[0].tolist()) for b in pairs]
    assert not any(same)


def test_ages_are_those_of_the_two_buffers() -> None:
    curve = train(replace(CONFIG, steps=800, policy_rollouts=2, value_rollouts=5), named("ppg_buffers")).curve
    settled = curve[curve["update"] >= 5]
    assert curve[curve["update"] == 0][["policy_age", "value_age"]].to_numpy().max() == 0
    assert settled.policy_age.between(0.2, 0.6).all()  # newer rows have uses left more often than older ones
    assert settled.value_age.between(1, 2.1).all()


@pytest.mark.parametrize("apart", [False, True], ids=["one optimizer", "two"])
@pytest.mark.parametrize("empty", ["policy", "value"])
def test_a_net_learns_if_it_has_rows_whether_or_not_the_other_has(
    empty: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second update on, one net's buffer deals no rows. A shared Adam carries that net on by its momentum."""

    def dealt(*given: Any) -> Iterator[Batch]:
        *_, update, _, purpose = given
        for b in reused(*given):
            b.valid = b.valid & (update == (0, 0) or empty not in purpose)
            yield b

    monkeypatch.setattr(ppg_buffers, "reused", dealt)
    on = named("ppg_buffers").on
    tricks, config = switched([*on, "separate_optimizers"] if apart else on), replace(CONFIG, aux_every=1000)
    stages = [train(replace(config, steps=updates * 64), tricks).agent for updates in (1, 3)]
    heads = {"policy": [a.policy_net.head.weight for a in stages], "value": [a.value_net.head.weight for a in stages]}
    moved = {name: not torch.equal(*weights) for name, weights in heads.items()}
    assert moved == {name: name != empty or not apart for name in heads}

"""lr_anneal, clip_anneal: in a line from the start to just above 0, by each seed's own use of its budget."""

from itertools import pairwise

import torch

from tricks import Config, train
from tricks.annealing import linear_decay
from tricks.ladder import switched


def test_update_i_of_n_gets_1_minus_i_over_n() -> None:
    progress = torch.tensor([0.0, 0.25, 0.75])
    assert linear_decay(torch.full((3,), 0.4), progress).tolist() == torch.tensor([0.4, 0.3, 0.1]).tolist()


def test_the_rate_falls_with_the_steps_and_never_reaches_zero(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import tricks.core.adam as adam

    rates, step = [], adam.Adam.step

    def recording(self, gradient, learning_rate, moving):  # type: ignore[no-untyped-def]
        rates.append(learning_rate.clone())
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(adam.Adam, "step", recording)
    config = Config(seeds=2, steps=512, lanes=4, horizon=32, lr=0.1)
    train(config, switched(["baseline", "segments", "lr_anneal"]))
    assert rates[0].tolist() == torch.full((2,), 0.1).tolist()
    assert all((b < a).all() for a, b in pairwise(rates))
    assert rates[-1].min() > 0

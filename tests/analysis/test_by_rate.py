"""Effects by learning rate: of the seeds that every rate has, at each rate, over all, and with each arm at its best."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.studies import study

from ablations.analysis.by_rate import AT_BEST, OVER_ALL, common_rate, effects_by_rate, scores_by_rate
from ablations.analysis.estimates import unpaired
from ablations.analysis.scales import SCALES
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.figures.rate_map import SAID, rate_map_figure
from ablations.report import sentences
from ablations.training import rate_table
from ablations.training.rate_table import COLUMNS, GRID, joined, store_table

DESIGN = ladder(["baseline", "entropy"])
UNIT = SCALES["CartPole-v1"].ceiling - SCALES["CartPole-v1"].random
NOISE = 10.0 * np.arange(6)


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Fill a table of rates with six seeds a rate, and six more that are 1000 too high for the rate 0.01."""
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")

    def fill(
        value: Callable[[set[str], float], float], without: tuple[str, float] = ("", 0.0), kept: bool = False
    ) -> None:
        rows = []
        for arm in DESIGN.arms:
            for lr in (*GRID, 0.5):  # one more than the grid has
                areas = NOISE + value(set(arm.tricks.on), lr)
                areas = np.concatenate([areas, areas + 1000]) if lr == 0.01 else areas
                if (flags(arm.tricks), lr) != without or kept:
                    mean = float(areas.mean())
                    setting = ("CartPole-v1", 100_000, "", flags(arm.tricks))
                    text = "" if (flags(arm.tricks), lr) == without else joined(areas)
                    rows.append((*setting, lr, mean, mean, len(areas), text))
        store_table(pd.DataFrame(rows, columns=COLUMNS))

    yield fill
    rate_table.table.cache_clear()


def test_each_rate_counts_with_the_seeds_of_the_first_look(tuned: Callable[..., None]) -> None:
    tuned(lambda on, lr: 100 + 1000 * lr * ("baseline" in on))
    made = study(DESIGN, lambda on: 90 * ("baseline" in on))
    found = effects_by_rate(made, DESIGN)
    rows = found[found.trick == "baseline"].set_index("at")
    assert list(rows.index) == [*(f"{lr:g}" for lr in GRID), OVER_ALL, AT_BEST]
    assert [rows.difference[f"{lr:g}"] * UNIT for lr in GRID] == pytest.approx([1000 * lr for lr in GRID])
    assert rows.difference[OVER_ALL] * UNIT == pytest.approx(1000 * np.mean(GRID))
    assert rows.difference[AT_BEST] * UNIT == pytest.approx(90)  # of the reported seeds
    assert rows.seeds.to_dict() == dict.fromkeys(rows.index, 6) | {AT_BEST: 8}
    at = unpaired(NOISE + 10, NOISE)
    assert (rows.high["0.01"] - rows.low["0.01"]) * UNIT == pytest.approx(at.high - at.low)
    error = (2 * NOISE.var(ddof=1) / 6 / 7) ** 0.5  # seven rates with seeds of their own
    assert (rows.high[OVER_ALL] - rows.low[OVER_ALL]) * UNIT == pytest.approx(2 * 1.959964 * error)


def test_the_common_rate_is_best_for_all_arms_together(tuned: Callable[..., None]) -> None:
    tuned(lambda on, lr: 50 * (lr == 0.03) + 80 * (lr == 0.1) * ("entropy" in on))
    assert common_rate(study(DESIGN, lambda on: 0)) == 0.03
    tuned(lambda on, lr: (50 - NOISE) * (lr == 0.1))
    assert common_rate(study(DESIGN, lambda on: 0)) == 0.1  # the best one, though all of its seeds are alike


def test_a_comparison_whose_arm_lacks_a_rate_is_left_out(tuned: Callable[..., None], tmp_path: Path) -> None:
    tuned(lambda on, lr: 100, without=("baseline entropy", 0.3))
    made = study(DESIGN, lambda on: 0)
    assert set(effects_by_rate(made, DESIGN).trick) == {"baseline"}
    assert scores_by_rate(made, DESIGN.arms[-1].tricks) == {}
    assert common_rate(made) is None
    nowhere = effects_by_rate(study(DESIGN, lambda on: 0, env="Nowhere-v0"), DESIGN)
    assert rate_map_figure(nowhere, DESIGN, None, tmp_path) == []


def test_an_arm_of_which_the_seeds_of_one_rate_were_not_kept_has_no_scores(tuned: Callable[..., None]) -> None:
    tuned(lambda on, lr: 100, without=("baseline entropy", 0.3), kept=True)
    made = study(DESIGN, lambda on: 0)
    assert scores_by_rate(made, DESIGN.arms[-1].tricks) == {}
    assert tuple(scores_by_rate(made, DESIGN.arms[0].tricks)) == GRID
    assert tuple(scores_by_rate(replace(made, runs=made.runs[:1]), DESIGN.arms[0].tricks)) == GRID  # however few runs


def test_the_map_has_a_cell_for_each_trick_and_rate_and_a_sentence_says_it(
    tuned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned(lambda on, lr: 100 + 1000 * lr * ("baseline" in on))
    made = study(DESIGN, lambda on: 90 * ("baseline" in on))
    found = effects_by_rate(made, DESIGN)
    drawn: list[Figure] = []
    monkeypatch.setattr(plt, "close", drawn.append)
    paths = rate_map_figure(found, DESIGN, 0.03, tmp_path / "x")
    monkeypatch.undo()
    assert len(pd.read_csv(paths[-1])) == 2 * (len(GRID) + 2)
    left, right = drawn[0].axes[:2]
    assert [label.get_text() for label in left.get_xticklabels()] == [f"{lr:g}" for lr in GRID]
    assert [label.get_text() for label in right.get_xticklabels()] == list(SAID.values())
    assert [label.get_text() for label in left.get_yticklabels()] == ["baseline", "entropy"]
    plt.close("all")
    said = sentences.by_rate(found, "baseline")
    assert said.startswith("On CartPole-v1, `baseline` does +0.001 at 0.0003, +0.002 at 0.001, +0.01 at 0.003, ")
    assert "; +0.13 [+0.12, +0.15] on average over these learning rates, and +0.19 [" in said

"""What the chapters are made with: evidence, exercises, planted faults, labels."""

import sys
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

import tricks.loop
from ablations import SCALES, effects
from ablations.design.designs import DESIGNS
from ablations.design.labels import added, taken
from ablations.design.story import story_of
from ablations.figures.ends import spread
from chapters.book import best_at, evidence, lost_at, planted, swept, unwatched
from chapters.book.exercise import Exercise
from chapters.book.results import everything
from tricks import PPG, Config, InputError, source, train
from tricks.gae import gae
from tricks.ppg import auxiliary_loss


def test_source_is_the_librarys_own_and_a_planted_fault_is_called_by_the_loop_and_gone_afterwards() -> None:
    assert source(gae).startswith("def gae(")
    assert source(gae)._repr_markdown_().startswith("```python\ndef gae(")
    with planted(gae=print):
        assert vars(tricks.loop)["gae"] is print
    assert vars(tricks.loop)["gae"] is gae
    with pytest.raises(InputError, match="no function 'no_such_function'"), planted(no_such_function=print):
        pass


def test_an_unwatched_diagnostic_ends_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tricks.loop, "auxiliary_loss", lambda *given: auxiliary_loss(*given) * torch.nan)
    config = Config(seeds=1, steps=4 * 64, lanes=2, horizon=32, aux_every=2)
    assert train(config, PPG).diverged
    with unwatched("auxiliary_loss"):
        unended = train(config, PPG)
    assert not unended.diverged
    assert unended.curve.auxiliary_loss.isna().all()
    with pytest.raises(ValueError, match="not in list"), unwatched("no_such_diagnostic"):
        pass


def test_evidence_says_and_draws_what_the_stored_effects_say_and_counts_every_comparison_once() -> None:
    study = next(s for s in everything() if s.env == "CartPole-v1" and len(s.designs) == 3)
    ladder = next(design for design in study.designs if design.name == "ladder")
    row = effects(study, ladder).set_index("trick").loc["clip"]
    found = evidence("clip")
    shown = found.table[(found.table.env == "CartPole-v1") & (found.table.question == "as the next rung")].iloc[0]
    assert (shown.difference, shown.low, shown.detected) == (row.difference, row.low, row.detected)
    assert f"{row.difference:+.3f}" in found._repr_markdown_()
    assert f"CartPole-v1, as the next rung: {shown.verdict} ({row.difference:+.3f}, " in found.verdicts()
    usual, robots, made = found.summary().splitlines()
    of_ladder = found.table[found.table.subject == "ladder"]
    assert usual.startswith(f"{len(of_ladder)} comparisons in {of_ladder.env.nunique()} usual environments: ")
    assert robots.startswith("the preset for robots: ")
    counts = [int(part.split(" × ")[0]) for line in (usual, robots) for part in line.split(": ")[1].split("; ")]
    assert sum(counts) == len(found.table) > len(of_ladder)
    assert made == f"worlds made for it: 1 × {found.worlds.verdict.iloc[0]}"
    said = [text.get_text() for axis in found.strip().axes for text in axis.texts]
    assert len(said) == 2 * (len(found.table) + len(found.worlds))  # the difference, and the verdict below it
    helps = int(found.table.verdict.eq("helps").sum() + found.worlds.verdict.eq("helps").sum())
    assert said.count("helps") == helps > 0
    cartpole = found.table[found.table.env == "CartPole-v1"].difference
    assert {f"{x:+.2f}".replace("-", "−") for x in cartpole} <= {*said}
    with pytest.raises(InputError, match="unknown trick 'klip'"):
        evidence("klip")


def test_a_comparison_that_two_designs_share_is_shown_once() -> None:
    table = evidence("baseline").table  # the first rung is `baseline` alone
    for env, kinds in table[table.subject == "ladder"].groupby("env").kind:
        assert sorted(kinds) == ["alone, on what it needs", "in the full set"], env


def test_a_figure_of_the_ablations_leaves_a_notebook_its_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[str] = []
    monkeypatch.setattr(plt, "switch_backend", chosen.append)
    for backend, then in (("module://matplotlib_inline.backend_inline", []), ("tkagg", ["Agg"])):
        monkeypatch.setattr(plt, "get_backend", lambda backend=backend: backend)
        evidence("clip").strip()
        assert chosen == then  # with another backend, the strip and all figures after it would not be shown


def test_a_comparison_in_words_names_what_goes_along() -> None:
    phrases = {name: story_of(DESIGNS[name](["clip"])).phrases for name in ("add-one-in", "leave-one-out", "ladder")}
    assert phrases["add-one-in"].asked(added(["baseline", "gae"])) == "alone, on baseline"
    assert phrases["add-one-in"].asked(added(["entropy"])) == "alone, on REINFORCE"
    assert phrases["leave-one-out"].asked(taken("clip", ["clip_anneal"])) == "taken out of everything, with clip_anneal"
    assert phrases["ladder"].asked(added(["clip"])) == "as the next rung"


def doubled_in_place(x: Any) -> Any:
    return x.mul_(2) if isinstance(x, torch.Tensor) else 2 * x


PAIR = ({"x": torch.tensor([1.0, 2.0])},)
double = Exercise(lambda x: 2 * x, (*PAIR, {"x": 3}), {"that is half of it": lambda x: x / 2})
backward, both = Exercise(lambda x: x.flip(0), PAIR), Exercise(lambda x: (x, 2 * x), PAIR)
small = Exercise(lambda x: x < 2, ({"x": 1}, {"x": 2}))
riddle = Exercise(lambda x: 1, ({"x": "?"},), otherwise="guess again.")


@pytest.mark.parametrize(
    ("exercise", "answer", "verdict"),
    [
        (double, lambda x: x + x, "Right, in 2 of 2 cases."),
        (double, doubled_in_place, "Right, in 2 of 2 cases."),
        (backward, lambda x: x.numpy()[::-1], "Right, in 1 of 1 cases."),  # a negative stride
        (both, lambda x: [x, 2 * x], "Right, in 1 of 1 cases."),
        (both, lambda x: torch.stack([x, 2 * x]), "Right, in 1 of 1 cases."),
        (double, lambda x: None, "Not yet: <lambda> returns nothing. Write it, and run this cell again."),
        (double, lambda x: x / 2, "Not yet: that is half of it"),
        (double, lambda x: x, "Not yet: <lambda>(x=[1., 2.]) gives\n[1., 2.]\nbut should give\n[2., 4.]"),
        (double, lambda x: torch.ones(3), "Not yet: <lambda>(x=[1., 2.]) has shape [3], but should have [2]"),
        (double, lambda x: "two", "Not yet: <lambda>(x=[1., 2.]) returns str, but should return numbers"),
        (double, lambda x: 1 / 0, "Not yet: <lambda>(x=[1., 2.]) raises ZeroDivisionError: division by zero"),
        (both, lambda x: x[0], "Not yet: <lambda>(x=[1., 2.]) returns Tensor, but should return 2 results"),
        (small, lambda x: 1, "Not yet: <lambda>(x=2) gives\nTrue\nbut should give\nFalse"),
        (riddle, lambda x: 2, "Not yet: guess again."),
    ],
)
def test_an_exercise_says_what_is_wrong(exercise: Exercise, answer: Callable[[Any], object], verdict: str) -> None:
    assert [exercise.verdict(answer), exercise.verdict(answer)] == [
        verdict,
        verdict,
    ]  # the cases are still as they were


def test_labels_are_moved_apart_in_their_order() -> None:
    places = spread([0.5, 0.1, 0.52, 0.51], gap=0.1)
    assert np.diff(np.array(places)[[1, 0, 3, 2]]).min() > 0.0999
    assert spread([0.2, 0.8], gap=0.1) == [0.2, 0.8]


def test_a_stored_sweep_is_drawn_and_said_and_another_number_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    figure = swept("gae_lambda", "gamma")
    assert [axis.get_xlabel() for axis in figure.axes] == ["gae_lambda"] * 3 + ["gamma"] * 3
    titles = [axis.get_title("left") for axis in figure.axes]
    assert titles[:2] == ["CartPole-v1\nppo", "Acrobot-v1\nppo"]
    assert titles[2::3] == ["Pendulum-v1\nppo+return_norm with gamma=0.9", "Pendulum-v1\nppo+return_norm"]
    assert "`gae_lambda` is best at 0.95" in capsys.readouterr().out
    best = best_at("gae_lambda")["CartPole-v1"]
    np.testing.assert_allclose(np.asarray(figure.axes[0].lines[0].get_ydata(), float), best)  # what is drawn
    way = best.max() - SCALES["CartPole-v1"].random
    np.testing.assert_allclose(lost_at("gae_lambda")["CartPole-v1"] * way, best.max() - best)
    with pytest.raises(InputError, match="no stored sweep of adam_eps"):
        swept("gamma", "adam_eps")
    with pytest.raises(InputError, match="lr has two stored sweeps on CartPole-v1; name the rung of one of them"):
        swept("lr")


def test_where_a_number_was_not_swept_its_panel_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"lr": [0.1, 0.2], "seed": 0, "score": [1.0, 2.0], "env": "CartPole-v1", "rung": "ppo"})
    others = table.rename(columns={"lr": "gamma"})
    found = [table, others.assign(env="Acrobot-v1"), others.assign(rung="ppg", score=7.0)]
    monkeypatch.setattr(sys.modules["chapters.book.swept"], "_stored", lambda: found)
    figure = swept("lr", "gamma")
    assert [axis.get_visible() for axis in figure.axes] == [True, False, False, True]
    assert [axis.get_ylabel() for axis in figure.axes if axis.get_visible()] == ["area under the curve"] * 2

"""The stored results are complete, were made as they say, and support every sentence about them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.pages import ROOT

from ablations import RESULTS, SUITES, Arm, Study, load_all, scores, unpaired
from ablations.analysis.records import SHARES
from ablations.findings.pages import stale
from ablations.findings.said import SAID, Facts, fault, untrue
from ablations.report import tables
from ablations.training.rates import best_of, rows_of
from tricks.ladder import CLEANRL, PPO, Tricks

EVERY, PLACES = load_all(RESULTS), ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]


@pytest.mark.parametrize("study", [study for study in EVERY if study.designs], ids=lambda study: study.name)
def test_a_stored_study_is_complete_and_every_arm_ran_at_a_rate_tuned_for_it(study: Study) -> None:
    assert study.designs and [study.missing(design) for design in study.designs] == [[]] * len(study.designs)
    suites = {(s.config.env, s.config.steps) for suite in SUITES.values() for s in suite.settings}
    assert (study.env, study.steps) in suites and set(study.runs.tuned) <= {"", "fixed"}
    assert study.runs.lr.groupby(study.runs.tricks).nunique().eq(1).all()
    assert study.runs.seed.max() < 1000  # none of those that chose the rates
    if study.subject == "ladder" and study.seeds >= 30:  # by today's protocol
        arms = study.runs[["numbers", "tricks", "lr"]].drop_duplicates().itertuples(index=False)
        assert all(best_of(rows_of(study.env, study.steps, given, on)) == lr for given, on, lr in arms)
    for design in study.designs:
        path = RESULTS / study.name / f"{design.name}.md"
        if path.exists():
            assert path.read_text() == tables.arms_text(tables.arms_table(study, design)) + "\n"


def test_writing_every_computed_region_anew_would_change_nothing() -> None:
    assert stale(ROOT, EVERY) == {}


def test_what_is_written_by_hand_about_the_results_holds() -> None:
    assert untrue(EVERY, ROOT) == []


def test_a_statement_that_the_runs_deny_or_that_no_page_makes_is_named() -> None:
    facts, (page, *_), counts = Facts(EVERY), SAID, "Nine effects were detected, and eight of them were confirmed"
    for holds in (lambda f: f.counts("Taxi-v4") == (9, 9), lambda _: np.False_, lambda _: 0):
        assert fault(page, counts, holds, facts, ROOT) == f"the stored runs contradict {page}: {counts}"
    assert fault(page, "We won.", SAID[page][counts], facts, ROOT) == f"{page} no longer says: We won."


def test_ppo_is_the_smallest_of_the_candidates_that_scored_within_a_hundredth_of_the_best() -> None:
    """By the stored runs, and as the page on the choice says."""
    score, size, arms = dict[str, float](), dict[str, int](), dict[str, Arm]()
    for study in load_all(RESULTS / "presets"):
        assert not study.stale
        for arm in study.designs[0].arms:
            own = scores(study, arm).score.mean() / 5
            score[arm.name], size[arm.name] = score.get(arm.name, 0.0) + own, len(arm.tricks.on)
            arms[arm.name] = arm
    near = [name for name in score if score[name] > max(score.values()) - 0.01]
    assert arms[min(near, key=size.__getitem__)].tricks == PPO
    page = (ROOT / "docs" / "internal" / "presets.md").read_text(encoding="utf-8")
    chosen = page.partition("## On other seeds")[0].replace("*", "")
    rows = re.findall(r"^\| .* \| \.\d.*$", chosen, re.MULTILINE)
    said = [(float(mean), int(count)) for mean, count in (row.split("|")[-3:-1] for row in rows)]
    assert said == sorted(((round(score[name], 3), size[name]) for name in score), reverse=True)


@pytest.mark.parametrize("env", PLACES)
def test_no_rung_is_better_than_ppo_on_other_seeds_and_value_clip_costs_what_is_said(env: str) -> None:
    study = next(each for each in EVERY if each.env == env and "presets" in {design.name for design in each.designs})
    scale = study.scale
    assert scale is not None and not study.stale

    def areas(tricks: Tricks) -> np.ndarray:
        found: np.ndarray = (study.of(tricks)[SHARES].mean(axis=1).to_numpy() - scale.random) / study.unit
        return found

    def minus(one: Tricks, other: Tricks) -> str:
        found = unpaired(areas(one), areas(other))
        return f"{found.mean:+.3f} ± {(found.high - found.low) / 2:.3f}".replace("0.", ".").replace("-", "−")

    rungs = [arm.tricks for design in study.designs if design.name == "ladder" for arm in design.arms]
    assert not any(unpaired(areas(rung), areas(PPO)).low > 0 for rung in rungs)
    best = max(rungs, key=lambda rung: areas(rung).mean())
    raw = replace(CLEANRL, value_clip=False)
    clips = [(CLEANRL, raw), (replace(CLEANRL, return_norm=True), replace(raw, return_norm=True))]
    means = [f"{areas(each).mean():.3f}".lstrip("0") for each in (PPO, best, CLEANRL)]
    page = (ROOT / "docs" / "internal" / "presets.md").read_text(encoding="utf-8").partition("## On other seeds")[2]
    rows = [row.split("|") for row in page.splitlines() if row.startswith("| ")][1:]
    column = [row[2 + PLACES.index(env)].strip() for row in rows]
    assert [column[0], column[1], column[4]] == means
    assert [column[2], column[5], column[6]] == [minus(PPO, best), *(minus(*pair) for pair in clips)]
    if env == PLACES[0] and (study := study.again or study):
        assert f"{' and '.join(minus(*pair).split(' ')[0] for pair in clips)})" in page

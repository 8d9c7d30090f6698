"""A new design is one function: it is planned, drawn, tabulated, described and stored with no change anywhere else."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.effects import effects
from ablations.analysis.study_files import load, save
from ablations.design.arms import Arm, Comparison, Design
from ablations.design.designs import DESIGNS
from ablations.design.labels import Label, added
from ablations.design.registry import registered
from ablations.design.story import STORIES, Mark, Panels, Phrases, Story
from ablations.report import page, sentences
from ablations.training.plan import plans
from ablations.training.what import What
from tricks.ladder import switched

BASE, BOTH = ["baseline", "gae"], ["grad_clip", "entropy"]


def two_on_gae(names: Sequence[str]) -> Design:
    """Two tricks, each on top of gae, over independent seeds."""
    core = switched(BASE)
    pairs = tuple(Comparison(added([*BASE, name]), core, switched([*BASE, name])) for name in BOTH)
    return Design(
        "two-on-gae",
        tuple(BOTH),
        (Arm(Label("core"), core), *(Arm(pair.label, pair.having) for pair in pairs)),
        pairs,
        own_arms=True,
    )


STORY = Story(
    Panels("Two tricks on gae", ("with it", "the core", "the other")),
    Mark("P", "✚", "on gae"),
    Phrases(detected="when {a_trick} is put on gae: {up} welcome, {down} not", place="put on gae", nowhere="on gae"),
)


@pytest.fixture
def made() -> Iterator[Design]:
    registered(two_on_gae)
    STORIES["two-on-gae"] = STORY
    yield DESIGNS["two-on-gae"]([])
    del DESIGNS["two-on-gae"]
    STORIES.pop("two-on-gae", None)


def test_a_new_design_needs_no_other_change(made: Design, tmp_path: Path) -> None:
    (plan,) = plans(What(design="two-on-gae"), "10")
    assert plan.designs == (made,)
    assert len(plan.jobs) == 3
    # seeds differ by tens, so that unpaired a difference of 60 shows and one of 5 does not
    both = [study(made, lambda on: 60 * ("entropy" in on) - 5 * ("grad_clip" in on), env) for env in ENVS]
    page.write(both, tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "### two-on-gae: CartPole-v1" in text
    assert "| + baseline, gae, entropy" in text  # the table of arms
    assert "| two-on-gae: difference, P(better)" in text  # the table of effects
    assert "two-on-gae, all environments" in text
    assert "(made_CartPole-v1/curves_two-on-gae.png)" in text
    assert "Welch's t" in text
    for drawn in ("curves_two-on-gae", "effects"):
        assert (tmp_path / "made_CartPole-v1" / f"{drawn}.png").exists()
    assert set(pd.read_csv(tmp_path / "heatmap.csv").design) == {"two-on-gae"}
    assert sentences.of(both[0]) == [
        "On CartPole-v1 (8 seeds), detected when a trick is put on gae: `entropy` welcome, none not."
    ]
    assert sentences.across(both) == (
        "In 2 environments (8 seeds), put on gae, detected as helping in one place and hurting in another: none. "
        "Never detected on gae: `grad_clip`."
    )
    _, path = save(both[0], tmp_path)
    assert load(path).designs == (made,)


def test_a_design_that_says_nothing_about_itself_is_drawn_and_read_back_all_the_same(
    made: Design, tmp_path: Path
) -> None:
    del STORIES["two-on-gae"]
    one = study(made, lambda on: 60 * ("entropy" in on))
    _, path = save(one, tmp_path)
    del DESIGNS["two-on-gae"]  # as in a process that never saw its function
    read = load(path)
    DESIGNS["two-on-gae"] = two_on_gae
    assert read.designs == (made,)
    page.write([read], tmp_path, "again")
    assert (tmp_path / "made_CartPole-v1" / "curves_two-on-gae.png").exists()
    assert "two-on-gae: difference" in (tmp_path / "report.md").read_text()


def test_differences_are_those_of_independent_groups(made: Design) -> None:
    both = study(made, lambda on: 5 * ("entropy" in on))
    shifted = both.runs.tricks.str.contains("entropy")
    both.runs.loc[shifted, "seed"] += 100  # other seeds, which pairs would have nothing to compare with
    found = effects(both, made).set_index("trick")
    assert found.seeds["entropy"] == 8
    assert found.difference["entropy"] == pytest.approx(5 / (500 - 22.3))
    assert found.detected["entropy"] == 0  # paired it would be certain


ENVS = ("CartPole-v1", "Acrobot-v1")

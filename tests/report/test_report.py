"""The report: the same with and without training, complete in one page, open about what is missing, and refused where
there is nothing whole to read. A new design is one function, with no change anywhere else."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.effects import effects
from ablations.analysis.scales import SCALES
from ablations.analysis.study_files import SUFFIX, load, save
from ablations.cli import main
from ablations.design.arms import Arm, Comparison, Design
from ablations.design.crossed import factorial
from ablations.design.designs import DESIGNS, add_one_in, ladder
from ablations.design.labels import Label, added
from ablations.design.registry import registered
from ablations.design.story import STORIES, Mark, Panels, Phrases, Story
from ablations.findings.our_designs import around_continuous, ppo
from ablations.findings.published import published_text
from ablations.report import page, sentences, tables
from ablations.training.plan import plans
from ablations.training.what import What
from tricks.ladder import switched

Capture = pytest.CaptureFixture[str]
NAMES, ENVS = ["baseline", "entropy"], ("CartPole-v1", "Acrobot-v1")


def test_a_table_has_a_row_an_arm_with_its_intervals_and_when_it_solved() -> None:
    made = study(ladder(NAMES), lambda on: 320 * ("baseline" in on))  # 420, 430, ..., 490 with a baseline
    frame = tables.arms_table(made, made.designs[0]).set_index("arm")
    assert frame.area["reinforce"] == frame.iqm["reinforce"] == 135
    assert frame.area_low["reinforce"] < 130 < 140 < frame.area_high["reinforce"]
    assert frame.solved.tolist() == [0, 0.25, 0.25]  # of 8 seeds, those with 480 and 490
    assert "| 25%            | > 100,000      |" in tables.arms_text(frame.reset_index(), made)
    solved = study(ladder(NAMES), lambda on: 400)
    assert tables.arms_table(solved, solved.designs[0]).steps_to_solve.tolist() == [10_000, 10_000, 10_000]


def test_the_report_names_what_is_dropped_missing_and_diverged_and_what_the_tricks_need(tmp_path: Path) -> None:
    made = study(factorial(["baseline", "gae"]), lambda on: 0)
    runs = made.runs[~((made.runs.tricks == "baseline") & (made.runs.seed == 2))].copy()
    runs.loc[(runs.tricks == "") & (runs.seed == 1), "diverged"] = 5000
    page.write([replace(made, runs=runs)], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "Dropped: + gae (gae needs baseline)." in text
    assert "**Incomplete**: some runs are missing for + baseline." in text
    assert "Diverged: reinforce: seed 1 at step 5,000." in text
    assert "reinforce (1 diverged)" in text
    page.write([study(ladder(["baseline", "clip"]), lambda on: 0)], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "In every arm: reuse (what the chosen tricks need)." in text
    assert [row.split()[1] for row in text.splitlines() if row.startswith("| reuse")] == ["reuse"]


def test_the_page_needs_no_other_file_and_the_report_has_what_it_shows(tmp_path: Path) -> None:
    paths = page.write([study(ladder(NAMES), lambda on: 0, env) for env in ENVS], tmp_path, "the command")
    html, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    images = re.findall(r"!\[[^]]+\]\((.+?)\)", text)
    assert len(images) == len(set(images)) >= 6
    assert {tmp_path / image for image in images} <= set(paths)
    assert all(path.exists() for path in paths)
    sources = re.findall(r'(?:src|href)="(.{20})', html)
    assert len(sources) == len(images)
    assert all(source.startswith("data:image/png") for source in sources)
    assert "<table>" in html
    assert "Across environments" in text
    assert "the command" in text


def test_what_is_about_another_base_gets_a_heat_map_of_its_own(tmp_path: Path) -> None:
    robots = [study(around_continuous([]), lambda on: 300 * ("gae" in on), env) for env in ("Hopper-v5", "Walker2d-v5")]
    both = [study(ladder(NAMES), lambda on: 0, env) for env in ENVS]
    page.write([*robots, *both], tmp_path, "again", brief=True)
    text = (tmp_path / "report.md").read_text()
    assert set(pd.read_csv(tmp_path / "heatmap_continuous.csv").env) == {"Hopper-v5", "Walker2d-v5"}
    assert set(pd.read_csv(tmp_path / "heatmap.csv").env) == set(ENVS)
    across = text.split("## Across environments, around continuous\n")[1]
    assert across.startswith("\nIn 2 environments (8 seeds), in or on top of `continuous`, detected as helping in one")
    assert len(re.findall("Of 1[0-9] statements, agrees", text)) == 2  # each robot's against what is published on it


def test_environments_weigh_the_same_together() -> None:
    low, high = (study(ladder(NAMES), lambda on: 0, env, seeds) for env, seeds in zip(ENVS, (8, 16), strict=True))
    frame = tables.together([low, high], "ladder")
    scales = [SCALES[env] for env in ENVS]
    each = [(x - s.random) / (s.ceiling - s.random) for x, s in zip((135, 175), scales, strict=True)]
    assert frame["mean"].tolist() == pytest.approx([np.mean(each)] * 3)
    assert tables.together([low], "ladder").empty
    elsewhere = study(ladder(NAMES), lambda on: 0, "MountainCar-v0")  # without a scale nothing can be averaged
    assert tables.together([low, high, elsewhere], "ladder").equals(frame)
    again = study(ladder(NAMES), lambda on: 0, seeds=5)
    assert tables.distinct([again, low, high]) == [low, high]  # none counts twice; the one with more runs
    assert tables.together([low, high], "screen").empty


def test_a_published_score_stands_beside_ours() -> None:
    made = study(ppo(NAMES), lambda on: 330)
    made = replace(made, runs=made.runs.assign(steps=500_000))
    assert published_text([made]) == ""  # at rates of our own
    text = published_text([replace(made, runs=made.runs.assign(tuned="fixed"))])
    assert "| 490 ± 6" in text
    assert "| 465.0 [" in text
    assert published_text([replace(made, runs=made.runs.assign(steps=1000))]) == ""


def test_report_draws_what_run_saved_and_all_figures_only_if_asked(
    tmp_path: Path, refuses: Callable[..., None]
) -> None:
    out = tmp_path / "my runs"
    out.mkdir()
    made = study(ladder(["baseline"]), lambda on: 0)
    made = replace(made, designs=(ladder(["baseline"]), add_one_in(["baseline"])))
    save(made, out)

    def drawn(*more: str) -> set[str]:
        assert main(["report", "--out", str(out), *more]) == 0
        return {path.name for path in (out / made.name).iterdir() if path.suffix in (".png", ".svg")}

    assert drawn() == {"effects.png", "curves_ladder.png", "effects_by_rate_ladder.png"}
    first = (out / "report.md").read_bytes()
    assert "made by `x`" in first.decode()
    assert "the output of `python -m ablations report --out 'my runs'`" in first.decode()  # as a shell understands it
    assert {"curves_add-one-in.png", "solved_ladder.svg", "effects.svg"} <= drawn("--all-figures")
    assert {"effects.png"} <= drawn()
    assert (out / "report.md").read_bytes() == first
    (out / f"broken{SUFFIX}").write_bytes(b"")
    refuses(main, ["report", "--out", str(out)], "broken.runs.csv.gz is damaged or not a run file")


def test_a_report_on_many_studies_lists_them_and_one_on_the_stored_ones_has_its_own_folder(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    made, stored, mine = study(ladder(["baseline"]), lambda on: 0), tmp_path / "stored", tmp_path / "runs/ablations"
    for folder in (stored, mine):
        folder.mkdir(parents=True)
        save(made, folder)
    save(study(ladder(["baseline"]), lambda on: 0, "Acrobot-v1"), stored)
    monkeypatch.setattr("ablations.cli.RESULTS", stored)
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--from-results"]) == 0
    first, _, last = capsys.readouterr().out.splitlines()
    assert first == f"ladder on {made.env}, Acrobot-v1"
    assert last.startswith("wrote runs/results/report.html, report.md, and the ")
    refuses(main, ["report", "--from-results", "--out", str(mine)], "holds runs of your own")
    assert not (mine / "report.md").exists()
    assert main(["report"]) == 0
    said = capsys.readouterr().out
    assert f"ladder on {made.env}\n\n|" in said
    assert all(unescape(sentence) in said.splitlines() for sentence in sentences.of(made))


NOTHING = "no run files (*.runs.csv.gz) in"
FOLDERS: list[tuple[str, bytes | None, str]] = [  # a file in a folder, its content, and what `report` says
    ("", None, NOTHING),
    ("jobs/0.csv", b"x\n", NOTHING),
    ("compare_x/comparison.md", b" \n", NOTHING),
    ("inner/x.runs.csv.gz", b"x\n", NOTHING),
    ("x.runs.csv.gz", b"x\n", "x.runs.csv.gz is damaged or not a run file"),
    ("judge_x/verdict.md", b"\xff\xfe\x00", "verdict.md is damaged or no page of ours"),
]


@pytest.mark.parametrize(("name", "content", "said"), FOLDERS)
def test_a_folder_without_anything_whole_is_refused_and_left_alone(
    name: str, content: bytes | None, said: str, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    if content is not None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    refuses(main, ["report", "--out", str(tmp_path)], said)
    refuses(main, ["plot", str(tmp_path), "--out", str(tmp_path / "plot")], str(tmp_path))
    refuses(main, ["games", str(tmp_path)], "no saved run in")
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "file").write_text("x\n")
    for other in ("missing", "file"):
        refuses(main, ["report", "--out", str(tmp_path / other)], f"{other}, which is no folder")
    refuses(main, ["plot", str(tmp_path / "missing")], "there is no")


BASE, BOTH = ["baseline", "gae"], ["grad_clip", "entropy"]


def two_on_gae(names: Sequence[str]) -> Design:
    """Two tricks, each on top of gae, over independent seeds."""
    core = switched(BASE)
    pairs = tuple(Comparison(added([*BASE, name]), core, switched([*BASE, name])) for name in BOTH)
    arms = (Arm(Label("core"), core), *(Arm(pair.label, pair.having) for pair in pairs))
    return Design("two-on-gae", tuple(BOTH), arms, pairs, own_arms=True)


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
    for said in (
        *("### two-on-gae: CartPole-v1", "| + baseline, gae, entropy", "| two-on-gae: difference, P(better)"),
        *("two-on-gae, all environments", "(made_CartPole-v1/curves_two-on-gae.png)", "Welch's t"),
    ):
        assert said in text
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
    few = study(made, lambda on: 5 * ("entropy" in on))
    few.runs.loc[few.runs.tricks.str.contains("entropy"), "seed"] += 100  # pairs would have nothing to compare with
    found = effects(few, made).set_index("trick")
    assert (found.seeds["entropy"], found.detected["entropy"]) == (8, 0)  # paired it would be certain
    assert found.difference["entropy"] == pytest.approx(5 / (500 - 22.3))


def test_a_design_that_says_nothing_about_itself_is_drawn_and_read_back_all_the_same(
    made: Design, tmp_path: Path
) -> None:
    del STORIES["two-on-gae"]
    _, path = save(study(made, lambda on: 60 * ("entropy" in on)), tmp_path)
    del DESIGNS["two-on-gae"]  # as in a process that never saw its function
    read = load(path)
    DESIGNS["two-on-gae"] = two_on_gae
    assert read.designs == (made,)
    page.write([read], tmp_path, "again")
    assert (tmp_path / "made_CartPole-v1" / "curves_two-on-gae.png").exists()
    assert "two-on-gae: difference" in (tmp_path / "report.md").read_text()

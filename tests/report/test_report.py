"""The report: the same with and without training, complete in one page, and open about what is missing."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.study_files import SUFFIX, save
from ablations.cli import main
from ablations.design.crossed import factorial
from ablations.design.designs import add_one_in, ladder, leave_one_out
from ablations.findings.our_designs import around_continuous, ppo
from ablations.findings.published import published_text
from ablations.report import page, sentences, tables

NAMES = ["baseline", "entropy"]


def test_a_table_has_a_row_an_arm_with_its_intervals_and_when_it_solved() -> None:
    made = study(ladder(NAMES), lambda on: 320 * ("baseline" in on))  # 420, 430, ..., 490 with a baseline
    frame = tables.arms_table(made, made.designs[0]).set_index("arm")
    assert frame.area["reinforce"] == 135
    assert frame.iqm["reinforce"] == 135
    assert frame.area_low["reinforce"] < 130 < 140 < frame.area_high["reinforce"]
    assert frame.solved.tolist() == [0, 0.25, 0.25]  # of 8 seeds, those with 480 and 490
    text = tables.arms_text(frame.reset_index(), made)
    assert "| 25%            | > 100,000      |" in text
    solved = study(ladder(NAMES), lambda on: 400)
    assert tables.arms_table(solved, solved.designs[0]).steps_to_solve.tolist() == [10_000, 10_000, 10_000]


def test_the_report_names_what_is_dropped_missing_and_diverged(tmp_path: Path) -> None:
    made = study(factorial(["baseline", "gae"]), lambda on: 0)
    runs = made.runs[~((made.runs.tricks == "baseline") & (made.runs.seed == 2))].copy()
    runs.loc[(runs.tricks == "") & (runs.seed == 1), "diverged"] = 5000
    page.write([replace(made, runs=runs)], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "Dropped: + gae (gae needs baseline)." in text
    assert "**Incomplete**: some runs are missing for + baseline." in text
    assert "Diverged: reinforce: seed 1 at step 5,000." in text
    assert "reinforce (1 diverged)" in text


def test_the_report_says_what_the_chosen_tricks_need(tmp_path: Path) -> None:
    made = study(ladder(["baseline", "clip"]), lambda on: 0)
    page.write([made], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "In every arm: reuse (what the chosen tricks need)." in text
    assert [row.split()[1] for row in text.splitlines() if row.startswith("| reuse")] == ["reuse"]


def test_the_page_needs_no_other_file_and_the_report_has_what_it_shows(tmp_path: Path) -> None:
    studies = [study(ladder(NAMES), lambda on: 0, env) for env in ("CartPole-v1", "Acrobot-v1")]
    paths = page.write(studies, tmp_path, "the command")
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
    both = [study(ladder(NAMES), lambda on: 0, env) for env in ("CartPole-v1", "Acrobot-v1")]
    page.write([*robots, *both], tmp_path, "again", brief=True)
    text = (tmp_path / "report.md").read_text()
    assert set(pd.read_csv(tmp_path / "heatmap_continuous.csv").env) == {"Hopper-v5", "Walker2d-v5"}
    assert set(pd.read_csv(tmp_path / "heatmap.csv").env) == {"CartPole-v1", "Acrobot-v1"}
    across = text.split("## Across environments, around continuous\n")[1]
    assert across.startswith("\nIn 2 environments (8 seeds), in or on top of `continuous`, detected as helping in one")
    assert len(re.findall("Of 1[0-9] statements, agrees", text)) == 2  # each robot's against what is published on it


def test_environments_weigh_the_same_together() -> None:
    low = study(ladder(NAMES), lambda on: 0)
    high = study(ladder(NAMES), lambda on: 0, "Acrobot-v1", seeds=16)
    frame = tables.together([low, high], "ladder")
    scale = SCALES["CartPole-v1"], SCALES["Acrobot-v1"]
    each = [(x - s.random) / (s.ceiling - s.random) for x, s in zip((135, 175), scale, strict=True)]
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


def test_report_draws_what_run_saved_without_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = study(leave_one_out(NAMES), lambda on: 0)
    save(made, tmp_path)
    assert main(["report", "--out", str(tmp_path)]) == 0
    first = (tmp_path / "report.md").read_bytes()
    assert "made by `x`" in first.decode()
    assert main(["report", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "report.md").read_bytes() == first
    (tmp_path / f"broken{SUFFIX}").write_bytes(b"")
    capsys.readouterr()
    assert main(["report", "--out", str(tmp_path)]) == 2
    assert "broken.runs.csv.gz is damaged or not a run file" in capsys.readouterr().err


def test_a_report_on_many_studies_lists_them_and_one_on_the_stored_ones_has_its_own_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    made, stored, mine = study(ladder(["baseline"]), lambda on: 0), tmp_path / "stored", tmp_path / "runs/ablations"
    for folder in (stored, mine):
        folder.mkdir(parents=True)
    save(made, mine)
    save(made, stored)
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


def test_a_report_names_a_command_that_a_shell_understands(tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    save(study(ladder(["baseline"]), lambda on: 0), folder)
    assert main(["report", "--out", str(folder)]) == 0
    assert "the output of `python -m ablations report --out 'my runs'`" in (folder / "report.md").read_text()


def test_thresholds_are_gymnasiums_where_there_is_no_scale() -> None:
    assert threshold("CartPole-v1") == 475
    assert threshold("MountainCar-v0") == -110
    assert threshold("tricks/Corridor-v0") is None
    assert threshold("Elsewhere-v0") is None


def test_a_report_on_stored_runs_draws_the_main_design_s_curves_and_all_only_if_asked(tmp_path: Path) -> None:
    design, other = ladder(["baseline"]), add_one_in(["baseline"])
    made = replace(study(design, lambda on: 0), designs=(design, other))
    save(made, tmp_path)
    assert main(["report", "--out", str(tmp_path)]) == 0
    drawn = {path.name for path in (tmp_path / made.name).iterdir() if path.suffix in (".png", ".svg")}
    assert drawn == {"effects.png", "curves_ladder.png", "effects_by_rate_ladder.png"}
    assert main(["report", "--out", str(tmp_path), "--all-figures"]) == 0
    drawn = {path.name for path in (tmp_path / made.name).iterdir() if path.suffix in (".png", ".svg")}
    assert {"curves_add-one-in.png", "solved_ladder.svg", "effects.svg"} <= drawn

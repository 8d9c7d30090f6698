"""The report: the same with and without training, complete in one page, open about what is missing, and refused where
there is nothing whole to read; its sentences agree with the effects, and what files say of themselves is only text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Patch, Refuses, Told
from support.studies import study

from ablations.analysis.effects import effects
from ablations.analysis.records import SUFFIX, Study, load, save
from ablations.analysis.scales import SCALES
from ablations.cli import main
from ablations.experiments.design_runs import What, questions
from ablations.findings.claims import published_text
from ablations.findings.our_designs import around_continuous, beyond, beyond_raw, published
from ablations.question.arms import Arm, Comparison, Design, added, taken
from ablations.question.designs import DESIGNS, add_one_in, factorial, ladder, leave_one_out
from ablations.report import page, sentences, tables
from ablations.report.markup import as_html, code, plain
from ablations.report.sentences import across, of
from ablations.report.sentences import beyond as of_beyond
from ablations.report.tables import arms_table, arms_text, failures
from tricks.ladder import switched

NAMES, ENVS = ["baseline", "entropy"], ("CartPole-v1", "Acrobot-v1")


def test_another_base_gets_a_heat_map_and_a_table_a_row_an_arm(tmp_path: Path) -> None:
    made = study(ladder(NAMES), lambda on: 320 * ("baseline" in on))  # 420, 430, ..., 490 with a baseline
    frame = tables.arms_table(made, made.designs[0]).set_index("arm")
    assert frame.area["reinforce"] == frame.iqm["reinforce"] == 135
    assert frame.area_low["reinforce"] < 130 < 140 < frame.area_high["reinforce"]
    assert frame.solved.tolist() == [0, 0.25, 0.25]  # of 8 seeds, those with 480 and 490
    assert "| 25%            | > 100,000      |" in tables.arms_text(frame.reset_index())
    solved = study(ladder(NAMES), lambda on: 400)
    assert tables.arms_table(solved, solved.designs[0]).steps_to_solve.tolist() == [10_000, 10_000, 10_000]
    robots = [study(around_continuous([]), lambda on: 300 * ("gae" in on), env) for env in ("Hopper-v5", "Walker2d-v5")]
    both = [study(ladder(NAMES), lambda on: 0, env) for env in ENVS]
    page.write([*robots, *both], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert set(pd.read_csv(tmp_path / "heatmap_continuous.csv").env) == {"Hopper-v5", "Walker2d-v5"}
    assert set(pd.read_csv(tmp_path / "heatmap.csv").env) == set(ENVS)
    assert "## Across environments, around continuous\n" in text


def test_the_report_names_what_is_dropped_missing_and_diverged_and_what_the_tricks_need(tmp_path: Path) -> None:
    made = study(factorial(["baseline", "gae"]), lambda on: 0)
    runs = made.runs[~((made.runs.tricks == "baseline") & (made.runs.seed == 2))].copy()
    runs.loc[(runs.tricks == "") & (runs.seed == 1), "diverged"] = 5000
    page.write([replace(made, runs=runs)], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "Dropped: + gae (gae needs baseline)." in text
    assert "**Incomplete**: some runs are missing for + baseline." in text
    assert "Diverged: reinforce: seed 1 at step 5,000." in text and "reinforce (1 diverged)" in text
    page.write([study(ladder(["baseline", "clip"]), lambda on: 0)], tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    assert "In every arm: reuse (what the chosen tricks need)." in text
    assert [row.split()[1] for row in text.splitlines() if row.startswith("| reuse")] == ["reuse"]


def test_the_page_needs_no_other_file_and_the_report_has_what_it_shows(tmp_path: Path) -> None:
    paths = page.write([study(ladder(NAMES), lambda on: 0, env) for env in ENVS], tmp_path, "the command")
    html, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    images = re.findall(r"!\[[^]]+\]\((.+?)\)", text)
    assert len(images) == len(set(images)) >= 6 and {tmp_path / image for image in images} <= set(paths)
    assert all(path.exists() for path in paths)
    sources = re.findall(r'(?:src|href)="(.{20})', html)
    assert len(sources) == len(images) and all(source.startswith("data:image/png") for source in sources)
    assert "<table>" in html
    assert "Across environments" in text and "the command" in text


def test_no_environment_counts_twice_and_a_published_score_stands_beside_ours() -> None:
    low, high = (study(ladder(NAMES), lambda on: 0, env, seeds) for env, seeds in zip(ENVS, (8, 16), strict=True))
    again = study(ladder(NAMES), lambda on: 0, seeds=5)
    assert tables.distinct([again, low, high]) == [low, high]  # the one with more runs
    made = study(published(NAMES), lambda on: 330)
    made = replace(made, runs=made.runs.assign(steps=500_000))
    assert published_text(made) == ""  # at rates of our own
    assert "| 490 ± 6" in published_text(replace(made, runs=made.runs.assign(tuned="fixed")))


def test_report_draws_what_run_saved_the_same_again(tmp_path: Path, refuses: Refuses) -> None:
    out = tmp_path / "my runs"
    out.mkdir()
    made = study(ladder(["baseline"]), lambda on: 0)
    made = replace(made, designs=(ladder(["baseline"]), add_one_in(["baseline"])))
    save(made, out)

    def drawn() -> set[str]:
        assert main(["report", "--out", str(out)]) == 0
        return {path.name for path in (out / made.name).glob("*.png")}

    names = {f"{kind}_{name}.png" for kind in ("curves", "effects_by_rate") for name in ("ladder", "add-one-in")}
    assert drawn() == {"effects.png", *names}
    first = (out / "report.md").read_bytes()
    assert "made by `x`" in first.decode()
    assert "the output of `python -m ablations report --out 'my runs'`" in first.decode()  # as a shell understands it
    assert drawn() and (out / "report.md").read_bytes() == first
    (out / f"broken{SUFFIX}").write_bytes(b"")
    refuses(main, ["report", "--out", str(out)], "broken.runs.csv.gz is damaged, of another version, or not a run file")


def test_a_report_on_many_studies_prints_no_tables_and_one_on_the_stored_ones_has_its_own_folder(
    tmp_path: Path, told: Told, monkeypatch: Patch, refuses: Refuses
) -> None:
    made, stored, mine = study(ladder(["baseline"]), lambda on: 0), tmp_path / "stored", tmp_path / "runs/ablations"
    for folder in (stored, mine):
        folder.mkdir(parents=True)
        save(made, folder)
    save(study(ladder(["baseline"]), lambda on: 0, "Acrobot-v1"), stored)
    monkeypatch.setattr("ablations.cli.RESULTS", stored)
    monkeypatch.chdir(tmp_path)
    wrote = "\nwrote runs/results/report.html, report.md, and the "
    assert told("report --from-results", main=main).startswith(wrote)
    refuses(main, ["report", "--from-results", "--out", str(mine)], "holds runs of your own")
    assert not (mine / "report.md").exists()
    said = told("report", main=main)
    assert f"ladder on {made.env}\n\n|" in said
    assert all(unescape(sentence) in said.splitlines() for sentence in sentences.of(made))


NOTHING = "no run files (*.runs.csv.gz) in"
FOLDERS: list[tuple[str, bytes | None, str]] = [  # a file in a folder, its content, and what `report` says
    ("", None, NOTHING),
    ("compare_x/comparison.md", b" \n", NOTHING),
    ("x.runs.csv.gz", b"x\n", "x.runs.csv.gz is damaged, of another version, or not a run file"),
]


@pytest.mark.parametrize(("name", "content", "said"), FOLDERS)
def test_what_is_whole_is_read(name: str, content: bytes | None, said: str, tmp_path: Path, refuses: Refuses) -> None:
    if content is not None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    refuses(main, ["report", "--out", str(tmp_path)], said)
    refuses(main, ["plot", str(tmp_path), "--out", str(tmp_path / "plot")], str(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "file").write_text("x\n")
    for other in ("missing", "file"):
        refuses(main, ["report", "--out", str(tmp_path / other)], f"{other}, which is no folder")
    refuses(main, ["plot", str(tmp_path / "missing")], "there is no")


def test_an_answer_is_told_as_on_its_own_page_once_for_all_its_studies(tmp_path: Path, refuses: Refuses) -> None:
    both = [replace(study(ladder(NAMES), lambda on: 0, env), name=name) for env, name in zip(ENVS, "ab", strict=True)]
    for each in both:
        save(replace(each, about=each.about | {"answer": "a"}), tmp_path)
    (tmp_path / "a").mkdir()
    told = tmp_path / "a" / "answer.md"
    told.write_text("## What was asked\n")
    assert main(["report", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text()
    assert text.count("What was asked") == 1 and "### ladder" not in text.split("## Across")[0]
    told.write_bytes(b"\xff\xfe\x00")
    refuses(main, ["report", "--out", str(tmp_path)], "answer.md is damaged or no page of ours")


def two_on_gae(names: Sequence[str]) -> Design:
    """Two tricks, each on top of gae, over independent seeds."""
    base, both = ["baseline", "gae"], ("grad_clip", "entropy")
    core, arms = Arm("core", switched(base)), [Arm(added([*base, name]), switched([*base, name])) for name in both]
    pairs = tuple(Comparison(arm.label, core, arm) for arm in arms)
    return Design("two-on-gae", both, (core, *arms), pairs, own_arms=True)


def test_a_new_design_needs_no_other_change(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setitem(DESIGNS, "two-on-gae", two_on_gae)
    (asked,) = questions(What(design="two-on-gae"), "10")
    assert asked.designs == (two_on_gae([]),) and len(asked.arms) == 3
    some = [study(asked.designs[0], lambda on: 60 * ("entropy" in on), env) for env in (*ENVS, "Pendulum-v1")]
    saved = [save(each, tmp_path)[1] for each in some]
    monkeypatch.delitem(DESIGNS, "two-on-gae")  # as in a process that never saw its function
    read = [load(path) for path in saved]
    assert all(each.designs == asked.designs for each in read)
    page.write(read, tmp_path, "again")
    text = (tmp_path / "report.md").read_text()
    for said in ("### two-on-gae: CartPole-v1", "| two-on-gae: difference, P(better)", "two-on-gae, in general"):
        assert said in text
    for drawn in ("curves_two-on-gae", "effects"):
        assert (tmp_path / "made_CartPole-v1" / f"{drawn}.png").exists()
    assert set(pd.read_csv(tmp_path / "heatmap.csv").design) == {"two-on-gae"}


THREE = ["shared_trunk", "ppg", "ppg_buffers"]


def several(env: str, value: int) -> Study:
    """A study of three designs in which clip adds `value` and entropy always takes 60."""
    value_of = lambda on: value * ("clip" in on) - 60 * ("entropy" in on)  # noqa: E731
    made = [study(make(["baseline", "clip", "entropy"]), value_of, env) for make in (ladder, leave_one_out, add_one_in)]
    runs = pd.concat([one.runs for one in made]).drop_duplicates(["tricks", "seed"])
    return replace(made[0], designs=tuple(one.designs[0] for one in made), runs=runs)


def test_what_is_detected_is_said_unless_runs_are_missing() -> None:
    made = several("CartPole-v1", 90)
    steps, alone = of(made)
    assert "from 135 to 165" in steps and "up with `clip` (+0.19), down with `entropy` (-0.13)" in steps
    assert "alone: `clip` helping, `entropy` hurting" in alone and "`clip` missed, `entropy` better left out" in alone
    assert of(replace(made, runs=made.runs[made.runs.tricks != ""])) == []
    assert of(replace(made, runs=made.runs.assign(arm=made.runs.tricks + "!"))) == []  # of a question of one's own


def test_environments_are_set_against_each_other_but_for_those_with_other_seeds() -> None:
    here, there = several("CartPole-v1", 60), several("Acrobot-v1", -60)
    assert across([here]) == across([here, here]) == ""  # one environment, twice
    neither = "neither alone nor when taken out: `baseline`."
    assert across([here, there]).endswith(f"hurting in another: `clip`. Detected {neither}")
    sure = replace(here, again=here)
    assert across([here, replace(there, again=there)]) == ""  # only one of them was tried again
    assert across([sure, replace(there, again=there)]).endswith(f"hurting in another: `clip`. Confirmed {neither}")
    nothing = several("Acrobot-v1", 0)  # what helps in one place and does nothing in another is neither
    for both, said in (([sure, replace(there, again=nothing)], "Confirmed"), ([here, nothing], "Detected")):
        assert across(both).endswith(f"in another: none. {said} {neither}")
    here, there = several("CartPole-v1", 90), several("Acrobot-v1", -90)
    fewer = replace(there, about=there.about | {"seeds": [0, 7]}, runs=there.runs[there.runs.seed < 7])
    assert across([here, fewer]) == ""
    third = replace(several("Pendulum-v1", 0), name="third")
    said = across([here, fewer, third, replace(fewer, runs=fewer.runs.assign(env="Taxi-v4"))])
    assert said.startswith("In 2 environments (8 seeds), ") and ". In 2 environments (7 seeds), " in said


def test_of_what_is_beyond_the_ladder_it_is_said_where_it_helps_and_where_it_hurts() -> None:
    here = study(beyond(THREE), lambda on: 40 * ("ppg" in on) - 60 * ("shared_trunk" in on))
    there = study(beyond(THREE), lambda on: 60 * ("shared_trunk" in on), "Acrobot-v1")
    raw = study(beyond_raw(THREE), lambda on: 0, "Pendulum-v1")
    on_ppo, without_norm = of_beyond([here, there, raw, replace(here, name="again")])
    assert "`shared_trunk` helps on Acrobot-v1 (+0.14) and hurts on CartPole-v1 (-0.13); `ppg` helps on" in on_ppo
    assert without_norm.count("is detected nowhere") == 3
    assert of_beyond([several("CartPole-v1", 60)]) == []
    assert of_beyond([study(beyond(THREE), lambda on: 0, seeds=2)]) == []  # too few to detect anything
    assert of_beyond([replace(here, runs=here.runs[here.runs.tricks.str.contains("ppg")])]) == []


def test_at_a_ceiling_the_share_of_failing_seeds_stands_in_place_of_an_interval_without_width() -> None:
    late = np.full(30, 500.0)
    assert failures(late, SCALES["CartPole-v1"])["failing_high"] == pytest.approx(0.1135, abs=1e-4)  # Wilson, 0 of 30
    late[:3] = 100
    assert failures(late, SCALES["CartPole-v1"])["failing"] == pytest.approx(0.1)
    for by in (50, 20):  # below the ceiling the mean says enough, and between it and the threshold
        assert np.isnan(failures(late - by, SCALES["CartPole-v1"])["failing"])
    late[:3] = 475, 474.9, 499  # to reach the threshold is enough, and the ceiling is not asked for
    assert failures(late, SCALES["CartPole-v1"])["failing"] == pytest.approx(1 / 30)
    assert np.isnan(failures(late, SCALES["MiniGrid-Unlock-v0"])["failing"])  # no threshold
    made = study(design := ladder(["baseline"]), lambda on: 0)
    text = arms_text(arms_table(replace(made, runs=made.runs.assign(late=500.0)), design))
    assert "500.0, failing 0% [0%, 32%]" in text


SCRIPT = "<script>alert(1)</script>"
HOSTILE = (
    SCRIPT,
    "</p></body><img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) ![y](http://evil/z.png) <http://evil> http://evil",
    "a | b `c` **d** _e_ ~~f~~ # g",
    "`</code>" + SCRIPT + "``",
    "two\n\n# lines\r\n<div>\u2028|---|\x02amp\x03 \x02wzxhzdk:0\x03 \udcff",
    'src="/etc/x.png" onload="alert(1)"',
    "&lt;script&gt; &#60; \\",
    "$x^{$",
)
OURS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "strong", "em", "code", "img"}
OURS |= {"table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"lang", "charset", "name", "content", "src", "alt"}


class Seen(HTMLParser):
    """The images' sources, the rows' lengths, and the text of a page that has only our elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sources, self.rows, self.text = list[str](), list[int](), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in OURS and {name for name, _ in attrs} <= ATTRIBUTES
        self.sources += [value or "" for name, value in attrs if name == "src"]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def told(text: str) -> Study:
    """A study that says this text of itself wherever it can."""
    made = study(ladder(["baseline"]), lambda on: 0)
    about: Any = made.about | {"command": text, "made with": {"torch": [text], text: ["1"]}, "left out": [text]}
    cell = text.encode(errors="ignore").decode()  # rows are UTF-8, JSON can say any code point
    return replace(made, runs=made.runs.assign(env=cell, numbers=cell, tuned=cell), about=about)


def line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def test_text_shows_as_text_and_what_needs_no_escape_is_left_alone(tmp_path: Path) -> None:
    for texts in (HOSTILE[::2], HOSTILE[1::2]):
        text = " ".join(texts)
        page.write([told(text)], tmp_path, text)
        seen = Seen((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert all(source.startswith("data:image/png;base64,") for source in seen.sources)
        assert len(seen.sources) == 2  # effects and curves
        assert seen.text.count(line(text)) >= 8  # shown as it is
        assert set(seen.rows) == {2, 5}  # the tables' columns are what they were
    for text in ("CartPole-v1", "ALE/Breakout-v5", "lanes=16 hidden=(32,32) value_coef=1.0", "2.13.0+cpu", "x86_64"):
        assert (plain(text), code(text)) == (text, f"`{text}`")
    assert SCRIPT in Seen(as_html(f"{SCRIPT}\n\n<div onclick='x'>\n\ntext <b>bold</b> <!-- --> `<i>`", Path())).text


def test_an_effect_that_is_taken_out_has_the_other_sign_and_ends_and_an_arm_s_name_is_text_in_its_table() -> None:
    row = pd.Series({"label": taken("clip", ["gae"]), "difference": 0.02, "low": -0.01, "high": 0.05})
    said = "all out, at the set's own rate, changes the normalized area by -0.020 [-0.050, +0.010], on other seeds."
    assert sentences.taken_out(row).endswith(said)
    made = study(ladder(["baseline"]), lambda on: 0)
    frame = arms_table(made, made.designs[0]).assign(arm=["a|b *x*", "baseline"])
    rows = arms_text(frame).splitlines()
    assert "a&#124;b &#42;x&#42;" in rows[2] and len({row.count("|") for row in rows}) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_each_text_by_itself_is_shown_as_it_is(text: str) -> None:
    for shown in (plain, code):
        seen = Seen(as_html(f"# {shown(text)}\n\n| a | b |\n|---|---|\n| {shown(text)} | {shown(text)} |\n", Path()))
        assert seen.text.count(line(text)) >= 3 and (set(seen.rows), seen.sources) == ({2}, [])


@pytest.mark.parametrize("name", ["a&b]c[d (e)", "<x> ünïcode a%20b", "a\"b'c a#b?c $a$"])
def test_a_picture_is_found_whatever_its_study_is_called(name: str, tmp_path: Path) -> None:
    save(replace(study(ladder(["baseline"]), lambda on: 0), name=name), tmp_path)
    assert main(["report", "--out", str(tmp_path)]) == 0
    seen = Seen((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(seen.sources) == len(re.findall(r"!\[", (tmp_path / "report.md").read_text("utf-8"))) == 3
    assert name in seen.text


def test_of_a_trick_that_a_design_compares_twice_both_effects_are_told_and_no_cell_hides_one(tmp_path: Path) -> None:
    twice = DESIGNS["presets"](())
    made = [study(twice, lambda on: 50 * len(on & {"value_clip"}), env, seeds=6) for env in ENVS]
    assert twice.repeats and not DESIGNS["beyond"](()).repeats
    told = [row.split("|")[1].strip() for row in tables.effects_text([effects(made[0], twice)]).splitlines()]
    assert [name for name in told if "value_clip" in name] == ["value_clip", "+ return_norm, value_clip"]
    assert page.document(made, tmp_path, [], "x", listed=True) == 0
    assert not list(tmp_path.glob("heatmap*")) and len(list(tmp_path.glob("**/effects*.png"))) == len(ENVS)

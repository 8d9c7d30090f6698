"""Slides: what a chapter shows, in its order, in one file, and nothing larger than its slide."""

import base64
from itertools import pairwise
from typing import Any

import jupytext
import pytest
from support.browsing import Browser

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names, title
from chapters.book.grading.asked import exercises
from chapters.book.slides.outline import CODE_LINES, blocks, in_parts, key_line, outline

PARAGRAPHS = {
    "Wait. So **the clip stops paying for more**, at last. Good.": "So the clip stops paying for more, at last.",
    "Note. **The ratio is right on average.** Now": "The ratio is right on average.",
    "So, **they move at once. No step is taken.** Ok.": "So, they move at once. No step is taken.",
    "It is **what all the actions have in common.**": "It is what all the actions have in common.",
    "The **clip fraction** is a share.": "",
}


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory, driver: Any) -> Browser:
    """A browser for the slides of all chapters."""
    for package in ("nbconvert", "sphinx-mathjax-offline"):
        pytest.importorskip(package, reason="no web book: pip install -e '.[site]'")
    browser = Browser(driver, tmp_path_factory.mktemp("slides"))
    assert main(["slides", "--out", str(browser.folder)]) == 0
    browser.resize(1280, 720)
    return browser


@pytest.mark.parametrize("name", names())
def test_every_slide_fits_and_asks_the_network_for_nothing(name: str, decks: Browser) -> None:
    decks.open(f"{name}.html")
    decks.wait_for("html[data-ready]")
    assert decks.ask("tooLarge") == []
    assert decks.run("return document.querySelectorAll('mjx-merror').length") == 0
    assert decks.complaints() == []
    assert [address for address in decks.requests() if not address.startswith(("file:", "data:"))] == []


def test_keys_and_the_address_lead_to_a_slide(decks: Browser) -> None:
    decks.open("03_clip.html")
    decks.wait_for("html[data-ready]")
    key = "dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]})); return location.hash"
    assert [decks.run(key, each) for each in ("ArrowRight", " ", "ArrowLeft", "Home")] == ["#2", "#3", "#2", "#1"]
    assert decks.run(key, "End") == f"#{len(outline('03_clip'))}"
    decks.run("show()")
    assert decks.texts("section.here h1") == ["Exercise 3: spot the bug"]


@pytest.mark.parametrize("name", names())
def test_a_chapters_slides_have_its_question_its_pictures_its_code_and_its_exercises_in_order(name: str) -> None:
    every = outline(name)
    slides = [slide for slide in every if not slide.heading.startswith("Exercise")]
    assert slides[0].body == title(name)[1]
    cells = jupytext.read(CHAPTERS / f"{name}.ipynb").cells
    end = next((k for k, cell in enumerate(cells) if cell.source.startswith("## Exercises")), len(cells))
    shown = [out.get("data", {}) for cell in cells[:end] for out in cell.get("outputs", [])]
    pictures = [data["image/png"] for data in shown if "image/png" in data]
    assert [each.body for each in slides if each.kind == "figure"] == pictures
    code = [text for data in shown if (text := data.get("text/markdown", "").rstrip()).startswith("```")]
    found = [slide for slide in slides if slide.kind == "code"]
    assert list(dict.fromkeys(slide.body for slide in found)) == list(dict.fromkeys(code))
    for text in code:
        lines = text.splitlines()[1:-1]
        rows = [[lines[k] for k in slide.rows] for slide in found if slide.body == text]
        assert max(map(len, rows)) <= CODE_LINES
        kept = [line for part in rows for line in part if line.strip()]
        assert kept == [line for line in lines if line.strip()] * code.count(text)
    script = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8").partition("\n# ## Going further")[0]
    asked = [each for each in exercises(name) if f"**Exercise {each.number}:" in script]
    tasks = [slide for slide in every if slide.heading.startswith("Exercise")]
    assert [*dict.fromkeys(slide.heading for slide in tasks)] == [f"Exercise {a.number}: {a.kind}" for a in asked]
    assert all(slide.kind in ("code", "figure") for slide in tasks if slide.heading.endswith("spot the bug"))
    for before, slide in pairwise(every):  # a caption leads to nothing that the slide lacks, and is not said twice
        assert not slide.below.endswith(":") or slide.kind in ("equation", "code"), slide.below
        if slide.kind == "text" and before.kind == "figure":
            assert " ".join(slide.body.split()) not in " ".join(before.below.replace("**", "").split())


def test_the_lesson_on_the_clip_goes_from_its_failure_to_the_ablations() -> None:
    slides = outline("03_clip")
    assert [slide.kind for slide in slides[:4]] == ["title", "figure", "text", "equation"]
    assert base64.b64decode(slides[1].body).startswith(b"\x89PNG")
    assert slides[1].printed.startswith("mean payout: before 3.85")
    assert slides[2].body.startswith("The ratio is right on average")
    headings = [slide.heading for slide in slides]
    for order in (
        ("Predict", "Where it helps, and where it hurts", "At a glance"),
        ("Not a trust region", "Why the min?", "Ten epochs of CartPole"),
        ("Exercise 1: write it", "Exercise 2: think", "Exercise 3: spot the bug"),
    ):
        assert sorted(order, key=headings.index) == [*order]


def test_a_paragraph_gives_its_bold_sentence_and_code_is_cut_where_it_is_empty() -> None:
    assert {text: key_line(text) for text in PARAGRAPHS} == PARAGRAPHS
    assert blocks("A [link](x.md).\n$$x$$ b\n\n<details>c</details>") == ["A link.", "$$x$$", "b"]
    assert in_parts(["a"] * 20 + [""] + ["b"] * 20) == [range(0, 20), range(21, 41)]
    assert in_parts(["a"] * 16 + ["", "b", "", " c"] + ["d"] * 20) == [range(0, 16), range(17, 40)]
    assert in_parts(["c"] * 60) == [range(0, 26), range(26, 52), range(52, 60)]

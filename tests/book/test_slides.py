"""Slides: what a chapter shows, in its order, in one file, and nothing larger than its slide."""

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import jupytext
import pytest
from support.browsing import Browser, browsing

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names, title
from chapters.book.grading.asked import exercises
from chapters.book.slides.outline import CODE_LINES, blocks, in_parts, key_line, outline
from tricks.errors import InputError

LARGER = """
const over = [];
slides.forEach((slide, k) => {
  slide.style.display = 'flex';
  const frame = slide.getBoundingClientRect();
  for (const each of slide.querySelectorAll('h1, p, li, img, pre, pre span, table, mjx-container, code')) {
    const box = each.getBoundingClientRect();
    const wide = box.left < frame.left || box.right > frame.right;
    const tall = box.top < frame.top || box.bottom > frame.bottom;
    const small = parseFloat(getComputedStyle(each).fontSize) < 10;
    const tiny = each.tagName === 'IMG' && box.width < 900 && box.height < 240;
    if (wide || tall || small || tiny) over.push([k + 1, each.tagName, each.textContent, box.height]);
  }
  slide.style.display = '';
});
return over;
"""


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for the slides of all chapters."""
    for package in ("nbconvert", "sphinx-mathjax-offline"):
        pytest.importorskip(package, reason="no web book: pip install -e '.[site]'")
    folder = tmp_path_factory.mktemp("slides")
    assert main(["slides", "--out", str(folder)]) == 0
    with browsing(folder) as browser:
        browser.resize(1280, 720)
        yield browser


@pytest.mark.parametrize("name", names())
def test_every_slide_fits_and_asks_the_network_for_nothing(name: str, decks: Browser) -> None:
    decks.open(f"{name}.html")
    decks.wait_for("html[data-ready]")
    assert decks.run(LARGER) == []
    assert decks.run("return document.querySelectorAll('mjx-merror').length") == 0
    assert decks.complaints() == []
    assert [address for address in decks.requests() if not address.startswith(("file:", "data:"))] == []


def test_keys_and_the_address_lead_to_a_slide(decks: Browser) -> None:
    decks.open("03_clip.html")
    decks.wait_for("html[data-ready]")
    key = "dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]})); return location.hash"
    assert [decks.run(key, each) for each in ("ArrowRight", " ", "ArrowLeft", "Home")] == ["#2", "#3", "#2", "#1"]
    assert decks.run(key, "End") == f"#{len(outline('03_clip'))}"
    shown = "show(); return [...document.querySelectorAll('section.here h1')].map((each) => each.textContent)"
    assert decks.run(shown) == ["Exercise 3: spot the bug"]


@pytest.mark.parametrize("name", names())
def test_a_chapters_slides_have_its_question_its_pictures_and_its_code_in_order(name: str) -> None:
    slides = [slide for slide in outline(name) if not slide.heading.startswith("Exercise")]
    assert slides[0].body == title(name)[1]
    cells = jupytext.read(CHAPTERS / f"{name}.ipynb").cells
    end = next((k for k, cell in enumerate(cells) if cell.source.startswith("## Exercises")), len(cells))
    shown = [out.get("data", {}) for cell in cells[:end] for out in cell.get("outputs", [])]
    assert [each.body for each in slides if each.kind == "figure"] == [
        d["image/png"] for d in shown if "image/png" in d
    ]
    code = [text for data in shown if (text := data.get("text/markdown", "").rstrip()).startswith("```")]
    found = [slide for slide in slides if slide.kind == "code"]
    assert list(dict.fromkeys(slide.body for slide in found)) == list(dict.fromkeys(code))
    for text in code:
        lines = text.splitlines()[1:-1]
        rows = [[lines[k] for k in slide.rows] for slide in found if slide.body == text]
        assert max(map(len, rows)) <= CODE_LINES
        assert [line for part in rows for line in part if line.strip()] == [
            line for line in lines if line.strip()
        ] * code.count(text)


def test_the_lesson_on_the_clip_goes_from_its_failure_to_the_ablations() -> None:
    slides = outline("03_clip")
    kinds = [slide.kind for slide in slides]
    assert kinds[:4] == ["title", "figure", "text", "equation"]
    assert base64.b64decode(slides[1].body).startswith(b"\x89PNG")
    assert slides[1].printed.startswith("mean payout: before 3.85")
    assert slides[2].body.startswith("The ratio is right on average")
    headings = [slide.heading for slide in slides]
    assert (
        headings.index("Predict") < headings.index("Where it helps, and where it hurts") < headings.index("At a glance")
    )
    assert (
        headings.index("Not a trust region") < headings.index("Why the min?") < headings.index("Ten epochs of CartPole")
    )
    assert [heading for heading in dict.fromkeys(headings) if heading.startswith("Exercise")] == [
        "Exercise 1: write it",
        "Exercise 2: think",
        "Exercise 3: spot the bug",
    ]


@pytest.mark.parametrize("name", [name for name in names() if exercises(name)])
def test_a_bug_to_be_spotted_is_shown_and_no_exercise_is_left_out(name: str) -> None:
    slides = [slide for slide in outline(name) if slide.heading.startswith("Exercise")]
    script = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8").partition("\n# ## Going further")[0]
    asked = [each for each in exercises(name) if f"**Exercise {each.number}:" in script]
    assert [*dict.fromkeys(slide.heading for slide in slides)] == [f"Exercise {a.number}: {a.kind}" for a in asked]
    for slide in slides:
        if slide.heading.endswith("spot the bug"):
            assert slide.kind in ("code", "figure")


def test_a_caption_leads_to_nothing_that_the_slide_lacks_and_is_not_said_twice() -> None:
    for name in names():
        slides = outline(name)
        for before, slide in pairwise(slides):
            assert not slide.below.endswith(":") or slide.kind in ("equation", "code"), slide.below
            if slide.kind == "text" and before.kind == "figure":
                assert " ".join(slide.body.split()) not in " ".join(before.below.replace("**", "").split())


def test_a_paragraph_gives_its_bold_sentence_and_code_is_cut_where_it_is_empty() -> None:
    assert key_line("Wait. So **the clip stops paying for more**, at last. Good.") == (
        "So the clip stops paying for more, at last."
    )
    assert key_line("Note. **The ratio is right on average.** Now") == "The ratio is right on average."
    assert key_line("So, **they move at once. No step is taken.** Ok.") == "So, they move at once. No step is taken."
    assert key_line("It is **what all the actions have in common.**") == "It is what all the actions have in common."
    assert key_line("The **clip fraction** is a share.") == ""
    assert blocks("A [link](x.md).\n$$x$$ b\n\n<details>c</details>") == ["A link.", "$$x$$", "b"]
    assert in_parts(["a"] * 20 + [""] + ["b"] * 20) == [range(0, 20), range(21, 41)]
    assert in_parts(["a"] * 16 + ["", "b", "", " c"] + ["d"] * 20) == [range(0, 16), range(17, 40)]
    assert in_parts(["c"] * 60) == [range(0, 26), range(26, 52), range(52, 60)]


def test_an_unknown_chapter_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown chapter '03_clp' \(did you mean 03_clip\?\)"):
        main(["slides", "03_clp", "--out", str(tmp_path)])

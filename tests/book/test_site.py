"""The web book is whole, asks for nothing outside its folder, and moves as it should; slides show their chapter."""

import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jupytext
import nbformat
import pytest
from support.browsing import Browser
from support.fixtures import refusal

import ablations
import tricks
from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names, title
from chapters.book.grading.asked import exercises
from chapters.book.site.extension import TASKS, explained, letters
from chapters.book.site.growing import body
from chapters.book.site.rungs import rung_of
from chapters.book.site.staging import covered
from chapters.book.site.website import replace
from chapters.book.slides.outline import CODE_LINES, blocks, in_parts, key_line, outline
from chapters.book.two_hours import STOPS
from tricks.ladder import LADDER, switched

pytest.importorskip("sphinx", reason="no sphinx: pip install -e '.[site]'")
SCREEN = 940  # pixels: the first screen, and room for other fonts
SHOWN = "return document.documentElement.classList.contains('loop-shown')"
FLAWS = r"Alias for field|system-message|\*values|``"


def pages(site: Path) -> list[str]:
    return [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_every_chapter_has_its_page_in_reading_order_with_its_agent_and_its_bug(site: Path) -> None:
    front = (site / "index.html").read_text()
    assert re.findall(r"class=.card. href=.chapters/(\w+)\.html", front) == names()
    page = (site / "chapters" / "03_clip.html").read_text()
    assert re.findall(r"clips/(\w+)\.gif", page) == ["clip", "clip_bug"]
    assert "This episode lasted 500 steps" in page
    assert not re.findall(r"clips/(\w+)\.gif", (site / "chapters" / "25_the_whole_ladder.html").read_text())


def test_the_reference_has_every_public_function_and_class_and_no_leftovers_of_markup(site: Path) -> None:
    for module in (tricks, ablations):
        reference = (site / "reference" / f"{module.__name__}.html").read_text()
        for name in module.__all__:
            if inspect.isfunction(one := getattr(module, name)) or inspect.isclass(one):
                assert re.search(rf'<dt [^>]*id="{module.__name__}\.{name}"', reference), name
    tasks = (site / "reference" / "each-trick.html").read_text()
    assert {f"tricks.{name}" for name in ("gae", "clip", "huber")} <= {*re.findall(r'id="module-([\w.]+)"', tasks)}
    assert not [path for path in (site / "reference").rglob("*.html") if re.search(FLAWS, path.read_text())]


def test_no_page_names_a_file_that_is_not_in_the_folder_and_a_table_in_an_output_is_a_table(site: Path) -> None:
    for page in pages(site):
        html = (site / page).read_text()
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*?\bsrc="([^"]+)"', html)
        loaded += re.findall(r'<link\b[^>]*?rel="stylesheet"[^>]*?href="([^"]+)"', html)
        for target in loaded:
            if not target.startswith("data:"):
                assert (site / page).parent.joinpath(unquote(target.split("?")[0])).exists(), f"{page}: {target}"
        assert "<p>|" not in html, page
    folded = (site / "chapters" / "04_gae.html").read_text().split("All numbers about gae")[1]
    assert "<table" in folded.split("</details>")[0]


def test_no_page_asks_elsewhere_or_complains_and_chapters_begin_with_a_picture(site: Path, browser: Browser) -> None:
    alike = [page for page in pages(site) if "/solutions/" in page][2:]  # nothing but text and code
    told = {f"chapters/{name}.html" for name in [*names(), *(stop.name for stop in STOPS)]}
    assert told <= {*pages(site)} - {*alike}
    for page in (page for page in pages(site) if page not in alike):
        browser.open(page)
        browser.run("return document.fonts.ready.then(() => 0)")
        if page in told:
            browser.run("return MathJax.startup.promise.then(() => 0)")
            assert page.startswith("chapters/a") or browser.ask("firstPicture") <= SCREEN, page
            assert [said for said in browser.ask("belowOutcomes") if not said.startswith(TASKS)] == [], page
        assert browser.complaints() == [], page
        assert [url for url in browser.requests() if not url.startswith((site.as_uri(), "data:", "blob:"))] == [], page


def test_the_first_use_of_a_term_and_the_letters_of_a_shape_say_on_hover_what_they_mean(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    told = browser.run("return [...document.querySelectorAll('abbr')].map((each) => [each.textContent, each.title])")
    found = [title for _, title in told]
    assert found and {*found} <= {*explained().values()} and len({*found}) == len(found)
    assert dict(told)["epochs"] == explained()["epoch"]
    shapes = browser.run("return [...document.querySelectorAll('.c1[title]')].map((each) => each.title)")
    assert f"S: {letters()['S']}" in shapes[0].split("\n")


def test_the_loop_stands_beside_the_chapter_of_a_trick_and_moves_with_the_slider(browser: Browser) -> None:
    browser.resize(1600)
    browser.open("chapters/25_the_whole_ladder.html")
    assert not browser.run(SHOWN)
    browser.open("chapters/03_clip.html")
    browser.wait_for(".loop-shown")  # a new page learns of its width a moment late
    browser.resize(1440)
    browser.wait_for("html:not(.loop-shown)")  # which leaves the text too little room
    assert browser.text(".loop-name b") == "clip"
    new = [line.strip() for line in browser.texts(".loop-new")]
    assert "objective = clipped_surrogate(ratio, advantage, t.clip_range)" in new
    for k in (0, 4, len(LADDER)):
        slide = "const s = document.querySelector('.loop-panel input'); s.value = arguments[0];"
        browser.run(f"{slide} s.dispatchEvent(new Event('input'))", k)
        assert [line.rstrip() for line in browser.texts(".loop-line:not(.loop-gone)")] == body(switched(LADDER[:k]))
    browser.run("document.querySelector('.loop-panel header > button').click()")  # back to this chapter
    assert browser.text(".loop-name b") == "clip"
    line = "[...document.querySelectorAll('.loop-line')].find((x) => x.textContent.includes('clipped_surrogate'))"
    browser.run(f"{line}.dispatchEvent(new Event('mouseover', {{bubbles: true}}))")
    assert browser.text(".loop-note") == "ratio [S, B], advantage [S, B], t.clip_range [S], objective [S, B]"


@pytest.mark.parametrize("page", ["index.html", "chapters/04_gae.html", "chapters/ppo.html", "docs/results.html"])
def test_a_phone_shows_a_page_without_scrolling_sideways(page: str, browser: Browser) -> None:
    with browser.sized(400):
        browser.open(page)
        assert browser.run("return document.documentElement.scrollWidth") <= 400 and not browser.run(SHOWN)


def test_a_formula_on_a_phone_breaks_before_its_signs(browser: Browser) -> None:
    with browser.sized(420):
        for name in ("02_reuse", "10_entropy"):
            browser.open(f"chapters/{name}.html")
            browser.wait_for("mjx-container wbr")
            every = "[...document.querySelectorAll('mjx-container[display]')].map(x => x.scrollWidth - x.clientWidth)"
            assert max(browser.run(f"return {every}")) <= 1


@pytest.mark.parametrize("name", ["00_reinforce", "03_clip", "25_the_whole_ladder", STOPS[0].name])
def test_code_in_a_chapter_is_never_wider_than_its_column(browser: Browser, name: str) -> None:
    for width in (1280, 1500):  # the narrowest without the loop, and with it
        with browser.sized(width):
            browser.open(f"chapters/{name}.html")
            assert browser.ask("tooWide") == [], width


def test_every_picture_has_a_text_alternative_and_none_is_called_by_its_file(site: Path) -> None:
    for page in pages(site):
        pictures = re.findall(r"<img\b[^>]*>", (site / page).read_text(), re.DOTALL)
        said = [re.search(r"\balt=([\"'])(.*?)\1", picture, re.DOTALL) for picture in pictures]
        assert all(said), page  # an empty one says that a picture only decorates
        assert not [each[2] for each in said if each and re.search(r"[.](png|gif)$|[0-9a-f]{32}", each[2])], page


def test_a_film_stops_and_stands_where_less_motion_is_asked_for(browser: Browser) -> None:
    shown = "return ['img', 'canvas'].map((each) => !document.querySelector('.clip ' + each).hidden)"
    browser.open("chapters/03_clip.html")
    browser.wait_for(".clip-play")
    assert browser.text(".clip-play") == "Pause" and browser.run(shown) == [True, False]
    browser.run("document.querySelector('.clip-play').click()")
    assert browser.text(".clip-play") == "Play" and browser.run(shown) == [False, True]
    less = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [less]})
    try:
        browser.open("chapters/03_clip.html")
        browser.run("document.querySelector('.clip').scrollIntoView()")  # it is loaded when it is seen
        browser.wait_for(".clip img[hidden]")
        assert browser.run("return document.querySelector('.clip canvas').width") == 240
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("page", ["chapters/05_orthogonal_init.html", "chapters/12_popart.html", "playground.html"])
def test_a_slider_says_its_value_not_its_position(page: str, browser: Browser) -> None:
    browser.open(page)
    browser.wait_for("input[type=range]")
    unsaid = "input[type=range]:not([aria-valuetext]), input[type=range][aria-valuetext='']"
    assert browser.run("return document.querySelectorAll(arguments[0]).length", unsaid) == 0
    own = ":is(.mechanism label, .play-sliders label)"
    said = "const [input, output] = ['input', 'output'].map((x) => document.querySelector(arguments[0] + ' ' + x));"
    move = "input.value = input.min; input.dispatchEvent(new Event('input'));"
    told = browser.run(f"{said} {move} return [input.getAttribute('aria-valuetext'), output.textContent]", own)
    assert told[0] == told[1] != ""


def test_a_heading_that_is_jumped_to_and_a_slider_whose_chart_is_read_are_not_covered(browser: Browser) -> None:
    place = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    header = "return document.querySelector('.bd-header-article').getBoundingClientRect().bottom"
    for width in (1280, 420):
        with browser.sized(width):
            browser.open("chapters/05_orthogonal_init.html#exercises")
            browser.run("return MathJax.startup.promise.then(() => exercises.scrollIntoView())")
            assert browser.run(place, "#exercises h2") >= browser.run(header)
    with browser.sized(420):
        browser.run("document.querySelector('#mechanism-walk svg:last-child').scrollIntoView()")
        assert browser.run(header) <= browser.run(place, "#mechanism-walk .dials") < 100


def test_the_search_lists_the_tricks_chapter_first_and_shows_where_a_word_is(browser: Browser) -> None:
    browser.open("search.html?q=clip")
    browser.wait_for("ul.search li a[href^='reference/']")  # they come last
    found = browser.run("return [...document.querySelectorAll('ul.search li a')].map((a) => a.getAttribute('href'))")
    assert found[0] == "chapters/03_clip.html"
    assert not [page for page in found if re.search(r"[.]py[.]html|solutions", page)]
    assert all("clip" in said.lower() for said in browser.texts("ul.search p.context")[:10])
    ranks = [page.startswith("chapters/") - page.startswith("reference/") for page in found]
    assert ranks == sorted(ranks, reverse=True) and {*ranks} == {-1, 0, 1}
    assert browser.complaints() == []


def test_the_front_page_leads_to_the_two_hours_and_they_lead_on(site: Path, browser: Browser) -> None:
    assert f'href="chapters/{STOPS[0].name}.html">Two hours' in (site / "index.html").read_text()
    for stop, following in zip(STOPS, (*STOPS[1:], None), strict=True):
        page = (site / "chapters" / f"{stop.name}.html").read_text()
        assert ('class="train-here' in page) == bool(stop.plays)
        assert following is None or f'href="{following.name}.html">' in page
    browser.open(f"chapters/{STOPS[0].name}.html")
    browser.wait_for(".train-here svg")


def test_dark_is_dark_for_the_loop_too_and_mathematics_is_set(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    color = "return getComputedStyle(document.querySelector('.loop-panel')).backgroundColor"
    colors = []
    for theme in ("light", "dark"):
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        colors.append(sum(map(int, re.findall(r"\d+", browser.run(color))[:3])))
    assert colors[0] > 600 > 200 > colors[1]
    browser.run("return MathJax.startup.promise.then(() => 0)")
    assert browser.run("return document.querySelectorAll('mjx-container').length") > 10


def test_what_a_reader_is_to_predict_is_covered_and_revealed_with_its_outcome(browser: Browser) -> None:
    browser.open("search.html?q=surrogate")
    browser.wait_for("ul.search li")
    guess = nbformat.v4.new_code_cell("plt.show()", metadata={"tags": ["predict", "hide-input"]})
    shown = nbformat.v4.new_code_cell("plt.show()", metadata={"tags": ["hide-input"]})
    notebook = covered(nbformat.v4.new_notebook(cells=[guess, shown]))
    assert ["hide-output" in cell.metadata.tags for cell in notebook.cells] == [True, False]
    browser.open("chapters/03_clip.html")
    said = "return [...document.querySelectorAll('p')].find((p) => /^The typical agent pays/.test(p.textContent))"
    assert not browser.run(f"{said}.checkVisibility()")
    asks = "return [...document.querySelectorAll('details.hide > summary')].map((each) => each.innerText.trim())"
    assert {*browser.run(asks)} == {"Show the code", "Reveal the outcome"}
    browser.run("document.querySelectorAll('details.below-input').forEach((box) => { box.open = true; })")
    assert browser.run(f"{said}.checkVisibility()")


def test_a_chapter_stands_at_its_rung_and_a_folder_with_something_else_is_not_replaced(tmp_path: Path) -> None:
    found = {name: rung_of(name) for name in names()}
    assert (found["00_reinforce"], found["03_clip"], found["16_annealing"]) == ("reinforce", "clip", "clip_anneal")
    assert (found["18_ppg"], found["25_the_whole_ladder"]) == ("ppg", LADDER[-1])
    (tmp_path / "thesis.tex").write_text("two years")
    refusal("holds something else than a site", replace, tmp_path / "made", tmp_path)
    assert (tmp_path / "thesis.tex").exists()


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
    assert decks.run("return document.querySelectorAll('mjx-merror').length") == 0 and decks.complaints() == []
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


def test_a_paragraph_gives_its_bold_sentence_and_code_is_cut_where_it_is_empty() -> None:
    assert {text: key_line(text) for text in PARAGRAPHS} == PARAGRAPHS
    assert blocks("A [link](x.md).\n$$x$$ b\n\n<details>c</details>") == ["A link.", "$$x$$", "b"]
    assert in_parts(["a"] * 20 + [""] + ["b"] * 20) == [range(0, 20), range(21, 41)]
    assert in_parts(["a"] * 16 + ["", "b", "", " c"] + ["d"] * 20) == [range(0, 16), range(17, 40)]
    assert in_parts(["c"] * 60) == [range(0, 26), range(26, 52), range(52, 60)]

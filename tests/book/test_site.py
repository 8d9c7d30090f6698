"""The web book: it is whole, asks for nothing outside its folder, and moves as it should in a real browser."""

import inspect
import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from support.browsing import Browser

import ablations
import tricks
from chapters.book.build import names
from tricks.errors import InputError
from tricks.ladder import LADDER, switched

pytest.importorskip("sphinx", reason="no sphinx: pip install -e '.[site]'")

from chapters.book.site.growing import body
from chapters.book.site.revealed import TASKS
from chapters.book.site.rungs import rung_of
from chapters.book.site.staging import covered
from chapters.book.site.website import replace
from chapters.book.two_hours import STOPS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
SCREEN = 940  # pixels: the first screen, and room for other fonts


def pages(site: Path) -> list[str]:
    return [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_every_chapter_has_its_page_in_reading_order(site: Path) -> None:
    front = (site / "index.html").read_text()
    assert re.findall(r"class=.card. href=.chapters/(\w+)\.html", front) == names()
    assert {f"chapters/{name}.html" for name in names()} <= {*pages(site)}


def test_the_reference_has_every_public_function_and_class_and_no_leftovers_of_markup(site: Path) -> None:
    for module in (tricks, ablations):
        text = (site / "reference" / f"{module.__name__}.html").read_text()
        for name in module.__all__:
            if inspect.isfunction(one := getattr(module, name)) or inspect.isclass(one):
                assert re.search(rf'<dt [^>]*id="{module.__name__}\.{name}"', text), name
    tasks = (site / "reference" / "each-trick.html").read_text()
    assert {f"tricks.{name}" for name in ("gae", "clip", "huber")} <= {*re.findall(r'id="module-([\w.]+)"', tasks)}
    for page in pages(site):
        if page.startswith("reference/"):
            assert not re.search(r"Alias for field|system-message|\*values|``", (site / page).read_text()), page


def test_no_page_names_a_script_a_style_or_a_picture_that_is_not_in_the_folder(site: Path) -> None:
    for page in pages(site):
        text = (site / page).read_text()
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*?\bsrc="([^"]+)"', text)
        loaded += re.findall(r'<link\b[^>]*?rel="stylesheet"[^>]*?href="([^"]+)"', text)
        for target in loaded:
            if not target.startswith("data:"):
                assert (site / page).parent.joinpath(unquote(target.split("?")[0])).exists(), f"{page}: {target}"


def test_no_page_asks_for_anything_elsewhere_or_complains(site: Path, browser: Browser) -> None:
    alike = [page for page in pages(site) if "/solutions/" in page][2:]  # nothing but text and code
    for page in (page for page in pages(site) if page not in alike):
        browser.open(page)
        browser.run("return document.fonts.ready.then(() => 0)")
        assert browser.complaints() == [], page
        assert [url for url in browser.requests() if not url.startswith((site.as_uri(), "data:", "blob:"))] == [], page


def test_a_table_in_an_output_is_a_table(site: Path) -> None:
    assert not [page for page in pages(site) if "<p>|" in (site / page).read_text()]
    folded = (site / "chapters" / "04_gae.html").read_text().split("All numbers about gae")[1]
    assert "<table" in folded.split("</details>")[0]


def test_the_loop_is_open_beside_the_chapter_of_a_trick_and_closed_beside_others(browser: Browser) -> None:
    shown = "return document.documentElement.classList.contains('loop-shown')"
    browser.open("chapters/03_clip.html")
    assert browser.run(shown)
    browser.open("chapters/25_the_whole_ladder.html")
    assert not browser.run(shown)


def test_the_loop_stands_beside_a_chapter_and_moves_with_the_slider(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    text = "return [...document.querySelectorAll('.loop-line:not(.loop-gone)')].map((line) => line.textContent)"
    new = "return [...document.querySelectorAll('.loop-new')].map((line) => line.textContent.trim())"
    assert browser.run("return document.querySelector('.loop-name b').textContent") == "clip"
    assert "objective = clipped_surrogate(ratio, advantage, clip_range)" in browser.run(new)
    slide = "const s = document.querySelector('.loop-panel input'); s.value = arguments[0]; "
    slide += "s.dispatchEvent(new Event('input'))"
    for k in (0, 4, len(LADDER)):
        browser.run(slide, k)
        assert [line.rstrip() for line in browser.run(text)] == body(switched(LADDER[:k]))
    browser.run("document.querySelector('.loop-panel header > button').click()")  # back to this chapter
    assert browser.run("return document.querySelector('.loop-name b').textContent") == "clip"


def test_a_line_of_the_loop_says_the_shapes_of_its_tensors(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    browser.run(
        "[...document.querySelectorAll('.loop-line')].find((line) => line.textContent.includes('clipped_surrogate'))"
        ".dispatchEvent(new Event('mouseover', {bubbles: true}))"
    )
    said = browser.run("return document.querySelector('.loop-note').textContent")
    assert said == "ratio [S, B], advantage [S, B], clip_range [S], objective [S, B]"


@pytest.mark.parametrize("page", ["index.html", "chapters/04_gae.html", "chapters/ppo.html", "docs/results.html"])
def test_a_phone_shows_a_page_without_scrolling_sideways(page: str, browser: Browser) -> None:
    browser.resize(400)
    try:
        browser.open(page)
        assert browser.run("return document.documentElement.scrollWidth") <= 400
        assert not browser.run("return document.documentElement.classList.contains('loop-shown')")
    finally:
        browser.resize(1440)


def test_code_in_a_chapter_is_never_wider_than_its_column(browser: Browser) -> None:
    wider = (
        "return [...document.querySelectorAll('article .cell pre')].filter((x) => x.scrollWidth > x.clientWidth + 1)"
    )
    for name in ("00_reinforce", "03_clip", "25_the_whole_ladder", STOPS[0].name):
        browser.open(f"chapters/{name}.html")
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert browser.run(f"{wider}.map((x) => x.textContent)") == [], name


def test_the_first_screen_shows_what_goes_wrong_or_the_box_that_covers_it(browser: Browser) -> None:
    lowest = """
        const picture = document.querySelector('article .cell_output img');
        const box = picture.closest('details:not([open])');
        return (box ? box.querySelector('summary') : picture).getBoundingClientRect().bottom"""
    for name in [*names(), *(stop.name for stop in STOPS)]:
        if not name.startswith("a"):
            browser.open(f"chapters/{name}.html")
            browser.run("return MathJax.startup.promise.then(() => 0)")
            assert browser.run(lowest) <= SCREEN, name


def test_the_front_page_leads_to_the_two_hours_and_they_lead_on(site: Path, browser: Browser) -> None:
    assert f'href="chapters/{STOPS[0].name}.html">Two hours' in (site / "index.html").read_text()
    for stop, following in zip(STOPS, (*STOPS[1:], None), strict=True):
        page = (site / "chapters" / f"{stop.name}.html").read_text()
        assert 'class="train-here' in page
        assert following is None or f'href="{following.name}.html">' in page
    browser.open(f"chapters/{STOPS[0].name}.html")
    browser.wait_for(".train-here svg")


def test_dark_is_dark_for_the_loop_too(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    color = "return getComputedStyle(document.querySelector('.loop-panel')).backgroundColor"
    colors = []
    for theme in ("light", "dark"):
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        colors.append(sum(map(int, re.findall(r"\d+", browser.run(color))[:3])))
    assert colors[0] > 600 > 200 > colors[1]


def test_mathematics_is_set(browser: Browser) -> None:
    browser.open("chapters/03_clip.html")
    browser.run("return MathJax.startup.promise.then(() => 0)")
    assert browser.run("return document.querySelectorAll('mjx-container').length") > 10


def test_the_search_finds_a_word(browser: Browser) -> None:
    browser.open("search.html?q=surrogate")
    waited = "const done = arguments[0]; const look = () => document.querySelector('ul.search li') ? done(1) : "
    waited += "setTimeout(look, 50); look()"
    browser.driver.set_script_timeout(20)
    assert browser.driver.execute_async_script(waited)


def test_what_a_reader_is_to_predict_is_covered() -> None:
    guess = nbformat.v4.new_code_cell("plt.show()", metadata={"tags": ["predict", "hide-input"]})
    shown = nbformat.v4.new_code_cell("plt.show()", metadata={"tags": ["hide-input"]})
    notebook = covered(nbformat.v4.new_notebook(cells=[guess, shown]))
    assert ["hide-output" in cell.metadata.tags for cell in notebook.cells] == [True, False]


def test_what_the_text_says_about_a_covered_outcome_is_revealed_with_it(browser: Browser) -> None:
    below = """
        return [...document.querySelectorAll('details.below-input')].map((box) => box.parentElement.nextElementSibling)
            .filter((next) => next?.matches('p, ul, ol, div:not(.cell)')).map((next) => next.textContent)"""
    for name in [*names(), *(stop.name for stop in STOPS)]:
        browser.open(f"chapters/{name}.html")
        assert [text for text in browser.run(below) if not text.startswith(TASKS)] == [], name
    browser.open("chapters/03_clip.html")
    said = "return [...document.querySelectorAll('p')].find((p) => /^The typical agent pays/.test(p.textContent))"
    assert not browser.run(f"{said}.checkVisibility()")
    asks = "return [...document.querySelectorAll('details.hide > summary')].map((each) => each.innerText.trim())"
    assert {*browser.run(asks)} == {"Show the code", "Reveal the outcome"}
    browser.run("document.querySelectorAll('details.below-input').forEach((box) => { box.open = true; })")
    assert browser.run(f"{said}.checkVisibility()")


def test_a_chapter_stands_at_the_rung_of_its_trick() -> None:
    found = {name: rung_of(name) for name in names()}
    assert (found["00_reinforce"], found["03_clip"], found["16_annealing"]) == ("reinforce", "clip", "clip_anneal")
    assert (found["18_ppg"], found["25_the_whole_ladder"]) == ("ppg", LADDER[-1])


def test_a_folder_with_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("two years")
    with pytest.raises(InputError, match="holds something else than a site"):
        replace(tmp_path / "made", tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_chapter_shows_its_agent_and_its_bug(site: Path) -> None:
    page = (site / "chapters" / "03_clip.html").read_text()
    assert re.findall(r"clips/(\w+)\.gif", page) == ["clip", "clip_bug"]
    assert "This episode lasted 500 steps" in page
    assert not re.findall(r"clips/(\w+)\.gif", (site / "chapters" / "25_the_whole_ladder.html").read_text())

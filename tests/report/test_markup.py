"""What files say of themselves is only text on the page: no element, no attribute, no link that we did not make."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.studies import study

from ablations.analysis.studies import Study
from ablations.analysis.study_files import save
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.report import page
from ablations.report.markup import as_html, code, plain

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
    """The elements, the attributes, the sources of images and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes = set[str](), set[str]()
        self.sources: list[str] = []
        self.rows: list[int] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.tags <= OURS
        assert self.attributes <= ATTRIBUTES

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources += [value or "" for name, value in attrs if name == "src"]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def told(text: str) -> list[Study]:
    """A study and one of games that say this text of themselves wherever they can."""
    made = study(ladder(["baseline"]), lambda on: 0)
    about: Any = made.about | {"command": text, "made with": {"torch": [text], text: ["1"]}, "left out": [text]}
    cell = text.encode(errors="ignore").decode()  # rows are UTF-8, JSON can say any code point
    scores = {"trained": [[1.0, 2, 3, 4, 5]], "random": [[1.0] * 5]}
    games: Any = made.about | {"run": text, "games": scores, "greedy": False, "command": text, "seeds": [0, 1]}
    return [
        replace(made, runs=made.runs.assign(env=cell, numbers=cell, tuned=cell), about=about),
        Study("games_x", (), made.runs.iloc[:1].assign(env=cell, tricks=cell), games),
    ]


def line(text: str) -> str:
    """The text as it is shown: on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def test_nothing_that_a_file_says_becomes_an_element_an_attribute_or_a_link(tmp_path: Path) -> None:
    for texts in (HOSTILE[::2], HOSTILE[1::2]):
        text = " ".join(texts)
        page.write(told(text), tmp_path, text)
        seen = Seen((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert all(source.startswith("data:image/png;base64,") for source in seen.sources)
        assert len(seen.sources) == 3  # effects and curves; games
        assert seen.text.count(line(text)) >= 8  # shown as it is
        assert set(seen.rows) == {2, 5}  # the tables' columns are what they were


@pytest.mark.parametrize("text", HOSTILE)
def test_each_text_by_itself_is_shown_as_it_is(text: str) -> None:
    for shown in (plain, code):
        seen = Seen(as_html(f"# {shown(text)}\n\n| a | b |\n|---|---|\n| {shown(text)} | {shown(text)} |\n", Path()))
        assert seen.text.count(line(text)) >= 3
        assert set(seen.rows) == {2}
        assert seen.sources == []


def test_what_needs_no_escape_is_left_alone_and_raw_html_in_the_markdown_is_text() -> None:
    for text in ("CartPole-v1", "ALE/Breakout-v5", "lanes=16 hidden=(32,32) value_coef=1.0", "2.13.0+cpu", "x86_64"):
        assert plain(text) == text
        assert code(text) == f"`{text}`"
    assert SCRIPT in Seen(as_html(f"{SCRIPT}\n\n<div onclick='x'>\n\ntext <b>bold</b> <!-- --> `<i>`", Path())).text


@pytest.mark.parametrize("name", ["a&b]c[d (e)", "<x> ünïcode a%20b", "a\"b'c a#b?c $a$"])
def test_a_picture_is_found_whatever_its_study_is_called(name: str, tmp_path: Path) -> None:
    _, games = told("x")
    save(replace(study(ladder(["baseline"]), lambda on: 0), name=name), tmp_path)
    save(replace(games, name=f"games_{name}"), tmp_path)
    assert main(["report", "--out", str(tmp_path)]) == 0
    seen = Seen((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(seen.sources) == len(re.findall(r"!\[", (tmp_path / "report.md").read_text("utf-8"))) == 4
    assert name in seen.text
